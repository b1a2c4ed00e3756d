//! Two Services and one thing that is not as it should be.

use kps_compare::drift::{Drift, Finding, Kind, Line};
use kps_flow::{ClientClass, Outcome};
use kps_model::{Cluster, Config, KubeVersion, Mode, config};
use kps_ruleset::iptables::{self, Policy};
use kps_ruleset::nftables::{parse_ruleset, print_ruleset};
use kps_ruleset::{Name, NodeState, ipvs};

use crate::{MODES, chain_mut, drift, dumped, rendered};

const TWO_SERVICES: &str = "
kind: Node
apiVersion: v1
metadata: {name: a}
spec: {podCIDR: 10.244.0.0/24}
status: {addresses: [{type: InternalIP, address: 192.0.2.10}]}
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
endpoints:
- {addresses: [10.244.0.2], nodeName: a, conditions: {ready: true}}
- {addresses: [10.244.1.3], nodeName: b, conditions: {ready: true}}
---
kind: Service
apiVersion: v1
metadata: {name: api, namespace: shop}
spec:
  clusterIP: 10.96.0.2
  ports: [{name: p, port: 80}]
---
kind: EndpointSlice
apiVersion: discovery.k8s.io/v1
addressType: IPv4
metadata: {name: api-x, namespace: shop, labels: {kubernetes.io/service-name: api}}
ports: [{name: p, port: 8080}]
endpoints: [{addresses: [10.244.1.4], nodeName: b, conditions: {ready: true}}]
";

pub fn two_services() -> Cluster {
    kps_model::read::read_text("two Services", TWO_SERVICES).cluster
}

pub fn in_mode(mode: Mode) -> Config {
    config::read("", "clusterCIDR: 10.244.0.0/16", Some(mode)).unwrap().0
}

/// Renders the two Services, changes what is there, and returns what is found.
fn after(mode: Mode, change: impl FnOnce(&mut NodeState)) -> Drift {
    let (cluster, config) = (two_services(), in_mode(mode));
    let mut state = rendered(&cluster, "a", &config, KubeVersion::NEWEST);
    change(&mut state);
    drift(&cluster, "a", &MODES.map(in_mode), &dumped(&state))
}

/// Returns the only finding.
fn only(found: &Drift) -> &Finding {
    let [finding] = &found.findings[..] else { panic!("one finding, not {:#?}", found.findings) };
    finding
}

fn services(finding: &Finding) -> Vec<&str> {
    let mut services: Vec<&str> = finding.effects.iter().map(|e| e.service.as_str()).collect();
    services.sort_unstable();
    services.dedup();
    services
}

#[test]
fn the_mode_is_found() {
    for mode in MODES {
        let found = after(mode, |_| {});
        assert_eq!(found.fit.mode, mode);
        assert_eq!(found.findings, []);
        assert!(found.packets > 15, "{}", found.packets);
    }
}

#[test]
fn what_is_missing_is_told_for_its_service() {
    let element = after(Mode::Nftables, |state| {
        let set = state.nftables.tables[0].sets.get_mut(&Name::new("service-ips")).unwrap();
        set.elements.retain(|_, element| !format!("{:?}", element.data).contains("shop/web"));
    });
    let rule = after(Mode::Iptables, |state| {
        let chain = chain_mut(&mut state.iptables.v4, "nat", "KUBE-SERVICES").unwrap();
        chain
            .rules
            .retain(|rule| !rule.comment().is_some_and(|comment| comment.contains("shop/web")));
    });
    let server = after(Mode::Ipvs, |state| {
        let id =
            *state.ipvs.services.keys().find(|id| id.to_string().contains("10.96.0.1:")).unwrap();
        state.ipvs.services.shift_remove(&id);
    });
    for found in [element, rule, server] {
        let finding = only(&found);
        assert_eq!(finding.kind, Kind::Missing, "{:#?}", found.findings);
        assert_eq!(finding.service.as_deref(), Some("shop/web:p"));
        assert_eq!(services(finding), ["shop/web:p"]);
        assert_eq!(finding.effects[0].frontend, "cluster IP");
    }
}

#[test]
fn a_missing_common_rule_is_told_with_every_service() {
    for (mode, table, chain) in
        [(Mode::Nftables, "kube-proxy", "nat-prerouting"), (Mode::Iptables, "nat", "PREROUTING")]
    {
        let found = after(mode, |state| {
            if mode == Mode::Nftables {
                state.nftables.tables[0].chains.get_mut(&Name::new(chain)).unwrap().rules.clear();
            } else {
                chain_mut(&mut state.iptables.v4, table, chain).unwrap().rules.clear();
            }
        });
        let finding = only(&found);
        assert_eq!((finding.kind, finding.service.as_ref()), (Kind::Missing, None), "{mode}");
        assert_eq!(services(finding), ["shop/api:p", "shop/web:p"]);
        assert!(finding.effects.iter().all(|effect| effect.class != ClientClass::Node));
    }
}

