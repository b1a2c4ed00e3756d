//! What Kubernetes promises for a flow, told from its documentation and without any rule.
//!
//! This is the second opinion on rules: it starts from the flow and asks, for this one packet, whose
//! destination it is, which endpoints may have it, and whether its source may stay. It shares a
//! view's ServicePorts with the renderers, but not their lists of endpoints.
//!
//! Sources: the Service API (`externalTrafficPolicy`, `internalTrafficPolicy`,
//! `loadBalancerSourceRanges`), KEP-1669 (endpoints that terminate), KEP-2086 (internal policy),
//! KEP-2433 and KEP-3015 (topology), KEP-1860 (ipMode).

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use kps_flow::{Answer, ClientClass, Dataplane, Flow, Promise, Protocol, SourcePromise};

use crate::{Detector, Endpoint, NodeView, PortView, ServicePort};

/// What Kubernetes promises on one node in one family.
#[derive(Debug, Clone)]
pub struct Intent<'a> {
    view: &'a NodeView,
    claims: Option<&'a Claims<'a>>,
}

/// The ServicePorts of a view by what they answer to, for whoever asks about many flows.
#[derive(Debug, Default)]
pub struct Claims<'a> {
    by_address: HashMap<(IpAddr, u16, Protocol), Vec<&'a PortView>>,
    by_node_port: HashMap<(u16, Protocol), Vec<&'a PortView>>,
}

/// By what a client reaches a ServicePort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frontend {
    /// The cluster IP.
    ClusterIp,
    /// An external IP.
    ExternalIp,
    /// A load balancer IP that the node serves itself.
    LoadBalancerIp,
    /// The node port, on an address that serves node ports.
    NodePort,
}

/// Whose destination a flow's is.
#[derive(Debug, Clone, Copy)]
pub enum Owner<'a> {
    /// Nobody's: no Service has to do with the flow.
    Nobody,
    /// One ServicePort's.
    Port(&'a PortView, Frontend),
    /// Several ServicePorts claim it. Nothing says who wins.
    Contested,
}

impl Dataplane for Intent<'_> {
    fn decide(&self, flow: &Flow) -> Answer {
        Answer::Promised(self.promise(flow))
    }
}

