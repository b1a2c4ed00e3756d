//! A sound cluster, and small changes to its objects, its configuration and its rules.

use std::collections::BTreeSet;

use kps_compare::lint::{Finding, Scene, Subject, about_cluster, about_node};
use kps_flow::Family;
use kps_model::{Config, KubeVersion, Mode};
use kps_render::node_state;
use kps_ruleset::{NodeState, ipset, iptables, ipvs, nftables};

/// A cluster about which there is nothing to say.
pub const SOUND: &str = "
kind: Node
metadata: {name: a}
spec: {podCIDRs: [10.244.0.0/24]}
status: {addresses: [{type: InternalIP, address: 192.0.2.10}]}
---
kind: Node
metadata: {name: b}
spec: {podCIDRs: [10.244.1.0/24]}
status: {addresses: [{type: InternalIP, address: 192.0.2.11}]}
---
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: LoadBalancer, clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1], ports: [{name: p, port: 80, nodePort: 30080}]}
status: {loadBalancer: {ingress: [{ip: 172.16.0.1, ipMode: Proxy}]}}
---
kind: EndpointSlice
addressType: IPv4
metadata: {name: web-x, namespace: shop, labels: {kubernetes.io/service-name: web}}
ports: [{name: p, port: 8080}]
endpoints: [{addresses: [10.244.0.2], nodeName: a, conditions: {ready: true, serving: true}}]
---
kind: Service
metadata: {name: other, namespace: shop}
spec: {clusterIP: 10.96.0.2, clusterIPs: [10.96.0.2], ports: [{name: p, port: 80}]}
---
kind: EndpointSlice
addressType: IPv4
metadata: {name: other-x, namespace: shop, labels: {kubernetes.io/service-name: other}}
ports: [{name: p, port: 8080}]
endpoints: [{addresses: [10.244.1.2], nodeName: b}]
";
/// A configuration that fits it.
const CONFIG: &str = "clusterCIDR: 10.244.0.0/16\n";

/// The sound cluster with changes.
pub struct Trial {
    mode: Mode,
    objects: String,
    config: String,
    rules: Vec<(String, String)>,
    version: KubeVersion,
    change: fn(&mut NodeState),
}

impl Trial {
    /// Changes objects and configuration by edits, each `OLD => NEW`; what does not occur in the
    /// objects is taken as a line of the configuration.
    #[track_caller]
    pub fn new(mode: Mode, edits: &[&str]) -> Trial {
        let (mut objects, mut config) = (SOUND.to_owned(), CONFIG.to_owned());
        for edit in edits {
            let (old, new) = edit.split_once(" => ").unwrap();
            let text = if objects.contains(old) { &mut objects } else { &mut config };
            assert!(text.contains(old), "nothing to edit: {old}");
            *text = text.replacen(old, new, 1);
        }
        let (version, change) = (KubeVersion::NEWEST, |_: &mut NodeState| {});
        Trial { mode, objects, config, rules: Vec::new(), version, change }
    }

    /// Adds objects.
    pub fn with_objects(mut self, objects: &str) -> Trial {
        self.objects.push_str(objects);
        self
    }

    /// Takes another release.
    pub fn of(mut self, version: KubeVersion) -> Trial {
        self.version = version;
        self
    }

    /// Changes the node once it is rendered.
    pub fn on(mut self, change: fn(&mut NodeState)) -> Trial {
        self.change = change;
        self
    }

    /// Changes the rules, as their tools list them, by edits as in [`Trial::new`].
    pub fn with_rules(mut self, edits: &[&str]) -> Trial {
        let pairs = edits.iter().map(|edit| edit.split_once(" => ").unwrap());
        self.rules.extend(pairs.map(|(old, new)| (old.into(), new.into())));
        self
    }

    /// Returns what is found.
    #[track_caller]
    pub fn found(&self) -> Vec<Finding> {
        let cluster = kps_model::read::read_text("cluster.yaml", &self.objects).cluster;
        let config = kps_model::config::read("config.yaml", &self.config, Some(self.mode));
        let config: Config = config.unwrap().0;
        let node = config.hostname_override.clone().unwrap_or_else(|| "a".to_owned());
        let seen = |family| kps_model::view(&cluster, &config, &node, self.version, family);
        let views = Family::BOTH.map(seen);
        let (mut state, errors) = node_state(&views, self.mode);
        self.rules.iter().for_each(|(old, new)| edit(&mut state, old, new));
        (self.change)(&mut state);
        let failures: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let subject = Subject {
            cluster: &cluster,
            config: &config,
            node: &node,
            views: &views,
            state: &state,
            failures: &failures,
        };
        let scene = Scene::new(subject);
        [about_cluster(&scene), about_node(&scene)].concat()
    }

    /// Returns the ids of what is found.
    #[track_caller]
    pub fn fired(&self) -> BTreeSet<&'static str> {
        self.found().iter().map(|finding| finding.lint.about().id).collect()
    }
}

/// Edits the first listing that has `old` in it.
#[track_caller]
fn edit(state: &mut NodeState, old: &str, new: &str) {
    let edited = |text: String| text.contains(old).then(|| text.replacen(old, new, 1));
    if let Some(text) = edited(nftables::print_ruleset(&state.nftables)) {
        state.nftables = nftables::parse_ruleset(&text).value;
    } else if let Some(text) = edited(iptables::print_ruleset(&state.iptables.v4, false)) {
        state.iptables.v4 = iptables::parse_ruleset(&text, iptables::Family::Ipv4).value;
    } else if let Some(text) = edited(ipset::print_save(&state.ipset)) {
        state.ipset = ipset::parse_sets(&text).value;
    } else if let Some(text) = edited(ipvs::print_save(&state.ipvs)) {
        state.ipvs = ipvs::parse_table(&text).value;
    } else {
        panic!("no rule to edit: {old}");
    }
}
