//! From EndpointSlices to the endpoints of each ServicePort
//! (`pkg/proxy/endpointslicecache.go`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;

use kps_flow::{Family, Protocol};

use super::frontends::{HEADLESS, SERVICE_PROXY_NAME, protocol};
use crate::address::parse_address;
use crate::objects::{EndpointSlice, Hint, SliceEndpoint};
use crate::{Endpoint, KubeVersion, PortKey};

/// The label that names the Service of a slice.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The endpoints of all ServicePorts of one family, each list ordered by the text `IP:port`.
#[derive(Debug, Default)]
pub struct EndpointMap<'a> {
    ports: HashMap<MapKey<'a>, Vec<Endpoint>>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MapKey<'a> {
    namespace: &'a str,
    service: &'a str,
    port_name: &'a str,
    protocol: Protocol,
}

impl<'a> EndpointMap<'a> {
    /// Reads the slices of a family, as the proxier of `node` does. kube-proxy walks slices in no
    /// particular order; here it is the order of their names.
    #[must_use]
    pub fn new(
        slices: &'a [EndpointSlice],
        family: Family,
        node: &str,
        version: KubeVersion,
    ) -> EndpointMap<'a> {
        let mut watched: Vec<_> =
            slices.iter().filter(|s| exclusion(s, family, version).is_none()).collect();
        watched.sort_by_key(|slice| (&slice.metadata.namespace, &slice.metadata.name));
        let mut gathered: HashMap<MapKey<'_>, Gathered> = HashMap::new();
        for slice in watched {
            for (key, number) in ports(slice) {
                gathered.entry(key).or_default().add(slice, number, family, node, version);
            }
        }
        let ports = gathered.into_iter().map(|(key, g)| (key, g.ordered())).collect();
        EndpointMap { ports }
    }

    /// Returns the endpoints of a ServicePort.
    #[must_use]
    pub fn of<'k>(&'k self, key: &'k PortKey) -> &'k [Endpoint] {
        let key = MapKey {
            namespace: &key.namespace,
            service: &key.name,
            port_name: &key.port_name,
            protocol: key.protocol,
        };
        self.ports.get(&key).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Why a proxier makes no endpoint of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exclusion {
    /// It has the label of a headless Service's slices.
    HeadlessLabel,
    /// A label leaves it to another proxy; counts up to 1.35.
    OtherProxy,
    /// Its addresses are not of the proxier's family.
    OtherFamily,
    /// It names no Service.
    NoService,
}

/// Returns why the proxier of a family makes nothing of a slice, if it does not: the label selector
/// of its informer first, then what it looks at itself.
#[must_use]
pub fn exclusion(slice: &EndpointSlice, family: Family, version: KubeVersion) -> Option<Exclusion> {
    let labels = &slice.metadata.labels;
    if labels.contains_key(HEADLESS) {
        Some(Exclusion::HeadlessLabel)
    } else if version <= KubeVersion::V1_35 && labels.contains_key(SERVICE_PROXY_NAME) {
        Some(Exclusion::OtherProxy)
    } else if slice.address_type != family.to_string() {
        Some(Exclusion::OtherFamily)
    } else {
        labels.get(SERVICE_NAME).is_none_or(String::is_empty).then_some(Exclusion::NoService)
    }
}

/// Returns the keys that a slice serves, with the port number of the endpoints.
fn ports(slice: &EndpointSlice) -> impl Iterator<Item = (MapKey<'_>, u16)> {
    let service = slice.metadata.labels.get(SERVICE_NAME).map(String::as_str);
    let namespace = slice.metadata.namespace.as_str();
    slice.ports.iter().filter_map(move |port| {
        let key = MapKey {
            namespace,
            service: service?,
            port_name: port.name.as_deref()?,
            protocol: protocol(port.protocol.as_deref())?,
        };
        let number = u16::try_from(port.port?).ok().filter(|number| *number != 0)?;
        Some((key, number))
    })
}

/// Endpoints of one key before they are ordered.
#[derive(Default)]
struct Gathered {
    endpoints: Vec<Endpoint>,
    by_address: HashMap<SocketAddr, usize>,
}

impl Gathered {
    fn add(
        &mut self,
        slice: &EndpointSlice,
        number: u16,
        family: Family,
        node: &str,
        version: KubeVersion,
    ) {
        for raw in &slice.endpoints {
            let Some(endpoint) = endpoint(raw, number, family, node) else { continue };
            match self.by_address.entry(endpoint.address) {
                Entry::Vacant(place) => {
                    place.insert(self.endpoints.len());
                    self.endpoints.push(endpoint);
                }
                Entry::Occupied(place) if replaces(&endpoint, version) => {
                    self.endpoints[*place.get()] = endpoint;
                }
                Entry::Occupied(_) => {}
            }
        }
    }

    /// Orders by the text `IP:port`, bytewise: `10.0.0.228:53` comes before `10.0.0.22:53`.
    fn ordered(mut self) -> Vec<Endpoint> {
        self.endpoints.sort_by_cached_key(|endpoint| endpoint.address.to_string());
        self.endpoints
    }
}

/// Tells whether a second endpoint of the same address takes the place of the first.
fn replaces(second: &Endpoint, version: KubeVersion) -> bool {
    if version <= KubeVersion::V1_35 { second.is_local } else { !second.terminating }
}

fn endpoint(raw: &SliceEndpoint, number: u16, family: Family, node: &str) -> Option<Endpoint> {
    let address = parse_address(raw.addresses.first()?).filter(|a| Family::of(*a) == family)?;
    Some(Endpoint {
        address: SocketAddr::new(address, number),
        is_local: !node.is_empty() && raw.node_name.as_deref() == Some(node),
        ready: raw.conditions.ready.unwrap_or(true),
        serving: raw.conditions.serving.unwrap_or(true),
        terminating: raw.conditions.terminating.unwrap_or(false),
        zone_hints: names(&raw.hints.for_zones),
        node_hints: names(&raw.hints.for_nodes),
    })
}

fn names(hints: &[Hint]) -> Vec<String> {
    hints.iter().map(|hint| hint.name.clone()).collect()
}
