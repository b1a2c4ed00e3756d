//! Uniform clusters for benchmarks, made in memory: `services` ClusterIP Services with `endpoints`
//! endpoints each, on two nodes. Same arguments, same cluster.

use std::fmt::Write;
use std::net::Ipv4Addr;

/// Returns a cluster as kubectl prints it in YAML.
#[must_use]
pub fn yaml(services: u32, endpoints: u32) -> String {
    let mut text = String::from(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata:\n    \
         name: node-a\n  spec:\n    podCIDRs:\n    - 10.128.0.0/16\n  status:\n    addresses:\n    \
         - type: InternalIP\n      address: 192.0.2.10\n",
    );
    for number in 0..services {
        service(&mut text, number);
        slice(&mut text, number, endpoints);
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

fn slice(text: &mut String, number: u32, endpoints: u32) {
    let _ = write!(
        text,
        "- apiVersion: discovery.k8s.io/v1\n  kind: EndpointSlice\n  addressType: IPv4\n  \
         metadata:\n    name: service-{number}-x\n    namespace: default\n    labels:\n      \
         kubernetes.io/service-name: service-{number}\n  ports:\n  - name: http\n    port: 8080\n    \
         protocol: TCP\n  endpoints:\n"
    );
    for endpoint in 0..endpoints {
        let first = u32::from(Ipv4Addr::new(10, 128, 0, 1));
        let ip = Ipv4Addr::from(first + number * endpoints + endpoint);
        let node = if endpoint % 2 == 0 { "node-a" } else { "node-b" };
        let _ = write!(
            text,
            "  - addresses:\n    - {ip}\n    conditions:\n      ready: true\n    nodeName: {node}\n"
        );
    }
}
