//! What conntrack remembers of clients, and what kube-proxy deletes of it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use kps_flow::{Delivery, Flow, Outcome, Protocol, SourceNat};
use kps_model::{KubeVersion, NodeView, PortView};
use num_rational::BigRational;
use num_traits::One;

use crate::lint::target::{self, Target, of_addresses, targets};
use crate::lint::{Finding, Lint, Scene, Witness};

/// A connection whose client goes on sending.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Connection {
    /// The ServicePort's Service, as findings name it.
    pub service: String,
    /// Its first packet.
    pub flow: Flow,
    /// Where it was sent; `None` if it passed untranslated, before there were rules.
    pub endpoint: Option<SocketAddr>,
    /// What became of its source.
    pub source: SourceNat,
}

/// All connections that are open.
#[derive(Debug, Default)]
pub struct Connections {
    open: Vec<Connection>,
    known: HashSet<Connection>,
}

impl Connections {
    /// Opens a UDP connection from each client class to each address of each ServicePort, on a node
    /// without rules.
    #[must_use]
    pub fn untranslated(scene: &Scene<'_>) -> Connections {
        let mut connections = Connections::default();
        for (target, flow) in dialled(scene) {
            if flow.protocol == Protocol::Udp {
                let service = target::service(&target.port.port.key);
                let source = SourceNat::Kept;
                connections.add(Connection { service, flow, endpoint: None, source });
            }
        }
        connections
    }

    /// Opens a connection from each client class to each address of each ServicePort, to every
    /// endpoint that it may get.
    pub fn open(&mut self, scene: &Scene<'_>) {
        for (target, flow) in dialled(scene) {
            let service = target::service(&target.port.port.key);
            for path in scene.walk(&flow).paths {
                if let Outcome::Deliver(way) = path.outcome {
                    let (service, flow) = (service.clone(), flow.clone());
                    let endpoint = Some(way.endpoint);
                    self.add(Connection { service, flow, endpoint, source: way.source });
                }
            }
        }
    }

    fn add(&mut self, connection: Connection) {
        if self.known.insert(connection.clone()) {
            self.open.push(connection);
        }
    }

    /// Tells whether a TCP connection to an endpoint is open.
    #[must_use]
    pub fn has_open_tcp(&self, address: IpAddr, port: u16) -> bool {
        let endpoint = SocketAddr::new(address, port);
        self.open.iter().any(|connection| {
            connection.flow.protocol == Protocol::Tcp && connection.endpoint == Some(endpoint)
        })
    }

    /// Deletes UDP entries as kube-proxy does after a sync: those to an address or node port of a
    /// Service that lead to none of its serving endpoints (`pkg/proxy/conntrack/cleanup.go`). Up to
    /// 1.36, Services without such are left alone; node ports of those always are.
    pub fn clean_up(&mut self, views: &[NodeView], version: KubeVersion) -> Vec<Connection> {
        let keys = Keys::of(views, version);
        let (deleted, open) =
            std::mem::take(&mut self.open).into_iter().partition(|c| keys.is_stale(c));
        self.open = open;
        for connection in &deleted {
            self.known.remove(connection);
        }
        deleted
    }

    /// Tells UDP connections that lead elsewhere than new ones would, and which nobody deletes.
    #[must_use]
    pub fn stale(&self, scene: &Scene<'_>) -> Vec<Finding> {
        let owners = endpoint_owners(scene.subject.views);
        let mut stale: BTreeMap<(&str, SocketAddr, Option<SocketAddr>), Vec<&Connection>> =
            BTreeMap::new();
        let udp = self.open.iter().filter(|open| open.flow.protocol == Protocol::Udp);
        for connection in udp.filter(|open| is_stale(scene, open)) {
            let flow = &connection.flow;
            let to = SocketAddr::new(flow.destination, flow.port);
            let key = (connection.service.as_str(), to, connection.endpoint);
            stale.entry(key).or_default().push(connection);
        }
        stale
            .into_iter()
            .map(|((service, to, endpoint), connections)| {
                let where_to = match endpoint {
                    None => "nowhere, untranslated".to_owned(),
                    Some(endpoint) => match owners.get(&endpoint.ip()) {
                        Some(owner) => format!("to {endpoint}, which is of {owner} by now"),
                        None => format!("to {endpoint}, which is no endpoint any more"),
                    },
                };
                let detail = format!("UDP connections to {to} go on {where_to}");
                let finding = Finding::new(Lint::StaleConnection, vec![service.to_owned()], detail);
                finding.with(connections.first().map(|open| open.next_packet()))
            })
            .collect()
    }
}

