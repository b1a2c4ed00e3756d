//! A node port on each kind of address: the node's own, loopback, and those of the Service.

use std::collections::BTreeSet;
use std::net::IpAddr;

use kps_compare::conform::{Conformity, hold};
use kps_flow::{ClientClass, Flow, Observation, Outcome};
use kps_model::Mode;
use kps_sim::Walker;

use crate::kernel;
use crate::world::{Plan, World};

const NODE_PORT: u16 = 30080;

/// Each kind of address that a node port may be dialled at.
const ADDRESSES: [&str; 8] = [
    "192.0.2.10",     // the node's first
    "192.0.2.20",     // its second
    "203.0.113.10",   // its external one
    "127.0.0.1",      // loopback
    "127.0.0.2",      // more of it
    "10.96.0.1",      // the ClusterIP
    "203.0.113.99",   // a load balancer's
    "198.51.100.150", // an external IP of the Service
];

const CONFIGS: [&str; 4] = [
    "",
    "nodePortAddresses: [primary]",
    "nodePortAddresses: [127.0.0.0/8, 192.0.2.20/32]",
    "iptables: {localhostNodePorts: false}",
];

#[test]
fn node_ports_are_open_where_the_walker_says() {
    for mode in [Mode::Nftables, Mode::Iptables, Mode::Ipvs] {
        let Some(kernel) = kernel(mode) else { continue };
        for config in CONFIGS {
            let world = world(mode, config);
            let (walker, flows) = (Walker::new(&world.state), flows(&world));
            let seen = kernel.observe(&world.state, &flows).unwrap();
            for (flow, seen) in flows.iter().zip(&seen) {
                let conformity = hold(&walker, flow, seen);
                let agrees = matches!(conformity, Conformity::Agrees | Conformity::NotSent);
                assert!(agrees, "{mode}, {config:?}: {conformity:?}");
            }
            let open = open(&flows, &seen);
            println!("{mode}, {config:?}: {open:?}");
            assert!(open.contains("outside:192.0.2.10") || config.contains("127"), "{open:?}");
            if config.is_empty() {
                assert_eq!(open.contains("node:127.0.0.1"), mode == Mode::Iptables, "{open:?}");
            }
        }
    }
}

fn world(mode: Mode, config: &str) -> World {
    let spec = [
        "type: LoadBalancer",
        "externalIPs: [198.51.100.150]",
        "ports: [{port: 80, targetPort: 8080, protocol: TCP, nodePort: 30080}]",
        "externalTrafficPolicy: Cluster",
        "internalTrafficPolicy: Cluster",
    ];
    let plan = Plan::plain("node-ports", mode, &["10.244.0.5"]);
    Plan { spec: &spec, config, ..plan }.make()
}

fn flows(world: &World) -> Vec<Flow> {
    let clients: [(ClientClass, Option<IpAddr>); 4] = [
        (ClientClass::Pod, Some([10, 244, 0, 9].into())),
        (ClientClass::RemotePod, Some([10, 244, 1, 9].into())),
        (ClientClass::Outside, Some([198, 51, 100, 7].into())),
        (ClientClass::Node, None),
    ];
    let dial = |address: &&str| {
        let target = (address.parse().unwrap(), NODE_PORT);
        clients.map(|(class, source)| world.flow(class, source, target))
    };
    ADDRESSES.iter().flat_map(dial).collect()
}

/// Returns who gets through where.
fn open(flows: &[Flow], seen: &[Observation]) -> BTreeSet<String> {
    let delivered =
        |seen: &Observation| seen.counts.keys().any(|it| matches!(it, Outcome::Deliver(_)));
    let word = |flow: &Flow| match flow.client {
        ClientClass::Pod => "pod",
        ClientClass::RemotePod => "remote",
        ClientClass::Node => "node",
        ClientClass::Outside => "outside",
    };
    let through = flows.iter().zip(seen).filter(|(_, seen)| delivered(seen));
    through.map(|(flow, _)| format!("{}:{}", word(flow), flow.destination)).collect()
}
