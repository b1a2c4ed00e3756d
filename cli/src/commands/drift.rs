//! `sim drift`: what nodes have against what they should have.

use std::io::Write;
use std::path::Path;

use kps_compare::drift::{self, Drift, Packets, Settings, Subject};
use kps_model::{Config, KubeVersion, Mode};

use crate::Verdict;
use crate::args::{self, Asked, CheckOutput, Guess};
use crate::cluster::Objects;
use crate::dump::{Dumped, read_parts};
use crate::error::Failure;
use crate::report::diagnostics::{error, note};
use crate::report::drift::{Document, Drifted, Nodes, Stories};
use crate::report::junit;

/// Holds dumps against objects, and writes what is not as it should be.
pub fn run(arguments: &args::Drift) -> Result<Verdict, Failure> {
    let objects = Objects::load_in(&arguments.cluster(), &modes(arguments))?;
    let (text, is_fine) = match objects.nodes.as_slice() {
        [node] if !arguments.all_nodes => of_node(arguments, &objects, node)?,
        nodes => of_nodes(arguments, &objects, nodes)?,
    };
    anstream::stdout().lock().write_all(text.as_bytes())?;
    Ok(if is_fine { objects.verdict } else { Verdict::Findings })
}

fn of_node(
    arguments: &args::Drift,
    objects: &Objects,
    node: &str,
) -> Result<(String, bool), Failure> {
    let (drift, dumped) = find(arguments, objects, node, &arguments.dump)?;
    let in_mode = objects.seen_by(node).find(|proxied| proxied.mode == drift.fit.mode);
    let told = in_mode.as_ref().filter(|_| arguments.traces);
    let stories = told.map(|proxied| Stories::new(&drift, &dumped.state, proxied));
    let drifted = Drifted { drift: &drift, node, missing: &dumped.missing, stories };
    let text = match arguments.output {
        CheckOutput::Text => drifted.text(),
        CheckOutput::Json => json(&drifted.document())?,
        CheckOutput::Junit => junit::print("sim drift", &drifted.cases())?,
    };
    let is_fine = drift.findings.is_empty() || (drift.is_harmless() && !arguments.strict);
    Ok((text, is_fine))
}

/// Looks at the dumps of every node, in a directory of its name each. One that cannot be read does
/// not hide the rest.
fn of_nodes(
    arguments: &args::Drift,
    objects: &Objects,
    names: &[String],
) -> Result<(String, bool), Failure> {
    let mut nodes = Nodes::default();
    for node in names {
        match find(arguments, objects, node, &arguments.dump.join(node)) {
            Ok((drift, dumped)) => nodes.add(node, drift, &dumped.missing),
            Err(failure) => {
                error(&format!("{node}: {failure}"));
                nodes.add_unread(node);
            }
        }
    }
    let judged = nodes.judge();
    if judged.is_empty() {
        let dir = arguments.dump.display();
        return Err(Failure::Usage(format!(
            "{dir} holds the dumps of no node, each in its folder"
        )));
    }
    let is_fine = judged.is_fine(arguments.strict);
    let text = match arguments.output {
        CheckOutput::Text => judged.text(),
        CheckOutput::Json => json(&judged.document())?,
        CheckOutput::Junit => junit::print("sim drift", &judged.cases())?,
    };
    Ok((text, is_fine))
}

fn json(document: &Document) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document).map_err(std::io::Error::from)?;
    Ok(text + "\n")
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
    objects: &Objects,
    node: &str,
    dir: &Path,
) -> Result<(Drift, Dumped), Failure> {
    let Some(proxied) = objects.seen_by(node).next() else { return Err(Failure::NoNode) };
    let dumped = read_parts(dir, Some(&proxied))?;
    let configs = each_mode_once(objects.configs());
    let versions = match arguments.kube_version {
        Guess::Given(version) => vec![version],
        Guess::Auto => KubeVersion::ALL.into_iter().rev().collect(),
    };
    let is_given = arguments.config.is_some();
    let found = drift::find(&Subject {
        cluster: &objects.cluster,
        node,
        configs: &configs,
        settings: if is_given { Settings::Given } else { Settings::Found },
        versions: &versions,
        dump: &dumped.state,
        unseen: &dumped.missing,
        packets: match arguments.packets {
            Asked::Sampled => Packets::Sampled,
            Asked::All => Packets::All,
        },
    });
    let drift = found.ok_or_else(|| incomparable(&configs, dir))?;
    if let Some(first) = configs.first().filter(|first| is_given && first.mode != drift.fit.mode) {
        note(&format!(
            "{node}: the configuration says {} mode, and the dump fits {} mode",
            first.mode, drift.fit.mode
        ));
    }
    note_unseen_chains(dir, &dumped);
    Ok((drift, dumped))
}

/// iptables-nft keeps its rules in tables of nftables, where `nft` shows them without their meaning.
fn note_unseen_chains(dir: &Path, dumped: &Dumped) {
    let mut chains = dumped.state.nftables.tables.iter().flat_map(|table| table.chains.keys());
    let is_unseen = dumped.missing.contains(&"iptables-save.txt")
        && chains.any(|chain| chain.starts_with("KUBE-"));
    if is_unseen {
        note(&format!(
            "{}: nft.txt shows chains of iptables mode; add iptables-save.txt to have them judged",
            dir.display()
        ));
    }
}

fn each_mode_once(configs: &[Config]) -> Vec<Config> {
    let mut once: Vec<Config> = Vec::new();
    for config in configs {
        if once.iter().all(|known| known.mode != config.mode) {
            once.push(config.clone());
        }
    }
    once
}

/// Says that the dumps lack the files in which the rules of modes are.
fn incomparable(configs: &[Config], dir: &Path) -> Failure {
    let modes: Vec<&str> = configs.iter().map(|config| config.mode.as_str()).collect();
    let files = configs.iter().flat_map(|config| drift::needed(config.mode));
    let files: Vec<&str> = files.copied().collect();
    Failure::Usage(format!(
        "{} holds nothing to compare in {} mode: {} is missing",
        dir.display(),
        modes.join(" or "),
        files.join(" or ")
    ))
}