impl Connection {
    /// Returns its next packet, with what becomes of it.
    fn next_packet(&self) -> Witness {
        let outcome = match self.endpoint {
            Some(endpoint) => Outcome::Deliver(Delivery { endpoint, source: self.source }),
            None => Outcome::Pass(SourceNat::Kept),
        };
        Witness {
            flow: self.flow.clone(),
            outcomes: vec![(outcome, BigRational::one())],
            decided: Some("the entry that conntrack has of the connection's first packet".into()),
        }
    }
}

/// Returns the packets that clients open connections with.
fn dialled<'s>(scene: &'s Scene<'_>) -> impl Iterator<Item = (Target<'s>, Flow)> {
    scene.subject.views.iter().flat_map(move |view| {
        targets(view).flat_map(move |target| {
            let protocol = target.port.port.key.protocol;
            let flow = move |client| scene.flow(client, protocol, target.address, target.number);
            scene.clients(view.family).map(move |client| (target, flow(client)))
        })
    })
}

/// Tells whether a connection leads elsewhere than a new one could.
fn is_stale(scene: &Scene<'_>, connection: &Connection) -> bool {
    let ports = scene.subject.views.iter().flat_map(|view| &view.ports);
    let flow = &connection.flow;
    let mut meant = ports.filter(|port| {
        let own = &port.port;
        let by_address = own.port == flow.port
            && of_addresses(port).any(|target| target.address == flow.destination);
        own.key.protocol == flow.protocol && (by_address || own.node_port == Some(flow.port))
    });
    let Some(endpoint) = connection.endpoint else {
        // It has nowhere else to go unless new packets are delivered.
        let mut paths = scene.walk(flow).paths.into_iter();
        return paths.any(|path| matches!(path.outcome, Outcome::Deliver(_)));
    };
    !meant.any(|port| port.endpoints.iter().any(|e| e.serving && e.address == endpoint))
}

fn endpoint_owners(views: &[NodeView]) -> HashMap<IpAddr, String> {
    let ports = views.iter().flat_map(|view| &view.ports);
    let owners = ports.flat_map(|port| {
        let service = target::service(&port.port.key);
        port.endpoints.iter().map(move |endpoint| (endpoint.address.ip(), service.clone()))
    });
    owners.collect()
}

/// The serving endpoints by what clients dial.
#[derive(Default)]
struct Keys {
    by_address: HashMap<(IpAddr, u16), BTreeSet<SocketAddr>>,
    by_node_port: HashMap<u16, BTreeSet<SocketAddr>>,
}

impl Keys {
    fn of(views: &[NodeView], version: KubeVersion) -> Keys {
        let mut keys = Keys::default();
        let ports = views.iter().flat_map(|view| &view.ports);
        for port in ports.filter(|port| port.port.key.protocol == Protocol::Udp) {
            let serving = serving(port);
            if serving.is_empty() && version < KubeVersion::V1_37 {
                continue;
            }
            for target in of_addresses(port) {
                keys.by_address.insert((target.address, target.number), serving.clone());
            }
            if let Some(number) = port.port.node_port.filter(|_| !serving.is_empty()) {
                keys.by_node_port.insert(number, serving);
            }
        }
        keys
    }

    fn is_stale(&self, connection: &Connection) -> bool {
        let flow = &connection.flow;
        let by_address = self.by_address.get(&(flow.destination, flow.port));
        let serving = by_address.or_else(|| self.by_node_port.get(&flow.port));
        let leads_there = |serving: &BTreeSet<SocketAddr>| {
            connection.endpoint.is_some_and(|endpoint| serving.contains(&endpoint))
        };
        flow.protocol == Protocol::Udp && serving.is_some_and(|serving| !leads_there(serving))
    }
}

fn serving(port: &PortView) -> BTreeSet<SocketAddr> {
    port.endpoints.iter().filter(|endpoint| endpoint.serving).map(|e| e.address).collect()
}
