//! Flows as JSON lines: the questions of `sim walk`, and what was recorded with them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::Path;

use kps_flow::{ClientClass, Flow, Protocol};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::Failure;
use crate::report::diagnostics::error;

/// A line of a flow file. Fields that are not listed are passed over.
#[derive(Debug, Clone, Deserialize)]
pub struct FlowLine {
    /// Who sends the packet.
    pub client: ClientClass,
    /// Its source; null for a node process that lets the kernel choose.
    pub src: Option<IpAddr>,
    /// The interface by which it comes in; empty for a node process.
    pub in_iface: String,
    /// Its protocol.
    pub proto: Protocol,
    /// Where it goes.
    pub dst: IpAddr,
    /// To which port; 0 for ICMP.
    pub dport: u16,
}

/// What a real kernel did with a flow: other fields of its line.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Recorded {
    /// The outcome.
    pub outcome: Option<String>,
    /// The endpoints that got packets.
    pub endpoints: BTreeMap<String, Received>,
    /// How clients were told of a rejection.
    pub reject_with: Vec<String>,
    /// Whether it may differ from run to run, since two Services claim the destination.
    pub contested: bool,
    /// More of it.
    pub detail: Detail,
}

/// What is recorded of an endpoint.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub enum Received {
    /// What it saw.
    Seen(EndpointSeen),
    /// How many packets it got, which tells no more than that it got any.
    Packets(IgnoredAny),
}

/// More of what a real kernel did.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Detail {
    /// What each endpoint saw.
    pub by_endpoint: BTreeMap<String, EndpointSeen>,
    /// The outcomes, if they were mixed.
    pub outcomes: BTreeMap<String, u64>,
    /// How clients were told of a rejection.
    pub reject_with: Vec<String>,
}

/// What an endpoint saw.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct EndpointSeen {
    /// How many packets came.
    pub n: u64,
    /// How many of them with another source address or port than the client had sent.
    pub snat: u64,
}

/// Reads a file of flows; `-` is standard input.
///
/// # Errors
/// If it cannot be read.
pub fn lines(path: &Path) -> Result<Vec<u8>, Failure> {
    if path != Path::new("-") {
        return fs::read(path).map_err(Failure::file(path));
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(Failure::file(path))?;
    Ok(bytes)
}

/// Reads the flows of a file. A line that is none is reported and passed over.
///
/// # Errors
/// If the file cannot be read, or has no flow.
pub fn read(path: &Path) -> Result<Vec<Flow>, Failure> {
    let bytes = lines(path)?;
    let mut flows = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        match serde_json::from_slice::<FlowLine>(line) {
            _ if line.trim_ascii().is_empty() => {}
            Ok(line) => flows.push(line.flow()),
            Err(cause) => error(&format!("{}:{number}: not a flow: {cause}", path.display())),
        }
    }
    if flows.is_empty() {
        return Err(Failure::Usage(format!("{}: there is no flow in it", path.display())));
    }
    Ok(flows)
}

impl Recorded {
    /// Returns what endpoints saw, where that is recorded.
    pub fn seen(&self) -> impl Iterator<Item = (&String, EndpointSeen)> {
        let at_once = self.endpoints.iter().filter_map(|(endpoint, received)| match received {
            Received::Packets(_) => None,
            Received::Seen(seen) => Some((endpoint, *seen)),
        });
        at_once.chain(self.detail.by_endpoint.iter().map(|(endpoint, seen)| (endpoint, *seen)))
    }

    /// Returns how clients were told of a rejection.
    pub fn rejections(&self) -> impl Iterator<Item = &String> {
        self.reject_with.iter().chain(&self.detail.reject_with)
    }
}

impl FlowLine {
    /// Returns the flow. A node process is told by the empty interface; its source only counts if
    /// it is not for the kernel to choose.
    pub fn flow(&self) -> Flow {
        Flow {
            client: self.client,
            interface: (!self.in_iface.is_empty()).then(|| self.in_iface.clone()),
            source: self.src,
            source_port: Flow::DEFAULT_SOURCE_PORT,
            protocol: self.proto,
            destination: self.dst,
            port: self.dport,
        }
    }
}
