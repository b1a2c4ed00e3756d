//! Rules against promises, flow by flow.

use std::fmt;

use kps_flow::{Answer, Disagreement, Distribution, Flow, Outcome, Promise, Strictness, agree};
use kps_model::intent::{Claims, Owner};
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

/// Judges flows of one view, as many as are asked about.
#[derive(Debug)]
pub struct Judge<'a> {
    view: &'a NodeView,
    mode: Mode,
    claims: Claims<'a>,
}

impl<'a> Judge<'a> {
    /// A judge of a view's promises and of the exceptions of a mode.
    #[must_use]
    pub fn new(view: &'a NodeView, mode: Mode) -> Judge<'a> {
        Judge { view, mode, claims: Claims::of(view) }
    }

    /// Holds what rules do with the first packet of a flow against what is promised for it.
    #[must_use]
    pub fn judge(&self, walker: &Walker<'_>, flow: &Flow) -> Judgement {
        let options = Options { fresh: true, ..Options::default() };
        self.judge_outcomes(&walker.walk(flow, &options).distribution(), flow)
    }

    /// Holds what became of the first packet of a flow against what is promised for it.
    #[must_use]
    pub fn judge_outcomes(&self, distribution: &Distribution<Outcome>, flow: &Flow) -> Judgement {
        let intent = Intent::indexed(self.view, &self.claims);
        weigh(&intent, distribution, self.view, self.mode, flow)
    }
}

/// Holds what rules do with the first packet of one flow against what is promised for it.
#[must_use]
pub fn judge(walker: &Walker<'_>, view: &NodeView, mode: Mode, flow: &Flow) -> Judgement {
    let options = Options { fresh: true, ..Options::default() };
    judge_outcomes(&walker.walk(flow, &options).distribution(), view, mode, flow)
}

/// Holds what became of the first packet of one flow against what is promised for it.
#[must_use]
pub fn judge_outcomes(
    distribution: &Distribution<Outcome>,
    view: &NodeView,
    mode: Mode,
    flow: &Flow,
) -> Judgement {
    weigh(&Intent::new(view), distribution, view, mode, flow)
}

fn weigh(
    intent: &Intent<'_>,
    distribution: &Distribution<Outcome>,
    view: &NodeView,
    mode: Mode,
    flow: &Flow,
) -> Judgement {
    let owner = intent.owner(flow);
    if matches!(owner, Owner::Contested) {
        return Judgement::Contested;
    }
    let promise = intent.promise_of(owner, flow);
    let Err(disagreement) = hold(distribution, &promise) else { return Judgement::Kept };
    let case = Case { mode, view, flow, owner, promise: &promise };
    if let Some(exception) = excuse(distribution, &case) {
        return Judgement::Excused(exception);
    }
    Judgement::Broken(Box::new(finding(flow, &promise, distribution, disagreement)))
}

fn hold(distribution: &Distribution<Outcome>, promise: &Promise) -> Result<(), Disagreement> {
    let happens = Answer::Exact(distribution.clone());
    agree(&happens, &Answer::Promised(promise.clone()), Strictness::Shares)
}

/// Returns the exception that says what happens.
fn excuse(distribution: &Distribution<Outcome>, case: &Case<'_>) -> Option<Exception> {
    let excuses = |exception: &Exception| {
        exception.instead(case).is_some_and(|promise| hold(distribution, &promise).is_ok())
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
