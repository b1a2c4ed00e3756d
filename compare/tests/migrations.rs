//! The smallest cluster that calls up each documented difference, in the moves that it shows in; and
//! clusters that call up none.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::collections::BTreeSet;

use kps_compare::diff::{Cause, Move, Packets, Report, Setup};
use kps_compare::difference::Id;
use kps_model::read::read_text;
use kps_model::{Config, KubeVersion, Mode, config};

/// A move from one mode to another.
type Pair = [Mode; 2];

const IPTABLES_NFTABLES: Pair = [Mode::Iptables, Mode::Nftables];
const IPTABLES_IPVS: Pair = [Mode::Iptables, Mode::Ipvs];
const IPVS_NFTABLES: Pair = [Mode::Ipvs, Mode::Nftables];
const PAIRS: [Pair; 3] = [IPTABLES_NFTABLES, IPTABLES_IPVS, IPVS_NFTABLES];
const OF_IPTABLES: &[Pair] = &[IPTABLES_NFTABLES, IPTABLES_IPVS];
const OF_NFTABLES: &[Pair] = &[IPTABLES_NFTABLES, IPVS_NFTABLES];
const OF_IPVS: &[Pair] = &[IPTABLES_IPVS, IPVS_NFTABLES];

/// What a cluster IP has in every move from or to iptables.
const ANY_SERVICE: [Id; 2] = [Id::D07, Id::D09];

/// Two nodes, of which the first is looked at.
const NODES: &str = "
kind: Node
apiVersion: v1
metadata: {name: a}
spec: {podCIDRs: [10.244.0.0/24, '2001:db8:2::/64']}
status:
  addresses:
  - {type: InternalIP, address: 192.0.2.10}
  - {type: InternalIP, address: '2001:db8:1::10'}
---
kind: Node
apiVersion: v1
metadata: {name: b}
spec: {podCIDRs: [10.244.1.0/24]}
status: {addresses: [{type: InternalIP, address: 192.0.2.11}]}
";

/// A local detector, and nothing on loopback: as few differences as there can be.
const QUIET: &str =
    "{clusterCIDR: '10.244.0.0/16,2001:db8:2::/48', iptables: {localhostNodePorts: false}}";

/// A cluster, its configuration, and what it should call up.
struct Case {
    objects: String,
    config: String,
}

/// Returns a case with a Service `web` and its only endpoint, a pod of node `a`.
fn service(spec: &str) -> Case {
    Case {
        objects: format!("{NODES}{}{}", web(spec), slice("[10.244.0.2], nodeName: a")),
        config: QUIET.to_owned(),
    }
}

fn web(spec: &str) -> String {
    format!(
        "---\nkind: Service\napiVersion: v1\nmetadata: {{name: web, namespace: shop}}\nspec:\n  {spec}\n"
    )
}

fn slice(endpoint: &str) -> String {
    format!(
        "---\nkind: EndpointSlice\napiVersion: discovery.k8s.io/v1\naddressType: IPv4\nmetadata: {{name: \
         web-x, namespace: shop, labels: {{kubernetes.io/service-name: web}}}}\nports: [{{name: p, port: \
         8080}}]\nendpoints: [{{addresses: {endpoint}}}]\n"
    )
}

const CLUSTER_IP: &str = "clusterIP: 10.96.0.1\n  ports: [{name: p, port: 80}]";
const NODE_PORT: &str =
    "type: NodePort\n  clusterIP: 10.96.0.1\n  ports: [{name: p, port: 80, nodePort: 30080}]";
const EXTERNAL_IP: &str =
    "clusterIP: 10.96.0.1\n  externalIPs: [203.0.113.1]\n  ports: [{name: p, port: 80}]";

impl Case {
    fn with(mut self, old: &str, new: &str) -> Case {
        assert!(self.objects.contains(old), "{old} is not in {}", self.objects);
        self.objects = self.objects.replace(old, new);
        self
    }

    fn and(mut self, object: &str) -> Case {
        self.objects.push_str("---\n");
        self.objects.push_str(object);
        self
    }

    fn config(mut self, text: &str) -> Case {
        text.clone_into(&mut self.config);
        self
    }

