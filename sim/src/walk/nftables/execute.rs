//! Chains, rules and statements at work.

use kps_flow::{Family, Outcome, Protocol, RejectKind};
use kps_ruleset::Name;
use kps_ruleset::nftables::{Payload, Policy, Reject, SetOp, TableFamily};

use super::Run;
use super::lookup::EntryData;
use super::program::{Expr, LookupId, Op, Verdict};
use crate::trace::{Deed, Place};
use crate::walk::branch::{Branch, Frame, Interrupt};
use crate::walk::chains::{ChainId, Chains, unknown};
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

impl Chains for Run<'_> {
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

    fn place(&self, frame: Option<Frame>) -> Place {
        let Some(frame) = frame else { return Place::Kernel };
        let rules = &self.program.chains[frame.chain as usize].rules;
        self.place_in(frame.chain, rules.get(frame.rule).map(|rule| rule.place))
    }

    fn place_of_chain(&self, chain: ChainId) -> Place {
        self.place_in(chain, None)
    }

    fn name(&self, chain: ChainId) -> Name {
        self.program.chains[chain as usize].name
    }

    fn base(&self, chain: ChainId) -> (Policy, i32) {
        let chain = &self.program.chains[chain as usize];
        (chain.policy, chain.priority)
    }

    fn count(&self) -> usize {
        self.program.chains.len()
    }

    fn deepest(&self) -> usize {
        DEEPEST
    }
}

impl Run<'_> {
    fn verdict(
        &self,
        verdict: Verdict,
        frame: Frame,
        branch: &mut Branch,
    ) -> Result<(), Interrupt> {
        match verdict {
            Verdict::Accept => self.accept(branch),
            Verdict::Drop => return Err(self.discard(branch)),
            Verdict::Continue => branch.goes_to(Frame { op: frame.op + 1, ..frame }),
            Verdict::Return => return self.give_back(branch),
            Verdict::Jump(to) => return self.jump(to, frame, branch),
            Verdict::Goto(to) => return self.goto(to, branch),
            Verdict::Queue => return Err(unknown("a rule hands the packet to user space")),
            Verdict::Dangling(to) => return Err(unknown(format!("there is no chain {to}"))),
        }
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
            Op::Untrack => {
                self.untrack(branch);
                Next::Statement
            }
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
        branch.overwrites();
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
        let Some(parts) = self.evaluate(key, branch)? else { return Ok(Next::Rule) };
        let lookup = self.lookup(set);
        let adds = op != SetOp::Delete;
        if adds
            && lookup.size.is_some_and(|size| lookup.len() >= size)
            && !self.has(set, key, &parts, branch)
        {
            return Ok(Next::Rule);
        }
        if let Some(name) = lookup.name.filter(|_| adds) {
            self.note(branch, || Deed::Remembers(name));
        }
        branch.remembered.push((set, parts, adds));
        Ok(Next::Statement)
    }

    fn reject(&self, reject: Reject, branch: &mut Branch) -> Result<Next, Interrupt> {
        let packet = &branch.packet;
        let Some(kind) = refusal(reject, packet.family(), packet.protocol) else {
            return Ok(Next::Rule);
        };
        self.note(branch, || Deed::Rejects(kind));
        Err(Interrupt::End(Outcome::Reject(kind)))
    }

    /// Evaluates an expression that has one part.
    fn single(&self, expr: &Expr, branch: &mut Branch) -> Result<Option<Datum>, Interrupt> {
        let parts = self.evaluate(expr, branch)?;
        if let Some(parts) = &parts {
            branch.asks_computed(expr, parts);
        }
        Ok(parts.and_then(|parts| parts.first().copied()))
    }
}

/// How deep chains may call each other (`NFT_JUMP_STACK_SIZE`).
const DEEPEST: usize = 16;

fn if_holds(answer: Option<bool>) -> Next {
    if answer == Some(true) { Next::Statement } else { Next::Rule }
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
