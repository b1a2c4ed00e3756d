//! Objects that moved on while the node did not: stale Services, changed endpoints and ports.

use kps_flow::Flow;
use kps_model::intent::Owner;
use kps_model::{Cluster, Config, Intent, KubeVersion, view};
use kps_sim::Walker;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::damage::{is_same, worlds};
use crate::{MODES, dumped, of, rendered, runner};

/// What happens to objects.
#[derive(Debug, Clone)]
enum Event {
    ServiceGone(Index),
    EndpointMoves(Index),
    EndpointGone(Index),
    PortChanges(Index),
    RangesGone(Index),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        any::<Index>().prop_map(Event::ServiceGone),
        any::<Index>().prop_map(Event::EndpointMoves),
        any::<Index>().prop_map(Event::EndpointGone),
        any::<Index>().prop_map(Event::PortChanges),
        any::<Index>().prop_map(Event::RangesGone),
    ]
}

impl Event {
    fn happen(&self, cluster: &mut Cluster) {
        match self {
            Event::ServiceGone(which) => {
                cluster.services.remove(which.index(cluster.services.len()));
            }
            Event::EndpointMoves(which) => {
                let slice = pick(&mut cluster.slices, *which);
                if let Some(endpoint) = slice.endpoints.first_mut() {
                    let is_v6 = slice.address_type == "IPv6";
                    let to = if is_v6 { "2001:db8::af4:17" } else { "10.244.1.23" };
                    endpoint.addresses = vec![to.into()];
                }
            }
            Event::EndpointGone(which) => {
                pick(&mut cluster.slices, *which).endpoints.pop();
            }
            Event::PortChanges(which) => {
                pick(&mut cluster.slices, *which).ports[0].port = Some(9090);
            }
            Event::RangesGone(which) => {
                pick(&mut cluster.services, *which).spec.load_balancer_source_ranges.clear();
            }
        }
    }
}

fn pick<T>(items: &mut [T], which: Index) -> &mut T {
    let at = which.index(items.len());
    &mut items[at]
}

fn is_told(
    (before, now): (&Cluster, &Cluster),
    flows: &[Flow],
    config: &Config,
    version: KubeVersion,
) -> Result<(), TestCaseError> {
    let dump = dumped(&rendered(before, "a", config, version));
    let wanted = dumped(&rendered(now, "a", config, version));
    let found = of(now, "a", std::slice::from_ref(config), &[version], &dump);
    let (walker, dump) = (Walker::new(&wanted), Walker::new(&dump));
    let named: Vec<&str> =
        found.findings.iter().filter_map(|finding| finding.service.as_deref()).collect();
    for flow in flows.iter().filter(|flow| !is_same(&walker, &dump, flow)) {
        let view = view(now, config, "a", version, flow.family());
        match Intent::new(&view).owner(flow) {
            Owner::Port(port, _) => {
                let name = port.port.key.to_string();
                let is_named =
                    named.contains(&name.as_str()) || found.affected().contains(&name.as_str());
                prop_assert!(is_named, "{flow}, {name}: {:#?}", found.findings);
            }
            Owner::Contested => {}
            Owner::Nobody => prop_assert!(!found.findings.is_empty(), "{flow}"),
        }
    }
    for effect in found.findings.iter().flat_map(|finding| &finding.effects) {
        let view = view(now, config, "a", version, effect.flow.family());
        let is_one = matches!(Intent::new(&view).owner(&effect.flow), Owner::Contested)
            || !is_same(&walker, &dump, &effect.flow);
        prop_assert!(is_one, "{effect:?}");
    }
    Ok(())
}

#[test]
fn a_node_that_missed_a_change_is_told() {
    for mode in MODES {
        let worlds = (worlds(mode), prop::collection::vec(event(), 1..3));
        let outcome = runner(40).run(&worlds, |((cluster, flows, config, version), events)| {
            let mut now = cluster.clone();
            for event in &events {
                if !now.services.is_empty() {
                    event.happen(&mut now);
                }
            }
            is_told((&cluster, &now), &flows, &config, version)
        });
        if let Err(failure) = outcome {
            panic!("{mode}: {failure}");
        }
    }
}
