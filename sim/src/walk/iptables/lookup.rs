//! Matches on IP sets (`net/netfilter/xt_set.c`, `net/netfilter/ipset/`).
//!
//! A look-up makes the elements that would stand for the packet, the most specific first, and asks
//! the set for each: a set of networks for those of each length that it has.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::{Family, Protocol};
use kps_ruleset::ipset::{self, Element, Family as SetFamily, Port, SetType};
use kps_ruleset::iptables::{SetMatch, Side};
use kps_ruleset::{Name, Protocol as Number};
use smallvec::{SmallVec, smallvec};

use super::Run;
use super::field::View;
use crate::mark::Mark;
use crate::trace::Deed;
use crate::walk::branch::Branch;
use crate::walk::chains::Chains;

/// An IP set with the lengths of its networks.
#[derive(Debug)]
pub(crate) struct Set<'a> {
    tree: &'a ipset::Set,
    /// The lengths of the first network of its elements, the longest first.
    first: Vec<u8>,
    /// Those of the second.
    second: Vec<u8>,
}

/// What a rule of this walk did to a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SetChange {
    pub set: Name,
    pub element: Element,
    /// Whether it was put in; else it was taken out.
    pub adds: bool,
}

/// What a look-up gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hit {
    /// An element; its place in the set is its number.
    Element {
        number: usize,
        nomatch: bool,
    },
    Nothing,
    /// The packet is not known well enough to tell.
    Unknown,
}

/// The elements that would stand for a packet; `None` if some part of it is not known.
type Probes = Option<SmallVec<[Element; 4]>>;

impl<'a> Set<'a> {
    /// Prepares a set for look-ups.
    pub(super) fn new(tree: &'a ipset::Set) -> Set<'a> {
        let (mut first, mut second) = (BTreeSet::new(), BTreeSet::new());
        for element in tree.entries.keys() {
            let [one, two] = networks(element);
            first.extend(one.map(|network| network.prefix_len()));
            second.extend(two.map(|network| network.prefix_len()));
        }
        let descending = |lengths: BTreeSet<u8>| lengths.into_iter().rev().collect();
        Set { tree, first: descending(first), second: descending(second) }
    }

    /// Returns its type.
    pub(super) fn kind(&self) -> SetType {
        self.tree.kind
    }

    /// Returns its elements, and whether each is an exception.
    pub(super) fn elements(&self) -> impl Iterator<Item = (&Element, bool)> {
        self.tree.entries.iter().map(|(element, entry)| (element, entry.nomatch))
    }

    /// Returns the length of the networks that it holds addresses for.
    pub(super) fn length(&self) -> Option<u8> {
        self.tree.options.netmask
    }

    /// A set of the other family, or one whose elements have more parts than the rule names, has no
    /// element for the packet (`ip_set_test`).
    fn is_for(&self, family: Family, sides: &[Side]) -> bool {
        let set = match self.tree.kind {
            SetType::BitmapPort | SetType::HashMac | SetType::ListSet => None,
            _ => Some(self.tree.options.family.unwrap_or_default()),
        };
        let wanted = if family == Family::V4 { SetFamily::Inet } else { SetFamily::Inet6 };
        set.is_none_or(|set| set == wanted) && sides.len() >= parts(self.tree.kind)
    }
}

impl Run<'_> {
    /// `-m set`; `None` if the model cannot tell.
    pub(super) fn set(&self, test: &SetMatch, branch: &mut Branch) -> Option<bool> {
        let hit = self.find(test.set, &test.sides, branch);
        let plain = match hit {
            Hit::Unknown => None,
            Hit::Nothing => Some(false),
            Hit::Element { .. } if test.counters.is_some() => None,
            Hit::Element { nomatch, .. } => Some(nomatch == test.return_nomatch),
        };
        if let (Hit::Element { number, .. }, Some(_)) = (hit, plain) {
            self.note(branch, || Deed::Found { set: Some(test.set), element: number });
        }
        plain.map(|holds| holds != test.negated)
    }

