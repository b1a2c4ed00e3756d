//! Expressions.

use super::lexer::Token;
use super::value;
use super::{Expected, Parser, Result};
use crate::nftables::ast::{
    Binary, BinaryOp, Ct, CtDirection, CtKey, Expr, FibFlags, FibResult, MapLookup, Meta,
    NumgenMode, Payload, Value,
};
use crate::nftables::datatype::{Kind, kind_of};

/// Operators nest to the left, and trees are walked by recursion. No rule needs
/// more.
pub(in crate::nftables) const MOST_OPERATORS: usize = 16;

impl<'a> Parser<'a> {
    /// Reads what is looked at or looked up: fields and properties, joined and masked.
    pub(super) fn lookup(&mut self) -> Result<Expr> {
        let first = self.operation()?;
        if !self.is_word(".") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.eat_word(".") {
            parts.push(self.operation()?);
        }
        Ok(Expr::Concat(parts.into()))
    }

    /// Reads a value that may be computed: a constant of a kind, a field, a look-up in a map.
    pub(super) fn computed(&mut self, kind: Kind, data: [Kind; 2]) -> Result<Expr> {
        if !self.begins_lookup() {
            return self.constant(kind).map(Expr::Value);
        }
        let key = self.lookup()?;
        if !self.eat_word("map") {
            return Ok(key);
        }
        let map = self.map_source(&key, data)?;
        Ok(Expr::Map(Box::new(MapLookup { key, map })))
    }

    /// Reads a constant.
    pub(super) fn constant(&mut self, kind: Kind) -> Result<Value> {
        if kind.is_bitmask() {
            return self.bitmask(kind);
        }
        let value = match self.token {
            Token::Quoted(text) => quoted_value(text, kind),
            Token::Word(word) => self.word_value(word, kind).ok_or(Expected("a value"))?,
            _ => return Err(Expected("a value")),
        };
        self.bump();
        self.rest_of_range(value, kind)
    }

    /// Joins the ends of a range between quotes or blanks: `"10:00"-"12:00"`, `1 - 5`.
    fn rest_of_range(&mut self, from: Value, kind: Kind) -> Result<Value> {
        let Token::Word(word) = self.token else { return Ok(from) };
        if word != "-" {
            return Ok(from);
        }
        self.bump();
        let to = self.word().and_then(|word| value::value(word, kind));
        let to = to.ok_or(Expected("the end of a range"))?;
        self.bump();
        range(from, to).ok_or(Expected("a range of one type"))
    }

    /// Reads a word as a value. A word that holds a `:` behind it (`80:accept`) ends there.
    fn word_value(&mut self, word: &'a str, kind: Kind) -> Option<Value> {
        let value = value::value(word, kind);
        if value.is_some() || kind == Kind::Ipv6 {
            return value;
        }
        let at = word.find(':').filter(|at| *at > 0)?;
        let value = value::value(word.get(..at)?, kind)?;
        self.lexer.resume_at(self.lexer.token_start() + at);
        Some(value)
    }

    /// Reads words of a bit mask: `a,b`, `a | b` or `(a | b)`.
    fn bitmask(&mut self, kind: Kind) -> Result<Value> {
        let bracketed = self.eat_punct(b'(');
        let mut bits = self.bit(kind)?;
        while self.is_punct(b',') || self.is_punct(b'|') {
            self.bump();
            bits |= self.bit(kind)?;
        }
        if bracketed {
            self.expect_punct(b')', "`)`")?;
        }
        bitmask_value(bits, kind).ok_or(Expected("bits of 32"))
    }

    /// Reads one bit, for a set of them.
    pub(super) fn single_bit(&mut self, kind: Kind) -> Result<Value> {
        let bits = self.bit(kind)?;
        bitmask_value(bits, kind).ok_or(Expected("bits of 32"))
    }

    fn bit(&mut self, kind: Kind) -> Result<u64> {
        let word = self.word().ok_or(Expected("a flag"))?;
        let bits = kind.number(word).or_else(|| value::number(word)).ok_or(Expected("a flag"))?;
        self.bump();
        Ok(bits)
    }

    /// Reads operators, those that bind closer first: shifts, `&`, `^`, `|`.
    fn operation(&mut self) -> Result<Expr> {
        let first = self.primary()?;
        self.operation_above(first, 0)
    }

    fn operation_above(&mut self, mut left: Expr, least: u8) -> Result<Expr> {
        let mut operators = 0;
        while let Some((op, strength)) = self.binary_op().filter(|(_, s)| *s >= least) {
            self.bump();
            operators += 1;
            if operators > MOST_OPERATORS {
                return Err(Expected("a shorter expression"));
            }
            let kind = kind_of(&left);
            let right = self.operand(kind)?;
            let right = match self.binary_op() {
                Some((_, next)) if next > strength => self.operation_above(right, next)?,
                _ => right,
            };
            left = Expr::Binary(Box::new(Binary { left, op, right }));
        }
        Ok(left)
    }

