//! A cluster of one Service, and flows to it.

use std::fmt::Write;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use kps_flow::{ClientClass, Family, Flow, Protocol};
use kps_model::{Config, KubeVersion, Mode, NodeView, Source, config, read, view};
use kps_render::node_state;
use kps_ruleset::NodeState;
use kps_sim::Walker;

/// The Service's ClusterIP and port.
pub const CLUSTER_IP: &str = "10.96.0.1";
pub const PORT: u16 = 80;

/// A Service on a node with 192.0.2.10, 192.0.2.20 and 203.0.113.10, and pods from 10.244.0.0/24.
pub struct World {
    pub protocol: Protocol,
    pub views: Vec<NodeView>,
    pub state: NodeState,
}

/// What a world is made of.
pub struct Plan<'a> {
    /// Where its objects are written, so that they can be read.
    pub name: &'a str,
    pub mode: Mode,
    /// The protocol of its port.
    pub protocol: Protocol,
    /// Lines of the Service's `spec`; without `ports` it has port 80.
    pub spec: &'a [&'a str],
    /// The addresses of the endpoints, whose port is 8080.
    pub endpoints: &'a [&'a str],
    /// A `KubeProxyConfiguration`, or some of its fields.
    pub config: &'a str,
}

impl Plan<'_> {
    /// Returns a Service with one TCP port and nothing special.
    pub fn plain<'a>(name: &'a str, mode: Mode, endpoints: &'a [&'a str]) -> Plan<'a> {
        Plan { name, mode, protocol: Protocol::Tcp, spec: &[], endpoints, config: "" }
    }

    pub fn make(&self) -> World {
        let file = format!("{}-{}-{}.yaml", self.name, self.mode, self.endpoints.len());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
        fs::write(&path, self.objects()).unwrap();
        let reading = read(&[Source::Path(path)]);
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
        let (config, _): (Config, _) =
            config::read("config", self.config, Some(self.mode)).unwrap();
        let see = |family| view(&reading.cluster, &config, "node-a", KubeVersion::NEWEST, family);
        let views: Vec<NodeView> = Family::BOTH.map(see).into();
        let (state, errors) = node_state(&views, self.mode);
        assert!(errors.is_empty(), "{errors:?}");
        World { protocol: self.protocol, views, state }
    }

    fn objects(&self) -> String {
        let mut text = NODE.to_owned();
        let protocol = self.protocol;
        let ports = format!("ports: [{{port: 80, targetPort: 8080, protocol: {protocol}}}]");
        let given = self.spec.iter().any(|line| line.starts_with("ports:"));
        let spec = self.spec.iter().copied().chain((!given).then_some(ports.as_str()));
        for line in spec {
            // INVARIANT: writing to a String cannot fail.
            let _ = writeln!(text, "  {line}");
        }
        text.push_str(&SLICE.replace("PROTOCOL", &protocol.to_string()));
        for (number, address) in self.endpoints.iter().enumerate() {
            let node = if address.starts_with("10.244.0.") { "node-a" } else { "node-b" };
            let _ = writeln!(
                text,
                "- {{addresses: [{address}], conditions: {{ready: true}}, nodeName: {node}, \
                 targetRef: {{kind: Pod, namespace: default, name: pod-{number}}}}}"
            );
        }
        text
    }
}

const NODE: &str = "\
apiVersion: v1
kind: Node
metadata: {name: node-a}
spec: {podCIDRs: [10.244.0.0/24]}
status:
  addresses:
  - {type: InternalIP, address: 192.0.2.10}
  - {type: InternalIP, address: 192.0.2.20}
  - {type: ExternalIP, address: 203.0.113.10}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  clusterIP: 10.96.0.1
  clusterIPs: [10.96.0.1]
  ipFamilies: [IPv4]
";

const SLICE: &str = "\
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: '', port: 8080, protocol: PROTOCOL}]
endpoints:
";

impl World {
    /// Returns the first packet that somebody outside sends to the ClusterIP.
    pub fn dialled_by(&self, client: u8) -> Flow {
        let source = [198, 51, 100, client].into();
        self.flow(ClientClass::Outside, Some(source), (CLUSTER_IP.parse().unwrap(), PORT))
    }

    /// Returns a flow that comes in by the link to its source.
    pub fn flow(
        &self,
        client: ClientClass,
        source: Option<IpAddr>,
        (destination, port): (IpAddr, u16),
    ) -> Flow {
        let walker = Walker::new(&self.state);
        let link = source.and_then(|source| walker.network().link_to(source));
        Flow {
            client,
            interface: link.map(|link| link.to_string()),
            source,
            source_port: Flow::DEFAULT_SOURCE_PORT,
            protocol: self.protocol,
            destination,
            port,
        }
    }
}
