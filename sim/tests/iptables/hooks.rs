//! The order of tables, and what happens between them.

use kps_flow::Outcome;
use kps_ruleset::NodeState;
use kps_ruleset::nftables::parse_ruleset;
use kps_sim::Walker;

use crate::tables::{dropping, table, under, with_tables};
use crate::world::{PASSED, kept, only, outcome, outside, process, with_host};

/// Each table drops what the one before it marked, and marks for the next.
#[test]
fn tables_run_in_the_order_of_their_priorities() {
    let step = |mark: u32| {
        format!(
            "-A OUTPUT -m mark ! --mark {mark:#x} -j DROP\n-A OUTPUT -j MARK --set-xmark {:#x}/0xffffffff",
            mark + 1
        )
    };
    let order = ["raw", "mangle", "nat", "filter", "security"];
    let mut text = String::new();
    for (mark, name) in (0..).zip(order) {
        text.insert_str(0, &table(name, &step(mark)));
    }
    assert_eq!(under(&text, &process("10.244.0.5", 80)), PASSED);
    let wrong = table("filter", &step(0)) + &table("mangle", &step(1));
    assert_eq!(under(&wrong, &process("10.244.0.5", 80)), Outcome::Drop);
}

#[test]
fn the_filter_sees_the_translated_destination_and_the_own_source() {
    let text = table(
        "nat",
        "-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.244.0.5
        -A POSTROUTING -j MASQUERADE",
    ) + &dropping("-s 198.51.100.7/32 -d 10.244.0.5/32");
    assert_eq!(under(&text, &outside("10.96.0.1", 80)), Outcome::Drop);
}

/// Before conntrack has seen it, every packet is invalid.
#[test]
fn raw_comes_before_conntrack() {
    let text = table("raw", "-A PREROUTING -m conntrack --ctstate INVALID -j DROP");
    assert_eq!(under(&text, &outside("10.244.0.5", 80)), Outcome::Drop);
}

const RULES: &str = "0: from all lookup local
100: from all fwmark 0x1 lookup 7
32766: from all lookup main";

fn with_policy_route(text: &str) -> NodeState {
    let routes = "default via 192.0.2.1 dev veth1 table 7";
    with_host(with_tables(text), routes, RULES, "")
}

/// kernel: a mark that mangle's OUTPUT set chose another route; one that raw's or nat's OUTPUT set
/// did not, unless nat changed the destination as well.
#[test]
fn a_mark_reroutes_only_when_mangle_sets_it() {
    let mark = "-A OUTPUT -j MARK --set-xmark 0x1/0xffffffff";
    let link = |text: &str| {
        let path = only(&with_policy_route(text), &process("10.9.9.9", 80));
        path.packet.output.unwrap().as_str()
    };
    assert_eq!(link(&table("mangle", mark)), "veth1");
    assert_eq!(link(&table("raw", mark)), "eth0");
    assert_eq!(link(&table("nat", mark)), "eth0");
    let dnat = format!("{mark}\n-A OUTPUT -j DNAT --to-destination 10.9.9.7");
    assert_eq!(link(&table("nat", &dnat)), "veth1");
}

const OF_IPTABLES: &str = "table ip nat {
    chain PREROUTING { type nat hook prerouting priority -100; policy accept;
        ip daddr 10.96.0.1 dnat to 10.244.0.5 }
}
table ip filter {
    chain FORWARD { type filter hook forward priority 0; policy accept; counter }
}";

fn with_both(nft: &str, tables: &str) -> NodeState {
    let mut state = with_tables(tables);
    state.nftables = parse_ruleset(nft).value;
    state
}

/// The `nf_tables` variant keeps its tables in nftables, where `nft` shows them a second time.
#[test]
fn a_table_that_both_tools_show_runs_once_and_that_is_said() {
    let once = "-A FORWARD -m mark --mark 0x1 -j DROP
        -A FORWARD -j MARK --set-xmark 0x1/0xffffffff";
    let nft = OF_IPTABLES.replace("counter", "meta mark 1 drop; meta mark set 1");
    let state = with_both(&nft, &table("filter", once));
    assert_eq!(outcome(&state, &outside("10.244.0.5", 80)), PASSED);
    let assumed = Walker::new(&state).assumed();
    assert!(assumed.iter().any(|text| text.contains("table ip filter")), "{assumed:?}");
    assert!(!assumed.iter().any(|text| text.contains("table ip nat")), "{assumed:?}");
}

#[test]
fn a_table_that_only_nft_shows_still_runs() {
    let state = with_both(OF_IPTABLES, &table("filter", ""));
    assert_eq!(outcome(&state, &outside("10.96.0.1", 80)), kept("10.244.0.5:80"));
}

/// Another's table may have the same name: its chains are not where those of iptables are.
#[test]
fn a_table_of_nftables_with_the_same_name_runs_as_well() {
    let nft = "table ip filter { chain fwd { type filter hook forward priority 0; drop } }";
    let state = with_both(nft, &table("filter", ""));
    assert_eq!(outcome(&state, &outside("10.244.0.5", 80)), Outcome::Drop);
}

#[test]
fn of_two_languages_one_translation_counts() {
    let nft = "table ip kube-proxy {
        chain nat-prerouting { type nat hook prerouting priority -100; dnat to 10.244.0.5:1 } }";
    let nft = nft.replace("dnat", "meta l4proto tcp dnat");
    let tables = table("nat", "-A PREROUTING -p tcp -j DNAT --to-destination 10.244.0.5:2");
    // Of equal priorities, the last that was registered runs first.
    let state = with_both(&nft, &tables);
    assert_eq!(outcome(&state, &outside("10.96.0.1", 80)), kept("10.244.0.5:1"));
}
