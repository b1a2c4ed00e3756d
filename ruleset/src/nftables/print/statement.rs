//! Rules and statements.

use super::Writer;
use crate::nftables::ast::{
    BinaryOp, Expr, Mangle, Match, Nat, NatFlags, NatKind, Payload, Reject, Relation, Rule, SetOp,
    SetUpdate, Statement, TableFamily, Value, VerdictMap,
};
use crate::nftables::datatype::{ICMPX_CODE, KeyKinds, Kind, kind_of};

use super::value::duration;

impl Writer<'_> {
    pub(super) fn rule(&mut self, rule: &Rule) {
        for (i, statement) in rule.statements.iter().enumerate() {
            if i > 0 {
                self.out.push(' ');
            }
            self.statement(statement);
        }
        if let Some(comment) = rule.comment {
            self.text(" comment ");
            self.quoted(&comment);
        }
    }

    pub(super) fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Match(m) => self.match_(m),
            Statement::Verdict(verdict) => self.verdict(*verdict),
            Statement::VerdictMap(map) => self.verdict_map(map),
            Statement::Mangle(mangle) => self.mangle(mangle),
            Statement::Nat(nat) => self.nat(nat),
            Statement::Reject(reject) => self.reject(*reject),
            Statement::SetUpdate(update) => self.set_update(update),
            Statement::Counter { packets: 0, bytes: 0 } if self.is_script() => {
                self.text("counter");
            }
            Statement::Counter { packets, bytes } => self.counter(*packets, *bytes),
            Statement::NamedCounter(name) => {
                self.text("counter name ");
                self.quoted(name);
            }
            Statement::Limit(text) => self.worded("limit", text),
            Statement::Log(text) => self.worded("log", text),
            Statement::NoTrack => self.text("notrack"),
            Statement::Xt { target, name } => {
                self.text(if *target { "xt target " } else { "xt match " });
                self.quoted(name);
            }
            Statement::Unsupported(unsupported) => self.text(&unsupported.text),
        }
    }

    fn worded(&mut self, word: &str, text: &str) {
        self.text(word);
        if !text.is_empty() {
            self.out.push(' ');
            self.text(text);
        }
    }

    fn match_(&mut self, m: &Match) {
        if self.tcp_flags_of_mask(m) || self.no_bit(m) {
            return;
        }
        match &m.left {
            Expr::Ct(ct) => self.ct_of(*ct, family_of(&m.right)),
            left => self.expr(left),
        }
        self.out.push(' ');
        self.relation(m);
        self.right(m);
    }

    /// Writes `tcp flags BITS / MASK`, if that is what is compared.
    fn tcp_flags_of_mask(&mut self, m: &Match) -> bool {
        let Expr::Binary(binary) = &m.left else { return false };
        let is_flags = binary.left == Expr::Payload(Payload::TcpFlags);
        let (Expr::Value(mask), Expr::Value(bits)) = (&binary.right, &m.right) else {
            return false;
        };
        let equality = matches!(m.op, Relation::Equal | Relation::NotEqual);
        let many = matches!(mask, Value::Number(bits) if bits.count_ones() > 1);
        if !is_flags || binary.op != BinaryOp::And || !equality || !many || m.right.is_zero() {
            return false;
        }
        self.text(if m.op == Relation::Equal { "tcp flags " } else { "tcp flags != " });
        self.value(bits, Kind::TcpFlags);
        self.text(" / ");
        self.value(mask, Kind::TcpFlags);
        true
    }

    /// Writes `LEFT ! BITS`, if none of the bits may be set.
    fn no_bit(&mut self, m: &Match) -> bool {
        let Expr::Binary(binary) = &m.left else { return false };
        let kind = kind_of(&binary.left);
        let masked = binary.op == BinaryOp::And && kind.is_bitmask();
        if !masked || m.op != Relation::Equal || !m.right.is_zero() {
            return false;
        }
        self.expr(&binary.left);
        self.text(" ! ");
        self.expr_as(&binary.right, kind, ", ");
        true
    }

    fn relation(&mut self, m: &Match) {
        self.text(match m.op {
            Relation::Equal if m.equality_is_spelled() => "== ",
            Relation::Equal | Relation::AnyBit => "",
            Relation::NotEqual => "!= ",
            Relation::Less => "< ",
            Relation::LessEqual => "<= ",
            Relation::Greater => "> ",
            Relation::GreaterEqual => ">= ",
        });
    }

    fn right(&mut self, m: &Match) {
        match &m.right {
            Expr::Set(elements) => {
                let separator = self.set_separator(m.op);
                self.anonymous_set(elements, KeyKinds::Expr(&m.left), separator);
            }
            zero if self.is_script() && zero.is_zero() && kind_of(&m.left) == Kind::Mark => {
                self.out.push('0');
            }
            right => self.expr_as(right, kind_of(&m.left), ", "),
        }
    }

    /// kube-proxy joins the CIDRs to drop with a comma only, and the ranges that a firewall lets
    /// through with blanks around it.
    fn set_separator(&self, op: Relation) -> &'static str {
        match op {
            Relation::NotEqual if self.is_script() => " , ",
            _ if self.is_script() => ",",
            _ => ", ",
        }
    }

    fn verdict_map(&mut self, map: &VerdictMap) {
        self.expr(&map.key);
        self.text(" vmap ");
        self.map_source(&map.map, &map.key);
    }

    fn mangle(&mut self, mangle: &Mangle) {
        self.expr(&mangle.target);
        self.text(" set ");
        self.expr_as(&mangle.value, kind_of(&mangle.target), ", ");
    }

    fn nat(&mut self, nat: &Nat) {
        self.text(nat.kind.as_str());
        if nat.address.is_some() || nat.port.is_some() {
            self.nat_family(nat);
            self.text(" to ");
            self.nat_target(nat);
        }
        self.nat_flags(nat.flags);
    }

    fn nat_family(&mut self, nat: &Nat) {
        if let Some(family) = nat.family {
            self.out.push(' ');
            self.text(family.as_str());
            if self.is_script() && nat.maps_to_pairs() {
                self.text(" addr . port");
            }
        }
    }

    fn nat_target(&mut self, nat: &Nat) {
        match (&nat.address, &nat.port) {
            (Some(Expr::Value(address)), Some(_)) => self.nat_address_before_port(address),
            (Some(address), _) => self.expr(address),
            (None, _) => {}
        }
        if let Some(port) = &nat.port {
            self.out.push(':');
            self.expr(port);
        }
    }

    fn nat_address_before_port(&mut self, address: &Value) {
        match *address {
            Value::Ipv6(address) => self.bracketed(address),
            Value::Ipv6Range(from, to) => {
                self.bracketed(from);
                self.out.push('-');
                self.bracketed(to);
            }
            _ => self.value(address, Kind::Other),
        }
    }

    fn bracketed(&mut self, address: std::net::Ipv6Addr) {
        self.out.push('[');
        self.ipv6(address);
        self.out.push(']');
    }

    fn nat_flags(&mut self, flags: NatFlags) {
        for (i, word) in flags.words().enumerate() {
            self.out.push(if i == 0 { ' ' } else { ',' });
            self.text(word);
        }
    }

    fn reject(&mut self, reject: Reject) {
        self.text("reject");
        match reject {
            Reject::Default => {}
            Reject::Icmp(code) => self.reject_code(" with icmp ", code, Kind::IcmpCode.symbols()),
            Reject::Icmpv6(code) => {
                self.reject_code(" with icmpv6 ", code, Kind::Icmpv6Code.symbols());
            }
            Reject::Icmpx(code) => self.reject_code(" with icmpx ", code, ICMPX_CODE),
            Reject::TcpReset => self.text(" with tcp reset"),
        }
    }

    fn reject_code(&mut self, with: &str, code: u8, words: &[(&str, u64)]) {
        self.text(with);
        match words.iter().find(|(_, number)| *number == u64::from(code)) {
            Some((word, _)) => self.text(word),
            None => self.number(code),
        }
    }

    fn set_update(&mut self, update: &SetUpdate) {
        self.text(update.op.as_str());
        self.text(" @");
        self.text(&update.set);
        self.text(" { ");
        self.expr(&update.key);
        if let Some(timeout) = update.timeout {
            self.text(" timeout ");
            duration(self.out, timeout);
        }
        for statement in &update.statements {
            self.out.push(' ');
            self.element_statement(statement);
        }
        if let Some(data) = &update.data {
            self.text(" : ");
            self.expr(data);
        }
        self.text(" }");
    }

    /// The counts of a counter inside are those of the elements, and nft shows none here.
    fn element_statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Counter { .. } => self.text("counter"),
            other => self.statement(other),
        }
    }
}

