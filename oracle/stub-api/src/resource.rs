//! The kinds of objects that kube-proxy lists and watches.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A kind of object, with its place in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// What is rendered.
    Service,
    /// The endpoints of Services.
    EndpointSlice,
    /// The node itself: its addresses, pod ranges and zone.
    Node,
    /// Where addresses of Services come from; nftables mode watches them from 1.33 on.
    ServiceCidr,
}

/// A word that names no kind of object that is served.
#[derive(Debug, Error)]
#[error("no kind {0:?}: Service, EndpointSlice, Node and ServiceCIDR are served")]
pub struct UnknownKind(String);

impl Resource {
    /// Every kind that is served.
    pub const ALL: [Self; 4] = [Self::Service, Self::EndpointSlice, Self::Node, Self::ServiceCidr];

    /// Returns the `kind` of its objects.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::EndpointSlice => "EndpointSlice",
            Self::Node => "Node",
            Self::ServiceCidr => "ServiceCIDR",
        }
    }

    /// Returns the `apiVersion` of its objects.
    #[must_use]
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::Service | Self::Node => "v1",
            Self::EndpointSlice => "discovery.k8s.io/v1",
            Self::ServiceCidr => "networking.k8s.io/v1",
        }
    }

    /// Returns the path of the collection over all namespaces.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Service => "/api/v1/services",
            Self::EndpointSlice => "/apis/discovery.k8s.io/v1/endpointslices",
            Self::Node => "/api/v1/nodes",
            Self::ServiceCidr => "/apis/networking.k8s.io/v1/servicecidrs",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

impl FromStr for Resource {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, UnknownKind> {
        let same = |resource: &Self| resource.kind().eq_ignore_ascii_case(word);
        Self::ALL.into_iter().find(same).ok_or_else(|| UnknownKind(word.to_owned()))
    }
}
