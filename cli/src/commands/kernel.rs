//! `sim kernel`: the same packets in a real kernel and in the walker.

use std::env;
use std::fs;
use std::path::Path;

use kps_compare::conform::{Conformity, aim, hold, possible};
use kps_flow::Flow;
use kps_kernel::{Kernel, Program, reproduce};
use kps_sim::Walker;

use crate::Verdict;
use crate::args::{self, Output};
use crate::error::Failure;
use crate::flows;
use crate::node::{Given, Node};
use crate::report::conformity::{Asked, Conformed};
use crate::report::{Report, Reports};

/// So many flows go through a kernel before its rules are loaded afresh: more would fill its table of
/// connections.
const BATCH: usize = 10_000;

/// Sends flows through the kernel, and tells where the walker says something else.
pub fn run(arguments: &args::Kernel) -> Result<Verdict, Failure> {
    let given = Given::load(&arguments.node)?;
    let chosen = arguments.flows.as_deref().map(flows::read).transpose()?;
    let kernel = kernel()?;
    let mut reports = Reports::new(arguments.node.cluster.all_nodes);
    let mut verdict = given.verdict();
    for node in given.nodes() {
        let node = node?;
        let trial = Trial { node: &node, walker: node.walker(), kernel: &kernel };
        let asked = trial.ask(chosen.clone())?;
        if let Some(dir) = &arguments.reproduce {
            trial.write_scripts(dir, &asked, chosen.is_some())?;
        }
        let conformed = Conformed::of(&asked);
        verdict = verdict.max(conformed.verdict());
        let report = match arguments.output {
            Output::Text => Report::Text(conformed.text()),
            Output::Json => Report::Json(conformed.json()),
        };
        reports.add(node.name(), report)?;
    }
    reports.finish()?;
    Ok(verdict)
}

/// Returns the kernel to ask; one in user mode has this program as its init.
fn kernel() -> Result<Kernel, Failure> {
    let path = env::current_exe().map_err(Failure::file(Path::new("sim")))?;
    let program = Program { path, arguments: vec!["kernel-node".to_owned()] };
    Ok(Kernel::new().with_program(program))
}

/// Answers what is asked of the kernel that this runs in.
pub fn serve(folder: &Path) -> Result<Verdict, Failure> {
    kps_kernel::run(folder).map_err(Failure::file(folder))?;
    Ok(Verdict::Fine)
}

/// A node's rules, in the walker and in the kernel.
struct Trial<'n> {
    node: &'n Node<'n>,
    walker: Walker<'n>,
    kernel: &'n Kernel,
}

impl Trial<'_> {
    /// Sends each flow, and walks it.
    fn ask(&self, chosen: Option<Vec<Flow>>) -> Result<Vec<Asked>, Failure> {
        let flows = chosen.map_or_else(|| self.aimed(), Ok)?;
        let mut all = Vec::with_capacity(flows.len());
        for batch in flows.chunks(BATCH) {
            for (flow, seen) in batch.iter().zip(self.kernel.observe(&self.node.state, batch)?) {
                let conformity = hold(&self.walker, flow, &seen);
                all.push(Asked { flow: flow.clone(), seen, conformity });
            }
        }
        Ok(all)
    }

    fn aimed(&self) -> Result<Vec<Flow>, Failure> {
        let Some(proxied) = &self.node.proxied else {
            let why = "dumps do not say what there is to dial; give the objects, too, or --flows";
            return Err(Failure::Usage(why.to_owned()));
        };
        Ok(aim::flows(proxied.cluster, &proxied.views, &self.walker))
    }

    /// Writes a script for each difference, or for every flow.
    fn write_scripts(&self, dir: &Path, asked: &[Asked], every: bool) -> Result<(), Failure> {
        let dir = self.node.name().map_or_else(|| dir.to_owned(), |name| dir.join(name));
        fs::create_dir_all(&dir).map_err(Failure::file(&dir))?;
        let is_meant = |asked: &&Asked| every || matches!(asked.conformity, Conformity::Differs(_));
        for (number, asked) in (1..).zip(asked.iter().filter(is_meant)) {
            let remarks = asked.remarks(&possible(&self.walker, &asked.flow));
            let path = dir.join(format!("{number}.sh"));
            let script = reproduce(&self.node.state, &asked.flow, &remarks);
            fs::write(&path, script).map_err(Failure::file(&path))?;
        }
        Ok(())
    }
}
