//! How large rules are, and how they grow: counts, and what the node's tools print.

use std::fmt::Write;
use std::time::Duration;

use kps_model::Mode;
use kps_ruleset::{NodeState, ipset, iptables, ipvs, nftables};
use serde_json::{Map, Value, json};

use super::style::NAME;

/// A node's rules in each mode, with few Services and with many.
pub struct Growth {
    /// How many Services there are.
    pub services: (usize, usize),
    /// The sizes of each mode.
    pub modes: Vec<(Mode, Size, Size)>,
    /// Whether times are told.
    pub times: bool,
}

/// How large a node's rules are.
#[derive(Debug, Clone)]
pub struct Size {
    /// What there is how often.
    counts: Vec<(&'static str, usize)>,
    /// What each tool prints: its name, lines and bytes.
    prints: Vec<(&'static str, usize, usize)>,
    /// How long it took to render.
    time: Duration,
}

impl Size {
    /// Measures what a mode has in a node's state.
    pub fn of(state: &NodeState, mode: Mode, time: Duration) -> Size {
        let (counts, texts) = match mode {
            Mode::Nftables => (count_nftables(state), nftables_texts(state)),
            Mode::Iptables => (count_iptables(state), iptables_texts(state)),
            Mode::Ipvs => (count_ipvs(state), ipvs_texts(state)),
        };
        let print =
            |(tool, text): &(&'static str, String)| (*tool, text.lines().count(), text.len());
        Size { counts, prints: texts.iter().map(print).collect(), time }
    }
}

type Counts = Vec<(&'static str, usize)>;
type Texts = Vec<(&'static str, String)>;

fn count_nftables(state: &NodeState) -> Counts {
    let tables = &state.nftables.tables;
    let chains = || tables.iter().flat_map(|table| table.chains.values());
    let sets = || tables.iter().flat_map(|table| table.sets.values());
    vec![
        ("chains", chains().count()),
        ("rules", chains().map(|chain| chain.rules.len()).sum()),
        ("sets and maps", sets().count()),
        ("elements", sets().map(|set| set.elements.len()).sum()),
    ]
}

fn count_iptables(state: &NodeState) -> Counts {
    let families = [&state.iptables.v4, &state.iptables.v6];
    let tables = || families.into_iter().flat_map(|family| family.tables.values());
    let chains = || tables().flat_map(|table| table.chains.values());
    vec![("chains", chains().count()), ("rules", chains().map(|chain| chain.rules.len()).sum())]
}

fn count_ipvs(state: &NodeState) -> Counts {
    let mut counts = count_iptables(state);
    let sets = || state.ipset.sets.values();
    let servers = || state.ipvs.services.values();
    counts.extend([
        ("ipsets", sets().count()),
        ("entries", sets().map(|set| set.entries.len()).sum()),
        ("virtual servers", servers().count()),
        ("real servers", servers().map(|server| server.real_servers.len()).sum()),
    ]);
    counts
}

fn nftables_texts(state: &NodeState) -> Texts {
    vec![("nft list ruleset", nftables::print_ruleset(&state.nftables))]
}

fn iptables_texts(state: &NodeState) -> Texts {
    vec![
        ("iptables-save", iptables::print_ruleset(&state.iptables.v4, false)),
        ("ip6tables-save", iptables::print_ruleset(&state.iptables.v6, false)),
    ]
}

fn ipvs_texts(state: &NodeState) -> Texts {
    let mut texts = iptables_texts(state);
    texts.push(("ipset save", ipset::print_save(&state.ipset)));
    texts.push(("ipvsadm-save -n", ipvs::print_save(&state.ipvs)));
    texts
}

/// Writes for people.
pub fn text(growth: &Growth) -> String {
    let mut out = String::new();
    let (few, many) = growth.services;
    let _ = writeln!(out, "Services: {few} -> {many}");
    for (mode, before, after) in &growth.modes {
        let time = growth.times.then(|| format!(", rendered in {:.1?}", after.time));
        let _ = writeln!(out, "\n{NAME}{mode}{NAME:#}{}", time.unwrap_or_default());
        for ((what, before), (_, after)) in before.counts.iter().zip(&after.counts) {
            let _ = writeln!(out, "  {what:<24} {before:>9} -> {after:>9}");
        }
        for ((tool, before, _), (_, after, bytes)) in before.prints.iter().zip(&after.prints) {
            let each = each(*before, *after, growth.services);
            let _ = writeln!(
                out,
                "  {:<24} {before:>9} -> {after:>9}  {each:>+7.1} a Service  {bytes:>11} bytes",
                format!("{tool}, lines")
            );
        }
    }
    out
}

/// Writes for programs.
pub fn json(growth: &Growth) -> Value {
    let (few, many) = growth.services;
    let modes: Map<String, Value> = growth
        .modes
        .iter()
        .map(|(mode, before, after)| {
            let mut value = json!({
                "before": size_json(before),
                "after": size_json(after),
                "linesPerService": per_service(before, after, growth.services),
            });
            if growth.times {
                value["seconds"] = after.time.as_secs_f64().into();
            }
            (mode.to_string(), value)
        })
        .collect();
    json!({ "services": { "before": few, "after": many }, "modes": modes })
}

fn size_json(size: &Size) -> Value {
    let counts: Map<String, Value> =
        size.counts.iter().map(|(what, count)| ((*what).to_owned(), (*count).into())).collect();
    let prints: Map<String, Value> = size
        .prints
        .iter()
        .map(|(tool, lines, bytes)| ((*tool).to_owned(), json!({ "lines": lines, "bytes": bytes })))
        .collect();
    json!({ "counts": counts, "prints": prints })
}

fn per_service(before: &Size, after: &Size, services: (usize, usize)) -> Value {
    let pairs = before.prints.iter().zip(&after.prints);
    let growth =
        |((tool, before, _), (_, after, _)): (&(&str, usize, usize), &(&str, usize, usize))| {
            ((*tool).to_owned(), each(*before, *after, services).into())
        };
    pairs.map(growth).collect::<Map<String, Value>>().into()
}

/// Returns how many lines an added Service adds; 0 if none was added.
fn each(before: usize, after: usize, (few, many): (usize, usize)) -> f64 {
    let added = many.saturating_sub(few).max(1);
    (as_f64(after) - as_f64(before)) / as_f64(added)
}

#[expect(clippy::cast_precision_loss, reason = "counts of lines are far below 2^53")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
