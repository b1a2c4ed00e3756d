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
use proptest::prelude::*;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};

const SEED: [u8; 32] = *b"the same clusters in every run!!";
const CLUSTERS: u32 = 250;
const FLOWS: usize = 24;

fn seen(cluster: &Cluster, config: &Config, version: KubeVersion) -> NodeView {
    seen_in(Family::V4, cluster, config, version)
}

fn seen_in(family: Family, cluster: &Cluster, config: &Config, version: KubeVersion) -> NodeView {
    view(cluster, config, "a", version, family)
}

/// Runs a property over clusters, configurations and flows that are the same in every run.
fn over_worlds(
    mode: Mode,
    property: impl Fn(&Cluster, &Config, &[Flow]) -> Result<(), TestCaseError>,
) {
    let config =
        RunnerConfig { cases: CLUSTERS, failure_persistence: None, ..RunnerConfig::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let worlds = (world::clusters_and_flows(FLOWS), world::configs(mode));
    let outcome = TestRunner::new_with_rng(config, random)
        .run(&worlds, |((cluster, flows), config)| property(&cluster, &config, &flows));
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// How often each judgement was given.
type Tally = BTreeMap<String, u64>;

#[test]
fn rules_keep_the_promise_or_are_excused() {
    for family in Family::BOTH {
        let tally: RefCell<Tally> = RefCell::default();
        over_worlds(Mode::Nftables, |cluster, config, flows| {
            let cluster = world::family::cluster(cluster.clone(), family);
            let config = world::family::config(config.clone(), family);
            let flows: Vec<Flow> =
                flows.iter().map(|flow| world::family::flow(flow.clone(), family)).collect();
            KubeVersion::ALL.into_iter().try_for_each(|version| {
                let view = seen_in(family, &cluster, &config, version);
                keeps_promises(&view, config.mode, &flows, &mut tally.borrow_mut())
            })
        });
        all_occur(family, &tally.into_inner());
    }
}

fn keeps_promises(
    view: &NodeView,
    mode: Mode,
    flows: &[Flow],
    tally: &mut Tally,
) -> Result<(), TestCaseError> {
    let (state, errors) = node_state(std::slice::from_ref(view), mode);
    prop_assert!(errors.is_empty(), "{errors:?}");
    let walker = Walker::new(&state);
    for flow in flows {
        let word = match judge(&walker, view, mode, flow) {
            Judgement::Kept => promise_word(&Intent::new(view).promise(flow)),
            Judgement::Contested => "contested".to_owned(),
            Judgement::Excused(exception) => exception.to_string(),
            Judgement::Broken(finding) => {
                return Err(TestCaseError::fail(format!("{}: {finding}", view.version)));
            }
        };
        *tally.entry(word).or_default() += 1;
    }
    Ok(())
}

fn all_occur(family: Family, tally: &Tally) {
    println!("{family}: {tally:?}");
    for exception in Exception::ALL {
        assert!(tally.contains_key(&exception.to_string()), "{family}: {exception} never occurs");
    }
    for word in ["endpoints", "refused", "discarded", "host", "onward"] {
        assert!(tally.contains_key(word), "{family}: {word} is never promised and kept");
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
    let (client, source, interface) = (ClientClass::Node, None, None);
    let destination = destination.parse().unwrap();
    let source_port = Flow::DEFAULT_SOURCE_PORT;
    let flow = Flow { client, interface, source, source_port, protocol, destination, port };
    judged_flow(ONE_SERVICE, KubeVersion::NEWEST, &flow)
}

fn judged_flow(objects: &str, version: KubeVersion, flow: &Flow) -> Judgement {
    let cluster = kps_model::read::read_text("one Service", objects).cluster;
    let node_port_addresses = vec!["0.0.0.0/0".to_owned()];
    let config = Config { mode: Mode::Nftables, node_port_addresses, ..Config::default() };
    let view = seen(&cluster, &config, version);
    let (state, _) = node_state(std::slice::from_ref(&view), Mode::Nftables);
    judge(&Walker::new(&state), &view, Mode::Nftables, flow)
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

#[test]
fn a_pod_elsewhere_that_reaches_itself_keeps_its_source_since_1_36() {
    let elsewhere = ONE_SERVICE.replace("nodeName: a", "nodeName: b");
    let flow = Flow {
        client: ClientClass::RemotePod,
        interface: Some("eth0".to_owned()),
        source: Some("10.244.0.2".parse().unwrap()),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: Protocol::Tcp,
        destination: "10.96.0.1".parse().unwrap(),
        port: 80,
    };
    let excused = Judgement::Excused(Exception::D20);
    assert_eq!(judged_flow(&elsewhere, KubeVersion::V1_36, &flow), excused);
    assert_eq!(judged_flow(&elsewhere, KubeVersion::V1_35, &flow), Judgement::Kept);
    assert_eq!(judged_flow(ONE_SERVICE, KubeVersion::V1_36, &flow), Judgement::Kept);
}
