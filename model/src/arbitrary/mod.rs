//! Strategies that draw small clusters and configurations, for property tests of every crate
//! (feature `arbitrary`).
//!
//! Everything comes from small pools, so that addresses, ports, names and endpoints meet: two
//! Services claim one address, two slices list one endpoint, a Service's policy leaves nothing on
//! the node under test. What the API server would refuse is drawn only where clusters have it
//! nevertheless. Names are unique, as they are in a cluster.
//!
//! Three nodes: [`NODE`] is the one under test, dual-stack, in zone `z1`.

mod config;
mod nodes;
mod services;
mod slices;

use proptest::prelude::*;
use proptest::sample::select;

pub use config::{any_config, config};

use crate::objects::{Metadata, ServiceCidr, ServiceCidrSpec};
use crate::{Cluster, Config, KubeVersion, Mode};

/// The name of the node under test.
pub const NODE: &str = "node-a";

/// The names of all nodes. The last one has only IPv4 and no zone.
pub const NODES: [&str; 3] = [NODE, "node-b", "node-c"];

/// Draws a cluster of up to six Services.
pub fn cluster() -> impl Strategy<Value = Cluster> {
    let service = (services::service(), slices::endpoints());
    (prop::collection::vec(service, 0..=6), service_cidrs()).prop_map(|(drawn, service_cidrs)| {
        let mut cluster = Cluster { nodes: nodes::all(), service_cidrs, ..Cluster::default() };
        for (number, (service, drawn)) in (1..).zip(drawn) {
            let service = services::named(service, number);
            cluster.slices.extend(slices::of(&service, &drawn));
            cluster.services.push(service);
        }
        cluster
    })
}

/// Draws a mode.
pub fn mode() -> impl Strategy<Value = Mode> {
    select(vec![Mode::Iptables, Mode::Ipvs, Mode::Nftables])
}

/// Draws a release.
pub fn version() -> impl Strategy<Value = KubeVersion> {
    select(KubeVersion::ALL.to_vec())
}

/// Draws all that a view is made of.
pub fn world() -> impl Strategy<Value = (Cluster, Config, KubeVersion)> {
    (cluster(), any_config(), version())
}

fn service_cidrs() -> impl Strategy<Value = Vec<ServiceCidr>> {
    let lists: Vec<&[&str]> = vec![
        &[],
        &["10.96.0.0/16"],
        &["10.96.0.0/16", "fd00:10:96::/108"],
        &["10.96.0.0/24", "10.96.0.0/24", "10.97.0.0/16"],
    ];
    select(lists).prop_map(|cidrs| {
        let object = |(number, cidr): (usize, &&str)| ServiceCidr {
            metadata: Metadata { name: format!("cidr-{number}"), ..Metadata::default() },
            spec: ServiceCidrSpec { cidrs: vec![(*cidr).to_owned()] },
        };
        cidrs.iter().enumerate().map(object).collect()
    })
}

/// Draws some of a pool, in its order.
fn some_of(pool: &[&'static str]) -> impl Strategy<Value = Vec<String>> + use<> {
    proptest::sample::subsequence(pool.to_vec(), 0..=pool.len())
        .prop_map(|texts| texts.into_iter().map(str::to_owned).collect())
}

/// Draws one of a pool; an empty text stands for an absent field.
fn one_of(pool: &[&'static str]) -> impl Strategy<Value = Option<String>> + use<> {
    select(pool.to_vec()).prop_map(|text| Some(text.to_owned()).filter(|text| !text.is_empty()))
}
