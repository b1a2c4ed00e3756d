//! A node to walk on: eth0 with `192.0.2.10` and `2001:db8:1::a`, a default route over it, and pods
//! `10.244.0.5` and `fd00:10:244::5` behind veth1.

use std::collections::BTreeMap;

use kps_flow::{ClientClass, Delivery, Flow, Outcome, Protocol, SourceNat};
use kps_ruleset::host::parse::{parse_addresses, parse_routes, parse_rules, parse_sysctls};
use kps_ruleset::{NodeState, nftables};
use kps_sim::{Options, Path, Walk, Walker};
use num_rational::BigRational;

const ADDRESSES: &str = "\
1: lo    inet 127.0.0.1/8 scope host lo
1: lo    inet6 ::1/128 scope host
2: eth0    inet 192.0.2.10/24 scope global eth0
2: eth0    inet6 2001:db8:1::a/64 scope global
";

const ROUTES: &str = "\
default via 192.0.2.1 dev eth0
10.244.0.5 dev veth1 scope link
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.10
default via 2001:db8:1::1 dev eth0 metric 1024 pref medium
fd00:10:244::5 dev veth1 metric 1024 pref medium
2001:db8:1::/64 dev eth0 proto kernel metric 256 pref medium
";

/// A node with these rules, which must be read without complaint.
pub fn node(rules: &str) -> NodeState {
    let parsed = nftables::parse_ruleset(rules);
    assert_eq!(parsed.errors, [], "{rules}");
    let mut state = NodeState { nftables: parsed.value, ..NodeState::default() };
    state.host.addresses = parse_addresses(ADDRESSES).value;
    state.host.routes = parse_routes(ROUTES).value;
    state
}

/// Adds routes, IPv4 policy rules and sysctls to a node.
pub fn with_host(mut state: NodeState, routes: &str, rules: &str, sysctls: &str) -> NodeState {
    state.host.routes.extend(parse_routes(routes).value);
    state.host.rules.extend(parse_rules(rules, false).value);
    state.host.sysctls.extend(parse_sysctls(sysctls).value);
    state
}

/// A chain of an `inet` table with these rules.
pub fn chain(base: &str, rules: &str) -> String {
    format!("table inet t {{ chain c {{ type {base}; policy accept;\n{rules}\n}} }}\n")
}

/// A TCP flow from an outside client, by eth0.
pub fn outside(destination: &str, port: u16) -> Flow {
    let source = if destination.contains(':') { "2001:db8:9::9" } else { "198.51.100.7" };
    flow(ClientClass::Outside, Some("eth0"), Some(source), destination, port)
}

/// A TCP flow from the pod.
pub fn pod(destination: &str, port: u16) -> Flow {
    let source = if destination.contains(':') { "fd00:10:244::5" } else { "10.244.0.5" };
    flow(ClientClass::Pod, Some("veth1"), Some(source), destination, port)
}

/// A TCP flow from a node process.
pub fn process(destination: &str, port: u16) -> Flow {
    flow(ClientClass::Node, None, None, destination, port)
}

/// The same flow by another protocol.
pub fn by(protocol: Protocol, flow: Flow) -> Flow {
    Flow { protocol, ..flow }
}

fn flow(
    client: ClientClass,
    interface: Option<&str>,
    source: Option<&str>,
    destination: &str,
    port: u16,
) -> Flow {
    Flow {
        client,
        interface: interface.map(str::to_owned),
        source: source.map(|source| source.parse().unwrap()),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: Protocol::Tcp,
        destination: destination.parse().unwrap(),
        port,
    }
}

/// Walks a flow's first packet and keeps the steps.
pub fn walk(state: &NodeState, flow: &Flow) -> Walk {
    Walker::new(state).walk(flow, &Options { trace: true, ..Options::default() })
}

/// The only path of a walk that cannot branch.
pub fn only(state: &NodeState, flow: &Flow) -> Path {
    let mut paths = walk(state, flow).paths;
    assert_eq!(paths.len(), 1, "{paths:#?}");
    paths.remove(0)
}

/// The only outcome of a flow.
pub fn outcome(state: &NodeState, flow: &Flow) -> Outcome {
    only(state, flow).outcome
}

/// The outcome under these rules.
pub fn under(rules: &str, flow: &Flow) -> Outcome {
    outcome(&node(rules), flow)
}

/// Each outcome with its share, as a fraction in text.
pub fn shares(state: &NodeState, flow: &Flow) -> BTreeMap<Outcome, BigRational> {
    let distribution = walk(state, flow).distribution();
    distribution.merged().into_iter().map(|(outcome, share)| (outcome.clone(), share)).collect()
}

/// A fraction.
pub fn share(numerator: i64, denominator: i64) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}

/// Delivered, source as sent.
pub fn kept(endpoint: &str) -> Outcome {
    delivered(endpoint, SourceNat::Kept)
}

/// Delivered with this source.
pub fn masqueraded(endpoint: &str, source: &str) -> Outcome {
    delivered(endpoint, SourceNat::Rewritten(Some(source.parse().unwrap())))
}

fn delivered(endpoint: &str, source: SourceNat) -> Outcome {
    Outcome::Deliver(Delivery { endpoint: endpoint.parse().unwrap(), source })
}

/// Passed on, source as sent.
pub const PASSED: Outcome = Outcome::Pass(SourceNat::Kept);
