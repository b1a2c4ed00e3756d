//! Rules against promises, flow by flow.

use std::fmt;

use kps_flow::{Answer, Disagreement, Distribution, Flow, Outcome, Promise, Strictness, agree};
use kps_model::intent::Owner;
use kps_model::{Intent, Mode, NodeView};
use kps_sim::{Options, Walker};

use crate::exception::{Case, Exception};

/// What comes of holding an outcome against its promise.
#[derive(Debug, Clone, PartialEq)]
pub enum Judgement {
    /// The promise is kept.
    Kept,
    /// It is not, rightly.
    Excused(Exception),
    /// Nothing is promised: several Services claim the destination.
    Contested,
    /// It is not kept, and nothing says that this is right.
    Broken(Box<Finding>),
}

/// A promise that is not kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The flow: a witness.
    pub flow: Flow,
    /// What was promised.
    pub promise: Promise,
    /// Every outcome.
    pub outcomes: Vec<Outcome>,
    /// What is wrong.
    pub disagreement: Disagreement,
}

/// Holds what rules do with the first packet of a flow against what is promised for it.
#[must_use]
pub fn judge(walker: &Walker<'_>, view: &NodeView, mode: Mode, flow: &Flow) -> Judgement {
    let intent = Intent::new(view);
    let owner = intent.owner(flow);
    if matches!(owner, Owner::Contested) {
        return Judgement::Contested;
    }
    let promise = intent.promise(flow);
    let options = Options { fresh: true, ..Options::default() };
    let distribution = walker.walk(flow, &options).distribution();
    let answer = Answer::Exact(distribution.clone());
    match agree(&answer, &Answer::Promised(promise.clone()), Strictness::Shares) {
        Ok(()) => Judgement::Kept,
        Err(disagreement) => {
            let case = |outcome| Case { mode, view, flow, owner, promise: &promise, outcome };
            excuse(&distribution, case).map_or_else(
                || {
                    Judgement::Broken(Box::new(finding(
                        flow,
                        &promise,
                        &distribution,
                        disagreement,
                    )))
                },
                Judgement::Excused,
            )
        }
    }
}

/// Returns the exception that excuses every outcome.
fn excuse<'a>(
    distribution: &'a Distribution<Outcome>,
    case: impl Fn(&'a Outcome) -> Case<'a>,
) -> Option<Exception> {
    let excuses = |exception: &Exception| {
        distribution.branches().iter().all(|(_, outcome)| exception.excuses(&case(outcome)))
    };
    Exception::ALL.into_iter().find(excuses)
}

fn finding(
    flow: &Flow,
    promise: &Promise,
    distribution: &Distribution<Outcome>,
    disagreement: Disagreement,
) -> Finding {
    Finding {
        flow: flow.clone(),
        promise: promise.clone(),
        outcomes: distribution.merged().into_keys().cloned().collect(),
        disagreement,
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.flow)?;
        writeln!(f, "  promised: {:?}", self.promise)?;
        for outcome in &self.outcomes {
            writeln!(f, "  happens:  {outcome}")?;
        }
        write!(f, "  {}", self.disagreement)
    }
}
