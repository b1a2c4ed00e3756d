//! Which ServicePort a name means.

use kps_model::{NodeView, PortKey, PortView};

use crate::error::Failure;

/// A ServicePort in the view of its family.
pub type Found<'v> = (&'v NodeView, &'v PortView);

/// Finds a ServicePort by `NS/NAME`, `NS/NAME:PORT` or `NS/NAME:PORT/PROTO`, the port by name or
/// number. Of a dual-stack one, the first family's is meant.
///
/// # Errors
/// If there is none, or more than one; `option` says where the name was given.
pub fn find<'v>(option: &str, name: &str, views: &'v [NodeView]) -> Result<Found<'v>, Failure> {
    let wanted = Wanted::read(name);
    let all = views.iter().flat_map(|view| view.ports.iter().map(move |port| (view, port)));
    let found: Vec<Found<'v>> = all.filter(|(_, port)| wanted.is(port)).collect();
    let Some(first) = found.first() else {
        return Err(Failure::Usage(format!("{option} {name}: {}", nothing(&wanted, views))));
    };
    let key = &first.1.port.key;
    if found.iter().all(|(_, port)| port.port.key == *key) {
        return Ok(*first);
    }
    let mut ports: Vec<String> = found.iter().map(|(_, port)| port_name(port)).collect();
    ports.dedup();
    let ports = ports.join(", ");
    Err(Failure::Usage(format!("{option} {name}: which port? add one of {ports}")))
}

/// The parts of a name as typed.
struct Wanted<'t> {
    service: &'t str,
    port: Option<&'t str>,
    protocol: Option<&'t str>,
}

impl<'t> Wanted<'t> {
    fn read(name: &'t str) -> Wanted<'t> {
        let (service, rest) = name.split_once(':').map_or((name, None), |(s, r)| (s, Some(r)));
        let (port, protocol) = match rest.map(|rest| rest.split_once('/').ok_or(rest)) {
            None => (None, None),
            Some(Err(port)) => (Some(port), None),
            Some(Ok((port, protocol))) => (Some(port), Some(protocol)),
        };
        Wanted { service, port, protocol }
    }

    fn is(&self, port: &PortView) -> bool {
        let PortKey { port_name, protocol, .. } = &port.port.key;
        service(port) == self.service
            && self.port.is_none_or(|w| port_name == w || port.port.port.to_string() == w)
            && self.protocol.is_none_or(|w| protocol.to_string().eq_ignore_ascii_case(w))
    }
}

fn service(port: &PortView) -> String {
    format!("{}/{}", port.port.key.namespace, port.port.key.name)
}

fn port_name(port: &PortView) -> String {
    let PortKey { port_name, protocol, .. } = &port.port.key;
    if port_name.is_empty() {
        format!(":{}/{protocol}", port.port.port)
    } else {
        format!(":{port_name}")
    }
}

fn nothing(wanted: &Wanted<'_>, views: &[NodeView]) -> String {
    let all = || views.iter().flat_map(|view| &view.ports);
    let mut ports: Vec<String> =
        all().filter(|port| service(port) == wanted.service).map(port_name).collect();
    ports.dedup();
    if ports.is_empty() {
        "kube-proxy sees no ServicePort of that name (headless and ExternalName Services have none)"
            .to_owned()
    } else {
        format!("the Service has no such port, but {}", ports.join(", "))
    }
}
