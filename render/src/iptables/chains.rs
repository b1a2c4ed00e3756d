//! The names of the chains of a `ServicePort` and of its endpoints.
//!
//! A name is a prefix and the first sixteen characters of the base 32 form of a SHA-256 sum, since
//! the kernel allows no more than 28 characters.

use data_encoding::BASE32;
use kps_ruleset::Name;
use sha2::{Digest, Sha256};

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
        let name = |prefix: &str| Name::from(format!("{prefix}{hash}"));
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
    Name::from(format!("KUBE-SEP-{}", hash(&[label, protocol, endpoint])))
}

fn hash(parts: &[&str]) -> String {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update(part);
    }
    let mut text = BASE32.encode(&sum.finalize()[..10]);
    text.truncate(16);
    text
}
