//! Uniform clusters for benchmarks, made in memory: `services` ClusterIP Services with `endpoints`
//! endpoints each, on two nodes or spread over many. Same arguments, same cluster.

use std::fmt::Write;
use std::net::Ipv4Addr;

/// Returns a cluster as kubectl prints it in YAML. Every second endpoint is on the node.
#[must_use]
pub fn yaml(services: u32, endpoints: u32) -> String {
    let first = u32::from(Ipv4Addr::new(10, 128, 0, 1));
    cluster("10.128.0.0/16", services, endpoints, |endpoint, number| {
        (Ipv4Addr::from(first + number), endpoint % 2 == 0)
    })
}

/// As [`yaml`], on many nodes: one endpoint in a hundred is one of the node's 110 pods.
#[must_use]
pub fn spread_yaml(services: u32, endpoints: u32) -> String {
    let (here, there) = (Ipv4Addr::new(10, 128, 0, 2), Ipv4Addr::new(10, 129, 0, 1));
    cluster("10.128.0.0/24", services, endpoints, |_, number| {
        if number % 100 == 0 {
            (Ipv4Addr::from(u32::from(here) + number / 100 % 110), true)
        } else {
            (Ipv4Addr::from(u32::from(there) + number), false)
        }
    })
}

/// Writes a cluster. `place` says for an endpoint, by its number in its Service and among all, its
/// address and whether it is on the node.
fn cluster(
    pods: &str,
    services: u32,
    endpoints: u32,
    place: impl Fn(u32, u32) -> (Ipv4Addr, bool),
) -> String {
    let mut text = format!(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata:\n    \
         name: node-a\n  spec:\n    podCIDRs:\n    - {pods}\n  status:\n    addresses:\n    \
         - type: InternalIP\n      address: 192.0.2.10\n",
    );
    for number in 0..services {
        service(&mut text, number);
        let placed = (0..endpoints).map(|i| place(i, number * endpoints + i));
        slice(&mut text, number, placed);
    }
    text
}

fn service(text: &mut String, number: u32) {
    let ip = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 96, 0, 0)) + number + 1);
    // Writing to a `String` cannot fail.
    let _ = write!(
        text,
        "- apiVersion: v1\n  kind: Service\n  metadata:\n    name: service-{number}\n    \
         namespace: default\n  spec:\n    clusterIP: {ip}\n    clusterIPs:\n    - {ip}\n    \
         ipFamilies:\n    - IPv4\n    ports:\n    - name: http\n      port: 80\n      \
         protocol: TCP\n      targetPort: 8080\n    type: ClusterIP\n"
    );
}

fn slice(text: &mut String, number: u32, endpoints: impl Iterator<Item = (Ipv4Addr, bool)>) {
    let _ = write!(
        text,
        "- apiVersion: discovery.k8s.io/v1\n  kind: EndpointSlice\n  addressType: IPv4\n  \
         metadata:\n    name: service-{number}-x\n    namespace: default\n    labels:\n      \
         kubernetes.io/service-name: service-{number}\n  ports:\n  - name: http\n    port: 8080\n    \
         protocol: TCP\n  endpoints:\n"
    );
    for (ip, here) in endpoints {
        let node = if here { "node-a" } else { "node-b" };
        let _ = write!(
            text,
            "  - addresses:\n    - {ip}\n    conditions:\n      ready: true\n    nodeName: {node}\n"
        );
    }
}
