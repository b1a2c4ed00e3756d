//! The real tools take what is rendered. Skipped where they, or the right to make a namespace, are
//! missing; never in CI.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod worlds;

use std::io::Write;
use std::process::{Command, Stdio};

use kps_model::{Detector, KubeVersion, NodeView};
use kps_render::Operation::{Chain, Insert, Ipset, Restore};
use kps_render::iptables::ruleset_family;
use kps_render::{iptables, ipvs, nftables, print_operations};
use kps_ruleset::iptables::{Family, Match, Rule, compare, parse_ruleset, print_restore};
use kps_ruleset::nftables as language;
use kps_ruleset::{NodeState, ipset};

/// Runs a shell script in a network namespace of its own; `None` if that cannot be done here.
fn in_namespace(script: &str) -> Option<(bool, String)> {
    let mut child = Command::new("unshare")
        .args(["-n", "sh", "-e"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(script.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), text))
}

/// Tells whether a probe works. If not, says so, and in CI fails.
fn usable(probe: &str) -> bool {
    let works = in_namespace(probe).is_some_and(|(done, _)| done);
    if !works {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "`{probe}` does not work");
        eprintln!("skipped: `{probe}` does not work here");
    }
    works
}

fn tool(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "iptables",
        Family::Ipv6 => "ip6tables",
    }
}

/// The namespace has no nfacct objects.
fn views() -> [NodeView; 2] {
    [worlds::six_services(), worlds::ipv6_service()].map(|view| NodeView { nfacct: false, ..view })
}

#[test]
fn iptables_has_afterwards_what_is_rendered() {
    for view in views() {
        let family = ruleset_family(view.family);
        let tool = tool(family);
        if !usable(&format!("{tool}-nft -A INPUT -m recent --name a --rcheck -j DROP")) {
            continue;
        }
        let plan = iptables::plan(&view);
        let expected = plan.clone().into_ruleset();
        let steps = print_operations(&plan.into_operations());
        let (done, saved) = in_namespace(&format!("{steps}{tool}-save 2>/dev/null")).unwrap();
        assert!(done, "{saved}");
        assert_eq!(compare(&expected, &parse_ruleset(&saved, family).value, &[]), []);
    }
}

/// Kernels without IPVS and dummy devices take all but the virtual servers, the matches on them and
/// the addresses.
#[test]
fn ipset_and_iptables_have_afterwards_what_ipvs_mode_renders() {
    let needs_ipvs = |rule: &Rule| rule.matches.iter().any(|m| matches!(m, Match::Ipvs(_)));
    for view in views() {
        let family = ruleset_family(view.family);
        let tool = tool(family);
        if !usable(&format!(
            "ipset create a hash:ip; {tool} -A INPUT -m physdev ! --physdev-is-in -j DROP"
        )) {
            continue;
        }
        let mut plan = ipvs::plan(&view);
        for run in &mut plan.rules.filter.runs {
            run.rules.retain(|rule| !needs_ipvs(rule));
        }
        let mut expected = NodeState::default();
        plan.clone().install(&mut expected);
        let mut steps = plan.into_operations();
        steps.retain(|step| {
            matches!(step, Chain { .. } | Insert { .. } | Restore { .. } | Ipset(_))
        });
        let steps = print_operations(&steps);
        let (done, saved) = in_namespace(&format!("{steps}{tool}-save 2>/dev/null")).unwrap();
        assert!(done, "{saved}");
        let ruleset = expected.iptables.family(family);
        assert_eq!(compare(ruleset, &parse_ruleset(&saved, family).value, &[]), []);
        let (_, saved) = in_namespace(&format!("{steps}ipset save")).unwrap();
        assert_eq!(ipset::compare(&expected.ipset, &ipset::parse_sets(&saved).value), []);
    }
}

/// A second time is what a restarted kube-proxy does.
#[test]
fn nft_lists_afterwards_what_is_rendered_also_the_second_time() {
    if !usable("nft list ruleset") {
        return;
    }
    for (view, version) in views().iter().flat_map(|view| KubeVersion::ALL.map(|v| (view, v))) {
        for localhost_node_port_gate in [false, true] {
            let view = NodeView { version, localhost_node_port_gate, ..view.clone() };
            let plan = nftables::plan(&view);
            let expected = plan.clone().into_ruleset().unwrap();
            let script = language::print_script(&plan.into_commands());
            let load = format!("nft -f - <<'END'\n{script}END\n");
            for times in 1..=2 {
                let (done, listed) =
                    in_namespace(&format!("{}nft list ruleset", load.repeat(times))).unwrap();
                assert!(done, "{version}: {listed}");
                let listed = language::parse_ruleset(&listed);
                assert_eq!(listed.errors, []);
                assert_eq!(language::compare(&expected, &listed.value), [], "{version}");
            }
        }
    }
}

/// With a detector that covers all, `! -s 0.0.0.0/0` is refused by one variant, and only when it is
/// committed: `--test` takes it.
#[test]
fn only_the_nft_variant_refuses_a_detector_that_covers_all() {
    for (view, all) in views().into_iter().zip(["0.0.0.0/0", "::/0"]) {
        let view = NodeView { detector: Some(Detector::Cidr(all.parse().unwrap())), ..view };
        let family = ruleset_family(view.family);
        let tool = tool(family);
        if !usable(&format!("{tool}-nft -L && {tool}-legacy -A INPUT -m recent --name a --rcheck"))
        {
            continue;
        }
        let plan = iptables::plan(&view);
        let refusal = plan.refusal().unwrap();
        assert_eq!(refusal.missing, ["nat"]);
        let text = print_restore(&plan.into_restore(), family);
        let run = |command: &str| {
            let script = format!("{tool}-{command} --noflush <<'END'\n{text}END\n");
            in_namespace(&script).unwrap()
        };
        assert_eq!(run("legacy-restore"), (true, String::new()));
        assert!(run("nft-restore --test").0);
        let (done, said) = run("nft-restore");
        assert!(!done && said.contains("RULE_APPEND failed (Invalid argument)"), "{said}");
        let named = format!("rule in chain {}", refusal.chain);
        assert!(said.contains(&named), "{said}: {refusal}");
        assert_eq!(tables_after(tool, &text), ["filter"]);
    }
}

/// Returns the tables with chains of kube-proxy after a restore that may fail.
fn tables_after(tool: &str, text: &str) -> Vec<&'static str> {
    let has = |table: &&str| {
        let restore =
            format!("{tool}-nft-restore --noflush 2>/dev/null <<'END' || true\n{text}END\n");
        let (_, saved) = in_namespace(&format!("{restore}{tool}-nft-save -t {table}")).unwrap();
        saved.contains(":KUBE-")
    };
    ["filter", "nat"].into_iter().filter(has).collect()
}

/// In ipvs mode, `nat` comes first.
#[test]
fn a_refused_rule_of_ipvs_mode_costs_both_tables() {
    let detector = Some(Detector::Cidr("0.0.0.0/0".parse().unwrap()));
    let plan = ipvs::plan(&NodeView { detector, ..worlds::six_services() });
    let refusal = plan.refusal().unwrap();
    assert_eq!((refusal.chain.as_str(), refusal.missing), ("KUBE-SERVICES", vec!["nat", "filter"]));
}

#[test]
fn a_detector_of_pods_is_not_refused() {
    for view in views() {
        assert_eq!(iptables::plan(&view).refusal(), None);
        assert_eq!(ipvs::plan(&view).refusal(), None);
    }
}
