//! What happens over time: objects change, kube-proxy stops and starts again, connections stay open.
//!
//! ```text
//! Cluster, configuration --start--> Replay --advance(Event)--> Step: findings, entries deleted, health
//!                                     |  ^
//!                  sync: views, rules +--+ connections opened after each step, and before the first
//! ```
//!
//! [`event`] reads what changes, [`sync`] says what a sync makes of the rules that are there,
//! [`connections`] keeps what conntrack remembers and cleans it up as kube-proxy does. After each
//! step the lints are asked again, and the connections that a client may still use.

pub mod connections;
pub mod event;
pub mod sync;

use std::collections::HashSet;

use kps_flow::Family;
use kps_model::config::{self, ConfigError};
use kps_model::{Cluster, Config, KubeVersion, Mode, NodeView};
use kps_ruleset::NodeState;
use serde_norway::Mapping;

use crate::lint::{Finding, Lint, Scene, Subject, about_cluster, about_node};
pub use connections::Connection;
use connections::Connections;
pub use event::{Event, EventError};

/// A node over time.
#[derive(Debug)]
pub struct Replay {
    cluster: Cluster,
    node: String,
    mode: Mode,
    version: KubeVersion,
    written: Mapping,
    config: Config,
    /// What the proxiers of each family saw at the last sync.
    pub views: Vec<NodeView>,
    /// The rules that the node has.
    pub state: NodeState,
    /// Why syncs fail, if they do.
    pub failures: Vec<String>,
    is_stopped: bool,
    connections: Connections,
    told: HashSet<(Lint, Vec<String>, String)>,
}

/// What came of an event.
#[derive(Debug)]
pub struct Step {
    /// The event in words.
    pub event: String,
    /// What is found now and was not found before.
    pub findings: Vec<Finding>,
    /// The connections whose entries kube-proxy deleted.
    pub deleted: Vec<Connection>,
    /// What each health check answers: 200 with a ready endpoint on the node, else 503.
    pub health: Vec<Health>,
}

/// The answer of a health check (`pkg/proxy/healthcheck`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// The Service, as findings name it.
    pub service: String,
    /// The port that answers.
    pub port: u16,
    /// Whether it says 200.
    pub is_well: bool,
}

impl Replay {
    /// Has kube-proxy start and sync once, on a node to which clients already send UDP packets.
    ///
    /// # Errors
    /// If kube-proxy would refuse the configuration.
    pub fn start(
        cluster: Cluster,
        configuration: &str,
        mode: Mode,
        node: &str,
        version: KubeVersion,
    ) -> Result<(Replay, Step), ConfigError> {
        let written = serde_norway::from_str(configuration).unwrap_or_default();
        let mut replay = Replay {
            cluster,
            node: node.to_owned(),
            mode,
            version,
            written,
            config: config::read("", configuration, Some(mode))?.0,
            views: Vec::new(),
            state: NodeState::default(),
            failures: Vec::new(),
            is_stopped: false,
            connections: Connections::default(),
            told: HashSet::new(),
        };
        let (views, bare) = (replay.seen(), NodeState::default());
        replay.connections = Connections::untranslated(&replay.scene_of(&views, &bare));
        let touches = event::has_udp(&replay.cluster.slices);
        let step = replay.step("start".to_owned(), true, touches);
        Ok((replay, step))
    }

    /// Lets an event happen, and kube-proxy do what it does about it.
    ///
    /// # Errors
    /// If kube-proxy would refuse the configuration that it is restarted with.
    pub fn advance(&mut self, event: &Event) -> Result<Step, ConfigError> {
        let touches = event.apply(&mut self.cluster);
        match event {
            Event::Stop => self.is_stopped = true,
            Event::Restart(fields) => {
                self.is_stopped = false;
                self.written.extend(fields.clone());
                let text = serde_norway::to_string(&self.written).unwrap_or_default();
                self.config = config::read("", &text, Some(self.mode))?.0;
            }
            Event::Apply(_) | Event::Delete(_) => {}
        }
        let is_start = matches!(event, Event::Restart(_));
        let touches = touches || is_start && event::has_udp(&self.cluster.slices);
        Ok(self.step(event.to_string(), is_start, touches))
    }

    fn step(&mut self, event: String, is_start: bool, touches_udp: bool) -> Step {
        let mut deleted = Vec::new();
        if !self.is_stopped {
            let views = self.seen();
            self.sync(views, is_start);
            if touches_udp && self.failures.is_empty() {
                deleted = self.connections.clean_up(&self.views, self.version);
            }
        }
        let findings = self.find();
        let mut connections = std::mem::take(&mut self.connections);
        connections.open(&self.scene());
        self.connections = connections;
        Step { event, findings, deleted, health: self.health() }
    }

    fn sync(&mut self, views: Vec<NodeView>, is_start: bool) {
        let is_stuck = !self.failures.is_empty() && !is_start;
        let done = if is_stuck {
            Err(self.failures.clone())
        } else {
            sync::sync(&self.state, &views, self.mode, &self.connections)
        };
        self.views = views;
        match done {
            Ok(state) => {
                self.state = state;
                self.failures.clear();
            }
            Err(failures) => self.failures = failures,
        }
    }

    fn seen(&self) -> Vec<NodeView> {
        let view =
            |family| kps_model::view(&self.cluster, &self.config, &self.node, self.version, family);
        Family::BOTH.map(view).into()
    }

    /// Returns what lints look at now.
    #[must_use]
    pub fn scene(&self) -> Scene<'_> {
        self.scene_of(&self.views, &self.state)
    }

    fn scene_of<'s>(&'s self, views: &'s [NodeView], state: &'s NodeState) -> Scene<'s> {
        Scene::new(Subject {
            cluster: &self.cluster,
            config: &self.config,
            node: &self.node,
            views,
            state,
            failures: &self.failures,
        })
    }

    /// Returns what is found and was not told before.
    fn find(&mut self) -> Vec<Finding> {
        let scene = self.scene();
        let mut findings = [about_cluster(&scene), about_node(&scene)].concat();
        if !self.is_stopped && self.failures.is_empty() {
            findings.extend(self.connections.stale(&scene));
        }
        findings.sort_by(Finding::order);
        let is_new = |finding: &Finding| {
            self.told.insert((finding.lint, finding.objects.clone(), finding.detail.clone()))
        };
        findings.into_iter().filter(is_new).collect()
    }

    fn health(&self) -> Vec<Health> {
        let ports = self.views.iter().flat_map(|view| &view.ports);
        let mut health: Vec<Health> = ports
            .filter_map(|port| {
                let service = crate::lint::target::service(&port.port.key);
                let is_well = port.endpoints.iter().any(|e| e.is_local && e.ready);
                Some(Health { service, port: port.port.health_check_node_port?, is_well })
            })
            .collect();
        health.dedup();
        health
    }
}
