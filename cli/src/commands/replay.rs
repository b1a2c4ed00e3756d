//! `sim check --events`: what changes bring, one after the other.

use std::fs;
use std::io::Write;
use std::path::Path;

use kps_compare::replay::{Replay, Step, event};
use kps_model::Severity;

use crate::Verdict;
use crate::args::{Check, CheckOutput};
use crate::cluster::Objects;
use crate::error::Failure;
use crate::report::findings::Checked;
use crate::report::replay;

/// Replays events on one node, and writes what each of them brings.
pub fn run(arguments: &Check, file: &Path, out: &mut impl Write) -> Result<Verdict, Failure> {
    let given = &arguments.node.cluster;
    let objects = Objects::load(given)?;
    let text = fs::read_to_string(file).map_err(Failure::file(file))?;
    let wrong = |error: event::EventError| Failure::Usage(format!("{}: {error}", file.display()));
    let events = event::read(&text).map_err(wrong)?;
    let steps = steps(arguments, &objects, &events)?;
    let checked = |step: &Step| {
        Checked { findings: &step.findings, places: &objects.places, nodes: &objects.nodes }.text()
    };
    let written = match arguments.output {
        CheckOutput::Text => steps.iter().map(|step| replay::text(step, &checked(step))).collect(),
        CheckOutput::Json => {
            format!("{:#}\n", replay::json(&steps, &objects.places, &objects.nodes))
        }
        CheckOutput::Junit => {
            return Err(Failure::Usage("events are written as text or json".to_owned()));
        }
    };
    out.write_all(written.as_bytes())?;
    let least = if given.strict { Severity::Note } else { Severity::Warning };
    let mut findings = steps.iter().flat_map(|step| &step.findings);
    let counts = findings.any(|finding| finding.lint.about().severity >= least);
    Ok(if counts { Verdict::Findings } else { objects.verdict })
}

fn steps(
    arguments: &Check,
    objects: &Objects,
    events: &[event::Event],
) -> Result<Vec<Step>, Failure> {
    let given = &arguments.node.cluster;
    let (file, text) = match &given.config {
        None => (Path::new(""), String::new()),
        Some(file) => (file.as_path(), fs::read_to_string(file).map_err(Failure::file(file))?),
    };
    let refused = |source| Failure::Config { file: file.to_owned(), source };
    let Some(proxied) = objects.proxied().next() else { return Ok(Vec::new()) };
    let (cluster, version) = (objects.cluster.clone(), given.kube_version);
    let (mut replay, first) =
        Replay::start(cluster, &text, proxied.mode, proxied.node, version).map_err(refused)?;
    let mut steps = vec![first];
    for event in events {
        steps.push(replay.advance(event).map_err(refused)?);
    }
    Ok(steps)
}
