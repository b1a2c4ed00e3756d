//! IP protocol numbers and their names.

use std::fmt;

/// An IP protocol number (IANA), with the name that the tools print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// ICMP.
    pub const ICMP: Protocol = Protocol(1);
    /// TCP.
    pub const TCP: Protocol = Protocol(6);
    /// UDP.
    pub const UDP: Protocol = Protocol(17);
    /// DCCP.
    pub const DCCP: Protocol = Protocol(33);
    /// `ICMPv6`.
    pub const ICMPV6: Protocol = Protocol(58);
    /// SCTP.
    pub const SCTP: Protocol = Protocol(132);
    /// UDP-Lite.
    pub const UDPLITE: Protocol = Protocol(136);

    /// Reads a name of `/etc/protocols`, in any case, or a number.
    #[must_use]
    pub fn parse(text: &str) -> Option<Protocol> {
        match text {
            "tcp" => return Some(Protocol::TCP),
            "udp" => return Some(Protocol::UDP),
            "icmpv6" => return Some(Protocol::ICMPV6),
            _ => {}
        }
        if let Ok(number) = text.parse() {
            return Some(Protocol(number));
        }
        let known = NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
        known.map(|(number, _)| Protocol(*number))
    }

    /// Returns the name, if `/etc/protocols` has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.binary_search_by_key(&self.0, |(number, _)| *number).ok().map(|i| NAMES[i].1)
    }

    /// Returns whether its packets have ports.
    #[must_use]
    pub fn has_ports(self) -> bool {
        matches!(
            self,
            Protocol::TCP | Protocol::UDP | Protocol::DCCP | Protocol::SCTP | Protocol::UDPLITE
        )
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => self.0.fmt(f),
        }
    }
}

/// The protocols of Debian's `/etc/protocols`, by number. Protocol 0 has the name `ip` there, which
/// the tools print as a number since it means any protocol.
const NAMES: [(u8, &str); 54] = [
    (1, "icmp"),
    (2, "igmp"),
    (3, "ggp"),
    (4, "ipencap"),
    (5, "st"),
    (6, "tcp"),
    (8, "egp"),
    (9, "igp"),
    (12, "pup"),
    (17, "udp"),
    (20, "hmp"),
    (22, "xns-idp"),
    (27, "rdp"),
    (29, "iso-tp4"),
    (33, "dccp"),
    (36, "xtp"),
    (37, "ddp"),
    (38, "idpr-cmtp"),
    (41, "ipv6"),
    (43, "ipv6-route"),
    (44, "ipv6-frag"),
    (45, "idrp"),
    (46, "rsvp"),
    (47, "gre"),
    (50, "esp"),
    (51, "ah"),
    (57, "skip"),
    (58, "ipv6-icmp"),
    (59, "ipv6-nonxt"),
    (60, "ipv6-opts"),
    (73, "rspf"),
    (81, "vmtp"),
    (88, "eigrp"),
    (89, "ospf"),
    (93, "ax.25"),
    (94, "ipip"),
    (97, "etherip"),
    (98, "encap"),
    (103, "pim"),
    (108, "ipcomp"),
    (112, "vrrp"),
    (115, "l2tp"),
    (124, "isis"),
    (132, "sctp"),
    (133, "fc"),
    (135, "mobility-header"),
    (136, "udplite"),
    (137, "mpls-in-ip"),
    (138, "manet"),
    (139, "hip"),
    (140, "shim6"),
    (141, "wesp"),
    (142, "rohc"),
    (143, "ethernet"),
];
