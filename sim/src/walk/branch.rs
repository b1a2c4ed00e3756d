//! A branch of a walk: one possible packet on its way, with all that happened to it so far.
//!
//! The walk is straight-line code that asks [`Branch::draw`] or [`Branch::suppose`] where the
//! kernel would roll dice or where the model does not know. A question without an answer interrupts
//! the unit of work (one statement, one route look-up); the walk then copies the branch once for
//! each alternative, gives each copy its answer, and runs the unit again. A unit therefore changes
//! nothing before its last question, except steps of the trace, which are forgotten with it.

use std::collections::BTreeSet;
use std::rc::Rc;

use kps_flow::{Outcome, Weight};
use kps_ruleset::Name;
use num_rational::Ratio;
use num_traits::{One, Zero};
use smallvec::SmallVec;

use super::iptables::{SetChange, Sighting};
use super::ipvs::Scheduled;
use super::nftables::lookup::Parts;
use super::outcome::Premise;
use super::stack::Stage;
use crate::classes::watch::Watch;
use crate::conntrack::{Connection, CtState};
use crate::packet::Packet;
use crate::trace::{Deed, Place, Step, Trace, Way};

/// One possible packet on its way.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    pub packet: Packet,
    /// The packet as it entered the first hook.
    pub opening: Packet,
    /// The packet when it was routed last.
    pub routed: Packet,
    /// What conntrack says of the packet; `None` before it was asked.
    pub state: Option<CtState>,
    pub connection: Option<Connection>,
    /// What IPVS knows of its connection.
    pub scheduled: Option<Scheduled>,
    /// Where the packet is in the kernel.
    pub stage: Stage,
    /// Which function of the hook is at work.
    pub function: usize,
    /// The base chain that is at work.
    pub base: Option<u32>,
    /// The chains that it is in, innermost last.
    pub frames: SmallVec<[Frame; 4]>,
    /// How many times in a row a rule went to another chain for good.
    pub gotos: usize,
    /// Where the packet is to go, once it is known.
    pub way: Option<Way>,
    /// What rules of this walk put into sets, or took out of them.
    pub remembered: Vec<(u32, Parts, bool)>,
    /// What they did to IP sets.
    pub set_changes: Vec<SetChange>,
    /// The addresses that they saw.
    pub sightings: Vec<Sighting>,
    pub weight: Weight,
    /// The suppositions of this branch, in order.
    pub supposed: SmallVec<[Supposition; 1]>,
    /// What its weight rests on.
    pub premises: BTreeSet<Premise>,
    /// Who is told of its questions, if it stands for a class of packets.
    pub watch: Option<Rc<Watch>>,
    answers: SmallVec<[u32; 2]>,
    asked: usize,
    trace: Option<Trace>,
    pending: Vec<Step>,
}

/// A place in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub chain: u32,
    pub rule: usize,
    pub op: usize,
}

impl Frame {
    /// Returns the start of the next rule.
    pub(crate) fn next_rule(self) -> Frame {
        Frame { rule: self.rule + 1, op: 0, ..self }
    }
}

/// A question that the model cannot answer, and what a branch takes the answer to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Supposition {
    /// Which question of the walk this is.
    pub question: u32,
    pub what: Name,
    pub holds: bool,
}

/// Why a unit of work was not finished.
#[derive(Debug)]
pub(crate) enum Interrupt {
    /// It asks this.
    Fork(Fork),
    /// The packet's walk is over.
    End(Outcome),
}

/// A question.
#[derive(Debug)]
pub(crate) enum Fork {
    /// One of n: `(u32 * n) >> 32` of a 32-bit random number (`reciprocal_scale`).
    Scaled(u32),
    /// One of several, with these probabilities.
    Choice(Vec<Ratio<u64>>),
    /// Yes with this probability.
    Chance(Ratio<u64>),
    /// Whether something holds that the model does not know.
    Unknown(Name),
}

impl Branch {
    /// Starts a walk.
    pub(crate) fn new(packet: Packet, stage: Stage, traced: bool) -> Branch {
        Branch {
            packet,
            opening: packet,
            routed: packet,
            state: None,
            connection: None,
            scheduled: None,
            stage,
            function: 0,
            base: None,
            frames: SmallVec::new(),
            gotos: 0,
            way: None,
            remembered: Vec::new(),
            set_changes: Vec::new(),
            sightings: Vec::new(),
            weight: Weight::one(),
            supposed: SmallVec::new(),
            premises: BTreeSet::new(),
            watch: None,
            answers: SmallVec::new(),
            asked: 0,
            trace: traced.then(Trace::default),
            pending: Vec::new(),
        }
    }

    /// Draws one of `of` alternatives.
    pub(crate) fn draw(&mut self, of: u32) -> Result<u32, Interrupt> {
        if of <= 1 {
            return Ok(0);
        }
        self.answer(|| Fork::Scaled(of))
    }

