//! Rules that no packet reaches: they stand behind one that takes all their packets, or in a chain of
//! a Service to which nothing leads.

mod shape;
mod table;

use std::collections::HashMap;

use kps_flow::ClientClass;
use kps_model::PortView;
use kps_ruleset::nftables::{Data, TableFamily};
use kps_ruleset::{Name, nftables};
use kps_sim::trace::{Language, RulePlace};

use super::catalogue::Lint;
use super::finding::{Finding, Witness};
use super::scene::Scene;
use shape::{Shape, chain_of};
use table::{Hidden, Table};

/// What the names of chains start with that exist for a Service.
const OF_SERVICES: [&str; 9] = [
    "KUBE-SVC-",
    "KUBE-SVL-",
    "KUBE-EXT-",
    "KUBE-FW-",
    "KUBE-SEP-",
    "service-",
    "external-",
    "firewall-",
    "endpoint-",
];

/// Tells rules that are never reached.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let state = scene.subject.state;
    let services = Services::of(scene);
    let mut findings = Vec::new();
    for (family, rules) in
        [(TableFamily::Ip, &state.iptables.v4), (TableFamily::Ip6, &state.iptables.v6)]
    {
        for (name, table) in &rules.tables {
            let of = |chain: &kps_ruleset::iptables::Chain| {
                chain.rules.iter().map(Shape::of_iptables).collect()
            };
            let chains = table.chains.iter().map(|(name, chain)| (*name, of(chain))).collect();
            let place = place(Language::Iptables, family, *name);
            findings.extend(in_table(&services, place, &Table { chains }, &[]));
        }
    }
    for table in &state.nftables.tables {
        let of = |chain: &nftables::Chain| chain.rules.iter().map(Shape::of_nftables).collect();
        let chains = table.chains.iter().map(|(name, chain)| (*name, of(chain))).collect();
        let place = place(Language::Nftables, table.family, table.name);
        findings.extend(in_table(&services, place, &Table { chains }, &from_maps(table)));
    }
    findings
}

fn place(language: Language, family: TableFamily, table: Name) -> RulePlace {
    RulePlace { language, family, table, chain: table, rule: None }
}

/// Returns the chains to which elements of named maps lead.
fn from_maps(table: &nftables::Table) -> Vec<Name> {
    let elements = table.sets.values().flat_map(|set| set.elements.values());
    elements
        .filter_map(|element| match element.data {
            Some(Data::Verdict(verdict)) => chain_of(verdict),
            _ => None,
        })
        .collect()
}

fn in_table(
    services: &Services<'_>,
    table: RulePlace,
    chains: &Table,
    from_maps: &[Name],
) -> Vec<Finding> {
    let mut led_to = chains.led_to();
    led_to.extend(from_maps);
    let mut findings = Vec::new();
    for (name, rules) in &chains.chains {
        let place = RulePlace { chain: *name, ..table };
        let is_services = OF_SERVICES.iter().any(|start| name.starts_with(start));
        if is_services && !rules.is_empty() && !led_to.contains(name) {
            findings.push(services.finding(rules, format!("{place}: nothing leads to it"), None));
        }
        for hidden in chains.hidden(rules) {
            findings.push(services.told(place, rules, &hidden));
        }
    }
    findings
}

/// The ServicePorts by the name that comments give them.
struct Services<'s> {
    scene: &'s Scene<'s>,
    by_comment: HashMap<String, &'s PortView>,
}

impl<'s> Services<'s> {
    fn of(scene: &'s Scene<'_>) -> Services<'s> {
        let ports = scene.subject.views.iter().flat_map(|view| &view.ports);
        let by_comment = ports.map(|port| (port.port.key.to_string(), port)).collect();
        Services { scene, by_comment }
    }

    fn told(&self, chain: RulePlace, rules: &[Shape], hidden: &Hidden) -> Finding {
        let at = |rule: usize| RulePlace { rule: u32::try_from(rule).ok(), ..chain };
        let text = |rule| self.scene.walker.rule_text(&at(rule)).unwrap_or_default();
        let by = format!("{}: {}", at(hidden.by), text(hidden.by));
        let first = hidden.rules.first().copied().unwrap_or_default();
        let more = match hidden.rules.len() {
            0 | 1 => String::new(),
            number => format!(" and {} more rules", number - 1),
        };
        let detail = format!("{}: {}{more}: behind {by}", at(first), text(first));
        let shapes: Vec<&Shape> = hidden.rules.iter().filter_map(|r| rules.get(*r)).collect();
        self.finding(shapes, detail, Some(by))
    }

    /// Names the first Service whose rule it is, with a packet to it.
    fn finding<'r>(
        &self,
        rules: impl IntoIterator<Item = &'r Shape>,
        detail: String,
        decided: Option<String>,
    ) -> Finding {
        let port = rules.into_iter().find_map(|rule| {
            let comment = rule.comment?.to_string();
            let start = comment.split(' ').next().unwrap_or_default();
            self.by_comment.get(start).copied()
        });
        let objects = port.map(|port| super::target::service(&port.port.key));
        let witness = port.and_then(|port| {
            let own = &port.port;
            let address = own.load_balancer_vips.first().copied().unwrap_or(own.cluster_ip);
            self.scene.sent_by(ClientClass::Node, own.key.protocol, address, own.port)
        });
        let witness = witness.map(|witness| Witness { decided, ..witness });
        Finding::new(Lint::RuleUnreachable, objects.into_iter().collect(), detail).with(witness)
    }
}
