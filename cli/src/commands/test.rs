//! `sim test`: reachability as code.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use kps_compare::expect::{self, Expectation, Fault, Suite, hold, line_of};
use kps_flow::{ClientClass, Family, Flow};
use kps_model::{Diagnostic, Mode, Place, Severity};
use kps_sim::{Options, Walker};

use crate::Verdict;
use crate::args::{CheckOutput, Test};
use crate::cluster::{Objects, Proxied};
use crate::error::Failure;
use crate::node::{Node, rendered};
use crate::report::diagnostics::Reporter;
use crate::report::expectations::{Held, Tested};
use crate::report::junit;
use crate::{clients, destination};

/// Holds every expectation of a file against the rules, and writes which are not kept.
pub fn run(arguments: &Test) -> Result<Verdict, Failure> {
    let file = &arguments.expectations;
    let text = fs::read_to_string(file).map_err(Failure::file(file))?;
    let (suite, faults) = expect::read(&text).map_err(|fault| unusable(file, &fault))?;
    let faults: Vec<Diagnostic> = faults.iter().map(|fault| finding(file, fault)).collect();
    Reporter::new(false).report(&faults);
    let (held, verdict) = ask(arguments, &suite)?;
    if held.is_empty() {
        return Err(Failure::Usage(format!("{}: no expectation can be tested", file.display())));
    }
    let line = |expectation: &Expectation| line_of(&text, expectation.index);
    let tested = Tested { file, held: &held, faults: &faults, line: &line };
    let text = match arguments.output {
        CheckOutput::Text => tested.text(),
        CheckOutput::Json => format!("{:#}\n", tested.json()),
        CheckOutput::Junit => junit::print("sim test", &tested.cases())?,
    };
    anstream::stdout().lock().write_all(text.as_bytes())?;
    Ok(if tested.is_kept() { verdict } else { Verdict::Findings })
}

fn unusable(file: &Path, fault: &Fault) -> Failure {
    let place = Place { source: file.display().to_string(), line: fault.line };
    match &fault.field {
        Some(field) => Failure::Usage(format!("{place}: {field}: {fault}")),
        None => Failure::Usage(format!("{place}: {fault}")),
    }
}

fn finding(file: &Path, fault: &Fault) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        place: Place { source: file.display().to_string(), line: fault.line },
        object: None,
        field: fault.field.clone(),
        message: fault.message.clone(),
    }
}

/// Holds expectations in each mode and on each node that they are about, and returns them in the
/// order of the file.
fn ask<'s>(arguments: &Test, suite: &'s Suite) -> Result<(Vec<Held<'s>>, Verdict), Failure> {
    let scope = Scope { arguments, suite };
    let objects = scope.objects()?;
    let mut held = Vec::new();
    for node in scope.nodes(&objects) {
        let mut modes = BTreeSet::new();
        for (number, proxied) in objects.seen_by(&node).enumerate() {
            let is_default = number == 0;
            if modes.insert(proxied.mode.as_str()) {
                let is_meant = |expectation: &&Expectation| {
                    scope.has_mode(expectation, proxied.mode, is_default)
                        && scope.has_node(expectation, &node, &objects)
                };
                let asked: Vec<_> = suite.expectations.iter().filter(is_meant).collect();
                held.extend(on_node(&asked, proxied));
            }
        }
    }
    held.sort_by_key(|held: &Held<'_>| held.expectation.index);
    Ok((held, objects.verdict))
}

/// Which modes and nodes expectations are about.
struct Scope<'a> {
    arguments: &'a Test,
    suite: &'a Suite,
}

