//! `sim balance`: how connections spread over the endpoints of a Service.

use kps_flow::{ClientClass, Family, Flow};
use kps_model::{NodeView, PortView};
use kps_sim::{Options, Walker};

use crate::Verdict;
use crate::args::{Balance, Output};
use crate::cluster::{Objects, Proxied};
use crate::error::Failure;
use crate::node::rendered;
use crate::report::spread::Spread;
use crate::report::{Report, Reports};
use crate::services;

/// Shows exact shares, draws connections, and judges counts.
pub fn run(arguments: &Balance) -> Result<Verdict, Failure> {
    let objects = Objects::load(&arguments.cluster)?;
    let mut reports = Reports::new(arguments.cluster.all_nodes);
    for proxied in objects.proxied() {
        reports.add(Some(proxied.node), spread(arguments, &proxied)?)?;
    }
    reports.finish()?;
    Ok(objects.verdict)
}

fn spread(arguments: &Balance, proxied: &Proxied<'_>) -> Result<Report, Failure> {
    let (view, port) = services::find("--service", &arguments.service, &proxied.views)?;
    let flow = to_cluster_ip(view, port);
    let state = rendered(proxied);
    let options = Options { fresh: true, ..Options::default() };
    let walk = Walker::new(&state).walk(&flow, &options);
    let spread = Spread {
        flow: &flow,
        distribution: &walk.distribution(),
        connections: arguments.connections,
        seed: arguments.seed,
        runs: arguments.runs,
        observed: &arguments.observed,
    };
    spread.check_observed()?;
    Ok(match arguments.output {
        Output::Text => Report::Text(spread.text()),
        Output::Json => Report::Json(spread.json()),
    })
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
