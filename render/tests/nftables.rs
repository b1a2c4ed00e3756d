//! The rules of the nftables mode.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod worlds;

use kps_model::{KubeVersion, NodeView};
use kps_render::nftables::plan;
use kps_ruleset::nftables::{print_ruleset, print_script};

/// The six Services on a node whose own address serves node ports, as is the default in this mode.
fn six_services(version: KubeVersion) -> NodeView {
    NodeView { version, node_ports: worlds::primary("192.168.0.2"), ..worlds::six_services() }
}

fn script(view: &NodeView) -> String {
    print_script(&plan(view).into_commands())
}

fn listed(view: &NodeView) -> String {
    print_ruleset(&plan(view).into_ruleset().unwrap())
}

#[test]
fn the_six_services_as_they_are_sent() {
    insta::assert_snapshot!(script(&six_services(KubeVersion::V1_37)));
}

#[test]
fn the_six_services_as_they_are_sent_by_1_36() {
    insta::assert_snapshot!(script(&six_services(KubeVersion::V1_36)));
}

#[test]
fn the_six_services_as_they_are_sent_by_1_35() {
    insta::assert_snapshot!(script(&six_services(KubeVersion::V1_35)));
}

#[test]
fn the_six_services_as_they_are_listed() {
    insta::assert_snapshot!(listed(&six_services(KubeVersion::V1_37)));
}