#[test]
fn a_changed_endpoint_is_told_for_its_service() {
    let replaced = |text: &str| text.replace("10.244.1.4", "10.244.1.9");
    for mode in MODES {
        let found = after(mode, |state| {
            let text = replaced(&print_ruleset(&state.nftables));
            state.nftables = parse_ruleset(&text).value;
            let text = replaced(&iptables::print_ruleset(&state.iptables.v4, false));
            state.iptables.v4 = iptables::parse_ruleset(&text, iptables::Family::Ipv4).value;
            state.ipvs = ipvs::parse_table(&replaced(&ipvs::print_save(&state.ipvs))).value;
        });
        let finding = only(&found);
        assert_eq!(finding.kind, Kind::Changed, "{:#?}", found.findings);
        assert_eq!(finding.service.as_deref(), Some("shop/api:p"));
        assert_eq!(services(finding), ["shop/api:p"]);
    }
}

#[test]
fn a_service_that_is_gone_is_stale() {
    for mode in MODES {
        let (cluster, config) = (two_services(), in_mode(mode));
        let dump = dumped(&rendered(&cluster, "a", &config, KubeVersion::NEWEST));
        let mut fewer = cluster.clone();
        fewer.services.retain(|service| service.metadata.name == "web");
        let found = drift(&fewer, "a", &MODES.map(in_mode), &dump);
        let stale = |finding: &&Finding| finding.kind == Kind::Stale;
        let of_api = |finding: &&Finding| !finding.effects.is_empty();
        let finding = found.findings.iter().filter(stale).find(of_api);
        let finding = finding.unwrap_or_else(|| panic!("{mode}: {:#?}", found.findings));
        assert!(finding.effects.iter().all(|e| e.flow.destination.to_string() == "10.96.0.2"));
        assert!(
            found.findings.iter().all(|finding| finding.kind == Kind::Stale),
            "{:#?}",
            found.findings
        );
        assert!(!found.affected().contains(&"shop/web:p"));
    }
}

/// What IPVS sends on leaves by the hook for output, whoever sent it.
const FOREIGN: &str = "table inet firewall {
	chain forward {
		type filter hook forward priority filter; policy accept;
		ip daddr 10.244.1.4 tcp dport 8080 drop
	}
	chain output {
		type filter hook output priority filter; policy accept;
		ip daddr 10.244.1.4 tcp dport 8080 drop
	}
}
";

#[test]
fn a_foreign_rule_that_drops_is_told_with_its_witness() {
    for mode in MODES {
        let foreign = after(mode, |state| {
            state.nftables.tables.extend(parse_ruleset(FOREIGN).value.tables);
        });
        assert!(!foreign.findings.is_empty(), "{mode}");
        let drops = |line: &Line| line.text.contains("ip daddr 10.244.1.4 tcp dport 8080 drop");
        for finding in &foreign.findings {
            assert_eq!((finding.kind, finding.service.as_ref()), (Kind::Foreign, None));
            assert_eq!(services(finding), ["shop/api:p"]);
            assert!(!finding.lines.is_empty() && finding.lines.iter().all(drops), "{finding:#?}");
        }
        let effects = foreign.findings.iter().flat_map(|finding| &finding.effects);
        for effect in effects {
            assert!(matches!(&effect.found[..], [(Outcome::Drop, _)]), "{effect:?}");
            assert!(matches!(&effect.expected[..], [(Outcome::Deliver(_), _)]), "{effect:?}");
        }
    }
}

#[test]
fn a_foreign_rule_of_iptables_is_told_and_one_that_decides_nothing_is_not() {
    let rule = |text: &str| iptables::parse_rule(text, iptables::Family::Ipv4);
    for (text, told) in [("-d 10.244.1.4/32 -j DROP", true), ("-d 198.51.100.1/32 -j DROP", false)]
    {
        let found = after(Mode::Iptables, |state| {
            let chain = chain_mut(&mut state.iptables.v4, "filter", "FORWARD").unwrap();
            chain.rules.insert(0, rule(text));
        });
        let kinds: Vec<Kind> = found.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, if told { vec![Kind::Foreign] } else { vec![] }, "{:#?}", found.findings);
    }
}

