//! Values that kube-proxy passes over without a word, or with a line in its log.
//!
//! Each check looks at one object, gives the field and what becomes of it, and changes nothing.

use std::net::IpAddr;

use kps_flow::Family;

use super::object::Object;
use crate::address::{parse_address, parse_prefix};
use crate::diagnostic::Severity;
use crate::objects::{
    EndpointSlice, Node, Service, ServiceCidr, ServicePort, ServiceSpec, SlicePort,
};
use crate::view::endpoints::SERVICE_NAME;
use crate::view::frontends::{HEADLESS, protocol};

/// A value that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Oddity {
    pub severity: Severity,
    pub field: String,
    pub message: String,
}

/// Gathers the oddities of one object.
#[derive(Default)]
struct Oddities(Vec<Oddity>);

/// Returns what is odd about an object.
pub(crate) fn check(object: &Object) -> Vec<Oddity> {
    let mut oddities = Oddities::default();
    match object {
        Object::Service(service) => oddities.service(service),
        Object::Slice(slice) => oddities.slice(slice),
        Object::Node(node) => oddities.node(node),
        Object::ServiceCidr(object) => oddities.service_cidr(object),
    }
    oddities.0
}

impl Oddities {
    fn warn(&mut self, field: String, message: impl Into<String>) {
        let message = message.into();
        self.0.push(Oddity { severity: Severity::Warning, field, message });
    }

    fn name(&mut self, name: &str) {
        if name.is_empty() {
            self.warn("metadata.name".to_owned(), "absent; every object has a name");
        }
    }

    fn namespace(&mut self, namespace: &str) {
        if namespace.is_empty() {
            let message = "absent; taken to be `default`".to_owned();
            let field = "metadata.namespace".to_owned();
            self.0.push(Oddity { severity: Severity::Note, field, message });
        }
    }

    fn service(&mut self, service: &Service) {
        self.name(&service.metadata.name);
        self.namespace(&service.metadata.namespace);
        let spec = &service.spec;
        if spec.kind.as_deref() == Some("ExternalName") {
            return;
        }
        self.cluster_ips(service);
        for (index, ip) in spec.external_ips.iter().enumerate() {
            self.address(format!("spec.externalIPs[{index}]"), ip);
        }
        for (index, range) in spec.load_balancer_source_ranges.iter().enumerate() {
            self.prefix(format!("spec.loadBalancerSourceRanges[{index}]"), range.trim());
        }
        for (index, ingress) in service.status.load_balancer.ingress.iter().enumerate() {
            let field = |name| format!("status.loadBalancer.ingress[{index}].{name}");
            if !ingress.ip.is_empty() {
                self.address(field("ip"), &ingress.ip);
            }
            if let Some(mode) =
                ingress.ip_mode.as_deref().filter(|m| !matches!(*m, "VIP" | "Proxy"))
            {
                self.warn(
                    field("ipMode"),
                    format!("`{mode}` is neither VIP nor Proxy; left to the load balancer"),
                );
            }
        }
        self.choices(spec);
        self.service_ports(service);
    }

    /// Looks at fields that have a few values each; kube-proxy takes any other for the usual one.
    fn choices(&mut self, spec: &ServiceSpec) {
        const POLICIES: &[&str] = &["Cluster", "Local"];
        let types = &["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"];
        self.choice("spec.type", spec.kind.as_deref(), types);
        self.choice(
            "spec.sessionAffinity",
            spec.session_affinity.as_deref(),
            &["None", "ClientIP"],
        );
        let outside = spec.external_traffic_policy.as_deref();
        self.choice("spec.externalTrafficPolicy", outside, POLICIES);
        let inside = spec.internal_traffic_policy.as_deref();
        self.choice("spec.internalTrafficPolicy", inside, POLICIES);
        for (index, family) in spec.ip_families.iter().enumerate() {
            self.choice(&format!("spec.ipFamilies[{index}]"), Some(family), &["IPv4", "IPv6"]);
        }
    }

    fn choice(&mut self, field: &str, value: Option<&str>, known: &[&str]) {
        if let Some(value) = value.filter(|value| !value.is_empty() && !known.contains(value)) {
            let message = format!("`{value}` is none of {}; it has no effect", known.join(", "));
            self.warn(field.to_owned(), message);
        }
    }

    fn cluster_ips(&mut self, service: &Service) {
        let spec = &service.spec;
        for (index, ip) in spec.cluster_ips.iter().enumerate().filter(|(_, ip)| *ip != "None") {
            self.address(format!("spec.clusterIPs[{index}]"), ip);
        }
        match spec.cluster_ip.as_deref() {
            None | Some("") => {
                self.warn("spec.clusterIP".to_owned(), "absent; the Service is passed over");
            }
            Some("None") => {}
            Some(ip) => self.address("spec.clusterIP".to_owned(), ip),
        }
    }

