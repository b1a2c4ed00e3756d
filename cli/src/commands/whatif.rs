//! `sim whatif`: how large a node's rules get with more Services.

use std::time::Instant;

use kps_model::{Cluster, Mode};

use crate::Verdict;
use crate::args::{Output, Whatif};
use crate::cluster::{Objects, Proxied};
use crate::error::Failure;
use crate::generated::{self, Shape};
use crate::node::rendered;
use crate::report::growth::{self, Growth, Size};
use crate::report::{Report, Reports};
use crate::scaled::scaled;

/// Renders a cluster twice, small and large, and tells how each mode's rules grow.
pub fn run(arguments: &Whatif) -> Result<Verdict, Failure> {
    let modes = match arguments.cluster.mode {
        Some(mode) => vec![Some(mode)],
        None => [Mode::Nftables, Mode::Iptables, Mode::Ipvs].map(Some).to_vec(),
    };
    let small = before(arguments, &modes)?;
    let large = small.with(after(arguments, &small.cluster)?);
    let mut reports = Reports::new(arguments.cluster.all_nodes);
    for node in &small.nodes {
        let growth = Growth {
            services: (small.cluster.services.len(), large.cluster.services.len()),
            modes: small
                .seen_by(node)
                .zip(large.seen_by(node))
                .map(|(small, large)| (small.mode, size(&small), size(&large)))
                .collect(),
            times: !arguments.no_times,
        };
        let report = match arguments.output {
            Output::Text => Report::Text(growth::text(&growth)),
            Output::Json => Report::Json(growth::json(&growth)),
        };
        reports.add(Some(node), report)?;
    }
    reports.finish()?;
    Ok(small.verdict)
}

/// Returns the small cluster: as given, or generated with one Service.
fn before(arguments: &Whatif, modes: &[Option<Mode>]) -> Result<Objects, Failure> {
    match (arguments.services, arguments.scale) {
        (Some(_), _) => {
            let node = arguments.cluster.node.as_deref().unwrap_or(generated::node());
            let cluster = generated::cluster(shape(arguments, 1));
            Objects::made(&arguments.cluster, modes, cluster, node, generated::pods())
        }
        (None, Some(_)) => Objects::load_in(&arguments.cluster, modes),
        (None, None) => Err(Failure::Usage(
            "give --services N and --endpoints E, or objects and --scale K".to_owned(),
        )),
    }
}

fn after(arguments: &Whatif, cluster: &Cluster) -> Result<Cluster, Failure> {
    match arguments.services {
        Some(services) => Ok(generated::cluster(shape(arguments, services))),
        None => scaled(cluster, arguments.scale.unwrap_or(1)),
    }
}

fn shape(arguments: &Whatif, services: u32) -> Shape {
    let Whatif { endpoints, same_pods, .. } = *arguments;
    Shape { services, endpoints, same_pods }
}

fn size(proxied: &Proxied<'_>) -> Size {
    let start = Instant::now();
    let state = rendered(proxied);
    let time = start.elapsed();
    Size::of(&state, proxied.mode, time)
}
