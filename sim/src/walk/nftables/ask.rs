//! What nftables rules ask of addresses and ports, for a walk that stands for a class of packets.

use kps_ruleset::nftables::{CtKey, FibFlags, FibResult, Payload, Relation};
use smallvec::{SmallVec, smallvec};

use super::Run;
use super::lookup::{Lookup, Parts};
use super::program::{Expr, LookupId};
use crate::classes::line::Span;
use crate::classes::region::{Asked, address};
use crate::classes::table::{Key, Row, Table};
use crate::classes::watch::{TableKey, Watch};
use crate::walk::branch::Branch;
use crate::walk::datum::{Datum, Pattern};

/// What a part of a value is, as far as a field of the packet can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Address,
    Port,
    /// Something that is no field.
    Other,
    /// Something computed of a field.
    Computed,
}

impl Run<'_> {
    /// A key is looked up in a set or map.
    pub(super) fn asks_lookup(&self, id: LookupId, expr: &Expr, key: &Parts, branch: &Branch) {
        let Some(watch) = branch.watch() else { return };
        if key.iter().any(|part| matches!(part, Datum::Link(_))) {
            branch.asks_input();
        }
        let keys = keys(expr, key, branch, watch);
        let table = watch.table(TableKey::Lookup(id), || table_of(self.lookup(id), key.len()));
        table.narrow(watch, &keys);
    }

    /// The host is asked about an address of the packet. The other one counts for policy rules.
    pub(super) fn asks_host(&self, result: FibResult, flags: FibFlags, branch: &Branch) {
        let (source, destination) = (branch.packet.source, branch.packet.destination);
        let asked = if flags.saddr { source } else { destination };
        if result != FibResult::Type || flags.iif || flags.oif {
            branch.asks_place(self.network, asked);
            branch.asks_input();
        }
        branch.asks_origin(self.network, source);
        branch.asks_origin(self.network, destination);
    }
}

impl Branch {
    /// A value is compared with constants.
    pub(super) fn asks_comparison(
        &self,
        expr: &Expr,
        values: &[Datum],
        relation: Relation,
        right: &[Pattern],
    ) {
        let Some(watch) = self.watch() else { return };
        for (value, pattern) in values.iter().zip(right) {
            if let Datum::Link(_) = value {
                self.asks_input_whether(|link| pattern.fits(Datum::Link(link)));
            }
        }
        for (key, pattern) in keys(expr, values, self, watch).iter().zip(right) {
            let Key::Asked(asked) = *key else { continue };
            match (relation, *pattern) {
                (Relation::Equal | Relation::NotEqual, Pattern::Range(low, high)) => {
                    watch.ask_span(asked, (low, high));
                }
                (Relation::AnyBit, _) => watch.lose(asked, || "bits of a field".to_owned()),
                (_, Pattern::Range(bound, _)) => {
                    watch.ask_span(asked, (0, bound));
                    watch.ask_span(asked, (bound, u128::MAX));
                }
                _ => {}
            }
        }
    }

    /// A value is compared with another that the packet decides, or kept in a mark.
    pub(super) fn asks_computed(&self, expr: &Expr, values: &[Datum]) {
        let Some(watch) = self.watch() else { return };
        for key in keys(expr, values, self, watch) {
            if let Key::Asked(asked) = key {
                watch.lose(asked, || "a rule compares fields, or keeps one".to_owned());
            }
        }
    }
}

fn keys(expr: &Expr, values: &[Datum], branch: &Branch, watch: &Watch) -> SmallVec<[Key; 4]> {
    let family = branch.packet.family();
    let key = |(kind, value): (Kind, &Datum)| match (kind, *value) {
        (Kind::Address, Datum::Number(n)) => Key::Asked(Asked::Address(address(n, family))),
        (Kind::Port, Datum::Number(n)) => {
            u16::try_from(n).map_or(Key::Known(n), |port| Key::Asked(Asked::Port(port)))
        }
        (Kind::Computed, _) => {
            lose_fields(branch, watch);
            Key::Any
        }
        (_, Datum::Number(n)) => Key::Known(n),
        _ => Key::Any,
    };
    let mut kinds = kinds(expr, values.len());
    if kinds.len() != values.len() {
        kinds = smallvec![Kind::Computed; values.len()];
    }
    kinds.into_iter().zip(values).map(key).collect()
}

/// Nothing is known any more of what the class has in common.
fn lose_fields(branch: &Branch, watch: &Watch) {
    let packet = &branch.packet;
    let ports = [packet.source_port, packet.destination_port].into_iter().flatten();
    let addresses = [packet.source, packet.destination].map(Asked::Address);
    for asked in addresses.into_iter().chain(ports.map(Asked::Port)) {
        watch.lose(asked, || "a rule computes with fields".to_owned());
    }
}

fn kinds(expr: &Expr, parts: usize) -> SmallVec<[Kind; 4]> {
    match expr {
        Expr::Concat(exprs) => exprs.iter().flat_map(|expr| kinds(expr, 1)).collect(),
        Expr::Payload(field) => smallvec![kind_of(*field)],
        Expr::Ct(CtKey::Saddr | CtKey::Daddr, _) => smallvec![Kind::Address],
        Expr::Ct(CtKey::ProtoSrc | CtKey::ProtoDst, _) => smallvec![Kind::Port],
        Expr::Binary(binary) if reads_field(&binary.0) || reads_field(&binary.2) => {
            smallvec![Kind::Computed]
        }
        // What a map holds for a key are constants, several of them perhaps.
        Expr::Map(..) => smallvec![Kind::Other; parts],
        _ => smallvec![Kind::Other],
    }
}

fn reads_field(expr: &Expr) -> bool {
    kinds(expr, 1).iter().any(|kind| *kind != Kind::Other)
}

fn kind_of(field: Payload) -> Kind {
    use Payload::{
        Ip6Daddr, Ip6Saddr, IpDaddr, IpSaddr, SctpDport, SctpSport, TcpDport, TcpSport, ThDport,
        ThSport, UdpDport, UdpSport,
    };
    match field {
        IpSaddr | IpDaddr | Ip6Saddr | Ip6Daddr => Kind::Address,
        ThSport | ThDport | TcpSport | TcpDport | UdpSport | UdpDport | SctpSport | SctpDport => {
            Kind::Port
        }
        _ => Kind::Other,
    }
}

fn table_of(lookup: &Lookup, parts: usize) -> Table {
    let spans = |key: &[Pattern]| -> SmallVec<[Span; 3]> {
        (0..parts).map(|at| key.get(at).map_or(EVERYTHING, |pattern| span(*pattern))).collect()
    };
    // All elements of a set give the same; each of a map gives its own.
    let rows = (1..).zip(lookup.entries()).map(|(number, entry)| Row {
        spans: spans(&entry.key),
        gives: if entry.data.is_some() { number } else { 0 },
    });
    Table::new(rows.collect())
}

const EVERYTHING: Span = (0, u128::MAX);

fn span(pattern: Pattern) -> Span {
    match pattern {
        Pattern::Range(low, high) => (low, high),
        _ => EVERYTHING,
    }
}
