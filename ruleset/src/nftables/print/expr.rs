//! Expressions: header fields, properties, look-ups.

use super::Writer;
use crate::nftables::ast::{
    Binary, BinaryOp, Ct, CtDirection, CtKey, Data, Element, Expr, FibFlags, FibResult, MapLookup,
    MapSource, Meta, NumgenMode, Payload, TableFamily, Value,
};
use crate::nftables::datatype::{KeyKinds, Kind, kind_of};

impl Writer<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) {
        self.expr_as(expr, Kind::Other, ", ");
    }

    /// Writes an expression whose constants are of a kind.
    pub(super) fn expr_as(&mut self, expr: &Expr, kind: Kind, separator: &str) {
        match expr {
            Expr::Payload(payload) => self.text(payload.as_str()),
            Expr::Meta(meta) => self.meta(*meta),
            Expr::Ct(ct) => self.ct(*ct),
            Expr::Fib { result, flags } => self.fib(*result, *flags),
            Expr::Numgen { mode, modulus, offset } => self.numgen(*mode, *modulus, *offset),
            Expr::Concat(parts) => self.concat(parts),
            Expr::Binary(binary) => self.binary(binary),
            Expr::Value(value) => self.value(value, kind),
            Expr::Set(elements) => {
                self.anonymous_set(elements, KeyKinds::Types(&[]), separator);
            }
            Expr::SetRef(name) => {
                self.out.push('@');
                self.text(name);
            }
            Expr::Map(map) => self.map_lookup(map),
            Expr::Unsupported(unsupported) => self.text(&unsupported.text),
        }
    }

    fn meta(&mut self, meta: Meta) {
        let script_mark = meta == Meta::Mark && self.is_script();
        if !meta.stands_alone() && !script_mark {
            self.text("meta ");
        }
        self.text(meta.as_str());
    }

    fn ct(&mut self, ct: Ct) {
        self.ct_of(ct, None);
    }

    /// Writes a key of the connection; an address with its family, if that is known.
    pub(super) fn ct_of(&mut self, ct: Ct, family: Option<TableFamily>) {
        self.text("ct ");
        match ct.direction {
            Some(CtDirection::Original) => self.text("original "),
            Some(CtDirection::Reply) => self.text("reply "),
            None => {}
        }
        if let (CtKey::Saddr | CtKey::Daddr, Some(family)) = (ct.key, family) {
            self.text(family.as_str());
            self.out.push(' ');
        }
        self.text(ct.key.as_str());
    }

    fn fib(&mut self, result: FibResult, flags: FibFlags) {
        self.text("fib ");
        for (i, flag) in flags.words().enumerate() {
            if i > 0 {
                self.text(" . ");
            }
            self.text(flag);
        }
        self.text(match result {
            FibResult::Type => " type",
            FibResult::Oif | FibResult::Present => " oif",
            FibResult::Oifname => " oifname",
        });
    }

    fn numgen(&mut self, mode: NumgenMode, modulus: u32, offset: u32) {
        self.text(match mode {
            NumgenMode::Random => "numgen random mod ",
            NumgenMode::Increment => "numgen inc mod ",
        });
        self.number(modulus);
        if offset != 0 {
            self.text(" offset ");
            self.number(offset);
        }
    }

    fn concat(&mut self, parts: &[Expr]) {
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.text(" . ");
            }
            self.expr(part);
        }
    }

    fn binary(&mut self, binary: &Binary) {
        let kind = kind_of(&binary.left);
        self.expr_as(&binary.left, kind, ", ");
        self.out.push(' ');
        self.text(if self.is_script() { binary.op.word() } else { binary.op.symbol() });
        self.out.push(' ');
        self.expr_as(&binary.right, kind, ", ");
    }

    pub(super) fn map_lookup(&mut self, lookup: &MapLookup) {
        self.expr(&lookup.key);
        self.text(" map ");
        self.map_source(&lookup.map, &lookup.key);
    }

    /// Writes where a map is looked up by a key.
    pub(super) fn map_source(&mut self, map: &MapSource, key: &Expr) {
        match map {
            MapSource::Named(name) => {
                self.out.push('@');
                self.text(name);
            }
            MapSource::Anonymous(elements) => {
                let separator = if self.is_script() { " , " } else { ", " };
                self.anonymous_set(elements, KeyKinds::Expr(key), separator);
            }
        }
    }

    pub(super) fn anonymous_set(
        &mut self,
        elements: &[Element],
        kinds: KeyKinds<'_>,
        separator: &str,
    ) {
        self.text("{ ");
        for (i, element) in elements.iter().enumerate() {
            if i > 0 {
                self.text(separator);
            }
            self.element(element, kinds, KeyKinds::Types(&[]));
        }
        self.text(" }");
    }
}