impl<'a> Intent<'a> {
    /// Returns the promises for the node and family of a view.
    #[must_use]
    pub fn new(view: &'a NodeView) -> Intent<'a> {
        Intent { view, claims: None }
    }

    /// Returns the same promises, found by an index of the view's ServicePorts.
    #[must_use]
    pub fn indexed(view: &'a NodeView, claims: &'a Claims<'a>) -> Intent<'a> {
        Intent { view, claims: Some(claims) }
    }

    /// Returns what is promised for the first packet of a flow. A contested destination is treated
    /// as nobody's; ask [`Intent::owner`] first.
    #[must_use]
    pub fn promise(&self, flow: &Flow) -> Promise {
        self.promise_of(self.owner(flow), flow)
    }

    /// Returns what is promised for the first packet of a flow whose owner is known.
    #[must_use]
    pub fn promise_of(&self, owner: Owner<'a>, flow: &Flow) -> Promise {
        match owner {
            Owner::Port(port, frontend) => self.served(flow, port, frontend),
            Owner::Nobody | Owner::Contested => self.unserved(flow),
        }
    }

    /// Finds the ServicePort whose destination a flow's is. Addresses of Services come before node
    /// ports.
    #[must_use]
    pub fn owner(&self, flow: &Flow) -> Owner<'a> {
        let by_address = self.meant(flow, |port| Self::by_address(flow, port), Claims::by_address);
        let claims = if by_address.is_empty() {
            self.meant(flow, |port| self.by_node_port(flow, port), Claims::by_node_port)
        } else {
            by_address
        };
        match claims.as_slice() {
            [] => Owner::Nobody,
            [(port, frontend)] => Owner::Port(port, *frontend),
            _ => Owner::Contested,
        }
    }

    /// Returns the ServicePorts that a flow may mean, out of all or of those that an index has.
    fn meant(
        &self,
        flow: &Flow,
        by: impl Fn(&ServicePort) -> Option<Frontend>,
        of: fn(&Claims<'a>, &Flow) -> Vec<&'a PortView>,
    ) -> Vec<(&'a PortView, Frontend)> {
        let claim = |port: &'a PortView| Some((port, by(&port.port)?));
        match self.claims {
            Some(claims) => of(claims, flow).into_iter().filter_map(claim).collect(),
            None => self.view.ports.iter().filter_map(claim).collect(),
        }
    }

    fn by_address(flow: &Flow, port: &ServicePort) -> Option<Frontend> {
        if (port.port, port.key.protocol) != (flow.port, flow.protocol) {
            return None;
        }
        let to = flow.destination;
        if port.cluster_ip == to {
            Some(Frontend::ClusterIp)
        } else if port.load_balancer_vips.contains(&to) {
            Some(Frontend::LoadBalancerIp)
        } else {
            port.external_ips.contains(&to).then_some(Frontend::ExternalIp)
        }
    }

    fn by_node_port(&self, flow: &Flow, port: &ServicePort) -> Option<Frontend> {
        let is_meant = port.node_port == Some(flow.port) && port.key.protocol == flow.protocol;
        (is_meant && self.serves_node_ports(flow.destination)).then_some(Frontend::NodePort)
    }

    fn serves_node_ports(&self, address: IpAddr) -> bool {
        self.is_own(address) && self.view.node_ports.cidrs.iter().any(|c| c.contains(&address))
    }

    /// Tells whether an address is the node's own, loopback included.
    #[must_use]
    pub fn is_own(&self, address: IpAddr) -> bool {
        self.view.interface_addresses.contains(&address) || address.is_loopback()
    }

    fn unserved(&self, flow: &Flow) -> Promise {
        if self.is_own(flow.destination) { Promise::Host } else { Promise::Onward }
    }

    fn served(&self, flow: &Flow, port: &PortView, frontend: Frontend) -> Promise {
        if frontend == Frontend::LoadBalancerIp && !self.is_in_source_ranges(flow, &port.port) {
            return Promise::Discarded;
        }
        self.under(self.wanted(flow, port, frontend), flow, port, frontend)
    }

    /// Returns what would be promised for a flow of a ServicePort if a certain policy applied and no
    /// client were shut out.
    #[must_use]
    pub fn under(
        &self,
        policy: Policy,
        flow: &Flow,
        port: &PortView,
        frontend: Frontend,
    ) -> Promise {
        let chosen = match policy {
            Policy::Local => near(&port.endpoints),
            Policy::Cluster => self.anywhere(&port.endpoints),
        };
        if !chosen.is_empty() {
            let promise = |e: &Endpoint| (e.address, self.source(flow, &port.port, frontend, e));
            return Promise::Endpoints(chosen.into_iter().map(promise).collect::<BTreeMap<_, _>>());
        }
        let exists_elsewhere =
            policy == Policy::Local && port.endpoints.iter().any(|e| e.ready || is_draining(e));
        if exists_elsewhere { Promise::Discarded } else { Promise::Refused }
    }

    /// Which policy applies: that for traffic from outside spares the pods and processes of the
    /// cluster, as far as the node can tell them.
    fn wanted(&self, flow: &Flow, port: &PortView, frontend: Frontend) -> Policy {
        let local = match frontend {
            Frontend::ClusterIp => port.port.internal_local,
            _ => port.port.external_local && !self.is_from_cluster(flow),
        };
        if local { Policy::Local } else { Policy::Cluster }
    }

    /// Tells whether the node takes the client for a pod or a process of its own.
    #[must_use]
    pub fn is_from_cluster(&self, flow: &Flow) -> bool {
        flow.client == ClientClass::Node || self.is_from_local_pod(flow)
    }

    /// Tells whether the local detector takes the client for a pod.
    fn is_from_local_pod(&self, flow: &Flow) -> bool {
        match &self.view.detector {
            None => false,
            Some(Detector::Cidr(cidr)) => flow.source.is_some_and(|s| cidr.contains(&s)),
            Some(Detector::Interface(name)) => flow.interface.as_deref() == Some(name),
            Some(Detector::InterfacePrefix(prefix)) => {
                flow.interface.as_ref().is_some_and(|name| name.starts_with(prefix))
            }
        }
    }

    /// Tells whether the client may use the load balancer IPs of a ServicePort.
    #[must_use]
    pub fn is_in_source_ranges(&self, flow: &Flow, port: &ServicePort) -> bool {
        let client = flow.source.unwrap_or(self.view.node_ip);
        port.source_ranges.is_empty() || port.source_ranges.iter().any(|r| r.contains(&client))
    }

    /// The endpoints for policy Cluster: those that hints mean for this node or zone, if every ready
    /// endpoint has hints and some are meant; else every ready one; else those that still answer.
    fn anywhere<'e>(&self, endpoints: &'e [Endpoint]) -> Vec<&'e Endpoint> {
        let ready: Vec<&Endpoint> = endpoints.iter().filter(|e| e.ready).collect();
        if ready.is_empty() {
            return endpoints.iter().filter(|e| is_draining(e)).collect();
        }
        let hinted = |hints: fn(&Endpoint) -> &[String], me: &str| -> Option<Vec<&'e Endpoint>> {
            let every = ready.iter().all(|e| !hints(e).is_empty());
            let meant = |e: &&&'e Endpoint| hints(e).iter().any(|hint| hint == me);
            let chosen: Vec<_> = ready.iter().filter(meant).copied().collect();
            (every && !chosen.is_empty()).then_some(chosen)
        };
        let by_node = self.view.node_hints.then(|| hinted(|e| &e.node_hints, &self.view.node_name));
        let by_zone = self.view.zone.as_deref().map(|zone| hinted(|e| &e.zone_hints, zone));
        by_node.flatten().or(by_zone.flatten()).unwrap_or(ready)
    }

    /// What becomes of the source: it is rewritten where the reply would miss this node otherwise,
    /// or where the client is not known to be inside the cluster.
    fn source(
        &self,
        flow: &Flow,
        port: &ServicePort,
        frontend: Frontend,
        endpoint: &Endpoint,
    ) -> SourcePromise {
        // A process of the node itself gets a packet before it would be rewritten, and answers by
        // the node in any case.
        let is_on_host = self.is_own(endpoint.address.ip());
        if flow.client == ClientClass::Node || is_on_host {
            return SourcePromise::Free;
        }
        if flow.source == Some(endpoint.address.ip()) {
            return SourcePromise::Rewritten;
        }
        let rewritten = match frontend {
            Frontend::ClusterIp => {
                let outside = self.view.detector.is_some() && !self.is_from_local_pod(flow);
                self.view.masquerade_all || outside
            }
            _ => !port.external_local,
        };
        if rewritten { SourcePromise::Rewritten } else { SourcePromise::Kept }
    }
}