    fn operand(&mut self, kind: Kind) -> Result<Expr> {
        if self.begins_lookup() {
            return self.primary();
        }
        self.constant(kind).map(Expr::Value)
    }

    fn binary_op(&self) -> Option<(BinaryOp, u8)> {
        Some(match self.token {
            Token::Punct(b'|') | Token::Word("or") => (BinaryOp::Or, 0),
            Token::Punct(b'^') | Token::Word("xor") => (BinaryOp::Xor, 1),
            Token::Punct(b'&') | Token::Word("and") => (BinaryOp::And, 2),
            Token::Double([b'<', b'<']) | Token::Word("lshift") => (BinaryOp::ShiftLeft, 3),
            Token::Double([b'>', b'>']) | Token::Word("rshift") => (BinaryOp::ShiftRight, 3),
            _ => return None,
        })
    }

    /// Whether the current word begins a field or property.
    pub(super) fn begins_lookup(&self) -> bool {
        self.word().is_some_and(|word| {
            matches!(word, "meta" | "ct" | "fib" | "numgen" | "jhash" | "symhash" | "rt" | "socket")
                || is_protocol(word)
                || bare_meta(word).is_some()
        })
    }

    fn primary(&mut self) -> Result<Expr> {
        let word = self.word().ok_or(Expected("an expression"))?;
        match word {
            "meta" => {
                self.bump();
                let key = self.expect_word("a meta key")?;
                Ok(Expr::Meta(meta(key).unwrap_or_else(|| Meta::Other(key.into()))))
            }
            "ct" => self.ct(),
            "fib" => self.fib(),
            "numgen" => self.numgen(),
            _ if is_protocol(word) => self.payload(word),
            _ => {
                let meta = bare_meta(word).ok_or(Expected("an expression"))?;
                self.bump();
                Ok(Expr::Meta(meta))
            }
        }
    }

    fn payload(&mut self, protocol: &str) -> Result<Expr> {
        self.bump();
        let field = self.expect_word("a header field")?;
        if protocol == "tcp" && field == "option" {
            return Err(Expected("a header field"));
        }
        Ok(Expr::Payload(payload(protocol, field)))
    }

    fn ct(&mut self) -> Result<Expr> {
        self.bump();
        let direction = match self.word() {
            Some("original") => Some(CtDirection::Original),
            Some("reply") => Some(CtDirection::Reply),
            _ => None,
        };
        if direction.is_some() {
            self.bump();
        }
        let mut word = self.expect_word("a ct key")?;
        let family = if direction.is_some() && matches!(word, "ip" | "ip6") {
            let family = word;
            word = self.expect_word("`saddr` or `daddr`")?;
            Some(family)
        } else {
            None
        };
        Ok(Expr::Ct(Ct { key: ct_key(word, family)?, direction }))
    }

    fn fib(&mut self) -> Result<Expr> {
        self.bump();
        let mut flags = FibFlags::default();
        loop {
            match self.expect_word("a fib flag")? {
                "saddr" => flags.saddr = true,
                "daddr" => flags.daddr = true,
                "mark" => flags.mark = true,
                "iif" => flags.iif = true,
                "oif" => flags.oif = true,
                _ => return Err(Expected("a fib flag")),
            }
            if !self.eat_word(".") {
                break;
            }
        }
        let result = match self.expect_word("`type`, `oif` or `oifname`")? {
            "type" => FibResult::Type,
            "oif" if matches!(self.word(), Some("exists" | "missing")) => FibResult::Present,
            "check" => FibResult::Present,
            "oif" => FibResult::Oif,
            "oifname" => FibResult::Oifname,
            _ => return Err(Expected("`type`, `oif` or `oifname`")),
        };
        Ok(Expr::Fib { result, flags })
    }

    fn numgen(&mut self) -> Result<Expr> {
        self.bump();
        let mode = match self.expect_word("`random` or `inc`")? {
            "random" => NumgenMode::Random,
            "inc" => NumgenMode::Increment,
            _ => return Err(Expected("`random` or `inc`")),
        };
        if !self.eat_word("mod") {
            return Err(Expected("`mod`"));
        }
        let modulus = self.expect_number("a modulus")?;
        let offset = if self.eat_word("offset") { self.expect_number("an offset")? } else { 0 };
        Ok(Expr::Numgen { mode, modulus, offset })
    }
}

fn quoted_value(text: &str, kind: Kind) -> Value {
    match kind {
        Kind::Ifname | Kind::Ifindex => Value::Interface(text.into()),
        _ => match value::value(text, kind) {
            Some(value) if kind != Kind::Other => value,
            _ => Value::Word(format!("\"{text}\"").into()),
        },
    }
}

