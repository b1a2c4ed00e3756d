//! Rules and targets at work.

use kps_flow::{Outcome, Protocol, RejectKind};
use kps_ruleset::Name;
use kps_ruleset::iptables::{Connmark, RejectWith, SetChange as Change, SetTarget, Target, XMark};
use kps_ruleset::nftables::Policy;

use super::Run;
use super::lookup::SetChange;
use super::program::{Action, Chain};
use super::translate::Kind;
use crate::conntrack::CtState;
use crate::mark::Mark;
use crate::trace::{Deed, Place};
use crate::walk::branch::{Branch, Frame, Interrupt};
use crate::walk::chains::{ChainId, Chains, unknown};

impl Chains for Run<'_> {
    /// Asks the next match of a rule, or does what the rule says. The place in a rule is the number
    /// of its next match.
    fn step(&self, frame: Frame, branch: &mut Branch) -> Result<(), Interrupt> {
        let chain = self.chain(frame.chain);
        let frame = match frame.op {
            0 => Frame { rule: next_rule(frame.chain, chain, frame.rule, branch), ..frame },
            _ => frame,
        };
        branch.goes_to(frame);
        let Some(rule) = chain.rules.get(frame.rule) else { return self.leave_chain(branch) };
        let Some(test) = rule.tree.matches.get(frame.op) else {
            return self.act(rule.action, frame, branch);
        };
        let holds = self.holds(test, branch)?;
        branch.goes_to(if holds { Frame { op: frame.op + 1, ..frame } } else { frame.next_rule() });
        Ok(())
    }

    fn place(&self, frame: Option<Frame>) -> Place {
        let Some(frame) = frame else { return Place::Kernel };
        let rule = Some(frame.rule).filter(|at| *at < self.chain(frame.chain).rules.len());
        self.place_in(frame.chain, rule.and_then(|at| u32::try_from(at).ok()))
    }

    fn place_of_chain(&self, chain: ChainId) -> Place {
        self.place_in(chain, None)
    }

    fn name(&self, chain: ChainId) -> Name {
        self.chain(chain).name
    }

    fn base(&self, chain: ChainId) -> (Policy, i32) {
        (self.chain(chain).policy, self.chain(chain).priority)
    }

    fn count(&self) -> usize {
        self.program.chains.len()
    }

    /// The kernel makes its stack as deep as a table has chains (`xt_jumpstack_alloc`).
    fn deepest(&self) -> usize {
        self.count()
    }
}

