//! Configurations that kube-proxy would start with.

use std::net::IpAddr;

use ipnet::IpNet;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{mode, some_of};
use crate::config::{DetectLocal, FeatureGates, IpvsConfig};
use crate::{Config, Mode};

const NODE_PORT_ADDRESSES: &[&str] =
    &["192.0.2.0/24", "127.0.0.0/8", "2001:db8:1::/64", "::1/128", "198.51.100.0/24"];
const SCHEDULERS: &[&str] = &["", "rr", "wrr", "lc", "sh", "mh"];

/// Draws a configuration of any mode.
pub fn any_config() -> impl Strategy<Value = Config> {
    mode().prop_flat_map(config)
}

prop_compose! {
    /// Draws a configuration of one mode.
    pub fn config(mode: Mode)(
        detect_local in detect_local(),
        node_port_addresses in node_port_addresses(),
        bind_address in option::weighted(0.2, bind_address()),
        bits in (0u8..32, 0u8..32),
        masquerade_all in prop::bool::weighted(0.2),
        localhost_node_ports in prop::bool::weighted(0.7),
        conntrack_tcp_be_liberal in prop::bool::weighted(0.2),
        ipvs in ipvs(),
        gates in gates(),
    ) -> Config {
        Config {
            mode,
            detect_local,
            node_port_addresses,
            bind_address,
            iptables_masquerade_bit: bits.0,
            nftables_masquerade_bit: bits.1,
            masquerade_all,
            localhost_node_ports,
            conntrack_tcp_be_liberal,
            ipvs,
            gates,
            ..Config::default()
        }
    }
}

fn detect_local() -> impl Strategy<Value = DetectLocal> {
    let cidrs = |texts: &[&str]| {
        DetectLocal::ClusterCidr(texts.iter().filter_map(|text| text.parse().ok()).collect())
    };
    select(vec![
        cidrs(&["10.244.0.0/16", "fd00:10:244::/56"]),
        cidrs(&["10.244.0.0/16"]),
        cidrs(&["fd00:10:244::/56"]),
        cidrs(&[]),
        DetectLocal::NodeCidr,
        DetectLocal::BridgeInterface("cni0".to_owned()),
        DetectLocal::InterfaceNamePrefix("veth".to_owned()),
    ])
}

/// The words are valid in every release only by themselves, and `primary` alone in all of them.
fn node_port_addresses() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        2 => Just(Vec::new()),
        1 => Just(vec!["primary".to_owned()]),
        1 => Just(vec!["0.0.0.0/0".to_owned()]),
        3 => some_of(NODE_PORT_ADDRESSES),
    ]
}

fn bind_address() -> impl Strategy<Value = IpAddr> {
    select(vec![IpAddr::from([0, 0, 0, 0]), IpAddr::from([192, 0, 2, 10])])
}

prop_compose! {
    fn ipvs()(
        scheduler in select(SCHEDULERS),
        strict_arp in any::<bool>(),
        excludes in prop::bool::weighted(0.1),
    ) -> IpvsConfig {
        let excluded: Vec<IpNet> = "10.99.0.0/16".parse().into_iter().collect();
        IpvsConfig {
            scheduler: scheduler.to_owned(),
            strict_arp,
            exclude_cidrs: if excludes { excluded } else { Vec::new() },
            ..IpvsConfig::default()
        }
    }
}

prop_compose! {
    fn gates()(
        prefer_same_traffic_distribution in prop::bool::weighted(0.9),
        allow_service_external_ips in prop::bool::weighted(0.9),
        multi_cidr_service_allocator in prop::bool::weighted(0.9),
    ) -> FeatureGates {
        FeatureGates {
            prefer_same_traffic_distribution,
            allow_service_external_ips,
            multi_cidr_service_allocator,
            ..FeatureGates::default()
        }
    }
}
