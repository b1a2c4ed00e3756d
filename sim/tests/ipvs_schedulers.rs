//! Every scheduler gives the sequence that the kernel gave: the set-ups of `snapshots/schedulers`,
//! recorded by `oracle/schedulers/record.sh`, where their format is told.

#![expect(clippy::unwrap_used, reason = "a recording that cannot be read is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use kps_flow::Protocol;
use kps_ruleset::ipvs::{
    Forwarding, Netmask, Persistence, RealServer, Scheduler, SchedulerFlags, Timeouts,
    VirtualServer,
};
use kps_sim::ipvs::table::Entry;
use kps_sim::ipvs::{Connection, Segment, ServerId, Settings, State, VirtualService};
use serde::Deserialize;

const SNAPSHOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/schedulers");
/// Between the phases of a recording.
const GAP: Duration = Duration::from_secs(100);
const VIRTUAL_PORT: u16 = 80;

#[derive(Deserialize)]
struct Golden {
    scheduler: String,
    flags: Vec<String>,
    protocol: String,
    family: u8,
    persistence: Option<u32>,
    method: String,
    sysctl: Sysctl,
    servers: Vec<(IpAddr, u16)>,
    clients: Vec<IpAddr>,
    destinations: Vec<IpAddr>,
    connections: Vec<(usize, u16, usize)>,
    phases: Vec<Phase>,
}

#[derive(Deserialize)]
struct Sysctl {
    expire_nodest_conn: u8,
    expire_quiescent_template: u8,
    conn_reuse_mode: u32,
    lblcr_expiration: u64,
}

#[derive(Deserialize)]
struct Phase {
    steps: String,
    chosen: String,
    #[serde(flatten)]
    after: Observed,
}

/// What the kernel had, or what we have, after a phase.
#[derive(Debug, Deserialize, PartialEq)]
struct Observed {
    picks: String,
    states: String,
    templates: usize,
    counts: Vec<Option<(u32, u32)>>,
}

/// A golden set-up played to our virtual service.
struct Replay<'a> {
    golden: &'a Golden,
    service: VirtualService,
    /// The server that each connection first went to.
    chosen: String,
}

#[test]
fn every_scheduler_gives_the_kernels_sequence() {
    let mut setups: BTreeMap<String, usize> = BTreeMap::new();
    let mut differences = Vec::new();
    for entry in fs::read_dir(SNAPSHOTS).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let golden = read(&path);
        assert_eq!(golden.connections.len(), 200, "{}", path.display());
        differences
            .extend(replay(&golden).map(|difference| format!("{}: {difference}", path.display())));
        *setups.entry(golden.scheduler).or_default() += 1;
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    assert_eq!(setups.len(), 13, "{setups:?}");
    assert!(setups.values().all(|count| *count >= 10), "{setups:?}");
}

