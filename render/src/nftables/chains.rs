//! The names of the chains and sets of a `ServicePort` and of its endpoints.
//!
//! A name is a prefix, the first eight characters of the base 32 form of the SHA-256 sum of what
//! follows, and that itself: names stay readable, and stay apart when they are cut.

use std::fmt::Write;
use std::net::SocketAddr;

use data_encoding::BASE32;
use kps_model::{PortKey, PortView};
use kps_ruleset::Name;
use sha2::{Digest, Sha256};

/// The longest name that kube-proxy makes, in bytes; the kernel allows 255.
const LONGEST: usize = 240;
/// What ends a name that was cut.
const CUT: &str = "...";
/// How much of the sum is part of the name, in characters.
const HASH_LENGTH: usize = 8;

/// The chains of a `ServicePort`, as far as it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chains {
    /// Chooses among the endpoints for policy Cluster.
    pub cluster: Option<Name>,
    /// Chooses among the endpoints for policy Local.
    pub local: Option<Name>,
    /// Takes traffic from outside: node port, external IPs, load balancer IPs.
    pub external: Option<Name>,
    /// Drops what comes to the load balancer IPs from outside the source ranges. Unlike in the
    /// other modes, it does not take endpoints to have one.
    pub firewall: Option<Name>,
}

impl Chains {
    /// Returns the chains of a `ServicePort`.
    pub fn of(view: &PortView, base: &str) -> Chains {
        let port = &view.port;
        let hashed = hashed(base);
        let name = |used: bool, prefix: &str| used.then(|| Name::from([prefix, &hashed].concat()));
        let cluster = !view.cluster.is_empty() && port.uses_cluster_endpoints();
        let local = !view.local.is_empty() && port.uses_local_endpoints();
        let firewall = !port.load_balancer_vips.is_empty() && !port.source_ranges.is_empty();
        Chains {
            cluster: name(cluster, "service-"),
            local: name(local, "local-"),
            external: name(view.has_any && port.externally_accessible(), "external-"),
            firewall: name(firewall, "firewall-"),
        }
    }
}

/// The chain and the set of an endpoint of a `ServicePort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndpointNames {
    /// Sends to the endpoint.
    pub chain: Name,
    /// The clients that have affinity to it.
    pub affinity: Name,
}

impl EndpointNames {
    /// Returns the names for an endpoint; every `:` of its address becomes a `.`.
    pub fn of(base: &str, endpoint: SocketAddr) -> EndpointNames {
        let mut text = String::with_capacity(base.len() + 48);
        let address = endpoint.ip().to_string().replace(':', ".");
        let _ = write!(text, "{base}__{address}/{}", endpoint.port());
        let hashed = hashed(&text);
        EndpointNames {
            chain: Name::from(format!("endpoint-{hashed}")),
            affinity: Name::from(format!("affinity-{hashed}")),
        }
    }
}

/// Returns `namespace/name/protocol/port`, from which all names of a `ServicePort` are made.
pub(super) fn base(key: &PortKey) -> String {
    format!("{}/{}/{}/{}", key.namespace, key.name, key.protocol.lower(), key.port_name)
}

fn hashed(base: &str) -> String {
    let sum = Sha256::digest(base);
    let mut name = String::with_capacity(HASH_LENGTH + 1 + base.len());
    BASE32.encode_append(&sum[..HASH_LENGTH * 5 / 8], &mut name);
    name.push('-');
    name.push_str(base);
    if name.len() > LONGEST {
        name.truncate(floor_char_boundary(&name, LONGEST - CUT.len()));
        name.push_str(CUT);
    }
    name
}

fn floor_char_boundary(text: &str, mut index: usize) -> usize {
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_kube_proxy() {
        for (base, hash) in [
            ("ns1/svc1/tcp/p80", "ULMVA6XW"),
            ("ns2/svc2/tcp/p80", "42NFTM6N"),
            ("ns5/svc5/tcp/p80", "HVFWP5L3"),
        ] {
            assert_eq!(hashed(base), format!("{hash}-{base}"));
        }
    }

    #[test]
    fn colons_of_addresses_become_dots() {
        let v4 = EndpointNames::of("ns1/svc1/tcp/p80", "10.180.0.1:80".parse().unwrap());
        assert_eq!(v4.chain, "endpoint-5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80");
        let v6 = EndpointNames::of("ns1/svc1/tcp/p80", "[fd00:10:180::1]:80".parse().unwrap());
        assert_eq!(v6.affinity, "affinity-ZVRFLKHO-ns1/svc1/tcp/p80__fd00.10.180..1/80");
    }

    #[test]
    fn long_names_are_cut() {
        let base = format!("{}/{}/tcp/p", "n".repeat(120), "s".repeat(120));
        let hashed = hashed(&base);
        assert_eq!(hashed.len(), 240);
        assert!(hashed.ends_with("s..."));
    }
}
