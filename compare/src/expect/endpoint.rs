//! Endpoints by address or by pod, and the shares that they are to have.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use kps_model::objects::TargetRef;
use kps_model::{Cluster, address};
use num_rational::BigRational;
use num_traits::{One, Signed};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// An endpoint, as a person names it: `ADDR:PORT`, `pod:NS/NAME` or `pod:NS/NAME:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum EndpointName {
    /// By its address and port.
    Socket(SocketAddr),
    /// By the pod behind it.
    Pod {
        /// The pod, as `NS/NAME`.
        pod: String,
        /// The port; `None` is any.
        port: Option<u16>,
    },
}

/// A share of packets, as a fraction.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Share(pub BigRational);

/// How packets are to spread over endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shares {
    /// The same share for each that gets any.
    Even,
    /// The share of each.
    Each(BTreeMap<EndpointName, Share>),
}

impl EndpointName {
    /// Tells whether the endpoint is one that is meant.
    #[must_use]
    pub fn is(&self, endpoint: SocketAddr, cluster: &Cluster) -> bool {
        match self {
            EndpointName::Socket(socket) => *socket == endpoint,
            EndpointName::Pod { pod, port } => {
                port.is_none_or(|port| port == endpoint.port())
                    && addresses(cluster, pod).any(|address| address == endpoint.ip())
            }
        }
    }
}

/// Returns the addresses that `EndpointSlices` have of a pod.
fn addresses<'a>(cluster: &'a Cluster, pod: &'a str) -> impl Iterator<Item = IpAddr> + 'a {
    let is_meant = move |target: &TargetRef| {
        let known = target.namespace.as_deref().zip(target.name.as_deref());
        target.kind.as_deref() == Some("Pod") && known == pod.split_once('/')
    };
    let endpoints = cluster.slices.iter().flat_map(|slice| &slice.endpoints);
    let meant = endpoints.filter(move |endpoint| is_meant(&endpoint.target_ref));
    meant.filter_map(|endpoint| address::parse_address(endpoint.addresses.first()?))
}

impl TryFrom<String> for EndpointName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is no endpoint; expected ADDR:PORT, pod:NS/NAME or pod:NS/NAME:PORT")
        };
        let Some(name) = text.strip_prefix("pod:") else {
            return text.parse().map(EndpointName::Socket).map_err(|_| wrong());
        };
        let (pod, port) = match name.split_once(':') {
            None => (name, None),
            Some((pod, port)) => (pod, Some(port.parse().map_err(|_| wrong())?)),
        };
        let is_named = pod.split_once('/').is_some_and(|(ns, n)| !ns.is_empty() && !n.is_empty());
        let pod = is_named.then(|| pod.to_owned()).ok_or_else(wrong)?;
        Ok(EndpointName::Pod { pod, port })
    }
}

impl fmt::Display for EndpointName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndpointName::Socket(socket) => write!(f, "{socket}"),
            EndpointName::Pod { pod, port: None } => write!(f, "pod:{pod}"),
            EndpointName::Pod { pod, port: Some(port) } => write!(f, "pod:{pod}:{port}"),
        }
    }
}

impl TryFrom<String> for Share {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = text.parse::<BigRational>().ok();
        let share = read.filter(|share| share.is_positive() && *share <= BigRational::one());
        share.map(Share).ok_or_else(|| {
            format!(
                "`{text}` is no share; expected a fraction above 0 and up to 1, such as \"1/3\""
            )
        })
    }
}

impl<'de> Deserialize<'de> for Shares {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shares, D::Error> {
        deserializer.deserialize_any(SharesVisitor)
    }
}

struct SharesVisitor;

impl<'de> Visitor<'de> for SharesVisitor {
    type Value = Shares;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`even` or a mapping from endpoints to shares")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Shares, E> {
        match word {
            "even" => Ok(Shares::Even),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(word), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shares, A::Error> {
        let mut shares = BTreeMap::new();
        while let Some((endpoint, share)) = map.next_entry()? {
            shares.insert(endpoint, share);
        }
        Ok(Shares::Each(shares))
    }
}