    fn service_ports(&mut self, service: &Service) {
        for (index, port) in service.spec.ports.iter().enumerate() {
            let field = |name| format!("spec.ports[{index}].{name}");
            self.number(field("port"), Some(port.port));
            if port.node_port.is_some_and(|number| number != 0) {
                self.number(field("nodePort"), port.node_port);
            }
            self.protocol(field("protocol"), port.protocol.as_deref());
            let is_same = |other: &ServicePort| {
                other.name == port.name
                    && protocol(other.protocol.as_deref()) == protocol(port.protocol.as_deref())
            };
            if service.spec.ports[index + 1..].iter().any(is_same) {
                self.warn(field("name"), "a later port has the same name and protocol and wins");
            }
        }
    }

    fn slice(&mut self, slice: &EndpointSlice) {
        self.name(&slice.metadata.name);
        self.namespace(&slice.metadata.namespace);
        let labels = &slice.metadata.labels;
        if labels.contains_key(HEADLESS) {
            return;
        }
        if labels.get(SERVICE_NAME).is_none_or(String::is_empty) {
            let field = format!("metadata.labels[{SERVICE_NAME}]");
            self.warn(field, "absent; the slice belongs to no Service");
        }
        let family = match slice.address_type.as_str() {
            "IPv4" => Family::V4,
            "IPv6" => Family::V6,
            "FQDN" => return,
            other => {
                let message =
                    format!("`{other}` is none of IPv4, IPv6, FQDN; the slice is passed over");
                self.warn("addressType".to_owned(), message);
                return;
            }
        };
        for (index, endpoint) in slice.endpoints.iter().enumerate() {
            let field = format!("endpoints[{index}].addresses");
            match endpoint.addresses.first() {
                None => self.warn(field, "empty; the endpoint is passed over"),
                Some(text) => self.address_of(format!("{field}[0]"), text, family),
            }
        }
        for (index, port) in slice.ports.iter().enumerate() {
            self.slice_port(index, port);
        }
    }

    fn slice_port(&mut self, index: usize, port: &SlicePort) {
        let field = |name| format!("ports[{index}].{name}");
        if port.name.is_none() {
            self.warn(field("name"), "absent; the port is passed over");
        }
        self.number(field("port"), port.port);
        self.protocol(field("protocol"), port.protocol.as_deref());
    }

    fn node(&mut self, node: &Node) {
        self.name(&node.metadata.name);
        for (index, address) in node.status.addresses.iter().enumerate() {
            if matches!(address.kind.as_str(), "InternalIP" | "ExternalIP") {
                self.address(format!("status.addresses[{index}].address"), &address.address);
            }
        }
        for (index, range) in node.spec.pod_cidrs.iter().enumerate() {
            self.prefix(format!("spec.podCIDRs[{index}]"), range);
        }
    }

    fn service_cidr(&mut self, object: &ServiceCidr) {
        self.name(&object.metadata.name);
        for (index, range) in object.spec.cidrs.iter().enumerate() {
            self.prefix(format!("spec.cidrs[{index}]"), range);
        }
    }

    fn address(&mut self, field: String, text: &str) {
        let _: Option<IpAddr> = self.parsed_address(field, text);
    }

    fn address_of(&mut self, field: String, text: &str, family: Family) {
        let Some(address) = self.parsed_address(field.clone(), text) else { return };
        if Family::of(address) != family {
            self.warn(
                field,
                format!("`{text}` is not of the slice's family {family}; passed over"),
            );
        }
    }

    fn parsed_address(&mut self, field: String, text: &str) -> Option<IpAddr> {
        let address = parse_address(text);
        if address.is_none() {
            self.warn(field, format!("`{text}` is no IP address; passed over"));
        }
        address
    }

    fn prefix(&mut self, field: String, text: &str) {
        if parse_prefix(text).is_none() {
            self.warn(field, format!("`{text}` is no CIDR; passed over"));
        }
    }

    fn number(&mut self, field: String, number: Option<i32>) {
        match number {
            Some(1..=65535) => {}
            Some(number) => {
                self.warn(field, format!("{number} is no port from 1 to 65535; passed over"));
            }
            None => self.warn(field, "absent; the port is passed over"),
        }
    }

    fn protocol(&mut self, field: String, text: Option<&str>) {
        if protocol(text).is_none() {
            let text = text.unwrap_or_default();
            self.warn(
                field,
                format!("`{text}` is none of TCP, UDP, SCTP; the port is passed over"),
            );
        }
    }
}
