//! Laws of the view, over random clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use kps_flow::{ClientClass, Family, Flow, Promise};
use proptest::prelude::*;

use super::{NodeView, PortView, view};
use crate::arbitrary::{NODE, world};
use crate::intent::{Frontend, Intent, Owner};
use crate::{Cluster, Config, KubeVersion, PortKey};

fn views(cluster: &Cluster, config: &Config, version: KubeVersion) -> Vec<NodeView> {
    Family::BOTH.map(|family| view(cluster, config, NODE, version, family)).into()
}

fn by_key(view: &NodeView) -> BTreeMap<&PortKey, &PortView> {
    view.ports.iter().map(|port| (&port.port.key, port)).collect()
}

fn addresses(port: &PortView, indices: &[usize]) -> BTreeSet<SocketAddr> {
    indices.iter().map(|index| port.endpoints[*index].address).collect()
}

proptest! {
    #[test]
    fn the_order_of_objects_does_not_matter(
        (cluster, config, version) in world(),
        shuffled in Just(()).prop_perturb(|(), random| random),
    ) {
        let before = views(&cluster, &config, version);
        let mut cluster = cluster;
        let mut random = shuffled;
        for at in (1..cluster.slices.len()).rev() {
            cluster.slices.swap(at, random.random_range(0..=at));
        }
        cluster.services.reverse();
        cluster.service_cidrs.reverse();
        prop_assert_eq!(before, views(&cluster, &config, version));
    }

    #[test]
    fn a_service_does_not_change_another((cluster, config, version) in world()) {
        let mut less = cluster.clone();
        let gone = less.services.pop();
        for (all, some) in views(&cluster, &config, version).iter().zip(views(&less, &config, version)) {
            let kept: BTreeMap<_, _> = by_key(all)
                .into_iter()
                .filter(|(key, _)| gone.as_ref().is_none_or(|gone| gone.metadata.name != key.name))
                .collect();
            prop_assert_eq!(kept, by_key(&some));
        }
    }

    #[test]
    fn families_do_not_meet((cluster, config, version) in world()) {
        let both = views(&cluster, &config, version);
        let mut only = cluster;
        only.slices.retain(|slice| slice.address_type == "IPv6");
        prop_assert_eq!(&both[1].ports, &views(&only, &config, version)[1].ports);
        for view in &both {
            let own = |address: IpAddr| Family::of(address) == view.family;
            prop_assert!(view.interface_addresses.iter().copied().all(own));
            prop_assert!(view.ports.iter().flat_map(|p| &p.endpoints).all(|e| own(e.address.ip())));
        }
    }

    #[test]
    fn lists_of_endpoints_are_what_they_say((cluster, config, version) in world()) {
        for port in views(&cluster, &config, version).iter().flat_map(|view| &view.ports) {
            let texts: Vec<String> = port.endpoints.iter().map(|e| e.address.to_string()).collect();
            prop_assert!(texts.windows(2).all(|pair| pair[0] < pair[1]), "{texts:?}");
            let cluster = addresses(port, &port.cluster);
            let local = addresses(port, &port.local);
            prop_assert_eq!(&cluster | &local, addresses(port, &port.reachable));
            prop_assert!(port.local_endpoints().all(|endpoint| endpoint.is_local));
            prop_assert!(port.port.uses_cluster_endpoints() || cluster.is_empty());
            prop_assert!(port.port.uses_local_endpoints() || local.is_empty());
            prop_assert!(port.has_any || port.reachable.is_empty());
            let usable = |e: &crate::Endpoint| e.ready || (e.serving && e.terminating);
            prop_assert_eq!(port.has_any, port.endpoints.iter().any(usable));
        }
    }

    /// The lists as kube-proxy makes them, against what intent says of a flow without any list.
    #[test]
    fn lists_of_endpoints_are_what_is_promised((cluster, config, version) in world()) {
        for view in views(&cluster, &config, version) {
            for port in &view.ports {
                inside(&view, port)?;
                outside(&view, port)?;
            }
        }
    }
}

fn inside(view: &NodeView, port: &PortView) -> Result<(), TestCaseError> {
    let list = if port.port.internal_local { &port.local } else { &port.cluster };
    promised(view, port, port.port.cluster_ip, Frontend::ClusterIp, list)
}

fn outside(view: &NodeView, port: &PortView) -> Result<(), TestCaseError> {
    let list = if port.port.external_local { &port.local } else { &port.cluster };
    port.port
        .external_ips
        .iter()
        .try_for_each(|ip| promised(view, port, *ip, Frontend::ExternalIp, list))
}

fn promised(
    view: &NodeView,
    port: &PortView,
    destination: IpAddr,
    frontend: Frontend,
    list: &[usize],
) -> Result<(), TestCaseError> {
    let client = match view.family {
        Family::V4 => IpAddr::from([198, 51, 100, 7]),
        Family::V6 => IpAddr::from([0x2001, 0xdb8, 3, 0, 0, 0, 0, 7]),
    };
    let flow = Flow {
        client: ClientClass::Outside,
        interface: Some("eth0".to_owned()),
        source: Some(client),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: port.port.key.protocol,
        destination,
        port: port.port.port,
    };
    let intent = Intent::new(view);
    if !matches!(intent.owner(&flow), Owner::Port(_, by) if by == frontend) {
        return Ok(());
    }
    match intent.promise(&flow) {
        Promise::Endpoints(endpoints) => {
            prop_assert_eq!(addresses(port, list), endpoints.into_keys().collect());
        }
        Promise::Discarded => prop_assert!(port.has_any && list.is_empty()),
        other => {
            prop_assert_eq!(other, Promise::Refused);
            prop_assert!(!port.has_any);
        }
    }
    Ok(())
}
