//! Chains, rules and statements at work.

use kps_flow::{Family, Outcome, Protocol, RejectKind};
use kps_ruleset::Name;
use kps_ruleset::nftables::{Payload, Policy, Reject, SetOp, TableFamily};

use super::Run;
use super::lookup::EntryData;
use super::program::{ChainId, Expr, LookupId, Op, Verdict};
use crate::conntrack::CtState;
use crate::trace::Deed;
use crate::walk::branch::{Branch, Frame, Interrupt};
use crate::walk::datum::Datum;

/// How a rule goes on after a statement.
pub(super) enum Next {
    /// With its next statement.
    Statement,
    /// Not at all: the next rule is tried.
    Rule,
    /// With a verdict.
    Verdict(Verdict),
}

impl Run<'_> {
    /// Runs a base chain from where the branch is in it, or from its start, until it is done with
    /// the packet.
    pub(crate) fn base_chain(&self, base: ChainId, branch: &mut Branch) -> Result<(), Interrupt> {
        if branch.frames.is_empty() {
            self.enter(base, branch);
        }
        while let Some(frame) = branch.frame() {
            self.step(frame, branch)?;
            branch.finish_unit();
        }
        Ok(())
    }

    fn enter(&self, base: ChainId, branch: &mut Branch) {
        branch.gotos = 0;
        branch.base = Some(base);
        branch.frames.push(Frame { chain: base, rule: 0, op: 0 });
        let priority = self.program.chains[base as usize].priority;
        branch.note(|| self.place_of_chain(base), || Deed::Enters { priority });
    }

    /// Does the next statement, or leaves the rule or chain that has none.
    fn step(&self, frame: Frame, branch: &mut Branch) -> Result<(), Interrupt> {
        let chain = &self.program.chains[frame.chain as usize];
        let Some(rule) = chain.rules.get(frame.rule) else {
            return self.leave_chain(branch);
        };
        let next = match rule.ops.get(frame.op) {
            Some(op) => self.statement(op, branch)?,
            None => Next::Rule,
        };
        match next {
            Next::Statement => branch.goes_to(Frame { op: frame.op + 1, ..frame }),
            Next::Rule => branch.goes_to(frame.next_rule()),
            Next::Verdict(verdict) => self.verdict(verdict, frame, branch)?,
        }
        Ok(())
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
        let policy = self.program.chains[base as usize].policy;
        branch.note(|| self.place(left), || Deed::Policy(policy));
        match policy {
            Policy::Accept => Ok(()),
            Policy::Drop => Err(Interrupt::End(Outcome::Drop)),
        }
    }

    fn verdict(
        &self,
        verdict: Verdict,
        frame: Frame,
        branch: &mut Branch,
    ) -> Result<(), Interrupt> {
        match verdict {
            Verdict::Accept => {
                self.note(branch, || Deed::Accepts);
                branch.frames.clear();
            }
            Verdict::Drop => {
                self.note(branch, || Deed::Drops);
                return Err(Interrupt::End(Outcome::Drop));
            }
            Verdict::Continue => branch.goes_to(Frame { op: frame.op + 1, ..frame }),
            Verdict::Return => {
                self.note(branch, || Deed::Returns);
                return self.leave_chain(branch);
            }
            Verdict::Jump(to) => return self.jump(to, frame, branch),
            Verdict::Goto(to) => return self.goto(to, branch),
            Verdict::Queue => return Err(unknown("a rule hands the packet to user space")),
            Verdict::Dangling(to) => return Err(unknown(format!("there is no chain {to}"))),
        }
        Ok(())
    }

    fn jump(&self, to: ChainId, frame: Frame, branch: &mut Branch) -> Result<(), Interrupt> {
        self.note(branch, || Deed::Jumps(self.program.chains[to as usize].name));
        if branch.frames.len() > DEEPEST {
            return Err(unknown(format!("chains call each other more than {DEEPEST} deep")));
        }
        branch.gotos = 0;
        branch.goes_to(frame.next_rule());
        branch.frames.push(Frame { chain: to, rule: 0, op: 0 });
        Ok(())
    }

    /// What a chain that was gone to returns to is the caller of the one that went there.
    fn goto(&self, to: ChainId, branch: &mut Branch) -> Result<(), Interrupt> {
        self.note(branch, || Deed::Goes(self.program.chains[to as usize].name));
        branch.gotos += 1;
        if branch.gotos > self.program.chains.len() {
            return Err(unknown("chains go to each other in a circle"));
        }
        branch.goes_to(Frame { chain: to, rule: 0, op: 0 });
        Ok(())
    }

    fn statement(&self, op: &Op, branch: &mut Branch) -> Result<Next, Interrupt> {
        Ok(match op {
            Op::Test(left, test) => if_holds(self.holds(left, test, branch)?),
            Op::Verdict(verdict) => Next::Verdict(*verdict),
            Op::VerdictMap(key, map) => match self.data(key, *map, branch)? {
                Some(EntryData::Verdict(verdict)) => Next::Verdict(*verdict),
                _ => Next::Rule,
            },
            Op::SetMark(value) => self.set_mark(value, branch)?,
            Op::SetConnectionMark(value) => self.set_connection_mark(value, branch)?,
            Op::SetField(field, value) => self.set_field(*field, value, branch)?,
            Op::Translate(translation) => self.translate(translation, branch)?,
            Op::Reject(reject) => self.reject(*reject, branch)?,
            Op::Update(op, set, key) => self.update(*op, *set, key, branch)?,
            Op::Untrack => self.untrack(branch),
            Op::Limit(rate) => {
                let what = Name::from(format!("limit rate {rate} is not exceeded"));
                self.note(branch, || Deed::Assumes { what, holds: true });
                Next::Statement
            }
            Op::Uncertain(what) => if_holds(Some(self.suppose(*what, branch)?)),
            Op::Unsupported(text) => return Err(self.unsupported(*text, branch)),
        })
    }

    fn set_mark(&self, value: &Expr, branch: &mut Branch) -> Result<Next, Interrupt> {
        let Some(value) = self.single(value, branch)? else { return Ok(Next::Rule) };
        let (from, to) = (branch.packet.mark, value.as_mark());
        self.note(branch, || Deed::Marks { from, to });
        branch.packet.mark = to;
        Ok(Next::Statement)
    }

    fn set_connection_mark(&self, value: &Expr, branch: &mut Branch) -> Result<Next, Interrupt> {
        let Some(value) = self.single(value, branch)? else { return Ok(Next::Rule) };
        if let Some(connection) = &mut branch.connection {
            connection.mark = value.as_mark();
        }
        Ok(Next::Statement)
    }

    fn set_field(
        &self,
        field: Payload,
        value: &Expr,
        branch: &mut Branch,
    ) -> Result<Next, Interrupt> {
        let present = self.view(branch).payload(field).is_some();
        let Some(value) = self.single(value, branch)?.filter(|_| present) else {
            return Ok(Next::Rule);
        };
        if branch.packet.write(field, value) {
            return Ok(Next::Statement);
        }
        Err(self.unsupported(Name::new("set a header field"), branch))
    }

    fn update(
        &self,
        op: SetOp,
        set: LookupId,
        key: &Expr,
        branch: &mut Branch,
    ) -> Result<Next, Interrupt> {
        let Some(key) = self.evaluate(key, branch)? else { return Ok(Next::Rule) };
        let lookup = self.lookup(set);
        let adds = op != SetOp::Delete;
        if adds
            && lookup.size.is_some_and(|size| lookup.len() >= size)
            && !self.has(set, &key, branch)
        {
            return Ok(Next::Rule);
        }
        if let Some(name) = lookup.name.filter(|_| adds) {
            self.note(branch, || Deed::Remembers(name));
        }
        branch.remembered.push((set, key, adds));
        Ok(Next::Statement)
    }

    /// Only a packet that conntrack has not seen yet can escape it.
    fn untrack(&self, branch: &mut Branch) -> Next {
        if branch.state.is_none() {
            self.note(branch, || Deed::Untracks);
            branch.state = Some(CtState::Untracked);
        }
        Next::Statement
    }

    fn reject(&self, reject: Reject, branch: &mut Branch) -> Result<Next, Interrupt> {
        let packet = &branch.packet;
        let Some(kind) = refusal(reject, packet.family(), packet.protocol) else {
            return Ok(Next::Rule);
        };
        self.note(branch, || Deed::Rejects(kind));
        Err(Interrupt::End(Outcome::Reject(kind)))
    }

    fn unsupported(&self, text: Name, branch: &Branch) -> Interrupt {
        let place = self.place(branch.frame());
        unknown(format!("`{text}` is not modelled ({place})"))
    }

    /// Evaluates an expression that has one part.
    fn single(&self, expr: &Expr, branch: &mut Branch) -> Result<Option<Datum>, Interrupt> {
        Ok(self.evaluate(expr, branch)?.and_then(|parts| parts.first().copied()))
    }

    /// Notes a step at the rule that is at work.
    pub(super) fn note(&self, branch: &mut Branch, deed: impl FnOnce() -> Deed) {
        let frame = branch.frame();
        branch.note(|| self.place(frame), deed);
    }
}