/// Returns the family of an address, which `ct original ip saddr` names.
fn family_of(right: &Expr) -> Option<TableFamily> {
    match right {
        Expr::Value(Value::Ipv4(_) | Value::Ipv4Prefix(..) | Value::Ipv4Range(..)) => {
            Some(TableFamily::Ip)
        }
        Expr::Value(Value::Ipv6(_) | Value::Ipv6Prefix(..) | Value::Ipv6Range(..)) => {
            Some(TableFamily::Ip6)
        }
        Expr::Set(elements) => match elements.first()?.key.as_slice() {
            [value] => family_of(&Expr::Value(*value)),
            _ => None,
        },
        _ => None,
    }
}

impl Match {
    /// Whether nft writes `==`, which it leaves out where it is the natural reading.
    fn equality_is_spelled(&self) -> bool {
        let by_set = matches!(self.right, Expr::Set(_) | Expr::SetRef(_));
        matches!(self.left, Expr::Binary(_)) || (kind_of(&self.left).is_bitmask() && !by_set)
    }
}

impl Nat {
    fn maps_to_pairs(&self) -> bool {
        matches!(&self.address, Some(Expr::Map(lookup)) if lookup.map.yields_pairs())
    }
}

impl NatKind {
    /// Returns the keyword.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            NatKind::Dnat => "dnat",
            NatKind::Snat => "snat",
            NatKind::Masquerade => "masquerade",
            NatKind::Redirect => "redirect",
        }
    }
}

impl NatFlags {
    /// Returns the words of the flags.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        [
            (self.random, "random"),
            (self.fully_random, "fully-random"),
            (self.persistent, "persistent"),
        ]
        .into_iter()
        .filter_map(|(on, word)| on.then_some(word))
    }
}

impl SetOp {
    /// Returns the keyword.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SetOp::Add => "add",
            SetOp::Update => "update",
            SetOp::Delete => "delete",
        }
    }
}