impl Scope<'_> {
    fn objects(&self) -> Result<Objects, Failure> {
        let expectations = &self.suite.expectations;
        let all_named = expectations.iter().all(|e| !self.named_nodes(e).is_empty());
        Objects::load_in(&self.arguments.cluster(self.suite, all_named), &self.modes())
    }

    /// Returns the modes to look at; `None` is the configuration's own, which comes first.
    fn modes(&self) -> Vec<Option<Mode>> {
        if self.arguments.mode.is_some() {
            return vec![self.arguments.mode];
        }
        let expectations = &self.suite.expectations;
        let mut modes = Vec::new();
        for mode in expectations.iter().flat_map(|e| self.named_modes(e)) {
            if !modes.contains(&Some(*mode)) {
                modes.push(Some(*mode));
            }
        }
        if expectations.iter().any(|e| self.named_modes(e).is_empty()) {
            modes.insert(0, None);
        }
        modes
    }

    fn nodes(&self, objects: &Objects) -> Vec<String> {
        if let Some(node) = &self.arguments.node {
            return vec![node.clone()];
        }
        let expectations = &self.suite.expectations;
        let mut nodes = Vec::new();
        let unnamed = expectations.iter().any(|e| self.named_nodes(e).is_empty());
        let default = unnamed.then_some(&objects.nodes).into_iter().flatten();
        for node in expectations.iter().flat_map(|e| self.named_nodes(e)).chain(default) {
            if !nodes.contains(node) {
                nodes.push(node.clone());
            }
        }
        nodes
    }

    fn named_modes<'e>(&'e self, expectation: &'e Expectation) -> &'e [Mode] {
        if expectation.modes.is_empty() { &self.suite.modes } else { &expectation.modes }
    }

    fn named_nodes<'e>(&'e self, expectation: &'e Expectation) -> &'e [String] {
        if expectation.nodes.is_empty() { &self.suite.nodes } else { &expectation.nodes }
    }

    fn has_mode(&self, expectation: &Expectation, mode: Mode, is_default: bool) -> bool {
        match (self.arguments.mode.is_some(), self.named_modes(expectation)) {
            (true, _) => expectation.modes.is_empty() || expectation.modes.contains(&mode),
            (false, []) => is_default,
            (false, modes) => modes.contains(&mode),
        }
    }

    fn has_node(&self, expectation: &Expectation, node: &String, objects: &Objects) -> bool {
        match (self.arguments.node.is_some(), self.named_nodes(expectation)) {
            (true, _) => expectation.nodes.is_empty() || expectation.nodes.contains(node),
            (false, []) => objects.nodes.contains(node),
            (false, nodes) => nodes.contains(node),
        }
    }
}

fn on_node<'s>(asked: &[&'s Expectation], proxied: Proxied<'_>) -> Vec<Held<'s>> {
    let (mode, name) = (proxied.mode, proxied.node.to_owned());
    let known = proxied.cluster.node(&name).is_some();
    let node = Node { state: rendered(&proxied), proxied: Some(proxied) };
    let walker = node.walker();
    let held = |expectation: &&'s Expectation| {
        let (flow, kept) = if known {
            one(expectation, &node, &walker)
        } else {
            (None, Err(format!("there is no Node {name}")))
        };
        Held { expectation, mode, node: name.clone(), flow, kept }
    };
    asked.iter().map(held).collect()
}

/// Walks the packet that an expectation is about, and holds what happens against it.
fn one(
    expectation: &Expectation,
    node: &Node<'_>,
    walker: &Walker<'_>,
) -> (Option<Flow>, Result<(), String>) {
    let flow = match flow(expectation, node, walker) {
        Ok(flow) => flow,
        Err(failure) => return (None, Err(failure.to_string())),
    };
    let options = Options { fresh: true, ..Options::default() };
    let outcomes = walker.walk(&flow, &options).distribution();
    let Some(proxied) = &node.proxied else { return (Some(flow), Ok(())) };
    let kept = hold(expectation, &flow, &outcomes, proxied.cluster);
    (Some(flow), kept.map_err(|mismatch| mismatch.to_string()))
}

fn flow(expectation: &Expectation, node: &Node<'_>, walker: &Walker<'_>) -> Result<Flow, Failure> {
    let target = destination::find("to:", &expectation.to, node)?;
    let family = Family::of(target.address);
    let client = clients::find("from:", &expectation.from, family, node, walker)?;
    Ok(Flow {
        client: client.class,
        interface: client.interface.filter(|_| client.class != ClientClass::Node),
        source: client.address,
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: target.protocol,
        destination: target.address,
        port: target.port,
    })
}
