//! The real kube-proxy's own rules in a kernel: they do what the walker says of them, and what it
//! says of ours.
//!
//! `KPS_RECORDED=all` takes all clusters and releases; without it some of the newest release are
//! enough. `KPS_SNAPSHOTS` names another folder than `snapshots`, with recordings that were just
//! made. A machine without the tools or without rights skips this with a line; with `CI=true` it
//! fails.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../../render/tests/corpus/mod.rs"]
mod corpus;

use std::env;
use std::path::Path;

use corpus::Case;
use kps_compare::conform::{Conformity, aim, hold};
use kps_flow::{Flow, Observation};
use kps_kernel::{Kernel, Program};
use kps_model::intent::Owner;
use kps_model::{Cluster, Intent, Mode, NodeView, Source, read};
use kps_render::node_state;
use kps_ruleset::NodeState;
use kps_ruleset::host::Host;
use kps_sim::Walker;

#[test]
fn recorded_nftables_rules_do_what_ours_do() {
    try_recordings(Mode::Nftables, 26);
}

#[test]
fn recorded_iptables_rules_do_what_ours_do() {
    try_recordings(Mode::Iptables, 53);
}

#[test]
fn recorded_virtual_servers_do_what_ours_do() {
    try_recordings(Mode::Ipvs, 25);
}

/// What came of the flows of some recordings.
#[derive(Default)]
struct Tally {
    clusters: usize,
    sent: usize,
    by_chance: usize,
    contested: usize,
    wrong: Vec<String>,
}

fn try_recordings(mode: Mode, stored: usize) {
    let kernel = Kernel::new().with_program(Program::new(env!("CARGO_BIN_EXE_kps-kernel-node")));
    let mut cases = corpus::cases(mode, stored);
    if env::var("KPS_RECORDED").as_deref() != Ok("all") {
        cases.retain(|case| case.dumps.parent().unwrap().ends_with("1.37.2"));
        cases.truncate(3);
    }
    let mut tally = Tally::default();
    for case in &cases {
        let installed = Installed::of(case, mode);
        if let Err(why) = kernel.observe(&installed.state, &[]) {
            assert!(env::var_os("CI").is_none(), "the kernel cannot be asked: {why}");
            println!("skipped: {why}");
            return;
        }
        installed.ask(&kernel, &mut tally);
    }
    let Tally { clusters, sent, by_chance, contested, wrong } = tally;
    println!(
        "{mode}: {clusters} recordings, {sent} flows sent, {contested} of them to what several \
         Services claim, {by_chance} kept a port by chance, {} differ",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(by_chance <= 1 + sent / 10_000, "sources are not rewritten");
}

/// What kube-proxy installed on a node, and what we render for it.
struct Installed<'a> {
    name: String,
    cluster: Cluster,
    views: &'a [NodeView],
    state: NodeState,
    rendered: NodeState,
}

impl Installed<'_> {
    fn of(case: &Case, mode: Mode) -> Installed<'_> {
        let folder = case.dumps.ancestors().nth(2).unwrap();
        let reading = read(&[Source::Path(folder.join("cluster.yaml"))]);
        let (rendered, _) = node_state(&case.views, mode);
        let dump = NodeState::read_dump(&case.dumps).unwrap();
        assert!(dump.errors.is_empty(), "{:?}", dump.errors);
        let host = host(&dump.state.host, &rendered.host);
        Installed {
            name: name(&case.dumps),
            cluster: reading.cluster,
            views: &case.views,
            state: NodeState { host, ..dump.state },
            rendered,
        }
    }

    /// Sends every flow through the recorded rules, and holds what comes of it against both walks.
    fn ask(&self, kernel: &Kernel, tally: &mut Tally) {
        let (recorded, ours) = (Walker::new(&self.state), Walker::new(&self.rendered));
        let flows = aim::flows(&self.cluster, self.views, &ours);
        let seen = kernel.observe(&self.state, &flows).unwrap();
        for (flow, seen) in flows.iter().zip(&seen) {
            self.hold(("recorded", &recorded), flow, seen, tally);
            // Which of several Services wins is not ours to say.
            if self.is_contested(flow) {
                tally.contested += 1;
            } else {
                self.hold(("rendered", &ours), flow, seen, tally);
            }
        }
        tally.clusters += 1;
        tally.sent += seen.iter().filter(|seen| !seen.counts.is_empty()).count();
    }

    fn hold(
        &self,
        (rules, walker): (&str, &Walker<'_>),
        flow: &Flow,
        seen: &Observation,
        tally: &mut Tally,
    ) {
        let what = match hold(walker, flow, seen) {
            Conformity::Agrees | Conformity::NotSent => return,
            Conformity::ByChance => {
                tally.by_chance += usize::from(rules == "recorded");
                return;
            }
            Conformity::Undecided(why) => format!("{flow}: {}", why.join(", ")),
            Conformity::Differs(difference) => difference.to_string(),
        };
        tally.wrong.push(format!("{}, {rules} rules: {what}", self.name));
    }

    fn is_contested(&self, flow: &Flow) -> bool {
        let of_family = |view: &&NodeView| view.family == flow.family();
        let view = self.views.iter().find(of_family);
        view.is_some_and(|view| matches!(Intent::new(view).owner(flow), Owner::Contested))
    }
}

/// Dumps have no routes, and links of the recording machine: the host is the assumed one, with the
/// addresses that kube-proxy bound.
fn host(dumped: &Host, assumed: &Host) -> Host {
    let bound = |link: kps_ruleset::Name| link.as_str() == "kube-ipvs0";
    let mut host = assumed.clone();
    host.addresses.retain(|address| !bound(address.link));
    host.addresses.extend(dumped.addresses.iter().filter(|a| bound(a.link)).cloned());
    host
}

fn name(dumps: &Path) -> String {
    let parts: Vec<_> = dumps.iter().rev().take(3).map(|part| part.to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}
