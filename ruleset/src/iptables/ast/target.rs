//! The targets of a rule (`-j`, `-g`).

use std::net::IpAddr;

use ipnet::IpNet;

use super::matches::Side;
use super::parts::{PortRange, Unknown};
use crate::Name;

/// What a rule does with a packet.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// `ACCEPT`: ends this table's hook.
    Accept,
    /// `DROP`.
    Drop,
    /// `RETURN`: back to the calling chain, or to the policy.
    Return,
    /// `-j CHAIN`: calls a chain.
    Jump(Name),
    /// `-g CHAIN`: goes to a chain; its end returns to this chain's caller.
    Goto(Name),
    /// `REJECT`.
    Reject(RejectWith),
    /// `MARK`: changes the packet's mark and goes on.
    Mark(XMark),
    /// `CONNMARK`: changes the connection's mark, or the packet's, and goes on.
    Connmark(Connmark),
    /// `DNAT`.
    Dnat(Box<Nat>),
    /// `SNAT`.
    Snat(Box<Nat>),
    /// `MASQUERADE`; the addresses are `None`.
    Masquerade(Box<Nat>),
    /// `REDIRECT`: to the address of the incoming interface, or to loopback in OUTPUT; the addresses
    /// are `None`.
    Redirect(Box<Nat>),
    /// `NETMAP`: the network part of the address is exchanged.
    Netmap(Box<IpNet>),
    /// `LOG` with its options as the tool prints them: goes on.
    Log(Name),
    /// `NFLOG` with its options as the tool prints them: goes on.
    Nflog(Name),
    /// The packet is not tracked.
    NoTrack {
        /// Whether it is written as `CT --notrack` instead of `NOTRACK`.
        ct: bool,
    },
    /// `CT` with other options as the tool prints them: zones, helpers, events.
    Ct(Name),
    /// `TCPMSS`: changes the maximum segment size and goes on.
    TcpMss(TcpMss),
    /// `TPROXY`: delivers to a local socket.
    Tproxy(Box<Tproxy>),
    /// `SET`: changes an ipset and goes on.
    Set(Box<SetTarget>),
    /// `TRACE`: goes on.
    Trace,
    /// `CHECKSUM`, `CLASSIFY`, `DSCP`, `TOS` or `AUDIT` with its options as the tool prints them:
    /// they change nothing that decides where a packet goes.
    Harmless {
        /// The target's name.
        name: Name,
        /// Its options.
        options: Name,
    },
    /// Another extension.
    Unknown(Unknown),
}

/// The code of a `REJECT` answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RejectWith {
    /// Destination unreachable of ICMP, with this code (3, port unreachable, if nothing is said).
    Icmp(u8),
    /// Destination unreachable of `ICMPv6`, with this code (4, port unreachable, if nothing is said).
    Icmpv6(u8),
    /// A TCP reset.
    TcpReset,
}

/// `--set-xmark VALUE/MASK`: the new mark is `(mark & !MASK) ^ VALUE`. All the other forms of MARK
/// (`--set-mark`, `--or-mark`, `--and-mark`, `--xor-mark`) are stored as this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct XMark {
    /// The bits that are flipped.
    pub value: u32,
    /// The bits that are cleared first.
    pub mask: u32,
}

/// What CONNMARK does (`struct xt_connmark_tginfo1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Connmark {
    /// `--set-xmark`: changes the connection's mark.
    Set(XMark),
    /// `--save-mark`: `ctmark = (ctmark & !ct_mask) ^ (nfmark & packet_mask)`.
    Save {
        /// `--nfmask`.
        packet_mask: u32,
        /// `--ctmask`.
        ct_mask: u32,
    },
    /// `--restore-mark`: `nfmark = (nfmark & !packet_mask) ^ (ctmark & ct_mask)`.
    Restore {
        /// `--nfmask`.
        packet_mask: u32,
        /// `--ctmask`.
        ct_mask: u32,
    },
}

/// A translation of addresses and ports (`struct nf_nat_range2`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nat {
    /// The addresses, from first to last; `None` keeps the address or takes an interface's.
    pub addresses: Option<(IpAddr, IpAddr)>,
    /// The ports; `None` keeps the port where possible.
    pub ports: Option<NatPorts>,
    /// `--random`.
    pub random: bool,
    /// `--random-fully`.
    pub random_fully: bool,
    /// `--persistent`.
    pub persistent: bool,
}

/// The ports of a translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NatPorts {
    /// The new ports.
    pub range: PortRange,
    /// `FIRST-LAST/BASE`: the port that maps to the first, and so on from there.
    pub base: Option<u16>,
}

/// What TCPMSS does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TcpMss {
    /// `--set-mss`, in bytes.
    Set(u16),
    /// `--clamp-mss-to-pmtu`.
    Clamp,
}

/// `TPROXY` (`struct xt_tproxy_target_info_v1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tproxy {
    /// `--on-port`; 0 keeps the packet's.
    pub port: u16,
    /// `--on-ip`; the unspecified address stands for that of the incoming interface.
    pub address: IpAddr,
    /// `--tproxy-mark`.
    pub mark: XMark,
}

/// `SET` (`struct xt_set_info_target_v3`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetTarget {
    /// What is done.
    pub change: SetChange,
    /// The set.
    pub set: Name,
    /// From which end of the packet each part of the element is taken.
    pub sides: Box<[Side]>,
    /// `--exist`, `--timeout` and the rest, as the tool prints them.
    pub options: Option<Name>,
}

/// What `SET` does with an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetChange {
    /// `--add-set`.
    Add,
    /// `--del-set`.
    Delete,
    /// `--map-set`.
    Map,
}

impl XMark {
    /// Returns the mark after the change of an old one.
    #[must_use]
    pub fn apply(self, mark: u32) -> u32 {
        (mark & !self.mask) ^ self.value
    }

    /// Returns the change of `--or-mark`.
    #[must_use]
    pub fn or(bits: u32) -> XMark {
        XMark { value: bits, mask: bits }
    }

    /// Returns the change of `--xor-mark`.
    #[must_use]
    pub fn xor(bits: u32) -> XMark {
        XMark { value: bits, mask: 0 }
    }

    /// Returns the change of `--and-mark`.
    #[must_use]
    pub fn and(bits: u32) -> XMark {
        XMark { value: 0, mask: !bits }
    }

    /// Returns the change of `--set-mark VALUE/MASK`, which also clears the bits of the value.
    #[must_use]
    pub fn set(value: u32, mask: u32) -> XMark {
        XMark { value, mask: mask | value }
    }
}

impl Nat {
    /// Returns a translation to one address, and to one port if given.
    #[must_use]
    pub fn to(address: IpAddr, port: Option<u16>) -> Nat {
        let ports = port.map(|p| NatPorts { range: PortRange::single(p), base: None });
        Nat { addresses: Some((address, address)), ports, ..Nat::default() }
    }
}
