//! The rules of the iptables mode.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod worlds;

use kps_model::NodeView;
use kps_render::iptables::plan;
use kps_ruleset::iptables::{Family, print_restore, print_ruleset};

fn restore(view: &NodeView) -> String {
    print_restore(&plan(view).into_restore(), Family::Ipv4)
}

fn saved(view: &NodeView) -> String {
    print_ruleset(&plan(view).into_ruleset(), false)
}

#[test]
fn the_six_services_as_they_are_restored() {
    insta::assert_snapshot!(restore(&worlds::six_services()));
}

#[test]
fn the_six_services_as_they_are_saved() {
    insta::assert_snapshot!(saved(&worlds::six_services()));
}
