//! The tree of a node's IP sets.

use std::net::IpAddr;

use indexmap::IndexMap;
use ipnet::IpNet;

use crate::Name;
use crate::protocol::Protocol;

/// All sets of a node, in the order in which the tool lists them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sets {
    /// The sets by name.
    pub sets: IndexMap<Name, Set>,
}

/// A set.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// Its type.
    pub kind: SetType,
    /// What was given when it was created.
    pub options: Options,
    /// Its entries by element, in the order in which the tool lists them.
    pub entries: IndexMap<Element, Entry>,
}

/// The type of a set: how it stores elements, and what they consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetType {
    /// `bitmap:ip`.
    BitmapIp,
    /// `bitmap:ip,mac`.
    BitmapIpMac,
    /// `bitmap:port`.
    BitmapPort,
    /// `hash:ip`.
    HashIp,
    /// `hash:ip,mac`.
    HashIpMac,
    /// `hash:ip,mark`.
    HashIpMark,
    /// `hash:ip,port`.
    HashIpPort,
    /// `hash:ip,port,ip`.
    HashIpPortIp,
    /// `hash:ip,port,net`.
    HashIpPortNet,
    /// `hash:mac`.
    HashMac,
    /// `hash:net`.
    HashNet,
    /// `hash:net,iface`.
    HashNetIface,
    /// `hash:net,net`.
    HashNetNet,
    /// `hash:net,port`.
    HashNetPort,
    /// `hash:net,port,net`.
    HashNetPortNet,
    /// `list:set`.
    ListSet,
    /// Any other type; its elements are kept as text.
    Other(Name),
}

/// The address family of a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `inet`.
    #[default]
    Inet,
    /// `inet6`.
    Inet6,
}

/// What was given when a set was created. `None` is the type's default or does not apply.
#[expect(clippy::struct_excessive_bools, reason = "the tool's own independent switches")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `range FIRST-LAST`, of a bitmap.
    pub range: Option<Range>,
    /// `family`, of a hash.
    pub family: Option<Family>,
    /// `markmask`, of `hash:ip,mark`.
    pub mark_mask: Option<u32>,
    /// `netmask`: addresses are cut to so many bits.
    pub netmask: Option<u8>,
    /// `hashsize`: the size of the table at the start.
    pub hash_size: Option<u32>,
    /// `maxelem`: the most elements that it may hold.
    pub max_elements: Option<u32>,
    /// `size`, of a list.
    pub size: Option<u32>,
    /// `timeout`: that of entries without their own, in seconds. If it is `None`, entries cannot
    /// have one.
    pub timeout: Option<u32>,
    /// `counters`: entries count packets and bytes.
    pub counters: bool,
    /// `comment`: entries may have a comment.
    pub comment: bool,
    /// `skbinfo`: entries may have marks, classes and queues.
    pub skbinfo: bool,
    /// `forceadd`: a full set replaces an entry at random.
    pub force_add: bool,
    /// `bucketsize`.
    pub bucket_size: Option<u32>,
    /// `initval`: the seed of the hash function.
    pub initial_value: Option<u32>,
    /// Options that the tree does not model, as text.
    pub other: Option<Name>,
}

/// The range of a bitmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Range {
    /// Of `bitmap:port`.
    Ports(u16, u16),
    /// Of `bitmap:ip` and `bitmap:ip,mac`.
    Addresses(IpAddr, IpAddr),
}

/// A protocol and a port. For ICMP the port is `type << 8 | code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    /// The protocol.
    pub protocol: Protocol,
    /// The port.
    pub port: u16,
}

/// An element, by what its set's type says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// `ADDRESS`.
    Ip(IpAddr),
    /// `ADDRESS,MAC`.
    IpMac(IpAddr, Option<[u8; 6]>),
    /// `ADDRESS,MARK`.
    IpMark(IpAddr, u32),
    /// `ADDRESS,PROTOCOL:PORT`.
    IpPort(IpAddr, Port),
    /// `ADDRESS,PROTOCOL:PORT,ADDRESS`.
    IpPortIp(IpAddr, Port, IpAddr),
    /// `ADDRESS,PROTOCOL:PORT,NETWORK`.
    IpPortNet(IpAddr, Port, IpNet),
    /// `MAC`.
    Mac([u8; 6]),
    /// `NETWORK`.
    Net(IpNet),
    /// `NETWORK,INTERFACE`, or `NETWORK,physdev:INTERFACE`.
    NetIface {
        /// The network; it may have length zero.
        network: IpNet,
        /// The interface.
        interface: Name,
        /// Whether the interface is a bridge port.
        physdev: bool,
    },
    /// `NETWORK,NETWORK`.
    NetNet(IpNet, IpNet),
    /// `NETWORK,PROTOCOL:PORT`.
    NetPort(IpNet, Port),
    /// `NETWORK,PROTOCOL:PORT,NETWORK`.
    NetPortNet(IpNet, Port, IpNet),
    /// `PORT`, of a bitmap.
    Port(u16),
    /// The name of a set in a list.
    Set(Name),
    /// Any other text.
    Other(Name),
}

/// What an entry has beside its element.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entry {
    /// `nomatch`: an exception in a set of networks; a look-up that finds it fails.
    pub nomatch: bool,
    /// The time left in seconds; 0 is for ever.
    pub timeout: Option<u32>,
    /// Packets and bytes.
    pub counters: Option<(u64, u64)>,
    /// Its comment.
    pub comment: Option<Name>,
    /// Options that the tree does not model (`skbmark`, …), as text.
    pub other: Option<Name>,
}

impl Set {
    /// Returns an empty set.
    #[must_use]
    pub fn new(kind: SetType, options: Options) -> Set {
        Set { kind, options, entries: IndexMap::new() }
    }
}
