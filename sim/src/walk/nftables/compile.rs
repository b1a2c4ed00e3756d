//! From the tree of a rule set to a [`Program`].

use kps_ruleset::Name;
use kps_ruleset::nftables::{
    self as nft, ChainKind, Data, Element, MapSource, Meta, Policy, Ruleset, Statement, Table,
    Value,
};

use super::lookup::{Entry, EntryData, Lookup, Parts};
use super::program::{Chain, Expr, LookupId, Op, Program, Right, Rule, Test, Translation, Verdict};
use crate::walk::datum::{Datum, Pattern};

/// Prepares a rule set for walking.
pub(crate) fn compile(ruleset: &Ruleset) -> Program {
    let mut program = Program::default();
    for table in &ruleset.tables {
        let chains = program.chains.len();
        let mut scope = Scope { table, chains, sets: program.lookups.len(), program: &mut program };
        scope.sets();
        scope.chains();
    }
    program
}

/// A table being compiled: where its chains and sets begin among all.
struct Scope<'a> {
    table: &'a Table,
    chains: usize,
    sets: usize,
    program: &'a mut Program,
}

impl Scope<'_> {
    fn sets(&mut self) {
        for (name, set) in &self.table.sets {
            let entries = set.elements.values().map(|element| self.entry(element)).collect();
            let mut lookup = Lookup::new(Some(*name), entries);
            lookup.dynamic = set.flags.dynamic || set.flags.timeout;
            lookup.size = set.size.and_then(|size| usize::try_from(size).ok());
            self.program.lookups.push(lookup);
        }
    }

    fn chains(&mut self) {
        for (name, chain) in &self.table.chains {
            let rules = chain.rules.iter().zip(0..);
            let rules = rules.filter_map(|(rule, place)| self.rule(rule, place)).collect();
            let base = chain.base.as_ref();
            self.program.chains.push(Chain {
                family: self.table.family,
                table: self.table.name,
                name: *name,
                policy: base.map_or(Policy::Accept, |base| base.policy),
                priority: base.map_or(0, |base| base.priority),
                reroutes: base.is_some_and(|base| base.kind == ChainKind::Route),
                rules,
            });
        }
    }

    /// A rule without an effect is left out, and so are conditions behind its last effect.
    fn rule(&mut self, rule: &nft::Rule, place: u32) -> Option<Rule> {
        let mut ops: Vec<Op> = rule.statements.iter().filter_map(|s| self.statement(s)).collect();
        let effects = ops.iter().rposition(Op::has_effect)?;
        ops.truncate(effects + 1);
        Some(Rule { place, ops: ops.into() })
    }

    fn statement(&mut self, statement: &Statement) -> Option<Op> {
        Some(match statement {
            Statement::Match(m) => self.test(m, statement),
            Statement::Verdict(verdict) => Op::Verdict(self.verdict(*verdict)),
            Statement::VerdictMap(vmap) => match self.map(&vmap.map) {
                Some(map) => Op::VerdictMap(self.expr(&vmap.key), map),
                None => Op::Unsupported(text(statement)),
            },
            Statement::Mangle(mangle) => return self.mangle(mangle, statement),
            Statement::Nat(nat) => Op::Translate(Box::new(self.translation(nat))),
            Statement::Reject(reject) => Op::Reject(*reject),
            Statement::SetUpdate(update) => match self.set(update.set) {
                Some(set) if update.data.is_none() => {
                    Op::Update(update.op, set, self.expr(&update.key))
                }
                _ => Op::Unsupported(text(statement)),
            },
            Statement::Counter { .. } | Statement::NamedCounter(_) | Statement::Log(_) => {
                return None;
            }
            Statement::Limit(rate) => Op::Limit(*rate),
            Statement::NoTrack => Op::Untrack,
            Statement::Unsupported(it) if clamps_segments(it.text.as_str()) => return None,
            Statement::Xt { target: false, .. } => Op::Uncertain(text(statement)),
            Statement::Xt { target: true, .. } | Statement::Unsupported(_) => {
                Op::Unsupported(text(statement))
            }
        })
    }

    fn test(&mut self, m: &nft::Match, statement: &Statement) -> Op {
        let right = match &m.right {
            nft::Expr::Value(value) => Right::Constant([pattern(*value)].into_iter().collect()),
            nft::Expr::Concat(parts) if parts.iter().all(|p| matches!(p, nft::Expr::Value(_))) => {
                Right::Constant(parts.iter().filter_map(constant).collect())
            }
            nft::Expr::Set(elements) => Right::Set(self.anonymous(elements)),
            nft::Expr::SetRef(name) => match self.set(*name) {
                Some(set) => Right::Set(set),
                None => return Op::Unsupported(text(statement)),
            },
            other => Right::Computed(self.expr(other)),
        };
        Op::Test(self.expr(&m.left), Test { relation: m.op, right })
    }

    /// Some properties have no bearing on where a packet goes; writing to others is not modelled.
    fn mangle(&mut self, mangle: &nft::Mangle, statement: &Statement) -> Option<Op> {
        let value = self.expr(&mangle.value);
        Some(match mangle.target {
            nft::Expr::Meta(Meta::Mark) => Op::SetMark(value),
            nft::Expr::Meta(Meta::Pkttype) => return None,
            nft::Expr::Meta(Meta::Other(key)) if HARMLESS.contains(&key.as_str()) => return None,
            nft::Expr::Ct(nft::Ct { key: nft::CtKey::Mark, .. }) => Op::SetConnectionMark(value),
            nft::Expr::Payload(field) => Op::SetField(field, value),
            _ => Op::Unsupported(text(statement)),
        })
    }

    fn translation(&mut self, nat: &nft::Nat) -> Translation {
        Translation {
            kind: nat.kind,
            family: nat.family,
            address: nat.address.as_ref().map(|expr| self.expr(expr)),
            port: nat.port.as_ref().map(|expr| self.expr(expr)),
            random: nat.flags.random || nat.flags.fully_random,
        }
    }

    fn expr(&mut self, expr: &nft::Expr) -> Expr {
        match expr {
            nft::Expr::Payload(field) => Expr::Payload(*field),
            nft::Expr::Meta(meta) => Expr::Meta(*meta),
            nft::Expr::Ct(ct) => Expr::Ct(ct.key, ct.direction),
            nft::Expr::Fib { result, flags } => Expr::Fib(*result, *flags),
            nft::Expr::Numgen { mode, modulus, offset } => Expr::Numgen(*mode, *modulus, *offset),
            nft::Expr::Concat(parts) => Expr::Concat(parts.iter().map(|p| self.expr(p)).collect()),
            nft::Expr::Binary(b) => {
                Expr::Binary(Box::new((self.expr(&b.left), b.op, self.expr(&b.right))))
            }
            nft::Expr::Value(value) => Expr::Constant(
                pattern(*value).single().unwrap_or_else(|| Datum::Unknown(shown(expr))),
            ),
            nft::Expr::Map(map) => match self.map(&map.map) {
                Some(id) => Expr::Map(Box::new(self.expr(&map.key)), id),
                None => Expr::Unknown(shown(expr)),
            },
            nft::Expr::Set(_) | nft::Expr::SetRef(_) | nft::Expr::Unsupported(_) => {
                Expr::Unknown(shown(expr))
            }
        }
    }

    fn map(&mut self, source: &MapSource) -> Option<LookupId> {
        match source {
            MapSource::Named(name) => self.set(*name),
            MapSource::Anonymous(elements) => Some(self.anonymous(elements)),
        }
    }

    fn set(&self, name: Name) -> Option<LookupId> {
        let at = self.table.sets.get_index_of(&name)?;
        id(self.sets + at)
    }

    fn anonymous(&mut self, elements: &[Element]) -> LookupId {
        let entries = elements.iter().map(|element| self.entry(element)).collect();
        self.program.lookups.push(Lookup::new(None, entries));
        id(self.program.lookups.len() - 1).unwrap_or(LookupId::MAX)
    }

    fn entry(&self, element: &Element) -> Entry {
        let data = element.data.as_ref().map(|data| match data {
            Data::Verdict(verdict) => EntryData::Verdict(self.verdict(*verdict)),
            Data::Values(values) => match values.as_slice() {
                [Value::Verdict(verdict)] => EntryData::Verdict(self.verdict(*verdict)),
                values => EntryData::Values(values.iter().map(|v| datum(*v)).collect::<Parts>()),
            },
        });
        Entry { key: element.key.iter().map(|value| pattern(*value)).collect(), data }
    }

    fn verdict(&self, verdict: nft::Verdict) -> Verdict {
        match verdict {
            nft::Verdict::Accept => Verdict::Accept,
            nft::Verdict::Drop => Verdict::Drop,
            nft::Verdict::Continue => Verdict::Continue,
            nft::Verdict::Return => Verdict::Return,
            nft::Verdict::Queue => Verdict::Queue,
            nft::Verdict::Jump(to) => self.chain(to).map_or(Verdict::Dangling(to), Verdict::Jump),
            nft::Verdict::Goto(to) => self.chain(to).map_or(Verdict::Dangling(to), Verdict::Goto),
        }
    }

    fn chain(&self, name: Name) -> Option<u32> {
        id(self.chains + self.table.chains.get_index_of(&name)?)
    }
}

