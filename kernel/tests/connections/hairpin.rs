//! A pod that is its own Service's endpoint: the packet comes back to it from another address, and
//! its answer finds the way.

use std::net::{IpAddr, SocketAddr};

use kps_compare::conform::possible;
use kps_flow::{ClientClass, Outcome, SourceNat};
use kps_kernel::Answer;
use kps_model::Mode;
use kps_sim::Walker;

use crate::kernel;
use crate::world::{CLUSTER_IP, PORT, Plan};

#[test]
fn a_pod_reaches_itself_through_its_service() {
    for mode in [Mode::Nftables, Mode::Iptables, Mode::Ipvs] {
        let Some(kernel) = kernel(mode) else { continue };
        let pod = "10.244.0.5";
        let world = Plan::plain("hairpin", mode, &[pod]).make();
        let (source, dialled): (IpAddr, IpAddr) =
            (pod.parse().unwrap(), CLUSTER_IP.parse().unwrap());
        let flow = world.flow(ClientClass::Pod, Some(source), (dialled, PORT));
        let exchange =
            kernel.exchange(&world.state, std::slice::from_ref(&flow)).unwrap().remove(0);
        let seen = exchange.outcome.unwrap();
        let walked = possible(&Walker::new(&world.state), &flow);
        assert!(walked.iter().any(|outcome| outcome.covers(&seen)), "{mode}: {seen}, {walked:?}");
        let Outcome::Deliver(delivery) = seen else { panic!("{mode}: {seen}") };
        assert_eq!(delivery.endpoint, SocketAddr::new(source, 8080), "{mode}");
        assert!(matches!(delivery.source, SourceNat::Rewritten(Some(_))), "{mode}: {delivery:?}");
        let from = SocketAddr::new(dialled, PORT);
        assert_eq!(exchange.answer, Some(Answer::Returned { from }), "{mode}");
    }
}