/// How deep chains may call each other (`NFT_JUMP_STACK_SIZE`).
const DEEPEST: usize = 16;

fn if_holds(answer: Option<bool>) -> Next {
    if answer == Some(true) { Next::Statement } else { Next::Rule }
}

pub(super) fn unknown(why: impl Into<String>) -> Interrupt {
    Interrupt::End(Outcome::Unknown(why.into()))
}

/// Returns how a packet is refused; `None` if the form is for other packets, which ends the rule.
fn refusal(reject: Reject, family: Family, protocol: Protocol) -> Option<RejectKind> {
    let v4 = family == Family::V4;
    match reject {
        Reject::Default if v4 => Some(RejectKind::PORT_UNREACHABLE_V4),
        Reject::Default => Some(RejectKind::PORT_UNREACHABLE_V6),
        Reject::Icmp(code) => v4.then_some(RejectKind::Icmp(code)),
        Reject::Icmpv6(code) => (!v4).then_some(RejectKind::Icmpv6(code)),
        Reject::Icmpx(code) => Some(refusal_of_any_family(code, v4)),
        Reject::TcpReset => (protocol == Protocol::Tcp).then_some(RejectKind::TcpReset),
    }
}

/// The codes of `icmpx` (`net/netfilter/nft_reject.c`): no route, port, host, admin prohibited.
fn refusal_of_any_family(code: u8, v4: bool) -> RejectKind {
    let (icmp, icmpv6) = match code {
        0 => (0, 0),
        2 => (1, 3),
        3 => (13, 1),
        _ => (3, 4),
    };
    if v4 { RejectKind::Icmp(icmp) } else { RejectKind::Icmpv6(icmpv6) }
}

/// Tells whether a table of this family sees packets of that one.
pub(crate) fn sees(table: TableFamily, family: Family) -> bool {
    match table {
        TableFamily::Ip => family == Family::V4,
        TableFamily::Ip6 => family == Family::V6,
        TableFamily::Inet | TableFamily::Netdev => true,
        TableFamily::Arp | TableFamily::Bridge => false,
    }
}
