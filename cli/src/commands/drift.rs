//! `sim drift`: what a node has against what it should have.

use std::io::Write;

use kps_compare::drift::{self, Drift, Settings, Subject};
use kps_model::{KubeVersion, Mode};

use crate::Verdict;
use crate::args::{self, CheckOutput, Guess};
use crate::cluster::{Objects, Proxied};
use crate::dump::{Dumped, read_parts};
use crate::error::Failure;
use crate::report::drift::{Drifted, Stories};
use crate::report::junit;

/// Holds a node's dumps against its objects, and writes what is not as it should be.
pub fn run(arguments: &args::Drift) -> Result<Verdict, Failure> {
    let objects = Objects::load_in(&arguments.cluster(), &modes(arguments))?;
    let Some(node) = objects.nodes.first() else { return Err(Failure::NoNode) };
    let Some(proxied) = objects.seen_by(node).next() else { return Err(Failure::NoNode) };
    let dumped = read_parts(&arguments.dump, Some(&proxied))?;
    let drift = find(arguments, &proxied, &objects, &dumped)?;
    let in_mode = objects.seen_by(node).find(|proxied| proxied.mode == drift.fit.mode);
    let told = in_mode.as_ref().filter(|_| arguments.traces);
    let stories = told.map(|proxied| Stories::new(&drift, &dumped.state, proxied));
    let drifted = Drifted { drift: &drift, node, missing: &dumped.missing, stories };
    let text = match arguments.output {
        CheckOutput::Text => drifted.text(),
        CheckOutput::Json => format!("{:#}\n", drifted.json()),
        CheckOutput::Junit => junit::print("sim drift", &drifted.cases())?,
    };
    anstream::stdout().lock().write_all(text.as_bytes())?;
    let is_fine = drift.findings.is_empty() || (drift.is_harmless() && !arguments.strict);
    Ok(if is_fine { objects.verdict } else { Verdict::Findings })
}

/// Returns the modes to try, the likeliest first: that of the configuration, then the newest.
fn modes(arguments: &args::Drift) -> Vec<Option<Mode>> {
    let all = [Mode::Nftables, Mode::Ipvs, Mode::Iptables].map(Some);
    match (arguments.mode, &arguments.config) {
        (Guess::Given(mode), _) => vec![Some(mode)],
        (Guess::Auto, Some(_)) => std::iter::once(None).chain(all).collect(),
        (Guess::Auto, None) => all.to_vec(),
    }
}

fn find(
    arguments: &args::Drift,
    proxied: &Proxied<'_>,
    objects: &Objects,
    dumped: &Dumped,
) -> Result<Drift, Failure> {
    let mut configs = objects.configs().to_vec();
    let mut seen = Vec::new();
    configs.retain(|config| {
        let is_new = !seen.contains(&config.mode);
        seen.push(config.mode);
        is_new
    });
    if let [only] = configs.as_slice() {
        comparable(only.mode, arguments, dumped)?;
    }
    let versions = match arguments.kube_version {
        Guess::Given(version) => vec![version],
        Guess::Auto => KubeVersion::ALL.into_iter().rev().collect(),
    };
    let is_given = arguments.config.is_some();
    let found = drift::find(&Subject {
        cluster: proxied.cluster,
        node: proxied.node,
        configs: &configs,
        settings: if is_given { Settings::Given } else { Settings::Found },
        versions: &versions,
        dump: &dumped.state,
        unseen: &dumped.missing,
    });
    let drift = found.ok_or(Failure::NoInput)?;
    comparable(drift.fit.mode, arguments, dumped)?;
    Ok(drift)
}

/// Tells whether the dumps have the file in which the rules of a mode are.
fn comparable(mode: Mode, arguments: &args::Drift, dumped: &Dumped) -> Result<(), Failure> {
    // Either of the two families can do without the other.
    let least = if mode == Mode::Iptables { 2 } else { 1 };
    let files: Vec<&str> = drift::files(mode).iter().take(least).copied().collect();
    if files.iter().all(|file| dumped.missing.contains(file)) {
        let (dir, files) = (arguments.dump.display(), files.join(" or "));
        return Err(Failure::Usage(format!(
            "{dir} holds nothing to compare in {mode} mode: {files} is missing"
        )));
    }
    Ok(())
}
