//! The names of the chains of a `ServicePort` and of its endpoints.
//!
//! A name is a prefix and the first sixteen characters of the base 32 form of a SHA-256 sum, since
//! the kernel allows no more than 28 characters.

use data_encoding::BASE32;
use kps_ruleset::Name;
use sha2::{Digest, Sha256};

/// The longest name that the kernel allows, in bytes (`XT_EXTENSION_MAXNAMELEN`).
const LONGEST: usize = 28;
/// How much of the sum is part of the name, in characters.
const HASH_LENGTH: usize = 16;

/// The chains that a `ServicePort` may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chains {
    /// Chooses among the endpoints for policy Cluster.
    pub cluster: Name,
    /// Chooses among the endpoints for policy Local.
    pub local: Name,
    /// Takes traffic from outside: node port, external IPs, load balancer IPs.
    pub external: Name,
    /// Takes traffic to the load balancer IPs if there are source ranges.
    pub firewall: Name,
}

impl Chains {
    /// Returns the chains of a `ServicePort` by its printed key and protocol.
    pub fn of(label: &str, protocol: &str) -> Chains {
        let hash = hash(&[label, protocol]);
        let name = |prefix| named(prefix, &hash);
        Chains {
            cluster: name("KUBE-SVC-"),
            local: name("KUBE-SVL-"),
            external: name("KUBE-EXT-"),
            firewall: name("KUBE-FW-"),
        }
    }
}

/// Returns the chain of an endpoint of a `ServicePort`.
pub(super) fn endpoint_chain(label: &str, protocol: &str, endpoint: &str) -> Name {
    named("KUBE-SEP-", &hash(&[label, protocol, endpoint]))
}

/// Returns the chain with a prefix and what was hashed.
fn named(prefix: &str, hash: &[u8]) -> Name {
    let mut name = [0; LONGEST];
    let (start, rest) = name.split_at_mut(prefix.len());
    start.copy_from_slice(prefix.as_bytes());
    BASE32.encode_mut(hash, &mut rest[..HASH_LENGTH]);
    let name = &name[..prefix.len() + HASH_LENGTH];
    // INVARIANT: base 32 is text.
    Name::new(std::str::from_utf8(name).unwrap_or_default())
}

/// Returns so much of a sum as the name takes.
fn hash(parts: &[&str]) -> [u8; HASH_LENGTH * 5 / 8] {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update(part);
    }
    let sum: [u8; 32] = sum.finalize().into();
    std::array::from_fn(|i| sum[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_services_are_those_of_kube_proxy() {
        for (number, hash) in [
            (1, "XPGD46QRK7WJZT7O"),
            (2, "GNZBNJ2PO5MGZ6GT"),
            (3, "X27LE4BHSL4DOUIK"),
            (4, "4SW47YFZTEDKD3PK"),
            (5, "NUKIZ6OKUXPJNT4C"),
            (6, "NDY5GL2HU4YWCI7Q"),
        ] {
            let chains = Chains::of(&format!("ns{number}/svc{number}:p80"), "tcp");
            assert_eq!(chains.cluster, format!("KUBE-SVC-{hash}").as_str());
            assert_eq!(chains.local, format!("KUBE-SVL-{hash}").as_str());
            assert_eq!(chains.external, format!("KUBE-EXT-{hash}").as_str());
            assert_eq!(chains.firewall, format!("KUBE-FW-{hash}").as_str());
        }
    }

    #[test]
    fn hashes_of_endpoints_are_those_of_kube_proxy() {
        for (number, endpoint, hash) in [
            (1, "10.180.0.1:80", "SXIVWICOYRO3J4NJ"),
            (2, "10.180.0.2:80", "RS4RBKLTHTF2IUXJ"),
            (3, "10.180.0.3:80", "OYPFS5VJICHGATKP"),
            (4, "10.180.0.4:80", "UKSFD7AGPMPPLUHC"),
            (4, "10.180.0.5:80", "C6EBXVWJJZMIWKLZ"),
            (4, "10.180.0.6:80", "ULL74CTELUH2BDLI"),
            (5, "10.180.0.3:80", "I77PXRDZVX7PMWMN"),
        ] {
            let chain = endpoint_chain(&format!("ns{number}/svc{number}:p80"), "tcp", endpoint);
            assert_eq!(chain, format!("KUBE-SEP-{hash}").as_str());
        }
    }
}
