//! A node where kube-proxy is not alone: its rules as recorded, those of another program beside them.

use std::fs;
use std::path::{Path, PathBuf};

use kps_ruleset::host::parse::parse_routes;
use kps_ruleset::ipset::parse_sets;
use kps_ruleset::iptables::{Family, Flush, apply, parse_restore};
use kps_ruleset::nftables::parse_ruleset;
use kps_ruleset::{NodeState, nftables};

/// Pods of a bridge, of Calico and of Docker, and the other nodes' pods behind a router.
const ROUTES: &str = "\
default via 192.0.2.1 dev eth0
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.10
10.244.0.2 dev veth2 scope link
10.244.0.7 dev veth7 scope link
10.244.0.9 dev cali0123456789a scope link
10.244.0.10 dev cali9 scope link
172.17.0.0/16 dev docker0 scope link
";

/// The sets that the rules ask.
const SETS: &str = "\
create trusted hash:net family inet
create cali40masq-ipam-pools hash:net family inet
create cali40all-ipam-pools hash:net family inet
add cali40masq-ipam-pools 10.244.0.0/14
add cali40all-ipam-pools 10.244.0.0/14
create cali40all-hosts-net hash:net family inet
create cali40s:abcdefghijklmnopqrstu hash:net family inet
add cali40s:abcdefghijklmnopqrstu 198.51.100.0/24
";

/// How the rules of both come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// kube-proxy's iptables mode, the others' rules in the same tables.
    SameTables,
    /// kube-proxy's nftables mode, the others' rules as `iptables-save` prints them.
    BesideSave,
    /// kube-proxy's nftables mode, the others' rules as `nft list ruleset` prints them, with its
    /// warnings.
    BesideList,
}

impl Setting {
    /// Every setting.
    pub const ALL: [Setting; 3] = [Setting::SameTables, Setting::BesideSave, Setting::BesideList];

    /// Returns a node with kube-proxy's rules, then those of `programs` in this order.
    pub fn node(self, programs: &[&str]) -> NodeState {
        let mode = if self == Setting::SameTables { "iptables" } else { "nftables" };
        let mut state = with_kube_proxy(mode);
        for program in programs {
            match self {
                Setting::BesideList => add_listed(&mut state, program),
                _ => add_saved(&mut state, program),
            }
        }
        state
    }
}

fn with_kube_proxy(mode: &str) -> NodeState {
    let dump =
        NodeState::read_dump(&snapshots().join("corpus/uniform-1x3/1.37.2").join(mode)).unwrap();
    assert!(dump.errors.is_empty(), "{:?}", dump.errors);
    let mut state = dump.state;
    state.host.routes = parse_routes(ROUTES).value;
    state.ipset = parse_sets(SETS).value;
    state
}

/// Loads rules behind those that are there, as `iptables-restore --noflush` does.
fn add_saved(state: &mut NodeState, program: &str) {
    let text = read(&format!("iptables/nodes/{program}.nft.save"));
    let parsed = parse_restore(&text, Family::Ipv4);
    assert_eq!(parsed.errors, [], "{program}");
    apply(&mut state.iptables.v4, &parsed.value, Flush::No).unwrap();
}

/// Puts the tables of a pasted listing behind those that are there.
fn add_listed(state: &mut NodeState, program: &str) {
    let own = nftables::print_ruleset(&state.nftables);
    let text = own + &read(&format!("iptables-nft/{program}.pasted.txt"));
    let parsed = parse_ruleset(&text);
    assert_eq!(parsed.errors, [], "{program}");
    state.nftables = parsed.value;
}

fn read(file: &str) -> String {
    fs::read_to_string(snapshots().join(file)).unwrap()
}

fn snapshots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots")
}