impl Run<'_> {
    fn chain(&self, chain: ChainId) -> &Chain<'_> {
        &self.program.chains[chain as usize]
    }

    fn act(&self, action: Action, frame: Frame, branch: &mut Branch) -> Result<(), Interrupt> {
        match action {
            Action::Nothing => {
                branch.goes_to(frame.next_rule());
                Ok(())
            }
            Action::Jump(to) => self.jump(to, frame, branch),
            Action::Goto(to) => self.goto(to, branch),
            Action::Dangling(to) => Err(unknown(format!("there is no chain {to}"))),
            Action::Target(target) => self.target(target, frame, branch),
        }
    }

    /// Does what a target says that ends the walk of the chain, or changes the packet and goes on.
    fn target(&self, target: &Target, frame: Frame, branch: &mut Branch) -> Result<(), Interrupt> {
        match target {
            Target::Accept => self.accept(branch),
            Target::Drop => return Err(self.discard(branch)),
            Target::Return => return self.give_back(branch),
            Target::Reject(with) => return Err(self.reject(*with, branch)),
            Target::Dnat(nat) => self.translate(Kind::Dnat, nat, branch)?,
            Target::Snat(nat) => self.translate(Kind::Snat, nat, branch)?,
            Target::Masquerade(nat) => self.translate(Kind::Masquerade, nat, branch)?,
            Target::Redirect(nat) => self.translate(Kind::Redirect, nat, branch)?,
            Target::Netmap(network) => self.map_network(**network, branch)?,
            _ => {
                self.change(target, branch)?;
                branch.goes_to(frame.next_rule());
            }
        }
        Ok(())
    }

    /// Does what a target says after which the next rule is tried.
    fn change(&self, target: &Target, branch: &mut Branch) -> Result<(), Interrupt> {
        match target {
            Target::Mark(change) => {
                self.set_mark(changed(branch.packet.mark, *change), branch);
            }
            Target::Connmark(change) => self.connection_mark(*change, branch),
            Target::NoTrack { .. } => self.untrack(branch),
            Target::Set(change) => self.change_set(change, branch)?,
            Target::Ct(options) if options.contains("--zone") => {
                return Err(self.unsupported(Name::from(format!("CT {options}")), branch));
            }
            Target::Tproxy(_) => return Err(self.unsupported(Name::new("TPROXY"), branch)),
            Target::Unknown(other) => return Err(self.unsupported(other.module, branch)),
            // Logs, and headers that no rule looks at.
            _ => {}
        }
        Ok(())
    }

    fn set_mark(&self, to: Mark, branch: &mut Branch) {
        let from = branch.packet.mark;
        self.note(branch, || Deed::Marks { from, to });
        branch.packet.mark = to;
    }

    /// `net/netfilter/xt_connmark.c`: nothing is done to a packet without a connection.
    fn connection_mark(&self, change: Connmark, branch: &mut Branch) {
        let mark = branch.packet.mark;
        let tracked = branch.state.is_some_and(CtState::is_tracked);
        let Some(connection) = branch.connection.as_mut().filter(|_| tracked) else { return };
        match change {
            Connmark::Set(change) => connection.mark = changed(connection.mark, change),
            Connmark::Save { packet_mask, ct_mask } => {
                let saved = mark.and(Mark::new(packet_mask));
                connection.mark = connection.mark.and(Mark::new(!ct_mask)).xor(saved);
            }
            Connmark::Restore { packet_mask, ct_mask } => {
                let restored = connection.mark.and(Mark::new(ct_mask));
                self.set_mark(mark.and(Mark::new(!packet_mask)).xor(restored), branch);
            }
        }
    }

    /// `net/netfilter/xt_set.c`: an element is put into a set, or taken out of it.
    fn change_set(&self, target: &SetTarget, branch: &mut Branch) -> Result<(), Interrupt> {
        let element = self.element(target.set, &target.sides, branch);
        let (Some(element), true) = (element, target.change != Change::Map) else {
            return Err(self.unsupported(Name::from(format!("SET of {}", target.set)), branch));
        };
        let adds = target.change == Change::Add;
        if adds {
            self.note(branch, || Deed::Remembers(target.set));
        }
        branch.overwrites();
        branch.set_changes.push(SetChange { set: target.set, element, adds });
        Ok(())
    }

    /// A reset answers TCP only.
    fn reject(&self, with: RejectWith, branch: &mut Branch) -> Interrupt {
        let kind = match with {
            RejectWith::Icmp(code) => RejectKind::Icmp(code),
            RejectWith::Icmpv6(code) => RejectKind::Icmpv6(code),
            RejectWith::TcpReset if branch.packet.protocol == Protocol::Tcp => RejectKind::TcpReset,
            RejectWith::TcpReset => return self.discard(branch),
        };
        self.note(branch, || Deed::Rejects(kind));
        Interrupt::End(Outcome::Reject(kind))
    }
}

/// Returns the number of the next rule that can apply; behind the last one if none can.
fn next_rule(id: ChainId, chain: &Chain, from: usize, branch: &Branch) -> usize {
    chain.asks_index(id, branch);
    chain.next(from, branch).unwrap_or(chain.rules.len())
}

fn changed(mark: Mark, change: XMark) -> Mark {
    mark.and(Mark::new(!change.mask)).xor(Mark::new(change.value))
}
