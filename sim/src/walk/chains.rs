//! Chains at work: what nftables and iptables have in common. Both call chains, go to them, return,
//! and end with a verdict or the policy of the base chain; what a rule says differs.

use kps_flow::Outcome;
use kps_ruleset::Name;
use kps_ruleset::nftables::Policy;

use super::branch::{Branch, Frame, Interrupt};
use crate::conntrack::CtState;
use crate::trace::{Deed, Place};

/// The number of a chain among those of its language.
pub(crate) type ChainId = u32;

/// The chains of a rule language, and how it runs a rule.
pub(crate) trait Chains {
    /// Does the next part of a rule, or leaves the chain if no rule is left.
    fn step(&self, frame: Frame, branch: &mut Branch) -> Result<(), Interrupt>;

    /// Returns where a frame is, for the trace.
    fn place(&self, frame: Option<Frame>) -> Place;

    /// Returns a chain as a place.
    fn place_of_chain(&self, chain: ChainId) -> Place;

    /// Returns the name of a chain.
    fn name(&self, chain: ChainId) -> Name;

    /// Returns the policy and the priority of a base chain.
    fn base(&self, chain: ChainId) -> (Policy, i32);

    /// Returns the number of chains.
    fn count(&self) -> usize;

    /// Returns how deep chains may call each other.
    fn deepest(&self) -> usize;

    /// Runs a base chain from where the branch is in it, or from its start, until it is done with
    /// the packet.
    fn base_chain(&self, base: ChainId, branch: &mut Branch) -> Result<(), Interrupt> {
        if branch.frames.is_empty() {
            self.enter(base, branch);
        }
        while let Some(frame) = branch.frame() {
            self.step(frame, branch)?;
            branch.finish_unit();
        }
        Ok(())
    }

    /// Starts a base chain.
    fn enter(&self, base: ChainId, branch: &mut Branch) {
        branch.gotos = 0;
        branch.base = Some(base);
        branch.frames.push(Frame { chain: base, rule: 0, op: 0 });
        let (_, priority) = self.base(base);
        branch.note(|| self.place_of_chain(base), || Deed::Enters { priority });
    }

    /// The end of a chain: back to its caller, or the policy of the base chain.
    fn leave_chain(&self, branch: &mut Branch) -> Result<(), Interrupt> {
        let left = branch.frame();
        branch.gotos = 0;
        branch.frames.pop();
        if !branch.frames.is_empty() {
            return Ok(());
        }
        let Some(base) = branch.base else { return Ok(()) };
        let (policy, _) = self.base(base);
        branch.note(|| self.place(left), || Deed::Policy(policy));
        match policy {
            Policy::Accept => Ok(()),
            Policy::Drop => Err(Interrupt::End(Outcome::Drop)),
        }
    }

    /// Ends the base chain: the packet goes on.
    fn accept(&self, branch: &mut Branch) {
        self.note(branch, || Deed::Accepts);
        branch.frames.clear();
    }

    /// Ends the walk: the packet is gone.
    fn discard(&self, branch: &mut Branch) -> Interrupt {
        self.note(branch, || Deed::Drops);
        Interrupt::End(Outcome::Drop)
    }

    /// Leaves the chain by a rule.
    fn give_back(&self, branch: &mut Branch) -> Result<(), Interrupt> {
        self.note(branch, || Deed::Returns);
        self.leave_chain(branch)
    }

    /// Calls a chain.
    fn jump(&self, to: ChainId, frame: Frame, branch: &mut Branch) -> Result<(), Interrupt> {
        self.note(branch, || Deed::Jumps(self.name(to)));
        let deepest = self.deepest();
        if branch.frames.len() > deepest {
            return Err(unknown(format!("chains call each other more than {deepest} deep")));
        }
        branch.gotos = 0;
        branch.goes_to(frame.next_rule());
        branch.frames.push(Frame { chain: to, rule: 0, op: 0 });
        Ok(())
    }

    /// What a chain that was gone to returns to is the caller of the one that went there.
    fn goto(&self, to: ChainId, branch: &mut Branch) -> Result<(), Interrupt> {
        self.note(branch, || Deed::Goes(self.name(to)));
        branch.gotos += 1;
        if branch.gotos > self.count() {
            return Err(unknown("chains go to each other in a circle"));
        }
        branch.goes_to(Frame { chain: to, rule: 0, op: 0 });
        Ok(())
    }

    /// Splits the walk at something that the model does not know.
    fn suppose(&self, what: Name, branch: &mut Branch) -> Result<bool, Interrupt> {
        let holds = branch.suppose(what)?;
        self.note(branch, || Deed::Assumes { what, holds });
        Ok(holds)
    }

    /// Ends the walk at something that the model does not do.
    fn unsupported(&self, text: Name, branch: &Branch) -> Interrupt {
        let place = self.place(branch.frame());
        unknown(format!("`{text}` is not modelled ({place})"))
    }

    /// Conntrack is told to leave the packet alone. Only one that it has not seen yet can escape.
    fn untrack(&self, branch: &mut Branch) {
        if branch.state.is_none() {
            self.note(branch, || Deed::Untracks);
            branch.state = Some(CtState::Untracked);
        }
    }

    /// Notes a step at the rule that is at work.
    fn note(&self, branch: &mut Branch, deed: impl FnOnce() -> Deed) {
        let frame = branch.frame();
        branch.note(|| self.place(frame), deed);
    }
}

/// Ends a walk whose outcome the model does not know.
pub(crate) fn unknown(why: impl Into<String>) -> Interrupt {
    Interrupt::End(Outcome::Unknown(why.into()))
}
