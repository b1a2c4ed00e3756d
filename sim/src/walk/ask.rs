//! What a walk tells of its questions, if it stands for a class of packets.
//!
//! Whoever reads an address or a port of a packet to decide something says so here first. For an
//! ordinary walk nobody listens, and nothing is done.

use std::hash::Hash;
use std::net::IpAddr;

use kps_flow::Family;
use kps_ruleset::Name;

use super::branch::Branch;
use crate::classes::line::Span;
use crate::classes::region::{Asked, number};
use crate::classes::watch::{LineKey, Watch};
use crate::conntrack::{Binding, Connection, Endpoint, Side};
use crate::host::{LOOPBACK, Network};

/// 127.0.0.0/8.
pub(crate) const LOOPBACK_V4: Span = (0x7f00_0000, 0x7fff_ffff);
/// `::1`.
pub(crate) const LOOPBACK_V6: Span = (1, 1);
/// All ports.
pub(crate) const PORTS: Span = (0, 65_535);

impl Branch {
    /// Returns who listens.
    pub(crate) fn watch(&self) -> Option<&Watch> {
        self.watch.as_deref()
    }

    /// It is asked whether an address is in a span.
    pub(crate) fn asks_address(&self, address: IpAddr, span: Span) {
        if let Some(watch) = self.watch() {
            watch.ask_span(Asked::Address(address), span);
        }
    }

    /// It is asked whether a port is in a span. A port drawn at random is no field of the packet.
    pub(crate) fn asks_port(&self, port: Option<u16>, span: Span) {
        if let (Some(watch), Some(port)) = (self.watch(), port) {
            watch.ask_span(Asked::Port(port), span);
        }
    }

    /// It is asked whether one side of the packet is still what it was.
    pub(crate) fn asks_whether_kept(&self, side: Side, was: Endpoint) {
        let Some(watch) = self.watch() else { return };
        let is = self.packet.endpoint(side);
        if is == was && !self.is_translated(side) {
            return;
        }
        watch.compares(Asked::Address(is.address), Asked::Address(was.address));
        if let (Some(is), Some(was)) = (is.port, was.port) {
            watch.compares(Asked::Port(is), Asked::Port(was));
        }
    }

    fn is_translated(&self, side: Side) -> bool {
        let translates = |c: &Connection| matches!(c.binding(side), Binding::To(_));
        self.packet.served || self.connection.as_ref().is_some_and(translates)
    }

    /// A constant was put in the place of a field.
    pub(crate) fn overwrites(&self) {
        if let Some(watch) = self.watch() {
            watch.doubt();
        }
    }

    /// It is asked which interface the packet came in by.
    pub(crate) fn asks_input(&self) {
        self.asks_input_whether(|link| link);
    }

    /// It is asked whether the interface that the packet came in by is of some kind.
    pub(crate) fn asks_input_whether<L: Hash + Eq>(&self, label: impl Fn(Name) -> L) {
        if let Some(watch) = self.watch() {
            watch.ask_link(label);
        }
    }

    /// Something is computed of an address that no set of addresses stands for.
    pub(crate) fn loses_address(&self, address: IpAddr, why: impl FnOnce() -> String) {
        if let Some(watch) = self.watch() {
            watch.lose(Asked::Address(address), why);
        }
    }

    /// Something is computed of a port that no set of ports stands for.
    pub(crate) fn loses_port(&self, port: Option<u16>, why: impl FnOnce() -> String) {
        if let (Some(watch), Some(port)) = (self.watch(), port) {
            watch.lose(Asked::Port(port), why);
        }
    }

    /// The host is asked what type an address has.
    pub(crate) fn asks_origin(&self, network: &Network, source: IpAddr) {
        let Some(watch) = self.watch() else { return };
        let family = Family::of(source);
        let line = || network.origins(family);
        watch.ask_by(LineKey::Origin(family), Asked::Address(source), line);
    }

    /// The host is asked whether it takes packets with this source from a link.
    pub(crate) fn asks_refusal(&self, network: &Network, source: IpAddr, link: Name) {
        let Some(watch) = self.watch() else { return };
        let family = Family::of(source);
        let cut = || network.refusals(family, link);
        watch.ask_by(LineKey::Refusal(family, link), Asked::Address(source), cut);
    }

    /// Policy rules are asked about a source.
    pub(crate) fn asks_selectors(&self, network: &Network, source: Option<IpAddr>) {
        let (Some(watch), Some(source)) = (self.watch(), source) else { return };
        let family = Family::of(source);
        let line = || network.selections(family);
        watch.ask_by(LineKey::Selection(family), Asked::Address(source), line);
    }

    /// The host is asked where an address is.
    pub(crate) fn asks_place(&self, network: &Network, address: IpAddr) {
        let Some(watch) = self.watch() else { return };
        let family = Family::of(address);
        let line = || network.places(family);
        watch.ask_by(LineKey::Place(family), Asked::Address(address), line);
    }

    /// The host is asked whether answers to a source leave by the link that the packet came by. They
    /// do where every source of the class comes by its own link.
    pub(crate) fn asks_way_back(&self, network: &Network, source: IpAddr, link: Name) {
        let own = self.watch().is_some_and(Watch::by_own_link);
        if !own && network.sysctls().reverse_path_filter(link) != 0 {
            self.asks_place(network, source);
        }
    }

    /// The host is asked which of its addresses is the source for a destination by a link.
    pub(crate) fn asks_choice(&self, network: &Network, destination: IpAddr, link: Option<Name>) {
        let Some(watch) = self.watch() else { return };
        let (family, asked) = (Family::of(destination), Asked::Address(destination));
        if link.is_some_and(|link| link.as_str() == LOOPBACK) || !watch.is_open(asked) {
            return self.asks_place(network, destination);
        }
        match network.choices(family, link) {
            Some(_) => watch.ask_by(LineKey::Choice(family, link), asked, || {
                network.choices(family, link).unwrap_or_else(|| network.places(family))
            }),
            None => watch.lose(asked, || {
                format!("the source for {} depends on too many addresses", number(destination))
            }),
        }
    }
}