    fn find(&self, name: Name, sides: &[Side], branch: &Branch) -> Hit {
        let Some(set) = self.program.sets.get(&name) else { return Hit::Unknown };
        if set.tree.kind == SetType::ListSet {
            return self.find_in_list(set, sides, branch);
        }
        self.find_in(name, set, sides, branch)
    }

    /// The first set of the list that has the packet decides. Lists hold no lists.
    fn find_in_list(&self, list: &Set, sides: &[Side], branch: &Branch) -> Hit {
        let mut answer = Hit::Nothing;
        for (number, element) in list.tree.entries.keys().enumerate() {
            let Element::Set(name) = element else { continue };
            let Some(set) = self.program.sets.get(name) else { return Hit::Unknown };
            match self.find_in(*name, set, sides, branch) {
                Hit::Element { nomatch: false, .. } if answer == Hit::Nothing => {
                    return Hit::Element { number, nomatch: false };
                }
                Hit::Unknown => answer = Hit::Unknown,
                _ => {}
            }
        }
        answer
    }

    fn find_in(&self, name: Name, set: &Set, sides: &[Side], branch: &Branch) -> Hit {
        if !set.is_for(branch.packet.family(), sides) {
            return Hit::Nothing;
        }
        branch.asks_set(name, set, sides);
        let Some(probes) = self.view(branch).probes(set, sides) else { return Hit::Unknown };
        for probe in probes {
            let changes = branch.set_changes.iter().rev();
            let change = changes.clone().find(|c| (c.set, c.element) == (name, probe));
            let entry = set.tree.entries.get_full(&probe);
            match (change, entry) {
                (Some(change), _) if !change.adds => {}
                (_, Some((number, _, entry))) => {
                    return Hit::Element { number, nomatch: entry.nomatch };
                }
                (Some(_), None) => {
                    return Hit::Element { number: set.tree.entries.len(), nomatch: false };
                }
                (None, None) => {}
            }
        }
        Hit::Nothing
    }

    /// Returns the element that stands for a packet in a set, to put it in or take it out; `None` if
    /// the model cannot tell which.
    pub(super) fn element(&self, name: Name, sides: &[Side], branch: &Branch) -> Option<Element> {
        let set = self.program.sets.get(&name)?;
        let probes = self.view(branch).probes(set, sides)?;
        probes.first().copied().filter(|_| set.is_for(branch.packet.family(), sides))
    }
}

