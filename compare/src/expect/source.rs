//! The source that an endpoint is to see.

use std::fmt;
use std::net::IpAddr;

use kps_flow::{Flow, SourceNat};
use serde::Deserialize;

/// What is expected of a packet's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ExpectedSource {
    /// The client's own.
    Kept,
    /// Another than the client's.
    Masqueraded,
    /// This address.
    Address(IpAddr),
}

impl ExpectedSource {
    /// Tells whether a source is as expected.
    #[must_use]
    pub fn is(self, source: SourceNat, flow: &Flow) -> bool {
        match (self, source) {
            (ExpectedSource::Kept, SourceNat::Kept)
            | (ExpectedSource::Masqueraded, SourceNat::Rewritten(_)) => true,
            (ExpectedSource::Address(expected), SourceNat::Rewritten(address)) => {
                address == Some(expected)
            }
            (ExpectedSource::Address(expected), SourceNat::Kept) => flow.source == Some(expected),
            _ => false,
        }
    }
}

impl TryFrom<String> for ExpectedSource {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "kept" => Ok(ExpectedSource::Kept),
            "masqueraded" => Ok(ExpectedSource::Masqueraded),
            address => address.parse().map(ExpectedSource::Address).map_err(|_| {
                format!("`{text}` is no source; expected kept, masqueraded or an address")
            }),
        }
    }
}

impl fmt::Display for ExpectedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExpectedSource::Kept => f.write_str("source kept"),
            ExpectedSource::Masqueraded => f.write_str("source masqueraded"),
            ExpectedSource::Address(address) => write!(f, "source {address}"),
        }
    }
}
