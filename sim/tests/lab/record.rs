//! A recorded flow: a line of `snapshots/lab/*/*.jsonl`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use kps_flow::{ClientClass, Flow, Outcome, Protocol};
use serde::Deserialize;

/// What was sent, and what became of it.
#[derive(Debug, Deserialize)]
pub struct Record {
    client: ClientClass,
    in_iface: String,
    src: Option<IpAddr>,
    proto: Protocol,
    dst: IpAddr,
    dport: u16,
    /// What the destination is, for the reader of a failure.
    #[expect(dead_code, reason = "shown by Debug only")]
    kind: String,
    /// `forwarded`, `passthrough`, `local`, `reject` or `drop`.
    pub outcome: String,
    /// Whether two Services claim the destination: which one has it may differ between the dump
    /// and the run.
    #[serde(default)]
    pub contested: bool,
    /// The endpoints that got packets.
    #[serde(default)]
    pub endpoints: BTreeMap<String, Seen>,
    /// The errors that the client got.
    #[serde(default)]
    pub reject_with: Vec<String>,
}

/// What an endpoint got.
#[derive(Debug, Deserialize)]
pub struct Seen {
    /// How many packets.
    n: u32,
    /// How many of them with another source than the client sent.
    snat: u32,
    /// These sources.
    #[serde(default)]
    pub src: Vec<String>,
}

impl Record {
    /// Returns the flow that was sent. A node process let the kernel choose its source.
    pub fn flow(&self) -> Flow {
        let node = self.client == ClientClass::Node;
        Flow {
            client: self.client,
            interface: (!node).then(|| self.in_iface.clone()),
            source: self.src.filter(|_| !node),
            source_port: Flow::DEFAULT_SOURCE_PORT,
            protocol: self.proto,
            destination: self.dst,
            port: self.dport,
        }
    }
}

impl Seen {
    /// Tells whether the source is translated. A single packet may get another port without any
    /// rule: when its own would clash with that of a connection that went to the same endpoint by
    /// another address.
    pub fn is_translated(&self) -> bool {
        self.snat * 2 > self.n
    }
}

/// Returns the word for an outcome in the records.
pub fn kind(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Deliver(_) => "forwarded",
        Outcome::Reject(_) => "reject",
        Outcome::Drop => "drop",
        Outcome::Local => "local",
        Outcome::Pass(_) => "passthrough",
        Outcome::Unknown(_) => "unknown",
    }
}
