//! The same world in the other family: the addresses of IPv4 in the last 32 bits of `2001:db8::/96`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kps_flow::{Family, Flow, Protocol};
use kps_model::config::DetectLocal;
use kps_model::{Cluster, Config};

/// Says a cluster in a family.
pub fn cluster(mut cluster: Cluster, family: Family) -> Cluster {
    if family == Family::V4 {
        return cluster;
    }
    for service in &mut cluster.services {
        let spec = &mut service.spec;
        let texts = spec.cluster_ip.iter_mut().chain(&mut spec.cluster_ips);
        let texts =
            texts.chain(&mut spec.external_ips).chain(&mut spec.load_balancer_source_ranges);
        texts.for_each(rewrite);
        service.status.load_balancer.ingress.iter_mut().for_each(|i| rewrite(&mut i.ip));
    }
    for slice in &mut cluster.slices {
        slice.address_type = family.to_string();
        slice.endpoints.iter_mut().flat_map(|e| &mut e.addresses).for_each(rewrite);
    }
    for node in &mut cluster.nodes {
        node.spec.pod_cidrs.iter_mut().for_each(rewrite);
        node.status.addresses.iter_mut().for_each(|a| rewrite(&mut a.address));
    }
    cluster.service_cidrs.iter_mut().flat_map(|c| &mut c.spec.cidrs).for_each(rewrite);
    cluster
}

/// Says a configuration in a family.
pub fn config(mut config: Config, family: Family) -> Config {
    if family == Family::V4 {
        return config;
    }
    config.node_port_addresses.iter_mut().filter(|word| *word != "primary").for_each(rewrite);
    if let DetectLocal::ClusterCidr(ranges) = &mut config.detect_local {
        *ranges = ranges.iter().filter_map(|range| text(&range.to_string()).parse().ok()).collect();
    }
    config
}

/// Says a flow in a family.
pub fn flow(mut flow: Flow, family: Family) -> Flow {
    if family == Family::V4 {
        return flow;
    }
    flow.source = flow.source.map(address);
    flow.destination = address(flow.destination);
    if flow.protocol == Protocol::Icmp {
        flow.protocol = Protocol::Icmpv6;
    }
    flow
}

fn rewrite(word: &mut String) {
    *word = text(word);
}

fn text(word: &str) -> String {
    match word.split_once('/') {
        Some((_, "0")) => "::/0".to_owned(),
        Some(("127.0.0.0", _)) => "::1/128".to_owned(),
        Some((start, length)) => {
            let length: u8 = length.parse().unwrap_or(32);
            format!("{}/{}", text(start), 96 + length)
        }
        None => word.parse().map_or_else(|_| word.to_owned(), |ip| address(ip).to_string()),
    }
}

fn address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) if v4 == Ipv4Addr::LOCALHOST => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V4(v4) => {
            let start = u128::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0));
            Ipv6Addr::from(start | u128::from(u32::from(v4))).into()
        }
        v6 @ IpAddr::V6(_) => v6,
    }
}
