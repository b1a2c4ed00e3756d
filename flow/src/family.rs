//! The two address families. kube-proxy runs one proxier for each, and so does everything here.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Family {
    /// IPv4.
    #[serde(rename = "IPv4")]
    V4,
    /// IPv6.
    #[serde(rename = "IPv6")]
    V6,
}

impl Family {
    /// Both families, IPv4 first: the order in which everything is rendered and printed.
    pub const BOTH: [Family; 2] = [Family::V4, Family::V6];

    /// Returns the family of an address.
    #[must_use]
    pub fn of(address: IpAddr) -> Family {
        if address.is_ipv4() { Family::V4 } else { Family::V6 }
    }

    /// Returns the length of an address in bits: 32 or 128.
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Family::V4 => 32,
            Family::V6 => 128,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        })
    }
}