impl View<'_> {
    /// Makes the elements that would stand for the packet.
    fn probes(&self, set: &Set, sides: &[Side]) -> Probes {
        let side = |part| side_of(sides, part);
        let address = |part| self.address(side(part));
        let first = || nets(address(0), &set.first);
        Some(match set.tree.kind {
            SetType::HashIp | SetType::BitmapIp => {
                smallvec![Element::Ip(cut(address(0), set.tree.options.netmask))]
            }
            SetType::HashIpMark => {
                let mask = Mark::new(set.tree.options.mark_mask.unwrap_or(u32::MAX));
                let masked = self.branch.packet.mark.and(mask).exact()?;
                smallvec![Element::IpMark(address(0), masked)]
            }
            SetType::HashNet => first().map(Element::Net).collect(),
            SetType::HashNetIface => self.with_interface(&set.first, address(0), side(1)),
            SetType::HashNetNet => {
                let second =
                    |one| nets(address(1), &set.second).map(move |two| Element::NetNet(one, two));
                first().flat_map(second).collect()
            }
            SetType::HashMac | SetType::HashIpMac | SetType::BitmapIpMac => {
                return self.no_frame().then(SmallVec::new);
            }
            SetType::ListSet | SetType::Other(_) => return None,
            _ => return self.with_port(set, sides),
        })
    }

    /// Makes elements of the types that have a port.
    fn with_port(&self, set: &Set, sides: &[Side]) -> Probes {
        let address = |part| self.address(side_of(sides, part));
        let first = || nets(address(0), &set.first);
        let second = usize::from(set.tree.kind != SetType::BitmapPort);
        let port = self.port(side_of(sides, second))?;
        Some(match set.tree.kind {
            SetType::BitmapPort if has_bitmaps(port.protocol) => {
                smallvec![Element::Port(port.port)]
            }
            SetType::HashIpPort => {
                smallvec![Element::IpPort(cut(address(0), set.tree.options.netmask), port)]
            }
            SetType::HashIpPortIp => smallvec![Element::IpPortIp(address(0), port, address(2))],
            SetType::HashIpPortNet => {
                let element = |net| Element::IpPortNet(address(0), port, net);
                nets(address(2), &set.second).map(element).collect()
            }
            SetType::HashNetPort => first().map(|net| Element::NetPort(net, port)).collect(),
            SetType::HashNetPortNet => {
                let second = |one| {
                    let nets = nets(address(2), &set.second);
                    nets.map(move |two| Element::NetPortNet(one, port, two))
                };
                first().flat_map(second).collect()
            }
            _ => SmallVec::new(),
        })
    }

    /// The interface of the source is the one by which the packet came in.
    fn with_interface(
        &self,
        lengths: &[u8],
        address: IpAddr,
        side: Side,
    ) -> SmallVec<[Element; 4]> {
        let packet = &self.branch.packet;
        let link = if side == Side::Source { packet.input } else { packet.output };
        let Some(interface) = link else { return SmallVec::new() };
        let element = |network| Element::NetIface { network, interface, physdev: false };
        nets(address, lengths).map(element).collect()
    }

    fn address(&self, side: Side) -> IpAddr {
        match side {
            Side::Source => self.branch.packet.source,
            Side::Destination => self.branch.packet.destination,
        }
    }

    /// Returns protocol and port as sets have them: for ICMP, type and code.
    fn port(&self, side: Side) -> Option<Port> {
        let packet = &self.branch.packet;
        let protocol = Number(packet.protocol.number());
        let port = match (packet.protocol, side) {
            (Protocol::Icmp | Protocol::Icmpv6, _) => {
                let (kind, code) = self.icmp_type()?;
                u16::from_be_bytes([kind, code])
            }
            (_, Side::Source) => packet.source_port?,
            (_, Side::Destination) => packet.destination_port?,
        };
        Some(Port { protocol, port })
    }
}

/// Returns the side that a part of an element is taken from.
pub(super) fn side_of(sides: &[Side], part: usize) -> Side {
    sides.get(part).copied().unwrap_or(Side::Source)
}

/// Tells whether `bitmap:port` has ports of a protocol (`ip_set_get_ip_port`).
fn has_bitmaps(protocol: Number) -> bool {
    matches!(protocol, Number::TCP | Number::UDP)
}

/// Returns the networks of an element that stand for its first and second address.
fn networks(element: &Element) -> [Option<IpNet>; 2] {
    match *element {
        Element::Net(net) | Element::NetPort(net, _) => [Some(net), None],
        Element::NetIface { network, .. } => [Some(network), None],
        Element::NetNet(one, two) | Element::NetPortNet(one, _, two) => [Some(one), Some(two)],
        Element::IpPortNet(_, _, net) => [None, Some(net)],
        _ => [None, None],
    }
}

/// Returns the networks of these lengths around an address.
fn nets(address: IpAddr, lengths: &[u8]) -> impl Iterator<Item = IpNet> {
    let of_length = move |length: &u8| IpNet::new(address, *length).ok().map(|net| net.trunc());
    lengths.iter().filter_map(of_length)
}

fn cut(address: IpAddr, length: Option<u8>) -> IpAddr {
    let network = length.and_then(|length| IpNet::new(address, length).ok());
    network.map_or(address, |network| network.network())
}

/// Returns the number of parts of an element that come from the packet.
fn parts(kind: SetType) -> usize {
    match kind {
        SetType::HashIpPortIp | SetType::HashIpPortNet | SetType::HashNetPortNet => 3,
        SetType::HashIpPort
        | SetType::HashIpMac
        | SetType::HashIpMark
        | SetType::BitmapIpMac
        | SetType::HashNetIface
        | SetType::HashNetNet
        | SetType::HashNetPort => 2,
        _ => 1,
    }
}