fn bitmask_value(bits: u64, kind: Kind) -> Option<Value> {
    match kind {
        Kind::CtState => u32::try_from(bits).ok().map(Value::CtState),
        Kind::CtStatus => u32::try_from(bits).ok().map(Value::CtStatus),
        _ => Some(Value::Number(bits)),
    }
}

fn range(from: Value, to: Value) -> Option<Value> {
    Some(match (from, to) {
        (Value::Ipv4(a), Value::Ipv4(b)) => Value::Ipv4Range(a, b),
        (Value::Ipv6(a), Value::Ipv6(b)) => Value::Ipv6Range(a, b),
        (Value::Port(a), Value::Port(b)) => Value::PortRange(a, b),
        (Value::Mark(a), Value::Mark(b)) => Value::NumberRange(a.into(), b.into()),
        (Value::Number(a), Value::Number(b)) => Value::NumberRange(a, b),
        _ => return None,
    })
}

fn is_protocol(word: &str) -> bool {
    matches!(
        word,
        "ip" | "ip6"
            | "tcp"
            | "udp"
            | "th"
            | "sctp"
            | "icmp"
            | "icmpv6"
            | "ether"
            | "vlan"
            | "arp"
            | "igmp"
            | "udplite"
            | "dccp"
            | "ah"
            | "esp"
            | "comp"
    )
}

pub(in crate::nftables) fn payload(protocol: &str, field: &str) -> Payload {
    match (protocol, field) {
        ("ip", "saddr") => Payload::IpSaddr,
        ("ip", "daddr") => Payload::IpDaddr,
        ("ip", "protocol") => Payload::IpProtocol,
        ("ip6", "saddr") => Payload::Ip6Saddr,
        ("ip6", "daddr") => Payload::Ip6Daddr,
        ("ip6", "nexthdr") => Payload::Ip6Nexthdr,
        ("th", "sport") => Payload::ThSport,
        ("th", "dport") => Payload::ThDport,
        ("tcp", "sport") => Payload::TcpSport,
        ("tcp", "dport") => Payload::TcpDport,
        ("tcp", "flags") => Payload::TcpFlags,
        ("udp", "sport") => Payload::UdpSport,
        ("udp", "dport") => Payload::UdpDport,
        ("sctp", "sport") => Payload::SctpSport,
        ("sctp", "dport") => Payload::SctpDport,
        ("icmp", "type") => Payload::IcmpType,
        ("icmp", "code") => Payload::IcmpCode,
        ("icmpv6", "type") => Payload::Icmpv6Type,
        ("icmpv6", "code") => Payload::Icmpv6Code,
        _ => Payload::Other(format!("{protocol} {field}").into()),
    }
}

pub(in crate::nftables) fn meta(word: &str) -> Option<Meta> {
    Some(match word {
        "l4proto" => Meta::L4proto,
        "nfproto" => Meta::Nfproto,
        "protocol" => Meta::Protocol,
        "pkttype" => Meta::Pkttype,
        "mark" => Meta::Mark,
        "iifname" => Meta::Iifname,
        "oifname" => Meta::Oifname,
        "iif" => Meta::Iif,
        "oif" => Meta::Oif,
        "skuid" => Meta::Skuid,
        "skgid" => Meta::Skgid,
        _ => return None,
    })
}

/// Returns the property that a word names without `meta` before it.
fn bare_meta(word: &str) -> Option<Meta> {
    match word {
        "l4proto" | "nfproto" | "protocol" => None,
        "iiftype" | "oiftype" | "iifgroup" | "oifgroup" | "nftrace" | "rtclassid" | "cpu"
        | "cgroup" | "ibrname" | "obrname" | "ibriport" | "obriport" => {
            Some(Meta::Other(word.into()))
        }
        _ => meta(word),
    }
}

/// Returns the key of a word. `ct original ip saddr` names the family, `ct original saddr` does
/// not; both are one key.
pub(in crate::nftables) fn ct_key_word(word: &str) -> CtKey {
    match word {
        "state" => CtKey::State,
        "status" => CtKey::Status,
        "mark" => CtKey::Mark,
        "direction" => CtKey::Direction,
        "protocol" => CtKey::Protocol,
        "proto-src" => CtKey::ProtoSrc,
        "proto-dst" => CtKey::ProtoDst,
        "saddr" | "ip saddr" | "ip6 saddr" => CtKey::Saddr,
        "daddr" | "ip daddr" | "ip6 daddr" => CtKey::Daddr,
        _ => CtKey::Other(word.into()),
    }
}

fn ct_key(word: &str, family: Option<&str>) -> Result<CtKey> {
    match (word, family) {
        ("helper" | "count" | "timeout" | "expectation", _) => Err(Expected("a ct key")),
        ("saddr" | "daddr", _) | (_, None) => Ok(ct_key_word(word)),
        _ => Err(Expected("`saddr` or `daddr`")),
    }
}