impl<'a> Claims<'a> {
    /// Indexes the ServicePorts of a view.
    #[must_use]
    pub fn of(view: &'a NodeView) -> Claims<'a> {
        let mut claims = Claims::default();
        for port in &view.ports {
            let own = &port.port;
            let protocol = own.key.protocol;
            let addresses = std::iter::once(&own.cluster_ip)
                .chain(&own.load_balancer_vips)
                .chain(&own.external_ips);
            for address in addresses {
                let claimed = claims.by_address.entry((*address, own.port, protocol)).or_default();
                // An address may be there twice: as external IP and as that of a balancer.
                if !claimed.last().is_some_and(|last| std::ptr::eq(*last, port)) {
                    claimed.push(port);
                }
            }
            if let Some(number) = own.node_port {
                claims.by_node_port.entry((number, protocol)).or_default().push(port);
            }
        }
        claims
    }

    fn by_address(&self, flow: &Flow) -> Vec<&'a PortView> {
        let key = (flow.destination, flow.port, flow.protocol);
        self.by_address.get(&key).cloned().unwrap_or_default()
    }

    fn by_node_port(&self, flow: &Flow) -> Vec<&'a PortView> {
        self.by_node_port.get(&(flow.port, flow.protocol)).cloned().unwrap_or_default()
    }
}

/// A traffic policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Endpoints on all nodes.
    Cluster,
    /// Endpoints on this node alone.
    Local,
}

/// The endpoints for policy Local: the ready ones on this node, else those that still answer.
fn near(endpoints: &[Endpoint]) -> Vec<&Endpoint> {
    let here = || endpoints.iter().filter(|e| e.is_local);
    let ready: Vec<&Endpoint> = here().filter(|e| e.ready).collect();
    if ready.is_empty() { here().filter(|e| is_draining(e)).collect() } else { ready }
}

fn is_draining(endpoint: &Endpoint) -> bool {
    endpoint.serving && endpoint.terminating
}
