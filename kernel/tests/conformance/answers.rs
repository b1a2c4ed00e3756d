//! Answers in the kernel against answers in the walker: does what an endpoint says come back to the
//! client, and from the address that the client dialled?

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use kps_flow::{Flow, Outcome};
use kps_kernel::{Answer, Exchange};
use kps_sim::conntrack::{CtState, Tuple};
use kps_sim::{Options, Path, Walker};

/// Where the walker lets an answer come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walked {
    /// With this source and destination; the client is at the second pair.
    Out { from: End, to: End, client: End },
    /// Nowhere.
    Nowhere,
    /// The model does not know.
    Unknown,
}

/// An address and a port, which the kernel may have drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End(IpAddr, Option<u16>);

/// Tells what is wrong with the answer to a flow, if something is.
pub fn wrong(walker: &Walker<'_>, flow: &Flow, exchange: &Exchange) -> Option<String> {
    let (outcome, answer) = (exchange.outcome.as_ref()?, exchange.answer?);
    let options = Options { state: CtState::Reply, fresh: true, trace: false };
    let walk = walker.walk(flow, &options);
    let possible: Vec<Walked> =
        walk.paths.iter().filter(|path| answers(path, flow, outcome)).map(walked).collect();
    let fits = possible.iter().any(|walked| walked.allows(answer));
    (!fits).then(|| Wrong { flow, outcome, possible, answer }.to_string())
}

/// Tells whether a path is of the answer to a packet with this outcome.
fn answers(path: &Path, flow: &Flow, outcome: &Outcome) -> bool {
    let got_by = match outcome {
        Outcome::Deliver(delivery) => delivery.endpoint,
        _ => SocketAddr::new(flow.destination, flow.port),
    };
    path.connection.is_none_or(|connection| {
        let Tuple { source, source_port, .. } = connection.reply();
        source == got_by.ip() && source_port.is_none_or(|port| port == got_by.port())
    })
}

fn walked(path: &Path) -> Walked {
    let Some(connection) = path.connection else { return Walked::Unknown };
    let packet = &path.packet;
    match path.outcome {
        Outcome::Unknown(_) => Walked::Unknown,
        Outcome::Drop | Outcome::Reject(_) => Walked::Nowhere,
        Outcome::Deliver(_) | Outcome::Local | Outcome::Pass(_) => Walked::Out {
            from: End(packet.source, packet.source_port),
            to: End(packet.destination, packet.destination_port),
            client: End(connection.original.source, connection.original.source_port),
        },
    }
}

impl Walked {
    fn allows(self, answer: Answer) -> bool {
        match (self, answer) {
            (Walked::Nowhere, Answer::Lost) => true,
            (Walked::Out { from, to, client }, Answer::Returned { from: seen }) => {
                to == client && from.is(seen)
            }
            (Walked::Out { from, to, client }, Answer::Astray { from: seen, to: reached }) => {
                to != client && from.is(seen) && to.is(reached)
            }
            _ => false,
        }
    }
}

impl End {
    fn is(self, seen: SocketAddr) -> bool {
        self.0 == seen.ip() && self.1.is_none_or(|port| port == seen.port())
    }
}

struct Wrong<'a> {
    flow: &'a Flow,
    outcome: &'a Outcome,
    possible: Vec<Walked>,
    answer: Answer,
}

impl fmt::Display for Wrong<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer to {}, {}", self.flow, self.outcome)?;
        for walked in &self.possible {
            write!(f, "\n  walker: {walked:?}")?;
        }
        write!(f, "\n  kernel: {:?}", self.answer)
    }
}

#[test]
fn an_answer_that_does_not_come_back_is_noticed() {
    let state = kps_ruleset::NodeState::default();
    let walker = Walker::new(&state);
    let own = IpAddr::from([127, 0, 0, 1]);
    let flow = Flow {
        client: kps_flow::ClientClass::Node,
        interface: None,
        source: Some(own),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: kps_flow::Protocol::Udp,
        destination: own,
        port: 80,
    };
    let wrong = |answer| {
        let exchange = Exchange { outcome: Some(Outcome::Local), answer: Some(answer) };
        wrong(&walker, &flow, &exchange).is_some()
    };
    let (dialled, other) = (SocketAddr::new(own, 80), SocketAddr::new(own, 8080));
    assert!(!wrong(Answer::Returned { from: dialled }));
    assert!(wrong(Answer::Returned { from: other }));
    assert!(wrong(Answer::Astray { from: dialled, to: other }));
    assert!(wrong(Answer::Lost));
}