    /// Draws one of several alternatives with given probabilities.
    pub(crate) fn choose(&mut self, shares: &[Ratio<u64>]) -> Result<usize, Interrupt> {
        if shares.len() <= 1 {
            return Ok(0);
        }
        let answer = self.answer(|| Fork::Choice(shares.to_vec()))?;
        Ok(usize::try_from(answer).unwrap_or(usize::MAX))
    }

    /// Draws yes with a given probability.
    pub(crate) fn chance(&mut self, share: Ratio<u64>) -> Result<bool, Interrupt> {
        if share.is_zero() || share.is_one() {
            return Ok(share.is_one());
        }
        self.answer(|| Fork::Chance(share)).map(|answer| answer == 1)
    }

    /// Supposes that something holds, or that it does not.
    pub(crate) fn suppose(&mut self, what: Name) -> Result<bool, Interrupt> {
        self.answer(|| Fork::Unknown(what)).map(|answer| answer == 1)
    }

    fn answer(&mut self, fork: impl FnOnce() -> Fork) -> Result<u32, Interrupt> {
        let answer = self.answers.get(self.asked).copied();
        self.asked += 1;
        answer.ok_or_else(|| Interrupt::Fork(fork()))
    }

    /// Returns the place in the innermost chain.
    pub(crate) fn frame(&self) -> Option<Frame> {
        self.frames.last().copied()
    }

    /// Goes to another place without leaving the innermost call.
    pub(crate) fn goes_to(&mut self, frame: Frame) {
        if let Some(innermost) = self.frames.last_mut() {
            *innermost = frame;
        }
    }

    /// Notes a step, if the walk is traced.
    pub(crate) fn note(&mut self, place: impl FnOnce() -> Place, deed: impl FnOnce() -> Deed) {
        if self.trace.is_some() {
            self.pending.push(Step { place: place(), deed: deed() });
        }
    }

    /// Notes a step of the kernel outside of any rule.
    pub(crate) fn note_kernel(&mut self, deed: impl FnOnce() -> Deed) {
        self.note(|| Place::Kernel, deed);
    }

    /// Ends a unit of work: its answers are used up and its steps stand.
    pub(crate) fn finish_unit(&mut self) {
        self.answers.clear();
        self.asked = 0;
        if let Some(trace) = &mut self.trace {
            self.pending.drain(..).for_each(|step| trace.push(step));
        }
    }

    /// Splits the branch at a question, which has this number in the walk.
    pub(crate) fn split(mut self, fork: &Fork, question: u32) -> Vec<Branch> {
        self.pending.clear();
        self.asked = 0;
        match *fork {
            Fork::Scaled(of) => (0..of).map(|i| self.answered(i, scaled_share(i, of))).collect(),
            Fork::Choice(ref shares) => {
                (0..).zip(shares).map(|(i, share)| self.answered(i, *share)).collect()
            }
            Fork::Chance(share) => {
                let rest = Ratio::from_integer(1) - share;
                vec![self.answered(1, share), self.answered(0, rest)]
            }
            Fork::Unknown(what) => [true, false]
                .map(|holds| {
                    let mut branch = self.answered(holds.into(), Ratio::from_integer(1));
                    branch.supposed.push(Supposition { question, what, holds });
                    branch
                })
                .into(),
        }
    }

    fn answered(&self, answer: u32, share: Ratio<u64>) -> Branch {
        let mut branch = self.clone();
        branch.answers.push(answer);
        branch.weight = branch.weight.times(share);
        branch
    }

    /// Returns the steps so far.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps = self.trace.as_ref().map(Trace::steps).unwrap_or_default();
        steps.extend(self.pending.iter().cloned());
        steps
    }
}

/// Returns the exact probability that a 32-bit random number scaled to `of` gives `index`
/// (lib/math: `reciprocal_scale`).
#[must_use]
pub fn scaled_share(index: u32, of: u32) -> Ratio<u64> {
    let index = u64::from(index);
    Ratio::new(scaled_start(index + 1, of) - scaled_start(index, of), 1 << 32)
}

/// Returns the least 32-bit random number that, scaled to `of`, gives `index` or more. `index` is
/// at most `of`.
pub(crate) fn scaled_start(index: u64, of: u32) -> u64 {
    let of = u64::from(of.max(1));
    (index.min(of) << 32).div_ceil(of)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn scaled_shares_sum_to_one(of in 1_u32..3000) {
            let sum: u64 = (0..of).map(|i| *(scaled_share(i, of) * (1 << 32)).numer()).sum();
            prop_assert_eq!(sum, 1 << 32);
        }
    }

    #[test]
    fn scaled_shares_are_those_of_the_kernel() {
        let shares: Vec<_> = (0..3).map(|i| scaled_share(i, 3)).collect();
        let third = |n: u64| Ratio::new(n, 1 << 32);
        assert_eq!(shares, [third(1_431_655_766), third(1_431_655_765), third(1_431_655_765)]);
    }
}