    fn setup(&self, mode: Mode) -> Setup {
        let (config, findings) = config::read("config", &self.config, Some(mode)).unwrap();
        assert_eq!(findings, []);
        Setup { config, version: KubeVersion::NEWEST }
    }

    fn report(&self, [from, to]: Pair) -> Report {
        let reading = read_text("objects", &self.objects);
        assert_eq!(reading.diagnostics, []);
        let cluster = &reading.cluster;
        let [left, right] = [from, to].map(|mode| self.setup(mode).install(cluster, "a"));
        Move { cluster, node: "a", left: &left, right: &right, packets: Packets::Sampled }.report()
    }

    /// Checks which causes the packets of each move have: those of any Service, and `ids` in the
    /// moves of `pairs`.
    #[track_caller]
    fn shows(&self, ids: &[Id], pairs: &[Pair]) {
        let expected = PAIRS.map(|pair| {
            let any = ANY_SERVICE.iter().filter(|_| pair.contains(&Mode::Iptables));
            let own = ids.iter().filter(|_| pairs.contains(&pair));
            any.chain(own).copied().collect::<Vec<Id>>()
        });
        self.shows_each(expected.each_ref().map(Vec::as_slice));
    }

    /// Checks which causes the packets of each move have, and that those of the way back have the
    /// same.
    #[track_caller]
    fn shows_each(&self, expected: [&[Id]; 3]) {
        for (pair, ids) in PAIRS.into_iter().zip(expected) {
            let expected: BTreeSet<Cause> = ids.iter().copied().map(Cause::Documented).collect();
            for pair in [pair, [pair[1], pair[0]]] {
                let report = self.report(pair);
                assert!(report.unexplained.is_empty(), "{pair:?}: {:#?}", report.unexplained);
                assert!(report.undecided.is_empty(), "{pair:?}: {:#?}", report.undecided);
                assert_eq!(in_packets(&report), expected, "{pair:?}");
            }
        }
    }

    /// Checks in which moves a difference is told that no packet shows.
    #[track_caller]
    fn tells(&self, id: Id, pairs: &[Pair]) {
        for pair in PAIRS {
            let report = self.report(pair);
            let group = report.group(Cause::Documented(id));
            let is_told = group.is_some_and(|group| !group.is_in_packets());
            assert_eq!(is_told, pairs.contains(&pair), "{pair:?}: {id}");
        }
    }
}

fn in_packets(report: &Report) -> BTreeSet<Cause> {
    report.groups.iter().filter(|group| group.is_in_packets()).map(|group| group.cause).collect()
}

#[test]
fn services_without_cluster_ips_fare_the_same_in_all_modes() {
    let headless = "kind: Service\napiVersion: v1\nmetadata: {name: db, namespace: shop}\nspec: \
                    {clusterIP: None, ports: [{name: p, port: 80}]}\n";
    let external = "kind: Service\napiVersion: v1\nmetadata: {name: api, namespace: shop}\nspec: {type: \
                    ExternalName, externalName: api.example}\n";
    let case = Case { objects: NODES.to_owned(), config: QUIET.to_owned() };
    let case = case.and(headless).and(external);
    for pair in PAIRS {
        let report = case.report(pair);
        assert!(!report.has_findings(), "{pair:?}");
    }
}

#[test]
fn a_plain_service_has_what_any_has() {
    service(CLUSTER_IP).shows(&[], &[]);
    service(NODE_PORT).shows(&[], &[]);
}

#[test]
fn d01_node_port_on_another_address() {
    let more = "address: 192.0.2.10}\n  - {type: InternalIP, address: 192.0.2.77}";
    service(NODE_PORT).with("address: 192.0.2.10}", more).shows(&[Id::D01], OF_NFTABLES);
}

#[test]
fn d02_node_port_on_an_external_ip_of_the_node() {
    let more = "address: 192.0.2.10}\n  - {type: ExternalIP, address: 203.0.113.1}";
    let spec = NODE_PORT.replace("clusterIP", "externalIPs: [203.0.113.1]\n  clusterIP");
    service(&spec).with("address: 192.0.2.10}", more).shows(&[Id::D02], OF_NFTABLES);
}

