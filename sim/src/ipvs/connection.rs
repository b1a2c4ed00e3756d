//! What a connection is known by.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use kps_flow::Protocol;
use kps_ruleset::ipvs::Netmask;

/// A connection as its client sees it: who talks to which virtual address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection {
    /// TCP, UDP or SCTP.
    pub protocol: Protocol,
    /// The client.
    pub source: SocketAddr,
    /// The virtual address and port; of a service by mark it can be any.
    pub destination: SocketAddr,
}

/// Returns the client as a persistent service sees it: the bits that the mask leaves
/// (`ip_vs_core.c`, `ip_vs_sched_persist`). A mask of the other family leaves all.
pub(super) fn masked(client: IpAddr, netmask: Netmask) -> IpAddr {
    match (client, netmask) {
        (IpAddr::V4(client), Netmask::V4(mask)) => (client & mask).into(),
        (IpAddr::V6(client), Netmask::V6(length)) => {
            let host_bits = 128_u32.saturating_sub(length.into());
            let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
            IpAddr::V6(client & Ipv6Addr::from_bits(mask))
        }
        _ => client,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_mask_groups_clients() {
        let mask = Netmask::V4(Ipv4Addr::new(255, 255, 255, 0));
        assert_eq!(masked([192, 0, 2, 7].into(), mask), IpAddr::from([192, 0, 2, 0]));
        let client: IpAddr = "2001:db8:1:2::7".parse().unwrap();
        assert_eq!(masked(client, Netmask::V6(48)).to_string(), "2001:db8:1::");
        assert_eq!(masked(client, Netmask::V6(0)).to_string(), "::");
        assert_eq!(masked(client, Netmask::V6(200)), client);
    }
}
