//! `sim check`: what is wrong with a cluster's Services.

use std::io::Write;

use kps_compare::lint::{Finding, Merged, Scene, Subject, about_cluster, about_node};
use kps_model::Severity;
use kps_render::node_state;

use super::replay;
use crate::Verdict;
use crate::args::{Check, CheckOutput};
use crate::cluster::{Objects, Proxied};
use crate::dump::read_dump;
use crate::error::Failure;
use crate::report::findings::{self, Checked};
use crate::report::junit;

/// Looks for faults, and writes what it found.
pub fn run(arguments: &Check) -> Result<Verdict, Failure> {
    let mut out = anstream::stdout().lock();
    if arguments.list {
        out.write_all(findings::list().as_bytes())?;
        return Ok(Verdict::Fine);
    }
    if let Some(file) = &arguments.events {
        return replay::run(arguments, file, &mut out);
    }
    let objects = Objects::load(&arguments.node.cluster)?;
    let found = found(arguments, &objects)?;
    let checked = Checked { findings: &found, places: &objects.places, nodes: &objects.nodes };
    let text = match arguments.output {
        CheckOutput::Text => checked.text(),
        CheckOutput::Json => format!("{:#}\n", checked.json()),
        CheckOutput::Junit => junit::print("sim check", &checked.cases())?,
    };
    out.write_all(text.as_bytes())?;
    let least = if arguments.node.cluster.strict { Severity::Note } else { Severity::Warning };
    let counts = found.iter().any(|finding| finding.lint.about().severity >= least);
    Ok(if counts { Verdict::Findings } else { objects.verdict })
}

fn found(arguments: &Check, objects: &Objects) -> Result<Vec<Finding>, Failure> {
    let mut merged = Merged::default();
    for (number, proxied) in objects.proxied().enumerate() {
        let (mut state, failures) = match &arguments.node.dump {
            Some(dir) => (read_dump(dir, Some(&proxied))?, Vec::new()),
            None => rendered(&proxied),
        };
        state.host.sysctls.extend(arguments.sysctl.iter().cloned());
        let scene = Scene::new(Subject {
            cluster: proxied.cluster,
            config: proxied.config,
            node: proxied.node,
            views: &proxied.views,
            state: &state,
            failures: &failures,
        });
        if number == 0 {
            merged.add(about_cluster(&scene));
        }
        merged.add_of(proxied.node, about_node(&scene));
    }
    Ok(merged.finish())
}

fn rendered(proxied: &Proxied<'_>) -> (kps_ruleset::NodeState, Vec<String>) {
    let (state, errors) = node_state(&proxied.views, proxied.mode);
    (state, errors.iter().map(ToString::to_string).collect())
}
