//! Walks past the rules of other programs that share a node with kube-proxy: kubelet, Docker, CNI
//! portmap and Flannel, Calico, firewalld, ufw.
//!
//! Their rules were recorded from the real tools, as `iptables-save` and as `nft list ruleset` print
//! them. What a listing leaves out (sets, `recent`) cannot be decided there; everything else must be.

#![expect(clippy::unwrap_used, reason = "a broken snapshot fails the test")]

mod node;

use std::collections::BTreeSet;

use kps_flow::{ClientClass, Flow, Outcome, Protocol, RejectKind};
use kps_ruleset::NodeState;
use kps_sim::{Options, Walker};
use node::Setting;

const CLUSTER_IP: &str = "172.16.0.1:80";
const ENDPOINT: &str = "10.244.0.2:8080";
const HOST_PROHIBITED: Outcome = Outcome::Reject(RejectKind::Icmp(10));

/// A TCP flow that comes in by an interface.
fn flow(interface: &str, source: &str, to: &str) -> Flow {
    let to: std::net::SocketAddr = to.parse().unwrap();
    Flow {
        client: ClientClass::Outside,
        interface: Some(interface.to_owned()),
        source: Some(source.parse().unwrap()),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: Protocol::Tcp,
        destination: to.ip(),
        port: to.port(),
    }
}

fn outside(to: &str) -> Flow {
    flow("eth0", "198.51.100.7", to)
}

fn pod(to: &str) -> Flow {
    flow("veth2", "10.244.0.2", to)
}

/// What may happen to the first packet, in the words of [`shape`].
fn ends(state: &NodeState, flow: &Flow) -> BTreeSet<String> {
    let options = Options { fresh: true, ..Options::default() };
    let walk = Walker::new(state).walk(flow, &options);
    walk.paths.iter().map(|path| shape(&path.outcome)).collect()
}

/// An outcome without the endpoint that chance chose and the address that masquerade found.
fn shape(outcome: &Outcome) -> String {
    let source = |source: kps_flow::SourceNat| {
        if source.is_rewritten() { "masqueraded" } else { "kept" }
    };
    match outcome {
        Outcome::Deliver(to) => format!("delivered, {}", source(to.source)),
        Outcome::Pass(nat) => format!("passed, {}", source(*nat)),
        other => format!("{other:?}"),
    }
}

/// Holds flows on a node with these programs to what must happen to them.
#[track_caller]
fn hold(programs: &[&str], settings: &[Setting], cases: &[(Flow, &[&str])]) {
    for setting in settings {
        let state = setting.node(programs);
        for (flow, expected) in cases {
            let expected = expected.iter().map(ToString::to_string).collect();
            assert_eq!(ends(&state, flow), expected, "{programs:?} {setting:?} {flow:?}");
        }
    }
}

const BESIDE: [Setting; 2] = [Setting::BesideSave, Setting::BesideList];
const SAVED: [Setting; 2] = [Setting::SameTables, Setting::BesideSave];
const SAME: [Setting; 1] = [Setting::SameTables];

/// A pod's packet to a Service keeps its source unless it comes back to the pod.
const EITHER: &[&str] = &["delivered, kept", "delivered, masqueraded"];
const MASQUERADED: &[&str] = &["delivered, masqueraded"];

#[test]
fn kubelet_changes_no_service() {
    let cases = [
        (outside(CLUSTER_IP), MASQUERADED),
        (pod(CLUSTER_IP), EITHER),
        (outside(ENDPOINT), &["passed, kept"]),
        (outside("192.0.2.10:22"), &["Local"]),
    ];
    hold(&["kubelet"], &Setting::ALL, &cases);
    // The destination is the node's loopback, sent to it from its network.
    hold(&["kubelet"], &Setting::ALL, &[(outside("127.0.0.1:80"), &["Drop"])]);
}