fn read(path: &Path) -> Golden {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Plays a set-up and returns what differs first, if anything does.
fn replay(golden: &Golden) -> Option<String> {
    let mut replay = Replay { golden, service: golden.service(), chosen: String::new() };
    for (number, phase) in (0..).zip(&golden.phases) {
        let before = replay.chosen.len();
        replay.service.advance(GAP * number);
        phase.steps.split_whitespace().for_each(|step| replay.step(step));
        let (chosen, ours) = (replay.chosen[before..].to_owned(), replay.observe());
        if (&chosen, &ours) != (&phase.chosen, &phase.after) {
            let Phase { chosen: theirs, after, .. } = phase;
            let kernel = format!("kernel {theirs} {after:?}");
            return Some(format!("phase {number}\n ours {chosen} {ours:?}\n {kernel}"));
        }
    }
    None
}

impl Golden {
    fn service(&self) -> VirtualService {
        let has = |flag: &str| self.flags.iter().any(|set| set.ends_with(flag));
        let mut server = VirtualServer::new(Scheduler::parse(&self.scheduler));
        server.flags = SchedulerFlags { first: has("fallback"), second: has("port"), third: false };
        server.persistence = self.persistence.map(|timeout| Persistence {
            timeout,
            netmask: Netmask::full(self.family == 6),
            engine: None,
        });
        VirtualService::new(&server, self.sysctl.settings()).unwrap()
    }

    fn connection(&self, number: usize) -> Connection {
        let (client, port, destination) = self.connections[number];
        Connection {
            protocol: if self.protocol == "udp" { Protocol::Udp } else { Protocol::Tcp },
            source: SocketAddr::new(self.clients[client], port),
            destination: SocketAddr::new(self.destinations[destination], VIRTUAL_PORT),
        }
    }

    fn real_server(&self, parameters: &[usize]) -> RealServer {
        let number = |index: usize| u32::try_from(parameters[index]).unwrap();
        let (address, port) = self.servers[parameters[0]];
        let method =
            if self.method == "-m" { Forwarding::Masquerade } else { Forwarding::DirectRoute };
        let mut server = RealServer::new(address, port, method);
        (server.weight, server.upper_threshold, server.lower_threshold) =
            (number(1), number(2), number(3));
        server
    }
}

impl Sysctl {
    fn settings(&self) -> Settings {
        Settings {
            expire_nodest_conn: self.expire_nodest_conn != 0,
            expire_quiescent_template: self.expire_quiescent_template != 0,
            conn_reuse_mode: self.conn_reuse_mode,
            lblcr_expiration: Duration::from_secs(self.lblcr_expiration),
            timeouts: Timeouts { tcp: 900, tcp_fin: 20, udp: 20 },
            ..Settings::default()
        }
    }
}

impl Replay<'_> {
    fn step(&mut self, step: &str) {
        let (kind, rest) = step.split_at(1);
        match kind {
            "+" | "=" => {
                let parameters: Vec<usize> = rest.split(':').map(|n| n.parse().unwrap()).collect();
                self.service.add(&self.golden.real_server(&parameters));
            }
            "-" => {
                let (address, port) = self.golden.servers[rest.parse::<usize>().unwrap()];
                assert!(self.service.remove(SocketAddr::new(address, port)));
            }
            _ if rest.is_empty() => self.open(),
            _ => self.send(kind, rest.parse().unwrap()),
        }
    }

    fn open(&mut self) {
        let server = self.service.connect(self.golden.connection(self.chosen.len()));
        self.chosen.push(server.map_or('-', |server| self.digit(server)));
    }

    fn send(&mut self, kind: &str, number: usize) {
        let connection = self.golden.connection(number);
        let segment = match kind.to_ascii_lowercase().as_str() {
            "s" => Segment::Syn,
            "a" => Segment::Ack,
            "f" => Segment::Fin,
            _ => Segment::Reset,
        };
        if kind.to_ascii_lowercase() == kind {
            self.service.packet(connection, segment);
        } else {
            self.service.reply(&connection, segment);
        }
    }

    fn observe(&self) -> Observed {
        let entries: Vec<Option<&Entry>> = (0..self.chosen.len())
            .map(|number| self.service.connection(&self.golden.connection(number)))
            .collect();
        let column = |letter: &dyn Fn(&Entry) -> char| {
            entries.iter().map(|entry| entry.map_or('-', letter)).collect()
        };
        Observed {
            picks: column(&|entry| self.digit(entry.server)),
            states: column(&|entry| letter(entry.state)),
            templates: self.service.templates(),
            counts: self.golden.servers.iter().map(|server| self.counts(*server)).collect(),
        }
    }

    /// Returns the server as it is called in the recording.
    fn digit(&self, server: ServerId) -> char {
        let address = self.service.servers().server(server).unwrap().address;
        let named = |(ip, port): &(IpAddr, u16)| address == SocketAddr::new(*ip, *port);
        let index = self.golden.servers.iter().position(named).unwrap();
        char::from_digit(u32::try_from(index).unwrap(), 10).unwrap()
    }

    fn counts(&self, (address, port): (IpAddr, u16)) -> Option<(u32, u32)> {
        let servers = self.service.servers();
        let server = servers.server(servers.find(SocketAddr::new(address, port))?)?;
        server.available.then_some((server.active, server.inactive))
    }
}

fn letter(state: State) -> char {
    match state {
        State::None => 'N',
        State::Established => 'E',
        State::SynSent => 'O',
        State::SynReceived => 'S',
        State::FinWait => 'F',
        State::TimeWait => 'T',
        State::Close => 'C',
        State::CloseWait => 'W',
        State::LastAck => 'L',
        State::Udp => 'U',
        State::Sctp => 'X',
    }
}
