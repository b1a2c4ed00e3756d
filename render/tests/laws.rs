//! What holds for the rules of any Services.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod worlds;

use std::collections::BTreeMap;

use kps_model::{KubeVersion, NodeView, PortView};
use kps_render::{Operation, iptables, ipvs, nftables};
use kps_ruleset::iptables::{
    Command, Family, Flush, Ruleset, Transaction, apply, compare, print_rule,
};
use kps_ruleset::nftables as language;
use kps_ruleset::{NodeState, ipset};
use proptest::prelude::*;

/// Any `ServicePort`, with a number of its own in its name and addresses.
fn any_port(number: u8) -> impl Strategy<Value = PortView> {
    let switches = proptest::collection::vec(any::<bool>(), 8);
    let endpoints = proptest::collection::vec(any::<bool>(), 0..4);
    (switches, endpoints).prop_map(move |(on, locals)| {
        let port = worlds::service(number).with(|port| {
            port.internal_local = on[0];
            port.external_local = on[1];
            port.node_port = on[2].then_some(3000 + u16::from(number));
            port.affinity = on[3].then_some(60);
            if on[4] {
                port.load_balancer_vips = vec![[1, 2, 3, number].into()];
            }
            if on[5] {
                port.source_ranges = vec!["192.168.0.0/25".parse().unwrap()];
            }
            if on[6] {
                port.external_ips = vec![[192, 168, 99, number].into()];
                port.has_external_ips = true;
            }
            port.health_check_node_port = on[7].then_some(30000 + u16::from(number));
        });
        let add = |port: worlds::World, (i, local): (usize, &bool)| {
            port.endpoint(&format!("10.180.{number}.{i}:80"), *local)
        };
        locals.iter().enumerate().fold(port, add).0
    })
}

prop_compose! {
    fn any_view()(ports in (any_port(1), any_port(2), any_port(3)), masquerade_all: bool, nfacct: bool)
        -> NodeView {
        NodeView {
            masquerade_all,
            nfacct,
            ports: vec![ports.0, ports.1, ports.2],
            ..worlds::node_without_services()
        }
    }
}

prop_compose! {
    /// Views as the nftables mode knows them: of any release, with any way to serve node ports.
    fn any_nftables_view()(
        view in any_view(),
        version in prop::sample::select(&KubeVersion::ALL[..]),
        primary: bool,
        loopback: bool,
        localhost_node_port_gate: bool,
        detects: bool,
    ) -> NodeView {
        let mut view = NodeView { version, localhost_node_port_gate, ..view };
        if primary {
            view.node_ports = worlds::primary("192.168.0.2");
        }
        view.node_ports.contains_explicit_loopback = loopback;
        view.detector = view.detector.filter(|_| detects);
        view
    }
}

/// Returns the rules of each chain as texts, with how often each is there.
fn rules(ruleset: &Ruleset) -> BTreeMap<(String, String, String), usize> {
    let mut counts = BTreeMap::new();
    for (table, chains) in &ruleset.tables {
        for (chain, content) in &chains.chains {
            for rule in &content.rules {
                let text = print_rule(rule, Family::Ipv4);
                *counts.entry((table.to_string(), chain.to_string(), text)).or_default() += 1;
            }
        }
    }
    counts
}

fn without(view: &NodeView, index: usize) -> NodeView {
    let mut view = view.clone();
    view.ports.remove(index);
    view
}

/// Performs steps on a node that has nothing.
fn perform(operations: Vec<Operation>) -> NodeState {
    let mut state = NodeState::default();
    for operation in operations {
        match operation {
            Operation::Sysctl { name, value } => {
                state.host.sysctls.insert(name.into(), value.into());
            }
            Operation::Chain { table, chain, .. } => {
                commit(&mut state, table, Command::New(chain));
            }
            Operation::Insert { table, chain, rule, .. } => {
                commit(&mut state, table, Command::Insert { chain, number: 1, rule });
            }
            Operation::Restore { transactions, .. } => {
                apply(&mut state.iptables.v4, &transactions, Flush::No).unwrap();
            }
            Operation::Ipset(command) => ipset::apply(&mut state.ipset, &command).unwrap(),
            Operation::Ipvs(command) => {
                kps_ruleset::ipvs::apply(&mut state.ipvs, &command).unwrap();
            }
            Operation::Counter(_) | Operation::Device(_) | Operation::Bind { .. } => {}
        }
    }
    state
}

fn commit(state: &mut NodeState, table: &str, command: Command) {
    let transaction = Transaction { table: table.into(), commands: vec![command] };
    apply(&mut state.iptables.v4, &[transaction], Flush::No).unwrap();
}