#[test]
fn d03_node_port_on_loopback() {
    service(NODE_PORT).config("{clusterCIDR: 10.244.0.0/16}").shows(&[Id::D03], OF_IPTABLES);
}

#[test]
fn d04_node_port_on_ipv6_loopback() {
    let spec = NODE_PORT.replace("10.96.0.1", "'2001:db8:3::1'");
    service(&spec)
        .with("[10.244.0.2], nodeName: a", "[10.244.0.2], conditions: {ready: false}")
        .shows(&[Id::D04], OF_IPTABLES);
}

#[test]
fn d08_cluster_ip_that_no_service_has() {
    let range = "kind: ServiceCIDR\napiVersion: networking.k8s.io/v1\nmetadata: {name: \
                 kubernetes}\nspec: {cidrs: [10.96.0.0/16]}\n";
    service(CLUSTER_IP).and(range).shows(&[Id::D08], OF_NFTABLES);
}

#[test]
fn d10_no_endpoint() {
    service(EXTERNAL_IP).with("nodeName: a", "conditions: {ready: false}").shows_each([
        &[Id::D07, Id::D09, Id::D10],
        &[Id::D07, Id::D09, Id::D10, Id::D25],
        &[Id::D25],
    ]);
}

#[test]
fn d11_internal_policy_local_without_local_endpoints() {
    let spec = format!("internalTrafficPolicy: Local\n  {CLUSTER_IP}");
    service(&spec).with("nodeName: a", "nodeName: b").shows(&[Id::D11], OF_IPVS);
}

#[test]
fn d12_pods_and_nodes_at_a_local_service() {
    let spec = format!("externalTrafficPolicy: Local\n  {NODE_PORT}");
    service(&spec).shows(&[Id::D12], OF_IPVS);
}

#[test]
fn d14_source_ranges() {
    let spec = NODE_PORT
        .replace("NodePort", "LoadBalancer")
        .replace("clusterIP", "loadBalancerSourceRanges: [10.0.0.0/8]\n  clusterIP")
        + "\nstatus: {loadBalancer: {ingress: [{ip: 203.0.113.11}]}}";
    service(&spec).shows_each([
        &[Id::D07, Id::D09],
        &[Id::D07, Id::D09, Id::D14, Id::D25],
        &[Id::D14, Id::D25],
    ]);
}

#[test]
fn d19_endpoint_that_is_the_node() {
    service(CLUSTER_IP).with("10.244.0.2", "192.0.2.10").shows(&[Id::D19], OF_IPVS);
}

#[test]
fn d20_endpoint_elsewhere_that_reaches_itself() {
    service(CLUSTER_IP).with("nodeName: a", "nodeName: b").shows(&[Id::D20], OF_IPTABLES);
}

#[test]
fn d21_node_process_without_a_detector() {
    service(CLUSTER_IP).config("{}").shows(&[Id::D21], OF_IPVS);
}

#[test]
fn d25_undefined_port_on_an_external_ip() {
    service(EXTERNAL_IP).shows(&[Id::D25], OF_IPVS);
}

#[test]
fn d31_two_services_with_one_address() {
    let twin = web(CLUSTER_IP).replace("name: web", "name: twin").replace("---\n", "");
    let other = slice("[10.244.0.3], nodeName: a").replace("web", "twin").replace("---\n", "");
    service(CLUSTER_IP).and(&twin).and(&other).shows(&[Id::D31], OF_IPTABLES);
}

#[test]
fn d38_health_check_port_on_a_service_address() {
    let spec = format!("externalTrafficPolicy: Local\n  healthCheckNodePort: 32000\n  {NODE_PORT}")
        .replace("NodePort\n", "LoadBalancer\n");
    service(&spec).shows(&[Id::D12, Id::D38], OF_IPVS);
    service(&spec).tells(Id::D38, &[IPTABLES_NFTABLES]);
}

#[test]
fn d39_node_port_that_is_a_port_of_another_service() {
    let other = web("clusterIP: 10.96.0.2\n  ports: [{name: p, port: 30080}]");
    let other = other.replace("name: web", "name: other").replace("---\n", "");
    let slice = slice("[10.244.0.3], nodeName: a").replace("web", "other").replace("---\n", "");
    service(NODE_PORT).and(&other).and(&slice).shows(&[Id::D39], OF_IPVS);
}

