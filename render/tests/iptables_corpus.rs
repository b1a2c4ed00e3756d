//! The rendered tables against those that the real kube-proxy installed.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod corpus;

use std::path::Path;

use kps_flow::Family;
use kps_model::{Mode, NodeView};
use kps_render::iptables::plan;
use kps_ruleset::iptables::compare::compare;
use kps_ruleset::iptables::{self, parse_ruleset};

#[test]
fn every_cluster_and_release_is_rendered_as_installed() {
    let cases = corpus::cases(Mode::Iptables, 53);
    for case in &cases {
        for view in &case.views {
            let differences = differences(&case.dumps, view);
            assert!(differences.is_empty(), "{}: {differences:#?}", case.dumps.display());
        }
    }
    println!("{} dumps equal", cases.len());
}

fn differences(dumps: &Path, view: &NodeView) -> Vec<String> {
    let (file, family) = match view.family {
        Family::V4 => ("iptables-save.txt", iptables::Family::Ipv4),
        Family::V6 => ("ip6tables-save.txt", iptables::Family::Ipv6),
    };
    let real = parse_ruleset(&std::fs::read_to_string(dumps.join(file)).unwrap(), family);
    assert!(real.errors.is_empty(), "{:?}", real.errors);
    let plan = plan(view);
    let free = plan.free_order();
    let differences = compare(&real.value, &plan.into_ruleset(), &free);
    differences.iter().map(ToString::to_string).collect()
}