fn ipvs_state(view: &NodeView) -> NodeState {
    let mut state = NodeState::default();
    ipvs::plan(view).install(&mut state);
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_service_port_of_iptables_changes_no_rule_of_others(view in any_view(), index in 0_usize..3) {
        let mut with = rules(&iptables::plan(&view).into_ruleset());
        for (rule, count) in rules(&iptables::plan(&without(&view, index)).into_ruleset()) {
            let left = with.get_mut(&rule).map(|with| *with -= count);
            prop_assert!(left.is_some(), "{rule:?} is only there without");
        }
        with.retain(|_, count| *count > 0);
        let own = view.ports[index].port.key.to_string();
        for (_, _, rule) in with.keys() {
            prop_assert!(rule.contains(&own) || rule.starts_with("-j KUBE-SV"), "{rule}");
        }
    }

    #[test]
    fn a_service_port_of_ipvs_changes_no_server_or_element_of_others(
        view in any_view(),
        index in 0_usize..3,
    ) {
        let (with, without) = (ipvs_state(&view), ipvs_state(&without(&view, index)));
        for (service, server) in &without.ipvs.services {
            prop_assert_eq!(with.ipvs.services.get(service), Some(server));
        }
        for (name, set) in &without.ipset.sets {
            for element in set.entries.keys() {
                prop_assert!(with.ipset.sets[name].entries.contains_key(element));
            }
        }
    }

    #[test]
    fn the_steps_of_iptables_lead_to_the_state(view in any_view()) {
        let stepped = perform(iptables::plan(&view).into_operations());
        let mut state = NodeState::default();
        iptables::plan(&view).install(&mut state);
        prop_assert_eq!(compare(&state.iptables.v4, &stepped.iptables.v4, &[]), []);
        prop_assert_eq!(stepped.host, state.host);
    }

    #[test]
    fn the_steps_of_ipvs_lead_to_the_state(view in any_view(), contested: bool) {
        let mut view = view;
        if contested {
            view.ports[1].port.external_ips = view.ports[0].port.external_ips.clone();
            view.ports[1].port.load_balancer_vips = view.ports[0].port.load_balancer_vips.clone();
        }
        let stepped = perform(ipvs::plan(&view).into_operations());
        let state = ipvs_state(&view);
        prop_assert_eq!(compare(&state.iptables.v4, &stepped.iptables.v4, &[]), []);
        prop_assert_eq!(ipset::compare(&state.ipset, &stepped.ipset), []);
        prop_assert_eq!(kps_ruleset::ipvs::compare(&state.ipvs, &stepped.ipvs), []);
        prop_assert_eq!(stepped.host.sysctls, state.host.sysctls);
    }

    #[test]
    fn a_service_port_of_nftables_changes_no_fragment_of_others(
        view in any_nftables_view(),
        index in 0_usize..3,
    ) {
        let mut with = nftables::plan(&view);
        with.fragments.remove(index);
        prop_assert_eq!(with, nftables::plan(&without(&view, index)));
    }

    #[test]
    fn the_script_of_nftables_says_what_the_commands_do(view in any_nftables_view()) {
        let expected = nftables::plan(&view).into_ruleset().unwrap();
        let script = language::print_script(&nftables::plan(&view).into_commands());
        let read = language::parse_script(&script);
        prop_assert_eq!(&read.errors, &[]);
        let mut applied = language::Ruleset::default();
        applied.apply(&read.value).unwrap();
        prop_assert_eq!(language::compare(&expected, &applied), []);
    }

    #[test]
    fn a_restart_of_nftables_changes_nothing(view in any_nftables_view()) {
        let commands = nftables::plan(&view).into_commands();
        let mut ruleset = nftables::plan(&view).into_ruleset().unwrap();
        ruleset.apply(&commands).unwrap();
        prop_assert_eq!(language::compare(&nftables::plan(&view).into_ruleset().unwrap(), &ruleset), []);
    }

    #[test]
    fn the_last_claimant_of_an_nftables_element_has_it(view in any_nftables_view()) {
        let mut view = view;
        for port in &mut view.ports {
            port.port.node_port = Some(3000);
            port.port.load_balancer_vips = vec![[1, 2, 3, 4].into()];
        }
        let plan = nftables::plan(&view);
        let ruleset = plan.clone().into_ruleset().unwrap();
        let claims = plan.fragments.iter().flat_map(|fragment| &fragment.claims);
        let mut last = BTreeMap::new();
        for claim in claims {
            if let nftables::Claim::Element(container, element) = claim {
                last.insert((container.name(), element.key.clone()), element.data.clone());
            }
        }
        for ((set, key), data) in last {
            prop_assert_eq!(&ruleset.tables[0].sets[&set].elements[&key].data, &data);
        }
    }
}
