//! The words for values: those of nft's symbol tables (`nft describe`), of `/etc/protocols` and of
//! `/etc/services`.

use crate::nftables::ast::AddressType;

/// In the order of their numbers.
pub(in crate::nftables) const ADDRESS_TYPES: &[(&str, AddressType)] = &[
    ("unspec", AddressType::Unspec),
    ("unicast", AddressType::Unicast),
    ("local", AddressType::Local),
    ("broadcast", AddressType::Broadcast),
    ("anycast", AddressType::Anycast),
    ("multicast", AddressType::Multicast),
    ("blackhole", AddressType::Blackhole),
    ("unreachable", AddressType::Unreachable),
    ("prohibit", AddressType::Prohibit),
];

pub(in crate::nftables) const CT_STATE: &[(&str, u64)] =
    &[("invalid", 1), ("established", 2), ("related", 4), ("new", 8), ("untracked", 64)];

pub(in crate::nftables) const CT_STATUS: &[(&str, u64)] = &[
    ("expected", 1),
    ("seen-reply", 2),
    ("assured", 4),
    ("confirmed", 8),
    ("snat", 16),
    ("dnat", 32),
    ("dying", 512),
];

pub(in crate::nftables) const CT_DIRECTION: &[(&str, u64)] = &[("original", 0), ("reply", 1)];

pub(in crate::nftables) const TCP_FLAGS: &[(&str, u64)] = &[
    ("fin", 1),
    ("syn", 2),
    ("rst", 4),
    ("psh", 8),
    ("ack", 16),
    ("urg", 32),
    ("ecn", 64),
    ("cwr", 128),
];

pub(in crate::nftables) const ICMP_TYPE: &[(&str, u64)] = &[
    ("echo-reply", 0),
    ("destination-unreachable", 3),
    ("source-quench", 4),
    ("redirect", 5),
    ("echo-request", 8),
    ("router-advertisement", 9),
    ("router-solicitation", 10),
    ("time-exceeded", 11),
    ("parameter-problem", 12),
    ("timestamp-request", 13),
    ("timestamp-reply", 14),
    ("info-request", 15),
    ("info-reply", 16),
    ("address-mask-request", 17),
    ("address-mask-reply", 18),
];

pub(in crate::nftables) const ICMP_CODE: &[(&str, u64)] = &[
    ("net-unreachable", 0),
    ("host-unreachable", 1),
    ("prot-unreachable", 2),
    ("port-unreachable", 3),
    ("net-prohibited", 9),
    ("host-prohibited", 10),
    ("admin-prohibited", 13),
    ("frag-needed", 4),
];

pub(in crate::nftables) const ICMPV6_TYPE: &[(&str, u64)] = &[
    ("destination-unreachable", 1),
    ("packet-too-big", 2),
    ("time-exceeded", 3),
    ("parameter-problem", 4),
    ("echo-request", 128),
    ("echo-reply", 129),
    ("mld-listener-query", 130),
    ("mld-listener-report", 131),
    ("mld-listener-done", 132),
    ("mld-listener-reduction", 132),
    ("nd-router-solicit", 133),
    ("nd-router-advert", 134),
    ("nd-neighbor-solicit", 135),
    ("nd-neighbor-advert", 136),
    ("nd-redirect", 137),
    ("router-renumbering", 138),
    ("ind-neighbor-solicit", 141),
    ("ind-neighbor-advert", 142),
    ("mld2-listener-report", 143),
];

pub(in crate::nftables) const ICMPV6_CODE: &[(&str, u64)] = &[
    ("no-route", 0),
    ("admin-prohibited", 1),
    ("addr-unreachable", 3),
    ("port-unreachable", 4),
    ("policy-fail", 5),
    ("reject-route", 6),
];

/// The codes of `reject with icmpx`, which are nft's own.
pub(in crate::nftables) const ICMPX_CODE: &[(&str, u64)] =
    &[("no-route", 0), ("port-unreachable", 1), ("host-unreachable", 2), ("admin-prohibited", 3)];

pub(in crate::nftables) const NF_PROTO: &[(&str, u64)] = &[("ipv4", 2), ("ipv6", 10)];

pub(in crate::nftables) const ETHER_TYPE: &[(&str, u64)] =
    &[("ip", 0x800), ("arp", 0x806), ("ip6", 0x86dd), ("8021q", 0x8100), ("8021ad", 0x88a8)];

pub(in crate::nftables) const PACKET_TYPE: &[(&str, u64)] =
    &[("host", 0), ("broadcast", 1), ("multicast", 2), ("other", 3)];

pub(in crate::nftables) const BOOLEAN: &[(&str, u64)] = &[("exists", 1), ("missing", 0)];

pub(in crate::nftables) const PROTOCOLS: &[(&str, u64)] = &[
    ("tcp", 6),
    ("udp", 17),
    ("sctp", 132),
    ("icmp", 1),
    ("ipv6-icmp", 58),
    ("igmp", 2),
    ("ggp", 3),
    ("ipencap", 4),
    ("st", 5),
    ("egp", 8),
    ("igp", 9),
    ("pup", 12),
    ("hmp", 20),
    ("xns-idp", 22),
    ("rdp", 27),
    ("iso-tp4", 29),
    ("dccp", 33),
    ("xtp", 36),
    ("ddp", 37),
    ("idpr-cmtp", 38),
    ("ipv6", 41),
    ("ipv6-route", 43),
    ("ipv6-frag", 44),
    ("idrp", 45),
    ("rsvp", 46),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("skip", 57),
    ("ipv6-nonxt", 59),
    ("ipv6-opts", 60),
    ("rspf", 73),
    ("vmtp", 81),
    ("eigrp", 88),
    ("ospf", 89),
    ("ax.25", 93),
    ("ipip", 94),
    ("etherip", 97),
    ("encap", 98),
    ("pim", 103),
    ("ipcomp", 108),
    ("vrrp", 112),
    ("l2tp", 115),
    ("isis", 124),
    ("fc", 133),
    ("mobility-header", 135),
    ("udplite", 136),
    ("mpls-in-ip", 137),
    ("hip", 139),
    ("shim6", 140),
    ("wesp", 141),
    ("rohc", 142),
];

/// Services whose names appear in hand-written rules; nft prints names only with `-S`.
pub(in crate::nftables) const SERVICES: &[(&str, u16)] = &[
    ("ftp-data", 20),
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("domain", 53),
    ("bootps", 67),
    ("bootpc", 68),
    ("tftp", 69),
    ("http", 80),
    ("kerberos", 88),
    ("pop3", 110),
    ("sunrpc", 111),
    ("ntp", 123),
    ("netbios-ns", 137),
    ("netbios-dgm", 138),
    ("netbios-ssn", 139),
    ("imap2", 143),
    ("snmp", 161),
    ("snmp-trap", 162),
    ("bgp", 179),
    ("ldap", 389),
    ("https", 443),
    ("microsoft-ds", 445),
    ("isakmp", 500),
    ("syslog", 514),
    ("submission", 587),
    ("ipp", 631),
    ("ldaps", 636),
    ("domain-s", 853),
    ("imaps", 993),
    ("pop3s", 995),
    ("openvpn", 1194),
    ("nfs", 2049),
    ("dhcpv6-client", 546),
    ("dhcpv6-server", 547),
    ("mysql", 3306),
    ("ms-wbt-server", 3389),
    ("ipsec-nat-t", 4500),
    ("sip", 5060),
    ("mdns", 5353),
    ("postgresql", 5432),
    ("redis", 6379),
    ("http-alt", 8080),
];
