//! `sim walk`: an answer a line for a question a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use kps_sim::{Options, Walker};

use crate::Verdict;
use crate::args::Walk;
use crate::error::Failure;
use crate::flows::FlowLine;
use crate::node::Node;
use crate::report::answer::{Answer, difference};

/// Answers every flow of a file, in order.
pub fn run(arguments: &Walk) -> Result<Verdict, Failure> {
    let node = Node::load(&arguments.node)?;
    let walker = Walker::new(&node.state);
    for assumed in walker.network().assumed() {
        let _ = writeln!(anstream::stderr(), "note: assumed: {assumed}");
    }
    let mut tally = Tally::default();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let options = Options { fresh: true, ..Options::default() };
    for (number, line) in open(&arguments.flows)?.lines().enumerate() {
        let line = line.map_err(Failure::file(&arguments.flows))?;
        if line.trim().is_empty() {
            continue;
        }
        let place = format!("{}:{}", arguments.flows.display(), number + 1);
        let answer = match serde_json::from_str::<FlowLine>(&line) {
            Ok(question) => {
                let answer = Answer::of(&walker.walk(&question.flow(), &options));
                if arguments.expect {
                    tally.count(&place, &question, &answer);
                }
                answer
            }
            Err(error) => tally.unreadable(&place, &error),
        };
        serde_json::to_writer(&mut out, &answer).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(tally.verdict(arguments.expect, node.verdict()))
}

fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(Failure::file(path))?;
    Ok(Box::new(BufReader::new(file)))
}

/// How answers compare with what was recorded.
#[derive(Default)]
struct Tally {
    compared: u64,
    differing: u64,
    unreadable: u64,
}

impl Tally {
    fn count(&mut self, place: &str, question: &FlowLine, answer: &Answer) {
        if question.recorded.outcome.is_none() {
            return;
        }
        self.compared += 1;
        if let Some(difference) = difference(answer, &question.recorded) {
            self.differing += 1;
            let flow = question.flow();
            let _ = writeln!(anstream::stderr(), "{place}: {flow}: {difference}");
        }
    }

    /// A line that is no flow still gets its answer, so that answers stay beside their questions.
    fn unreadable(&mut self, place: &str, error: &serde_json::Error) -> Answer {
        self.unreadable += 1;
        let _ = writeln!(anstream::stderr(), "error: {place}: not a flow: {error}");
        Answer { unknown: vec![format!("not a flow: {error}")], ..Answer::plain("unknown") }
    }

    fn verdict(&self, expect: bool, loading: Verdict) -> Verdict {
        if !expect {
            return loading;
        }
        let equal = self.compared - self.differing;
        let _ = writeln!(anstream::stderr(), "{equal} of {} flows as recorded", self.compared);
        if self.differing + self.unreadable > 0 { Verdict::Findings } else { loading }
    }
}
