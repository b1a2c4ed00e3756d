//! Rules of others that change an outcome are told with the Service that suffers.

use kps_compare::drift::{Kind, Packets};
use kps_flow::{Family, Flow};
use kps_model::intent::Owner;
use kps_model::{Cluster, Config, Intent, KubeVersion, Mode, view};
use kps_ruleset::iptables::{self, Table};
use kps_ruleset::{Name, NodeState};
use kps_sim::Walker;
use proptest::prelude::*;
use proptest::sample::select;

use crate::damage::is_same;
use crate::{MODES, dumped, rendered, runner, world};

/// A rule of somebody else, in words.
fn rule() -> impl Strategy<Value = (&'static str, &'static str, String)> {
    let places = select(vec![
        ("filter", "FORWARD", "DROP"),
        ("filter", "FORWARD", "REJECT"),
        ("filter", "INPUT", "DROP"),
        ("filter", "OUTPUT", "DROP"),
        ("nat", "PREROUTING", "DNAT --to-destination 10.244.1.200:8080"),
        ("nat", "OUTPUT", "DNAT --to-destination 10.244.1.200:8080"),
        ("nat", "POSTROUTING", "MASQUERADE"),
        ("nat", "POSTROUTING", "SNAT --to-source 192.0.2.10"),
        ("mangle", "PREROUTING", "MARK --set-xmark 0x4000/0x4000"),
        ("raw", "PREROUTING", "DROP"),
    ]);
    let sources = select(vec!["", "-s 198.51.100.0/24 ", "-s 10.244.0.0/24 ", "-s 10.244.1.0/24 "]);
    let destinations = select(vec![
        "",
        "-d 10.96.0.1/32 ",
        "-d 10.96.0.0/16 ",
        "-d 203.0.113.0/24 ",
        "-d 10.244.1.0/24 ",
        "-d 192.0.2.10/32 ",
    ]);
    let ports =
        select(vec!["", "-m tcp --dport 80 ", "-m tcp --dport 30080 ", "-m tcp --dport 8080 "]);
    (places, sources, destinations, ports).prop_map(|((table, chain, target), from, to, port)| {
        (table, chain, format!("{from}{to}-p tcp {port}-j {target}"))
    })
}

fn with_rule(mut state: NodeState, table: &str, chain: &str, text: &str) -> NodeState {
    let rules = &mut state.iptables.v4;
    let table = rules.tables.entry(Name::new(table)).or_insert_with(|| Table::builtin(table));
    let chain = table.chains.get_mut(&Name::new(chain)).unwrap();
    chain.rules.insert(0, iptables::parse_rule(text, iptables::Family::Ipv4));
    state
}

fn is_told(
    (cluster, config): (&Cluster, &Config),
    flows: &[Flow],
    (table, chain, text): (&str, &str, &str),
) -> Result<(), TestCaseError> {
    let version = KubeVersion::NEWEST;
    let before = dumped(&rendered(cluster, "a", config, version));
    let after = with_rule(before.clone(), table, chain, text);
    let found = crate::of(cluster, "a", std::slice::from_ref(config), &[version], &after);
    let is_foreign = found.findings.iter().all(|finding| finding.kind == Kind::Foreign);
    prop_assert!(is_foreign, "{text}: {:#?}", found.findings);
    let view = view(cluster, config, "a", version, Family::V4);
    let (before, after) = (Walker::new(&before), Walker::new(&after));
    for flow in flows.iter().filter(|flow| !is_same(&before, &after, flow)) {
        if let Owner::Port(port, _) = Intent::new(&view).owner(flow) {
            let name = port.port.key.to_string();
            prop_assert!(found.affected().contains(&name.as_str()), "{text}: {flow}, {name}");
        }
    }
    let effects = found.findings.iter().flat_map(|finding| &finding.effects);
    for effect in effects {
        prop_assert!(!is_same(&before, &after, &effect.flow), "{text}: {effect:?}");
    }
    Ok(())
}

#[test]
fn rules_of_others_that_change_an_outcome_are_told() {
    for mode in MODES {
        let worlds = (world::clusters_and_flows(24), world::configs(mode), rule());
        let outcome = runner(64).run(&worlds, |((cluster, flows), config, rule)| {
            let (table, chain, text) = rule;
            is_told((&cluster, &config), &flows, (table, chain, &text))
        });
        if let Err(failure) = outcome {
            panic!("{mode}: {failure}");
        }
    }
}

/// A rule that looks at a source port, at which no sampled packet comes from.
#[test]
fn what_samples_miss_is_found_among_all_packets() {
    let cluster = crate::small::two_services();
    for (mode, chain) in [(Mode::Nftables, "FORWARD"), (Mode::Iptables, "FORWARD")] {
        let config = crate::small::in_mode(mode);
        let before = dumped(&rendered(&cluster, "a", &config, KubeVersion::NEWEST));
        let text = "-d 10.244.1.4/32 -p tcp -m tcp --sport 1234 -j DROP";
        let after = with_rule(before, "filter", chain, text);
        let asked = |packets| {
            let (configs, versions) = (std::slice::from_ref(&config), [KubeVersion::NEWEST]);
            crate::asking(packets, &cluster, "a", configs, &versions, &after)
        };
        assert_eq!(asked(Packets::Sampled).findings, [], "{mode}");
        let found = asked(Packets::All);
        assert_eq!(found.affected(), ["shop/api:p"], "{mode}: {:#?}", found.findings);
        assert!(found.findings.iter().all(|finding| finding.kind == Kind::Foreign));
        let effects = found.findings.iter().flat_map(|finding| &finding.effects);
        assert!(effects.into_iter().all(|effect| effect.flow.source_port == 1234));
    }
}

/// Packets that the walk marks for nobody: only a mode with rules of its own can be disturbed.
#[test]
fn rules_of_others_that_concern_no_service_are_not_told() {
    let cluster = Cluster { services: Vec::new(), ..crate::small::two_services() };
    let config = crate::small::in_mode(Mode::Nftables);
    let before = dumped(&rendered(&cluster, "a", &config, KubeVersion::NEWEST));
    let after = with_rule(before, "filter", "FORWARD", "-j DROP");
    let found = crate::drift(&cluster, "a", &[config], &after);
    assert_eq!(found.findings, []);
}
