//! Rendered rules give what Kubernetes promises, or a documented exception.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;

use kps_compare::{Exception, Judgement, judge};
use kps_flow::{ClientClass, Family, Flow, Outcome, Promise, Protocol};
use kps_model::intent::Owner;
use kps_model::{Cluster, Config, Intent, KubeVersion, Mode, NodeView, view};
use kps_render::node_state;
use kps_sim::{Options, Walker};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};

const SEED: [u8; 32] = *b"the same clusters in every run!!";
const CLUSTERS: u32 = 400;
const FLOWS: usize = 60;

fn seen(cluster: &Cluster, config: &Config, version: KubeVersion) -> NodeView {
    view(cluster, config, "a", version, Family::V4)
}

/// Runs a property over clusters, configurations and flows that are the same in every run.
fn over_worlds(
    mode: Mode,
    property: impl Fn(&Cluster, &Config, &[Flow]) -> Result<(), TestCaseError>,
) {
    let config =
        RunnerConfig { cases: CLUSTERS, failure_persistence: None, ..RunnerConfig::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let worlds = (world::clusters(), world::configs(mode), vec(world::flows(), FLOWS));
    let outcome = TestRunner::new_with_rng(config, random)
        .run(&worlds, |(cluster, config, flows)| property(&cluster, &config, &flows));
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

#[test]
fn rules_keep_the_promise_or_are_excused() {
    let tally: RefCell<BTreeMap<String, u64>> = RefCell::default();
    over_worlds(Mode::Nftables, |cluster, config, flows| {
        for version in [KubeVersion::V1_35, KubeVersion::V1_36, KubeVersion::V1_37] {
            let view = seen(cluster, config, version);
            let (state, errors) = node_state(std::slice::from_ref(&view), config.mode);
            prop_assert!(errors.is_empty(), "{errors:?}");
            let walker = Walker::new(&state);
            for flow in flows {
                let word = match judge(&walker, &view, config.mode, flow) {
                    Judgement::Kept => promise_word(&Intent::new(&view).promise(flow)),
                    Judgement::Contested => "contested".to_owned(),
                    Judgement::Excused(exception) => exception.to_string(),
                    Judgement::Broken(finding) => {
                        return Err(TestCaseError::fail(format!("{version}: {finding}")));
                    }
                };
                *tally.borrow_mut().entry(word).or_default() += 1;
            }
        }
        Ok(())
    });
    let tally = tally.into_inner();
    println!("{tally:?}");
    for exception in Exception::ALL {
        assert!(tally.contains_key(&exception.to_string()), "{exception} never occurs");
    }
    for word in ["endpoints", "refused", "discarded", "host", "onward"] {
        assert!(tally.contains_key(word), "{word} is never promised and kept");
    }
}

fn promise_word(promise: &Promise) -> String {
    match promise {
        Promise::Endpoints(_) => "endpoints",
        Promise::Refused => "refused",
        Promise::Discarded => "discarded",
        Promise::Host => "host",
        Promise::Onward => "onward",
    }
    .to_owned()
}

/// Returns what becomes of a flow, outcome by outcome.
fn outcomes(view: &NodeView, mode: Mode, flow: &Flow) -> Vec<Outcome> {
    let (state, _) = node_state(std::slice::from_ref(view), mode);
    let walk = Walker::new(&state).walk(flow, &Options::default());
    walk.distribution().merged().into_keys().cloned().collect()
}

#[test]
fn another_service_does_not_change_what_becomes_of_a_packet() {
    over_worlds(Mode::Nftables, |cluster, config, flows| {
        let mut fewer = cluster.clone();
        fewer.services.pop();
        let (all, fewer) =
            (seen(cluster, config, KubeVersion::NEWEST), seen(&fewer, config, KubeVersion::NEWEST));
        for flow in flows.iter().take(6) {
            let before = Intent::new(&fewer).owner(flow);
            let after = Intent::new(&all).owner(flow);
            if let (Owner::Port(one, _), Owner::Port(same, _)) = (before, after)
                && one.port.key == same.port.key
            {
                prop_assert_eq!(
                    outcomes(&fewer, config.mode, flow),
                    outcomes(&all, config.mode, flow)
                );
            }
        }
        Ok(())
    });
}

#[test]
fn the_order_of_objects_does_not_matter() {
    over_worlds(Mode::Nftables, |cluster, config, _| {
        let mut turned = cluster.clone();
        turned.services.reverse();
        turned.slices.reverse();
        turned.nodes.reverse();
        let (one, other) = (
            seen(cluster, config, KubeVersion::NEWEST),
            seen(&turned, config, KubeVersion::NEWEST),
        );
        prop_assert_eq!(one, other);
        Ok(())
    });
}

const ONE_SERVICE: &str = "
kind: Node
apiVersion: v1
metadata: {name: a}
status: {addresses: [{type: InternalIP, address: 192.0.2.10}]}
---
kind: ServiceCIDR
apiVersion: networking.k8s.io/v1
metadata: {name: kubernetes}
spec: {cidrs: [10.96.0.0/16]}
---
kind: Service
apiVersion: v1
metadata: {name: web, namespace: shop}
spec:
  type: NodePort
  clusterIP: 10.96.0.1
  ports: [{name: p, port: 80, nodePort: 30080}]
---
kind: EndpointSlice
apiVersion: discovery.k8s.io/v1
addressType: IPv4
metadata: {name: web-x, namespace: shop, labels: {kubernetes.io/service-name: web}}
ports: [{name: p, port: 8080}]
endpoints: [{addresses: [10.244.0.2], nodeName: a}]
";

/// Judges one packet of a node process in the smallest cluster that has each exception.
fn judged(protocol: Protocol, destination: &str, port: u16) -> Judgement {
    let cluster = kps_model::read::read_text("one Service", ONE_SERVICE).cluster;
    let node_port_addresses = vec!["0.0.0.0/0".to_owned()];
    let config = Config { mode: Mode::Nftables, node_port_addresses, ..Config::default() };
    let view = seen(&cluster, &config, KubeVersion::NEWEST);
    let (state, _) = node_state(std::slice::from_ref(&view), Mode::Nftables);
    let flow = Flow {
        client: ClientClass::Node,
        interface: None,
        source: None,
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol,
        destination: destination.parse().unwrap(),
        port,
    };
    judge(&Walker::new(&state), &view, Mode::Nftables, &flow)
}

#[test]
fn each_exception_has_its_packet() {
    let excused = Judgement::Excused;
    assert_eq!(judged(Protocol::Tcp, "127.0.0.1", 30080), excused(Exception::D03));
    assert_eq!(judged(Protocol::Tcp, "10.96.0.1", 81), excused(Exception::D07));
    assert_eq!(judged(Protocol::Tcp, "10.96.0.2", 80), excused(Exception::D08));
    assert_eq!(judged(Protocol::Icmp, "10.96.0.1", 0), excused(Exception::D09));
    assert_eq!(judged(Protocol::Tcp, "10.96.0.1", 80), Judgement::Kept);
    assert_eq!(judged(Protocol::Tcp, "192.0.2.10", 30080), Judgement::Kept);
}
