//! Data flows one way: no crate may depend on another but along the arrows.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Each crate with those of ours that it may use.
const ARROWS: [(&str, &[&str]); 10] = [
    ("kps-flow", &[]),
    ("kps-ruleset", &[]),
    ("kps-stub-api", &[]),
    ("kps-model", &["kps-flow"]),
    ("kps-render", &["kps-flow", "kps-model", "kps-ruleset"]),
    ("kps-sim", &["kps-flow", "kps-ruleset"]),
    ("kps-kernel", &["kps-flow", "kps-ruleset"]),
    ("kps-compare", &["kps-flow", "kps-model", "kps-ruleset", "kps-render", "kps-sim"]),
    (
        "kps-cli",
        &[
            "kps-flow",
            "kps-model",
            "kps-ruleset",
            "kps-render",
            "kps-sim",
            "kps-kernel",
            "kps-compare",
        ],
    ),
    (
        "kps-benches",
        &["kps-flow", "kps-model", "kps-ruleset", "kps-render", "kps-sim", "kps-compare"],
    ),
];

#[test]
fn crates_depend_on_each_other_along_the_arrows_only() {
    let metadata = MetadataCommand::new().no_deps().exec().unwrap();
    for package in &metadata.packages {
        let allowed = ARROWS.iter().find(|(name, _)| package.name.as_str() == *name);
        let Some((_, allowed)) = allowed else { panic!("{} has no arrows", package.name) };
        for dependency in &package.dependencies {
            let counts = dependency.kind != DependencyKind::Development;
            if counts && dependency.name.starts_with("kps-") {
                let name = dependency.name.as_str();
                assert!(allowed.contains(&name), "{} may not use {name}", package.name);
            }
        }
    }
}