#[test]
fn a_foreign_policy_is_told() {
    let found = after(Mode::Nftables, |state| {
        let mut rules = iptables::Ruleset::new(iptables::Family::Ipv4);
        let mut filter = iptables::Table::builtin("filter");
        filter.chains.get_mut(&Name::new("FORWARD")).unwrap().policy = Some(Policy::Drop);
        rules.tables.insert("filter".into(), filter);
        state.iptables.v4 = rules;
    });
    let finding = only(&found);
    assert_eq!(finding.kind, Kind::Foreign);
    assert_eq!(services(finding), ["shop/api:p", "shop/web:p"]);
}

#[test]
fn a_sysctl_that_the_mode_sets_is_told_with_what_rests_on_it() {
    const LOCALNET: &str = "net.ipv4.conf.all.route_localnet";
    let found = after(Mode::Iptables, |state| {
        state.host.sysctls.insert(LOCALNET.into(), "0".into());
    });
    let finding = only(&found);
    assert_eq!((finding.kind, finding.service.as_ref()), (Kind::Changed, None));
    assert!(finding.lines[0].text.contains(LOCALNET), "{finding:#?}");
    assert_eq!(services(finding), ["shop/web:p"]);
    assert!(finding.effects.iter().all(|effect| effect.flow.destination.is_loopback()));
}

#[test]
fn an_address_that_ipvs_left_bound_is_judged() {
    let found = after(Mode::Nftables, |state| {
        let config = in_mode(Mode::Ipvs);
        let mut more = two_services();
        more.services[0].spec.external_ips.push("203.0.113.9".into());
        let old = rendered(&more, "a", &config, KubeVersion::NEWEST).host.addresses;
        let bound = old.into_iter().filter(|address| address.link == "kube-ipvs0");
        state.host.addresses.extend(bound);
    });
    let finding = only(&found);
    assert_eq!(finding.kind, Kind::LeftOver(Mode::Ipvs));
    let external = "203.0.113.9".parse::<std::net::IpAddr>().unwrap();
    let mut to_it = finding.effects.iter().filter(|e| e.flow.destination == external);
    assert!(to_it.any(|e| e.found.iter().all(|(o, _)| *o == Outcome::Local)), "{finding:#?}");
}

#[test]
fn a_dump_without_rules_lacks_all_of_the_first_mode() {
    let found = after(Mode::Nftables, |state| state.nftables.tables.clear());
    assert!(found.fit.is_poor());
    let finding = only(&found);
    assert_eq!((finding.kind, finding.service.as_ref()), (Kind::Missing, None));
    assert_eq!(services(finding), ["shop/api:p", "shop/web:p"]);
}

#[test]
fn what_another_mode_left_is_told_and_judged() {
    let old = |mode| rendered(&two_services(), "a", &in_mode(mode), KubeVersion::NEWEST);
    let harmless = after(Mode::Nftables, |state| state.iptables = old(Mode::Iptables).iptables);
    assert_eq!(harmless.fit.mode, Mode::Nftables);
    assert_eq!(only(&harmless).kind, Kind::LeftOver(Mode::Iptables));
    let mut stale = two_services();
    stale.slices.retain(|slice| slice.metadata.name != "api-x");
    let refuses = after(Mode::Iptables, |state| {
        let config = in_mode(Mode::Nftables);
        state.nftables = rendered(&stale, "a", &config, KubeVersion::NEWEST).nftables;
    });
    let finding = only(&refuses);
    assert_eq!(finding.kind, Kind::LeftOver(Mode::Nftables));
    let of_web = finding.effects.iter().filter(|effect| effect.service == "shop/web:p");
    assert!(of_web.clone().count() > 0, "nftables refuses ports that no Service has");
    // Nor does it masquerade an endpoint elsewhere that dials itself by this node.
    let itself = "10.244.1.3".parse::<std::net::IpAddr>().ok();
    let is_documented = |effect: &&kps_compare::drift::Effect| {
        effect.frontend == "port of no Service" || effect.flow.source == itself
    };
    assert!(of_web.clone().all(|effect| is_documented(&effect)), "{of_web:#?}");
    assert!(services(finding).contains(&"shop/api:p"));
    let tables = after(Mode::Iptables, |state| state.nftables = old(Mode::Nftables).nftables);
    let left = |finding: &&Finding| matches!(finding.kind, Kind::LeftOver(_));
    assert_eq!(tables.findings.iter().filter(left).count(), 1, "{:#?}", tables.findings);
}
