//! A node's dumps, completed with what they do not say.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use kps_ruleset::NodeState;
use kps_ruleset::host::Host;
use kps_ruleset::iptables::{Ruleset, Target};

use crate::cluster::Proxied;
use crate::error::Failure;
use crate::report::diagnostics::{note, warn};

/// The files of a dump that have rules.
const RULES: [&str; 4] = ["nft.txt", "iptables-save.txt", "ip6tables-save.txt", "ipvsadm-save.txt"];

/// What a directory of dumps shows of a node.
pub struct Dumped {
    /// The state, with what the dumps do not say of the host.
    pub state: NodeState,
    /// The files that are not there.
    pub missing: Vec<&'static str>,
}

/// Reads what a node has, as [`read_parts`] does.
///
/// # Errors
/// As [`read_parts`].
pub fn read_dump(dir: &Path, proxied: Option<&Proxied<'_>>) -> Result<NodeState, Failure> {
    Ok(read_parts(dir, proxied)?.state)
}

/// Reads what a node has. What the dumps do not say of the host is taken from the objects, or
/// assumed and said.
///
/// # Errors
/// If the directory cannot be read or holds no rules.
pub fn read_parts(dir: &Path, proxied: Option<&Proxied<'_>>) -> Result<Dumped, Failure> {
    let dump = NodeState::read_dump(dir).map_err(Failure::file(dir))?;
    for error in &dump.errors {
        warn(&format!("{}: {error}", dir.display()));
    }
    if RULES.iter().all(|file| dump.missing.contains(file)) {
        let (dir, files) = (dir.display(), RULES.join(", "));
        return Err(Failure::Usage(format!("{dir} holds no rules: {files}")));
    }
    let mut state = dump.state;
    if dump.missing.contains(&"sysctl.txt") {
        assume_sysctls(&mut state);
    }
    match proxied {
        Some(proxied) => complete(&mut state.host, &kps_render::host(&proxied.views)),
        None if dump.missing.contains(&"addr.txt") => warn(&format!(
            "{dir}: addr.txt is missing, so the node is taken to have no address and no route; add \
             what `ip -o addr show` prints, or give the objects, too",
            dir = dir.display()
        )),
        None => {}
    }
    Ok(Dumped { state, missing: dump.missing })
}

/// Fills in what a dump does not say of the host.
fn complete(host: &mut Host, assumed: &Host) {
    if host.addresses.is_empty() {
        host.addresses.clone_from(&assumed.addresses);
    }
    if host.routes.is_empty() {
        host.routes.clone_from(&assumed.routes);
    }
    for (name, value) in &assumed.sysctls {
        host.sysctls.entry(name.clone()).or_insert_with(|| value.clone());
    }
}

/// kube-proxy has the kernel route loopback addresses out of the node before it opens node ports
/// on them.
fn assume_sysctls(state: &mut NodeState) {
    if opens_loopback(&state.iptables.v4) {
        note(&format!("assumed: {ROUTE_LOCALNET} is 1, since loopback addresses have node ports"));
        state.host.sysctls.insert(ROUTE_LOCALNET.to_owned(), "1".to_owned());
    }
}

const ROUTE_LOCALNET: &str = "net.ipv4.conf.all.route_localnet";

/// Tells whether packets to loopback addresses are looked up among the node ports.
fn opens_loopback(rules: &Ruleset) -> bool {
    let chain = rules.chain("nat", "KUBE-SERVICES");
    chain.into_iter().flat_map(|chain| &chain.rules).any(|rule| {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let destination = rule.header.destination.as_ref();
        rule.target == Some(Target::Jump("KUBE-NODEPORTS".into()))
            && destination.is_none_or(|to| to.negated != to.value.contains(loopback))
    })
}
