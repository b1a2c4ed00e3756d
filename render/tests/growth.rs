//! How much a Service adds, in lines as the tools print them. Measured on a 1.37.0 cluster: 300 more
//! Services on the same 3 endpoints took `iptables-save` from 139 to 4639 lines and
//! `nft list table ip kube-proxy` from 149 to 1799, and left the iptables part of ipvs mode alone.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fmt::Write;

use kps_flow::Family;
use kps_model::config::DetectLocal;
use kps_model::read::read_text;
use kps_model::{Config, KubeVersion, Mode, view};
use kps_render::node_state;
use kps_ruleset::{NodeState, iptables, nftables};

const SERVICES: usize = 300;

/// A node with `services` Services that share three endpoints on other nodes.
fn state(services: usize, mode: Mode) -> NodeState {
    let mut text = "kind: Node\napiVersion: v1\nmetadata: {name: a}\n".to_owned();
    for n in 0..services {
        write!(
            text,
            "---\nkind: Service\napiVersion: v1\nmetadata: {{name: s{n}, namespace: d}}\nspec:\n  \
             clusterIP: 10.96.{}.{}\n  ports: [{{port: 80}}]\n---\nkind: EndpointSlice\n\
             apiVersion: discovery.k8s.io/v1\naddressType: IPv4\nmetadata:\n  name: s{n}\n  \
             namespace: d\n  labels: {{kubernetes.io/service-name: s{n}}}\nports: [{{name: '', port: \
             8080}}]\nendpoints: [{{addresses: [10.244.1.1]}}, {{addresses: [10.244.1.2]}}, \
             {{addresses: [10.244.1.3]}}]\n",
            n / 250,
            n % 250 + 1,
        )
        .unwrap();
    }
    let reading = read_text("services", &text);
    assert_eq!(reading.diagnostics, []);
    let pods = vec!["10.244.0.0/16".parse().unwrap()];
    let detect_local = DetectLocal::ClusterCidr(pods);
    let config = Config { mode, detect_local, ..Config::default() };
    let view = view(&reading.cluster, &config, "a", KubeVersion::NEWEST, Family::V4);
    node_state(&[view], mode).0
}

fn growth(mode: Mode, lines: impl Fn(&NodeState) -> usize) -> usize {
    lines(&state(SERVICES + 1, mode)) - lines(&state(1, mode))
}

fn saved(state: &NodeState) -> usize {
    iptables::print_ruleset(&state.iptables.v4, false).lines().count()
}

#[test]
fn three_hundred_services_on_the_same_endpoints_add_what_was_measured() {
    let listed = |state: &NodeState| nftables::print_ruleset(&state.nftables).lines().count();
    assert_eq!(growth(Mode::Nftables, listed), 1799 - 149);
    assert_eq!(growth(Mode::Iptables, saved), 4639 - 139);
    assert_eq!(growth(Mode::Ipvs, saved), 0);
}
