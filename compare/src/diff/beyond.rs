//! Differences that no single packet shows: addresses, sysctls, choice and memory of endpoints,
//! requirements of a mode.

use std::collections::BTreeMap;

use kps_model::{Mode, NodeView, PortView};
use kps_ruleset::host::Host;

use super::cause::Cause;
use super::compare::{Move, views};
use super::foreign;
use super::place::Row;
use super::report::{Group, Report};
use super::requirement;
use super::setting::Setting;
use crate::difference::{Concern, Id, Risk, Side, concerns};

/// How many names a fact lists.
const MOST_NAMES: usize = 8;

/// Adds what a move changes beyond single packets.
pub(super) fn add(moved: &Move<'_>, report: &mut Report) {
    let mut groups = documented(moved);
    for setting in Setting::ALL {
        let cause = Cause::Setting(setting);
        let [from, to] = [moved.left, moved.right].map(|side| setting.value(&side.setup.config));
        if from == to {
            continue;
        }
        let change = format!("{from} becomes {to}");
        if let Some(group) = report.groups.iter_mut().find(|group| group.cause == cause) {
            group.facts.push(change);
        } else {
            let risk = if is_beyond_packets(setting) { cause.about().risk } else { Risk::Harmless };
            let mut group = Group::new(cause, risk, moved.node);
            group.facts.push(format!("{change}; no packet that was compared shows it"));
            groups.push(group);
        }
    }
    for group in groups {
        match report.groups.iter_mut().find(|known| known.cause == group.cause) {
            Some(known) => known.facts.extend(group.facts),
            None => report.groups.push(group),
        }
    }
}

/// Returns the documented differences that no packet shows.
fn documented(moved: &Move<'_>) -> Vec<Group> {
    let mut groups: BTreeMap<Cause, Group> = BTreeMap::new();
    for (left, right) in views(moved) {
        let sides = [(left, moved.left), (right, moved.right)]
            .map(|(view, side)| Side { mode: side.setup.mode(), view });
        for concern in concerns(sides[0], sides[1]) {
            if !is_shown_by_packets(concern.id) {
                gather(moved, left, concern, &mut groups);
            }
        }
    }
    groups.into_values().collect()
}

/// Tells whether a difference is one that single packets show wherever it matters.
fn is_shown_by_packets(id: Id) -> bool {
    matches!(
        id,
        Id::D01
            | Id::D02
            | Id::D03
            | Id::D04
            | Id::D07
            | Id::D08
            | Id::D09
            | Id::D10
            | Id::D11
            | Id::D12
            | Id::D14
            | Id::D19
            | Id::D20
            | Id::D21
            | Id::D25
            | Id::D31
    )
}

/// Tells whether a setting does what no first packet shows.
fn is_beyond_packets(setting: Setting) -> bool {
    matches!(
        setting,
        Setting::MasqueradeBit
            | Setting::TcpBeLiberal
            | Setting::Scheduler
            | Setting::ExcludeCidrs
            | Setting::StrictArp
            | Setting::IpvsTimeouts
    )
}

fn gather(
    moved: &Move<'_>,
    view: &NodeView,
    concern: Concern,
    groups: &mut BTreeMap<Cause, Group>,
) {
    let Concern { id, ports } = concern;
    let cause = Cause::Documented(id);
    let facts = facts(moved, view, id);
    // These matter where something is seen of them.
    if matches!(id, Id::D28 | Id::D37) && facts.is_empty() {
        return;
    }
    let group = groups
        .entry(cause)
        .or_insert_with(|| Group::new(cause, beyond_risk(moved, id), moved.node));
    group.ports.extend(ports.into_iter().map(|key| Row { key, family: view.family }));
    for fact in facts {
        if !group.facts.contains(&fact) {
            group.facts.push(fact);
        }
    }
}

/// Returns what a difference may do, where no packet tells.
fn beyond_risk(moved: &Move<'_>, id: Id) -> Risk {
    match id {
        Id::D32 if requirement::is_met(moved) == Some(true) => Risk::Harmless,
        _ => id.about().risk,
    }
}