#[test]
fn differences_beyond_single_packets_are_told() {
    let everywhere: &[Pair] = &PAIRS;
    let affine = format!("sessionAffinity: ClientIP\n  {EXTERNAL_IP}");
    service(&affine).tells(Id::D15, OF_IPVS);
    service(&affine).tells(Id::D16, everywhere);
    let two = service(CLUSTER_IP)
        .with("nodeName: a}", "nodeName: a}, {addresses: [10.244.0.3], nodeName: a}");
    two.tells(Id::D17, OF_IPVS);
    two.tells(Id::D18, everywhere);
    let plain = service(CLUSTER_IP);
    plain.tells(Id::D24, OF_IPVS);
    plain.tells(Id::D28, OF_IPVS);
    plain.tells(Id::D30, OF_IPVS);
    service(EXTERNAL_IP).tells(Id::D27, OF_IPVS);
    let unready =
        service(CLUSTER_IP).with("nodeName: a", "nodeName: a, conditions: {ready: false}");
    unready.tells(Id::D41, OF_IPVS);
    let nowhere = "{clusterCIDR: 10.244.0.0/16, nodePortAddresses: [198.51.100.0/24]}";
    service(NODE_PORT).config(nowhere).tells(Id::D40, OF_IPVS);
}

#[test]
fn what_is_told_of_addresses_and_sysctls_is_what_the_states_show() {
    let report = service(CLUSTER_IP).report(IPVS_NFTABLES);
    let facts = |id: Id| report.group(Cause::Documented(id)).unwrap().facts.clone();
    assert_eq!(facts(Id::D24), ["1 addresses are on kube-ipvs0 before the move only: 10.96.0.1"]);
    assert!(facts(Id::D28).contains(&"net.ipv4.vs.conntrack: 1 becomes not set".to_owned()));
}

#[test]
fn a_remedy_is_tried_before_it_is_told() {
    let more = "address: 192.0.2.10}\n  - {type: InternalIP, address: 192.0.2.77}";
    let case = service(NODE_PORT).with("address: 192.0.2.10}", more);
    let report = case.report(IPVS_NFTABLES);
    let group = report.group(Cause::Documented(Id::D01)).unwrap();
    let told: Vec<&str> = group.remedies.iter().map(|remedy| remedy.advice.as_str()).collect();
    assert_eq!(
        told,
        [
            "set nodePortAddresses to [0.0.0.0/0, ::/0] in the new mode",
            "set nodePortAddresses to [primary] before moving",
        ]
    );
    for remedy in &group.remedies {
        assert_eq!((remedy.removes, remedy.left_over), (group.classes, 0));
    }
}

#[test]
fn a_scheduler_is_told_where_endpoints_are_chosen() {
    let case = service(CLUSTER_IP)
        .with("nodeName: a}", "nodeName: a}, {addresses: [10.244.0.3], nodeName: a}")
        .config("{clusterCIDR: 10.244.0.0/16, ipvs: {scheduler: sh}}");
    let report = case.report(IPVS_NFTABLES);
    let group = report.group(Cause::Documented(Id::D17)).unwrap();
    assert_eq!(group.facts, ["scheduler sh becomes chance, by numgen"]);
}

#[test]
fn settings_are_causes_of_their_own() {
    let case = service(CLUSTER_IP);
    let reading = read_text("objects", &case.objects);
    let cluster = &reading.cluster;
    let setup = case.setup(Mode::Nftables);
    let other = Config { masquerade_all: true, ..setup.config.clone() };
    let left = setup.install(cluster, "a");
    let right = Setup { config: other, ..setup }.install(cluster, "a");
    let report =
        Move { cluster, node: "a", left: &left, right: &right, packets: Packets::Sampled }.report();
    let causes: Vec<String> = report.groups.iter().map(|group| group.cause.to_string()).collect();
    assert_eq!(causes, ["masqueradeAll"]);
    assert_eq!(report.groups[0].remedies[0].left_over, 0);
}