impl Op {
    fn has_effect(&self) -> bool {
        !matches!(self, Op::Test(..) | Op::Limit(_) | Op::Uncertain(_))
    }
}

/// `meta KEY set` of these changes no packet's way.
const HARMLESS: [&str; 4] = ["nftrace", "priority", "secmark", "broute"];

/// Tells whether a statement, alone at the end of its rule, sets the largest segment that a TCP
/// connection agrees on: firewalls do so, and it changes no packet's way.
fn clamps_segments(statement: &str) -> bool {
    let Some(size) = statement.strip_prefix("tcp option maxseg size set ") else { return false };
    size == "rt mtu" || size.parse::<u16>().is_ok()
}

fn id(at: usize) -> Option<u32> {
    u32::try_from(at).ok()
}

fn text(statement: &Statement) -> Name {
    Name::from(statement.to_string())
}

fn shown(expr: &nft::Expr) -> Name {
    Name::from(expr.to_string())
}

fn constant(expr: &nft::Expr) -> Option<Pattern> {
    match expr {
        nft::Expr::Value(value) => Some(pattern(*value)),
        _ => None,
    }
}

fn datum(value: Value) -> Datum {
    pattern(value).single().unwrap_or_else(|| Datum::Unknown(Name::from(value.to_string())))
}

