//! What a file of expectations says.

use std::fmt;
use std::path::PathBuf;

use kps_model::{KubeVersion, Mode};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::endpoint::{EndpointName, Shares};
use super::source::ExpectedSource;

/// A file of expectations. Paths are as written: relative to the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Suite {
    /// The objects: files or directories.
    pub clusters: Vec<PathBuf>,
    /// The configuration of kube-proxy.
    pub config: Option<PathBuf>,
    /// The release of kube-proxy.
    pub kube_version: Option<KubeVersion>,
    /// The modes in which expectations are to hold, if they do not say their own.
    pub modes: Vec<Mode>,
    /// The nodes on which expectations are to hold, if they do not say their own.
    pub nodes: Vec<String>,
    /// The expectations that could be read.
    pub expectations: Vec<Expectation>,
}

/// One expectation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping")]
pub struct Expectation {
    /// What a person calls it.
    pub name: String,
    /// Who sends the packet: `pod`, `pod:NS/NAME`, `node`, `outside` or an address.
    pub from: String,
    /// Where to: `ADDR:PORT[/PROTO]`, `ADDR/ICMP` or `svc:NS/NAME[:PORT]`.
    pub to: String,
    /// What is to happen.
    pub expect: Expected,
    /// The endpoints that are to get packets, and no other.
    pub endpoints: Option<Vec<EndpointName>>,
    /// How packets are to spread over them.
    pub shares: Option<Shares>,
    /// The source that the packet is to have in the end.
    pub source: Option<ExpectedSource>,
    /// The modes in which it is to hold.
    #[serde(default, deserialize_with = "modes")]
    pub modes: Vec<Mode>,
    /// The nodes on which it is to hold.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// Its place among all that the file has, counted from 0.
    #[serde(skip)]
    pub index: usize,
}

/// What is to happen to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// It goes to an endpoint of a Service.
    Endpoints,
    /// The client is told that nobody is there.
    Refused,
    /// It is thrown away.
    Dropped,
    /// It is given to the node itself, as if no Service existed.
    Host,
    /// It is sent on unchanged, as if no Service existed.
    Onward,
}

impl fmt::Display for Expected {
    /// Writes the word of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Expected::Endpoints => "endpoints",
            Expected::Refused => "refused",
            Expected::Dropped => "dropped",
            Expected::Host => "host",
            Expected::Onward => "onward",
        })
    }
}

impl Expectation {
    /// Returns a field that means nothing beside what is expected.
    pub(super) fn idle_field(&self) -> Option<&'static str> {
        let (endpoints, onward) =
            (self.expect == Expected::Endpoints, self.expect == Expected::Onward);
        if self.endpoints.is_some() && !endpoints {
            Some("endpoints")
        } else if self.shares.is_some() && !endpoints {
            Some("shares")
        } else {
            (self.source.is_some() && !endpoints && !onward).then_some("source")
        }
    }
}

/// Reads the names of modes.
pub(super) fn modes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Mode>, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    words.iter().map(|word| word.parse().map_err(D::Error::custom)).collect()
}

/// Reads the name of a release.
pub(super) fn release<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<KubeVersion>, D::Error> {
    let word = Option::<String>::deserialize(deserializer)?;
    word.map(|word| word.parse().map_err(D::Error::custom)).transpose()
}
