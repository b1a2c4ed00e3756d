//! `sim walk`: an answer a line for a question a line.

use std::io::{self, Write};

use kps_sim::{Options, Walker};
use serde::Serialize;

use crate::Verdict;
use crate::args::Walk;
use crate::error::Failure;
use crate::flows::{self, FlowLine, Recorded};
use crate::node::{Given, Node};
use crate::report::answer::Answer;
use crate::report::diagnostics::{error, note};
use crate::report::expectation::Tally;

/// Answers every flow of a file, in order; with several nodes, once for each.
pub fn run(arguments: &Walk) -> Result<Verdict, Failure> {
    let given = Given::load(&arguments.node)?;
    let flows = flows::lines(&arguments.flows)?;
    let mut tally = Tally::default();
    for node in given.nodes() {
        let node = node?;
        let questions = Questions { arguments, flows: &flows, tally: &mut tally };
        questions.answer(&node)?;
    }
    if arguments.expect {
        return Ok(tally.verdict().max(given.verdict()));
    }
    Ok(given.verdict())
}

/// The questions, and how the answers fare.
struct Questions<'a> {
    arguments: &'a Walk,
    flows: &'a [u8],
    tally: &'a mut Tally,
}

/// A line of the answer.
#[derive(Serialize)]
struct Line<'a> {
    /// The node, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
    #[serde(flatten)]
    answer: Answer,
}

impl Questions<'_> {
    fn answer(mut self, node: &Node<'_>) -> Result<(), Failure> {
        let walker = node.walker();
        for assumed in walker.assumed() {
            note(&format!("assumed: {assumed}"));
        }
        let name = node.name().filter(|_| self.arguments.node.cluster.all_nodes);
        let mut out = io::BufWriter::new(io::stdout().lock());
        for (number, line) in self.flows.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let place = format!("{}:{}", self.arguments.flows.display(), number + 1);
            let line = Line { node: name, answer: self.one(&place, line, &walker) };
            serde_json::to_writer(&mut out, &line).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
        }
        Ok(out.flush()?)
    }

    /// A line that is no flow still gets its answer, so that answers stay beside their questions.
    fn one(&mut self, place: &str, line: &[u8], walker: &Walker<'_>) -> Answer {
        match serde_json::from_slice::<FlowLine>(line) {
            Ok(question) => {
                let options = Options { fresh: true, ..Options::default() };
                let answer = Answer::of(&walker.walk(&question.flow(), &options));
                if self.arguments.expect {
                    self.compare(place, line, &question, &answer);
                }
                answer
            }
            Err(cause) => {
                self.unreadable(place, &format!("not a flow: {cause}"));
                Answer { unknown: vec![format!("not a flow: {cause}")], ..Answer::plain("unknown") }
            }
        }
    }

    fn compare(&mut self, place: &str, line: &[u8], question: &FlowLine, answer: &Answer) {
        match serde_json::from_slice::<Recorded>(line) {
            Ok(recorded) => self.tally.count(place, &question.flow(), &recorded, answer),
            Err(cause) => self.unreadable(place, &format!("not a recorded outcome: {cause}")),
        }
    }

    fn unreadable(&mut self, place: &str, why: &str) {
        error(&format!("{place}: {why}"));
        self.tally.unreadable += 1;
    }
}
