//! `sim trace`: the story of one packet.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use kps_flow::{ClientClass, Family, Flow, Protocol};
use kps_sim::conntrack::CtState;
use kps_sim::{Options, Path, Pick, Walk, Walker};

use crate::Verdict;
use crate::args::{Output, Trace, Tracked};
use crate::clients;
use crate::error::Failure;
use crate::node::Node;
use crate::owners::Owners;
use crate::report::story::Story;

/// Tells what happens to one packet.
pub fn run(arguments: &Trace) -> Result<Verdict, Failure> {
    let node = Node::load(&arguments.node)?;
    let walker = Walker::new(&node.state);
    let flow = flow(arguments, &node, &walker)?;
    let options = Options { trace: true, state: state(arguments.ct), ..Options::default() };
    let walk = walker.walk(&flow, &options);
    let owners = node.proxied.as_ref().map(Owners::of).unwrap_or_default();
    let cluster = node.proxied.as_ref().map(|proxied| &proxied.cluster);
    let state = &node.state;
    let (flow, walker, walk, owners) = (&flow, &walker, &walk, &owners);
    let story = Story { flow, state, walker, walk, owners, cluster };
    let path = picked(arguments.pick.as_deref(), walk)?;
    let text = match arguments.output {
        Output::Text => story.text(path),
        Output::Json => format!("{:#}\n", story.json(path)),
    };
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(io::Error::from)?;
    Ok(node.verdict())
}

fn flow(arguments: &Trace, node: &Node, walker: &Walker<'_>) -> Result<Flow, Failure> {
    let target = destination(&arguments.to)?;
    let client = clients::find(&arguments.from, Family::of(target.address), node, walker)?;
    let interface = match (&arguments.iface, client.class) {
        (_, ClientClass::Node) => None,
        (Some(name), _) => Some(name.clone()),
        (None, _) => client.interface,
    };
    Ok(Flow {
        client: client.class,
        interface,
        source: client.address,
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: target.protocol,
        destination: target.address,
        port: target.port,
    })
}

struct Destination {
    address: IpAddr,
    port: u16,
    protocol: Protocol,
}

/// Reads `ADDR:PORT`, `ADDR:PORT/PROTO` or `ADDR/ICMP`.
fn destination(text: &str) -> Result<Destination, Failure> {
    let wrong = || {
        Failure::Usage(format!(
            "--to {text}: expected ADDR:PORT or ADDR:PORT/PROTO, such as 10.96.0.10:53/UDP or \
             [fd00::10]:80"
        ))
    };
    let (place, protocol) = match text.rsplit_once('/') {
        None => (text, Protocol::Tcp),
        Some((place, name)) => (place, name.parse().map_err(|_| wrong())?),
    };
    if protocol.has_ports() {
        let socket: SocketAddr = place.parse().map_err(|_| wrong())?;
        return Ok(Destination { address: socket.ip(), port: socket.port(), protocol });
    }
    let address: IpAddr = place.trim_matches(['[', ']']).parse().map_err(|_| wrong())?;
    let protocol = if address.is_ipv6() { Protocol::Icmpv6 } else { Protocol::Icmp };
    Ok(Destination { address, port: 0, protocol })
}

fn state(tracked: Tracked) -> CtState {
    match tracked {
        Tracked::New => CtState::New,
        Tracked::Established => CtState::Established,
        Tracked::Reply => CtState::Reply,
        Tracked::Related => CtState::Related,
        Tracked::Invalid => CtState::Invalid,
        Tracked::Untracked => CtState::Untracked,
    }
}

/// Returns the way to tell: the one that was asked for, else the first.
fn picked<'w>(pick: Option<&str>, walk: &'w Walk) -> Result<&'w Path, Failure> {
    let text = pick.unwrap_or("0");
    let meant = match (text.parse(), text.parse()) {
        (Ok(number), _) => Some(Pick::Nth(number)),
        (_, Ok(endpoint)) => Some(Pick::Endpoint(endpoint)),
        _ => None,
    };
    meant.and_then(|pick| walk.pick(pick)).ok_or_else(|| {
        let last = walk.paths.len().saturating_sub(1);
        Failure::Usage(format!(
            "--pick {text}: there is no such way; give a number from 0 to {last}, or an endpoint"
        ))
    })
}