/// Returns what fits a constant.
fn pattern(value: Value) -> Pattern {
    let range = |low: u128, high: u128| Pattern::Range(low, high);
    match value {
        Value::Ipv4(a) => Pattern::exactly(u32::from(a)),
        Value::Ipv6(a) => Pattern::exactly(u128::from(a)),
        Value::Ipv4Prefix(a, length) => prefix(u32::from(a).into(), 32, length),
        Value::Ipv6Prefix(a, length) => prefix(a.into(), 128, length),
        Value::Ipv4Range(a, b) => range(u32::from(a).into(), u32::from(b).into()),
        Value::Ipv6Range(a, b) => range(a.into(), b.into()),
        Value::Protocol(n) => Pattern::exactly(n),
        Value::Port(n) => Pattern::exactly(n),
        Value::PortRange(a, b) => range(a.into(), b.into()),
        Value::Mark(n) | Value::CtState(n) | Value::CtStatus(n) => Pattern::exactly(n),
        Value::Number(n) => Pattern::exactly(n),
        Value::NumberRange(a, b) => range(a.into(), b.into()),
        Value::Interface(name) => interface(name),
        Value::AddressType(kind) => Pattern::exactly(super::field::address_type(kind)),
        Value::Wildcard => Pattern::Any,
        Value::Word(word) => match word.as_str() {
            "exists" | "true" => Pattern::exactly(1_u8),
            "missing" | "false" => Pattern::exactly(0_u8),
            _ => Pattern::Unknown(word),
        },
        Value::Verdict(_) => Pattern::Unknown(Name::from(value.to_string())),
    }
}

/// Returns the range of a prefix; bits beyond it are ignored.
fn prefix(address: u128, bits: u8, length: u8) -> Pattern {
    let host = u32::from(bits.saturating_sub(length));
    let mask = 1_u128.checked_shl(host).map_or(u128::MAX, |bit| bit - 1);
    Pattern::Range(address & !mask, address | mask)
}

fn interface(name: Name) -> Pattern {
    match name.as_str().strip_suffix('*') {
        Some(escaped) if escaped.ends_with('\\') => {
            Pattern::Link(Name::from(format!("{}*", &escaped[..escaped.len() - 1])))
        }
        Some(prefix) => Pattern::LinkPrefix(Name::new(prefix)),
        None => Pattern::Link(name),
    }
}