/// Returns what is seen of a difference on the node.
fn facts(moved: &Move<'_>, view: &NodeView, id: Id) -> Vec<String> {
    match id {
        Id::D17 | Id::D18 => vec![both(moved, chooser)],
        Id::D24 => addresses(moved),
        Id::D28 => sysctls(&moved.left.state.host, &moved.right.state.host),
        Id::D32 => requirement::facts(moved),
        Id::D35 => {
            [moved.left, moved.right].iter().flat_map(|s| foreign::rules(moved, s)).collect()
        }
        Id::D37 => sections(moved),
        Id::D38 => health_checks(view),
        _ => Vec::new(),
    }
}

fn both(moved: &Move<'_>, what: fn(&super::Setup) -> String) -> String {
    format!("{} becomes {}", what(&moved.left.setup), what(&moved.right.setup))
}

/// Names how a mode chooses an endpoint.
fn chooser(setup: &super::Setup) -> String {
    match setup.mode() {
        Mode::Iptables => "chance, by statistic".to_owned(),
        Mode::Nftables => "chance, by numgen".to_owned(),
        Mode::Ipvs => format!("scheduler {}", Setting::Scheduler.value(&setup.config)),
    }
}

/// Tells what the sections of both modes say differently.
fn sections(moved: &Move<'_>) -> Vec<String> {
    let sides = [moved.left, moved.right].map(|side| section(&side.setup));
    if sides[0] == sides[1] { Vec::new() } else { vec![both(moved, section)] }
}

fn section(setup: &super::Setup) -> String {
    let value = |setting: Setting| setting.value(&setup.config);
    format!(
        "masqueradeAll {}, masqueradeBit {}",
        value(Setting::MasqueradeAll),
        value(Setting::MasqueradeBit)
    )
}

/// Tells the addresses that the node has on one side alone.
fn addresses(moved: &Move<'_>) -> Vec<String> {
    let of = |host: &Host| -> Vec<(String, String)> {
        let all = host.addresses.iter();
        all.map(|a| (a.link.to_string(), a.network.addr().to_string())).collect()
    };
    let sides = [&moved.left.state.host, &moved.right.state.host].map(of);
    let only = |one: &[(String, String)], other: &[(String, String)]| {
        let other: std::collections::HashSet<_> = other.iter().collect();
        let mut by_link: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (link, address) in one.iter().filter(|address| !other.contains(address)) {
            by_link.entry(link.clone()).or_default().push(address.clone());
        }
        by_link
    };
    let told = |by_link: BTreeMap<String, Vec<String>>, when: &'static str| {
        by_link.into_iter().map(move |(link, addresses)| {
            format!("{} addresses are on {link} {when}: {}", addresses.len(), some(&addresses))
        })
    };
    let before = told(only(&sides[0], &sides[1]), "before the move only");
    before.chain(told(only(&sides[1], &sides[0]), "after the move only")).collect()
}

fn some(names: &[String]) -> String {
    let more = if names.len() > MOST_NAMES { ", ..." } else { "" };
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
    format!("{}{more}", shown.join(", "))
}

fn sysctls(left: &Host, right: &Host) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> =
        left.sysctls.keys().chain(right.sysctls.keys()).collect();
    let value = |host: &Host, name: &String| {
        host.sysctls.get(name).map_or_else(|| "not set".to_owned(), Clone::clone)
    };
    let told = names.into_iter().filter_map(|name| {
        let (from, to) = (value(left, name), value(right, name));
        (from != to).then(|| format!("{name}: {from} becomes {to}"))
    });
    told.collect()
}

fn health_checks(view: &NodeView) -> Vec<String> {
    let ports = view.ports.iter();
    let number = |port: &PortView| port.port.health_check_node_port.map(|n| n.to_string());
    let mut numbers: Vec<String> = ports.filter_map(number).collect();
    numbers.dedup();
    vec![format!("health check node ports: {}", some(&numbers))]
}
