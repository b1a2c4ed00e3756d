//! IPVS chooses in the whole dataplane as the scheduler alone says: connection by connection.

use std::net::SocketAddr;

use kps_flow::{Flow, Outcome};
use kps_model::Mode;
use kps_sim::ipvs::{Connection, Settings, VirtualService};

use crate::kernel;
use crate::world::{Plan, World};

/// The schedulers whose choices follow from what was before.
const SCHEDULERS: [&str; 13] =
    ["rr", "wrr", "lc", "wlc", "lblc", "lblcr", "sh", "dh", "sed", "nq", "mh", "fo", "ovf"];
const CONNECTIONS: u16 = 120;
/// The port of a kernel's first flow.
const FIRST_PORT: u16 = 10_000;

#[test]
fn virtual_servers_choose_as_their_scheduler_says() {
    let Some(kernel) = kernel(Mode::Ipvs) else { return };
    for scheduler in SCHEDULERS {
        let config = format!("ipvs: {{scheduler: {scheduler}}}");
        let endpoints = ["10.244.1.1", "10.244.1.2", "10.244.1.3", "10.244.0.4"];
        let name = format!("scheduler-{scheduler}");
        let plan = Plan::plain(&name, Mode::Ipvs, &endpoints);
        let plan = Plan { config: &config, ..plan };
        let world = plan.make();
        // Clients take turns.
        let flows: Vec<Flow> =
            (0..CONNECTIONS).map(|n| world.dialled_by(u8::try_from(n % 11).unwrap() + 1)).collect();
        let seen = kernel.observe(&world.state, &flows).unwrap();
        let chosen: Vec<Option<SocketAddr>> = seen
            .iter()
            .map(|seen| {
                seen.counts.keys().find_map(|outcome| match outcome {
                    Outcome::Deliver(delivery) => Some(delivery.endpoint),
                    _ => None,
                })
            })
            .collect();
        assert_eq!(chosen, expected(&world, &flows), "{scheduler}");
        println!("{scheduler}: {CONNECTIONS} connections to the same real servers");
    }
}

fn expected(world: &World, flows: &[Flow]) -> Vec<Option<SocketAddr>> {
    let server = world.state.ipvs.services.values().next().unwrap();
    let mut service = VirtualService::new(server, Settings::default()).unwrap();
    let connect = |(port, flow): (u16, &Flow)| {
        let connection = Connection {
            protocol: flow.protocol,
            source: SocketAddr::new(flow.source?, port),
            destination: SocketAddr::new(flow.destination, flow.port),
        };
        let chosen = service.connect(connection)?;
        service.servers().server(chosen).map(|server| server.address)
    };
    (FIRST_PORT..).zip(flows).map(connect).collect()
}
