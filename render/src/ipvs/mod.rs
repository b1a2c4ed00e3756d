//! The ipvs mode (`pkg/proxy/ipvs/proxier.go`), deprecated since 1.35.
//!
//! [`plan`] turns a view into what the proxier of that family makes: a virtual server for each
//! address and port of a Service, those addresses on the device kube-ipvs0, sets of them, and a
//! fixed number of rules that look packets up in the sets. A [`Plan`] has one [`Fragment`] a
//! `ServicePort`; the rules are common to all.

mod frontends;
mod operations;
mod plan;
mod rules;
mod servers;
mod sets;

use kps_model::NodeView;
use kps_ruleset::ipvs::Timeouts;
use rayon::prelude::*;

pub use plan::{Fragment, Plan};
pub use sets::SetKind;

/// Returns what the proxier of the view's family writes in a sync.
#[must_use]
pub fn plan(view: &NodeView) -> Plan {
    let node = frontends::NodeAddresses::of(view);
    let fragments: Vec<Fragment> =
        view.ports.par_iter().map(|port| frontends::fragment(view, &node, port)).collect();
    Plan {
        family: view.family,
        sysctls: sysctls(view),
        timeouts: timeouts(view),
        jumps: &rules::JUMPS,
        rules: rules::rules(view, &fragments),
        fragments,
        exclude_cidrs: view.ipvs.exclude_cidrs.clone(),
    }
}

/// Returns the sysctls that are set at the start. Kernels from 4.1 to 5.8 also get
/// `net.ipv4.vs.conn_reuse_mode` 0; newer ones are assumed.
fn sysctls(view: &NodeView) -> Vec<(&'static str, &'static str)> {
    let mut sysctls = vec![
        ("net.ipv4.vs.conntrack", "1"),
        ("net.ipv4.vs.expire_nodest_conn", "1"),
        ("net.ipv4.vs.expire_quiescent_template", "1"),
        ("net.ipv4.ip_forward", "1"),
    ];
    if view.ipvs.strict_arp {
        sysctls.push(("net.ipv4.conf.all.arp_ignore", "1"));
        sysctls.push(("net.ipv4.conf.all.arp_announce", "2"));
    }
    sysctls
}

/// Returns the timeouts that are set at the start, if any is given.
fn timeouts(view: &NodeView) -> Option<Timeouts> {
    let seconds = |given: u64| u32::try_from(given).unwrap_or(u32::MAX);
    let timeouts = Timeouts {
        tcp: seconds(view.ipvs.tcp_timeout),
        tcp_fin: seconds(view.ipvs.tcp_fin_timeout),
        udp: seconds(view.ipvs.udp_timeout),
    };
    let any = timeouts.tcp > 0 || timeouts.tcp_fin > 0 || timeouts.udp > 0;
    any.then_some(timeouts)
}
