//! `sim balance`: how connections spread over the endpoints of a Service.

use kps_flow::{ClientClass, Family, Flow};
use kps_model::{Mode, NodeView, PortView};
use kps_ruleset::NodeState;
use kps_sim::{Options, Walk, Walker};

use crate::Verdict;
use crate::args::{Balance, Output};
use crate::cluster::{Objects, Proxied};
use crate::drawn::{Chooser, Connections};
use crate::error::Failure;
use crate::node::rendered;
use crate::report::sides::{self, Question, Side};
use crate::report::spread::Spread;
use crate::report::{Report, Reports};
use crate::services;

/// Shows exact shares, draws connections, and judges counts: of one mode, or of all side by side.
pub fn run(arguments: &Balance) -> Result<Verdict, Failure> {
    let mode = arguments.cluster.mode;
    check(arguments, mode)?;
    let modes: &[_] = match mode {
        Some(_) => &[mode],
        None => &[Some(Mode::Nftables), Some(Mode::Iptables), Some(Mode::Ipvs)],
    };
    let mut objects = Objects::load_in(&arguments.cluster, modes)?;
    if let Some(scheduler) = &arguments.scheduler {
        objects.schedule_by(scheduler);
    }
    let mut reports = Reports::new(arguments.cluster.all_nodes);
    for node in &objects.nodes {
        let seen: Vec<Proxied<'_>> = objects.seen_by(node).collect();
        let report = match seen.as_slice() {
            [only] => alone(arguments, only)?,
            several => side_by_side(arguments, several)?,
        };
        reports.add(Some(node), report)?;
    }
    reports.finish()?;
    Ok(objects.verdict)
}

fn check(arguments: &Balance, mode: Option<Mode>) -> Result<(), Failure> {
    if arguments.scheduler.is_some() && mode.is_some_and(|mode| mode != Mode::Ipvs) {
        return Err(Failure::Usage("--scheduler is of mode ipvs".to_owned()));
    }
    if mode.is_none() && (arguments.runs != 1 || !arguments.observed.is_empty()) {
        return Err(Failure::Usage(
            "--runs and --observed are about one mode; name it with --mode".to_owned(),
        ));
    }
    Ok(())
}

/// A connection to a Service, and the rules that decide about it.
struct Subject<'v> {
    flow: Flow,
    state: NodeState,
    port: &'v PortView,
}

impl<'v> Subject<'v> {
    fn new(arguments: &Balance, proxied: &'v Proxied<'_>) -> Result<Subject<'v>, Failure> {
        let (view, port) = services::find("--service", &arguments.service, &proxied.views)?;
        Ok(Subject { flow: to_cluster_ip(view, port), state: rendered(proxied), port })
    }

    fn walk(&self) -> Walk {
        let options = Options { fresh: true, ..Options::default() };
        Walker::new(&self.state).walk(&self.flow, &options)
    }
}

fn alone(arguments: &Balance, proxied: &Proxied<'_>) -> Result<Report, Failure> {
    let subject = Subject::new(arguments, proxied)?;
    let (walk, affinity) = (subject.walk(), subject.port.port.affinity);
    let spread = Spread {
        flow: &subject.flow,
        distribution: &walk.distribution(),
        chooser: &Chooser::of(&subject.state, &walk, affinity.is_some()),
        affinity,
        connections: connections(arguments),
        seed: arguments.seed,
        runs: arguments.runs,
        observed: &arguments.observed,
    };
    spread.check_observed()?;
    Ok(match arguments.output {
        Output::Text => Report::Text(spread.text()?),
        Output::Json => Report::Json(spread.json()?),
    })
}

fn side_by_side(arguments: &Balance, seen: &[Proxied<'_>]) -> Result<Report, Failure> {
    let mut told = None;
    let mut all = Vec::new();
    for proxied in seen {
        let subject = Subject::new(arguments, proxied)?;
        all.push(side(arguments, proxied.mode, &subject)?);
        told = Some((subject.flow, subject.port.port.affinity));
    }
    let Some((flow, affinity)) = told else { return Err(Failure::NoInput) };
    let question = Question {
        flow: &flow,
        affinity,
        connections: connections(arguments),
        seed: arguments.seed,
    };
    Ok(match arguments.output {
        Output::Text => Report::Text(sides::text(&question, &all)),
        Output::Json => Report::Json(sides::json(&question, &all)),
    })
}

fn side(arguments: &Balance, mode: Mode, subject: &Subject<'_>) -> Result<Side, Failure> {
    let (walk, affinity) = (subject.walk(), subject.port.port.affinity);
    let distribution = walk.distribution();
    let chooser = Chooser::of(&subject.state, &walk, affinity.is_some());
    let counts =
        chooser.counts(&subject.flow, &distribution, connections(arguments), arguments.seed)?;
    let name = match (mode, &chooser) {
        (_, Chooser::Turns(service, _)) => service.scheduler.to_string(),
        (Mode::Nftables, _) => "numgen".to_owned(),
        (Mode::Iptables, _) => "statistic".to_owned(),
        (Mode::Ipvs, _) => "-".to_owned(),
    };
    Ok(Side::new(mode, name, &distribution, &counts))
}

fn connections(arguments: &Balance) -> Connections {
    Connections { number: arguments.connections, clients: arguments.clients }
}

/// A connection of a client outside of the node to the cluster IP.
fn to_cluster_ip(view: &NodeView, port: &PortView) -> Flow {
    let text = match view.family {
        Family::V4 => "198.51.100.200",
        Family::V6 => "2001:db8:99::200",
    };
    Flow {
        client: ClientClass::Outside,
        interface: Some("eth0".to_owned()),
        source: text.parse().ok(),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: port.port.key.protocol,
        destination: port.port.cluster_ip,
        port: port.port.port,
    }
}