impl Payload {
    /// Returns protocol and field as nft spells them.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Payload::IpSaddr => "ip saddr",
            Payload::IpDaddr => "ip daddr",
            Payload::IpProtocol => "ip protocol",
            Payload::Ip6Saddr => "ip6 saddr",
            Payload::Ip6Daddr => "ip6 daddr",
            Payload::Ip6Nexthdr => "ip6 nexthdr",
            Payload::ThSport => "th sport",
            Payload::ThDport => "th dport",
            Payload::TcpSport => "tcp sport",
            Payload::TcpDport => "tcp dport",
            Payload::TcpFlags => "tcp flags",
            Payload::UdpSport => "udp sport",
            Payload::UdpDport => "udp dport",
            Payload::SctpSport => "sctp sport",
            Payload::SctpDport => "sctp dport",
            Payload::IcmpType => "icmp type",
            Payload::IcmpCode => "icmp code",
            Payload::Icmpv6Type => "icmpv6 type",
            Payload::Icmpv6Code => "icmpv6 code",
            Payload::Other(name) => name.as_str(),
        }
    }
}

impl Meta {
    /// Returns the key as nft spells it after `meta`.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Meta::L4proto => "l4proto",
            Meta::Nfproto => "nfproto",
            Meta::Protocol => "protocol",
            Meta::Mark => "mark",
            Meta::Iifname => "iifname",
            Meta::Oifname => "oifname",
            Meta::Iif => "iif",
            Meta::Oif => "oif",
            Meta::Skuid => "skuid",
            Meta::Skgid => "skgid",
            Meta::Pkttype => "pkttype",
            Meta::Other(name) => name.as_str(),
        }
    }

    /// Whether nft prints the key without `meta`.
    fn stands_alone(self) -> bool {
        match self {
            Meta::Iifname | Meta::Oifname | Meta::Iif | Meta::Oif => true,
            Meta::Other(name) => matches!(name.as_str(), "iifgroup" | "oifgroup"),
            _ => false,
        }
    }
}

impl CtKey {
    /// Returns the key as nft spells it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            CtKey::State => "state",
            CtKey::Status => "status",
            CtKey::Mark => "mark",
            CtKey::Direction => "direction",
            CtKey::Saddr => "saddr",
            CtKey::Daddr => "daddr",
            CtKey::ProtoSrc => "proto-src",
            CtKey::ProtoDst => "proto-dst",
            CtKey::Protocol => "protocol",
            CtKey::Other(name) => name.as_str(),
        }
    }
}

impl FibFlags {
    /// Returns the words of the flags in the order of nft.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        [
            (self.saddr, "saddr"),
            (self.daddr, "daddr"),
            (self.mark, "mark"),
            (self.iif, "iif"),
            (self.oif, "oif"),
        ]
        .into_iter()
        .filter_map(|(on, word)| on.then_some(word))
    }
}

impl BinaryOp {
    /// Returns the operator's sign.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
        }
    }

    /// Returns the operator's word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::Xor => "xor",
            BinaryOp::ShiftLeft => "lshift",
            BinaryOp::ShiftRight => "rshift",
        }
    }
}

impl MapSource {
    /// Whether the data of its elements is a pair, such as address and port.
    pub(super) fn yields_pairs(&self) -> bool {
        match self {
            MapSource::Named(_) => false,
            MapSource::Anonymous(elements) => elements.first().is_some_and(
                |e| matches!(&e.data, Some(Data::Values(values)) if values.len() == 2),
            ),
        }
    }
}

impl Expr {
    /// Whether it is the constant 0.
    pub(in crate::nftables) fn is_zero(&self) -> bool {
        matches!(self, Expr::Value(Value::Mark(0) | Value::Number(0)))
    }
}