/// In the same table, kube-proxy accepts what it has marked before the policy drops the rest; from
/// its own table of nftables it cannot.
#[test]
fn a_forward_policy_of_drop_stops_services() {
    for program in ["docker", "ufw"] {
        let dropped: &[&str] = &["Drop"];
        hold(&[program], &Setting::ALL, &[(outside(ENDPOINT), dropped)]);
        hold(
            &[program],
            &BESIDE,
            &[(outside(CLUSTER_IP), dropped), (pod("172.16.0.1:80"), dropped)],
        );
        hold(&[program], &SAME, &[(outside(CLUSTER_IP), MASQUERADED)]);
        // Only the hairpin is marked.
        hold(&[program], &SAME, &[(pod(CLUSTER_IP), &["Drop", "delivered, masqueraded"])]);
    }
}

#[test]
fn docker_publishes_a_port() {
    let container = flow("docker0", "172.17.0.2", "203.0.113.9:443");
    let cases: [(Flow, &[&str]); 3] = [
        (outside("192.0.2.10:8080"), &["delivered, kept"]),
        (outside("172.17.0.2:81"), &["Drop"]),
        (container, &["passed, masqueraded"]),
    ];
    hold(&["docker"], &Setting::ALL, &cases);
}

/// The zone masquerades whatever leaves the node.
#[test]
fn firewalld_refuses_what_was_not_translated() {
    let refused = format!("{HOST_PROHIBITED:?}");
    let refused: &[&str] = &[&refused];
    let cases = [
        (outside(ENDPOINT), refused),
        (outside(CLUSTER_IP), MASQUERADED),
        (pod(CLUSTER_IP), MASQUERADED),
        (outside("192.0.2.10:8088"), MASQUERADED),
        (outside("192.0.2.10:22"), &["Local"]),
    ];
    hold(&["firewalld"], &Setting::ALL, &cases);
    hold(&["firewalld"], &SAVED, &[(outside("192.0.2.10:9999"), refused)]);
    let banned = flow("eth0", "198.51.100.66", "192.0.2.10:22");
    let reset = format!("{:?}", Outcome::Reject(RejectKind::TcpReset));
    hold(&["firewalld"], &SAVED, &[(banned, &[&reset])]);
}

#[test]
fn ufw_lets_in_what_it_was_told() {
    let cases: [(Flow, &[&str]); 2] =
        [(outside("192.0.2.10:443"), &["Local"]), (outside("192.0.2.10:139"), &["Drop"])];
    hold(&["ufw"], &Setting::ALL, &cases);
    hold(&["ufw"], &SAVED, &[(outside("192.0.2.10:22"), &["Local"])]);
}

#[test]
fn portmap_translates_and_flannel_masquerades() {
    let cases: [(Flow, &[&str]); 5] = [
        (outside("192.0.2.10:8081"), &["delivered, kept"]),
        (pod("192.0.2.10:8081"), MASQUERADED),
        (pod("203.0.113.9:443"), &["passed, masqueraded"]),
        (outside(ENDPOINT), &["passed, kept"]),
        (outside(CLUSTER_IP), MASQUERADED),
    ];
    hold(&["portmap"], &Setting::ALL, &cases);
}

#[test]
fn calico_drops_from_workloads_that_it_does_not_know() {
    let workload = |to| flow("cali0123456789a", "10.244.0.9", to);
    let cases: [(Flow, &[&str]); 2] = [
        (flow("cali9", "10.244.0.10", CLUSTER_IP), &["Drop"]),
        (flow("cali0123456789a", "10.244.0.2", CLUSTER_IP), &["Drop"]),
    ];
    hold(&["calico"], &Setting::ALL, &cases);
    let pools: [(Flow, &[&str]); 3] = [
        (outside("10.244.0.9:80"), &["passed, kept"]),
        (workload("203.0.113.9:443"), &["passed, masqueraded"]),
        (workload(CLUSTER_IP), &["delivered, kept"]),
    ];
    hold(&["calico"], &SAVED, &pools);
}

/// Calico accepts by mark what its policy allows, before ufw's policy drops the rest.
#[test]
fn calico_accepts_by_mark() {
    let cases: [(Flow, &[&str]); 2] =
        [(outside("10.244.0.9:6379"), &["passed, kept"]), (outside("10.244.0.9:80"), &["Drop"])];
    hold(&["calico", "ufw"], &SAVED, &cases);
}
