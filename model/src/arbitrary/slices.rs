//! EndpointSlices: one or two of each family for a Service, which may list the same endpoints.

use kps_flow::Family;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::NODES;
use crate::objects::{
    Conditions, EndpointSlice, Hint, Hints, Metadata, Service, ServicePort, SliceEndpoint,
    SlicePort,
};
use crate::view::endpoints::SERVICE_NAME;
use crate::view::frontends::HEADLESS;

/// An endpoint before it is known of which family it is.
#[derive(Debug, Clone)]
pub struct Drawn {
    node: usize,
    host: u8,
    is_on_host: bool,
    is_in_second: bool,
    endpoint: SliceEndpoint,
}

/// Draws the endpoints of a Service.
pub fn endpoints() -> impl Strategy<Value = Vec<Drawn>> {
    vec(drawn(), 0..=6)
}

/// Puts the endpoints of a Service into slices of its families.
pub fn of(service: &Service, drawn: &[Drawn]) -> Vec<EndpointSlice> {
    let families = Family::BOTH.into_iter();
    let served = families.filter(|f| service.spec.ip_families.contains(&f.to_string()));
    let mut slices = Vec::new();
    for family in served {
        for is_second in [false, true] {
            let own = drawn.iter().filter(|drawn| drawn.is_in_second == is_second);
            let endpoints: Vec<SliceEndpoint> = own.map(|drawn| drawn.of_family(family)).collect();
            if !endpoints.is_empty() {
                slices.push(slice(service, family, is_second, endpoints));
            }
        }
    }
    slices
}

fn slice(
    service: &Service,
    family: Family,
    is_second: bool,
    endpoints: Vec<SliceEndpoint>,
) -> EndpointSlice {
    let Metadata { namespace, name, labels } = &service.metadata;
    let suffix = if is_second { "b" } else { "a" };
    let mut labels = labels.clone();
    labels.insert(SERVICE_NAME.to_owned(), name.clone());
    // The slice controller labels the slices of headless Services, and copies other labels.
    if service.spec.cluster_ip.as_deref() == Some("None") {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    let name = format!("{name}-{}-{suffix}", family.to_string().to_lowercase());
    EndpointSlice {
        metadata: Metadata { name, namespace: namespace.clone(), labels },
        address_type: family.to_string(),
        endpoints,
        ports: service.spec.ports.iter().map(slice_port).collect(),
    }
}

fn slice_port(port: &ServicePort) -> SlicePort {
    SlicePort {
        name: Some(port.name.clone()),
        protocol: port.protocol.clone(),
        port: Some(port.port + 8000),
    }
}

impl Drawn {
    fn of_family(&self, family: Family) -> SliceEndpoint {
        let Drawn { node, host, .. } = self;
        let address = match (family, self.is_on_host) {
            (Family::V4, false) => format!("10.244.{node}.{host}"),
            (Family::V4, true) => format!("192.0.2.{}", 10 + node),
            (Family::V6, false) => format!("fd00:10:244:{node}::{host:x}"),
            (Family::V6, true) => format!("2001:db8:1::{:x}", 10 + node),
        };
        SliceEndpoint { addresses: vec![address], ..self.endpoint.clone() }
    }
}

prop_compose! {
    fn drawn()(
        node in 0..NODES.len(),
        host in select(vec![2u8, 9, 10, 22, 228]),
        is_on_host in prop::bool::weighted(0.1),
        is_in_second in prop::bool::weighted(0.3),
        has_node_name in prop::bool::weighted(0.9),
        conditions in conditions(),
        hints in option::weighted(0.6, hints()),
    ) -> Drawn {
        let endpoint = SliceEndpoint {
            node_name: NODES.get(node).filter(|_| has_node_name).map(|name| (*name).to_owned()),
            conditions,
            hints: hints.unwrap_or_default(),
            ..SliceEndpoint::default()
        };
        Drawn { node, host, is_on_host, is_in_second, endpoint }
    }
}

fn conditions() -> impl Strategy<Value = Conditions> {
    let of = |ready, serving, terminating| Conditions { ready, serving, terminating };
    select(vec![
        of(None, None, None),
        of(Some(true), Some(true), Some(false)),
        of(Some(true), Some(true), Some(false)),
        of(Some(false), Some(true), Some(true)),
        of(Some(false), Some(false), Some(true)),
        of(Some(false), Some(false), Some(false)),
        // Only hand-made slices say that something serves, is not ready and does not terminate.
        of(Some(false), Some(true), Some(false)),
        // A Service may publish addresses that are not ready.
        of(Some(true), Some(true), Some(true)),
    ])
}

prop_compose! {
    fn hints()(
        zones in proptest::sample::subsequence(vec!["z1", "z2"], 0..=2),
        nodes in proptest::sample::subsequence(NODES.to_vec(), 0..=1),
    ) -> Hints {
        let hint = |name: &str| Hint { name: name.to_owned() };
        Hints {
            for_zones: zones.into_iter().map(hint).collect(),
            for_nodes: nodes.into_iter().map(hint).collect(),
        }
    }
}
