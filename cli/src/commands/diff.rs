//! `sim diff`: what changes when kube-proxy moves to another mode, release or configuration.

use std::io::Write;
use std::path::Path;

use kps_compare::diff::{Installed, Move, Packets, Report, Setup};

use crate::Verdict;
use crate::args::{Diff, DiffOutput};
use crate::cluster::{Objects, Proxied, read_config};
use crate::dump::read_dump;
use crate::error::Failure;
use crate::report::diagnostics::{Reporter, error};
use crate::report::junit;
use crate::report::migration::{Migration, Stories};

/// Compares both sides on each node, and writes what differs.
pub fn run(arguments: &Diff) -> Result<Verdict, Failure> {
    let [from, to] = arguments.sides();
    let objects = Objects::load(&from)?;
    let (to_config, findings) = read_config(&to)?;
    Reporter::new(false).report(&findings);
    let right = Setup { config: to_config, version: to.kube_version };
    let (mut report, mut stories) = (Report::default(), Stories::default());
    let packets = if arguments.proof { Packets::All } else { Packets::Sampled };
    let mut left = None;
    for proxied in objects.proxied() {
        let from = Setup { config: proxied.config.clone(), version: from.kube_version };
        let sides = [
            installed(&from, &proxied, arguments.dump.as_deref())?,
            installed(&right, &proxied, arguments.to_dump.as_deref())?,
        ];
        let (cluster, node) = (proxied.cluster, proxied.node);
        let moved = Move { cluster, node, left: &sides[0], right: &sides[1], packets };
        let of_node = moved.report();
        stories.add(&moved, &of_node);
        report.add(of_node);
        left = Some(from);
    }
    for failure in &report.failures {
        error(failure);
    }
    let left = left.ok_or(Failure::NoNode)?;
    let found = [arguments.dump.is_some(), arguments.to_dump.is_some()];
    let migration =
        Migration { left: &left, right: &right, found, report: &report, stories: &stories };
    anstream::stdout().lock().write_all(written(arguments.output, &migration)?.as_bytes())?;
    Ok(if report.has_findings() { Verdict::Findings } else { objects.verdict })
}

/// Installs a setup's rules, or takes those of a dump.
fn installed(
    setup: &Setup,
    proxied: &Proxied<'_>,
    dump: Option<&Path>,
) -> Result<Installed, Failure> {
    Ok(match dump {
        Some(dir) => setup.found(proxied.cluster, proxied.node, read_dump(dir, Some(proxied))?),
        None => setup.install(proxied.cluster, proxied.node),
    })
}

fn written(output: DiffOutput, migration: &Migration<'_>) -> Result<String, Failure> {
    match output {
        DiffOutput::Text => Ok(migration.text()),
        DiffOutput::Json => Ok(migration.json()?),
        DiffOutput::Html => Ok(migration.page()?),
        DiffOutput::Junit => junit::print("sim diff", &migration.cases()),
    }
}
