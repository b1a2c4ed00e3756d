//! The list of differences is whole, and objects call up those that they should.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use kps_compare::difference::{Concern, Id, Side, concerns};
use kps_flow::Family;
use kps_model::{Config, KubeVersion, Mode, NodeView, read::read_text, view};

#[test]
fn ids_are_numbered_without_gaps_and_say_all() {
    for (number, id) in Id::ALL.iter().enumerate() {
        assert_eq!(id.to_string(), format!("D{:02}", number + 1));
        let about = id.about();
        for text in [about.title, about.meaning, about.source, about.before, about.after] {
            assert!(!text.is_empty() && text.is_ascii() && !text.contains("  "), "{id}: {text:?}");
        }
    }
    assert_eq!(Id::ALL.len(), 41);
}

const OBJECTS: &str = "
kind: Node
apiVersion: v1
metadata: {name: a}
status: {addresses: [{type: InternalIP, address: 192.0.2.10}]}
---
kind: Service
apiVersion: v1
metadata: {name: web, namespace: shop}
spec:
  type: NodePort
  clusterIP: 10.96.0.1
  sessionAffinity: ClientIP
  ports: [{name: p, port: 80, nodePort: 30080}]
---
kind: Service
apiVersion: v1
metadata: {name: twin, namespace: shop}
spec: {clusterIP: 10.96.0.1, ports: [{name: p, port: 80}]}
";

fn seen(mode: Mode) -> NodeView {
    let cluster = read_text("objects", OBJECTS).cluster;
    let config = Config { mode, ..Config::default() };
    view(&cluster, &config, "a", KubeVersion::NEWEST, Family::V4)
}

fn moved(from: Mode, to: Mode) -> Vec<Concern> {
    let views = (seen(from), seen(to));
    concerns(Side { mode: from, view: &views.0 }, Side { mode: to, view: &views.1 })
}

/// Returns the names of the Service ports that a difference touches.
fn touched(found: &[Concern], id: Id) -> Option<Vec<String>> {
    let concern = found.iter().find(|concern| concern.id == id)?;
    Some(concern.ports.iter().map(ToString::to_string).collect())
}

#[test]
fn a_node_port_loses_addresses_and_loopback_on_the_way_from_iptables_to_nftables() {
    let found = moved(Mode::Iptables, Mode::Nftables);
    assert_eq!(touched(&found, Id::D01).unwrap(), ["shop/web:p"]);
    assert_eq!(touched(&found, Id::D03).unwrap(), ["shop/web:p"]);
    assert_eq!(touched(&found, Id::D31).unwrap(), ["shop/twin:p", "shop/web:p"]);
    assert_eq!(touched(&found, Id::D24), None);
}

#[test]
fn the_scope_of_affinity_changes_on_the_way_from_ipvs() {
    let found = moved(Mode::Ipvs, Mode::Nftables);
    assert_eq!(touched(&found, Id::D15).unwrap(), ["shop/web:p"]);
    assert_eq!(touched(&found, Id::D03), None);
    assert!(touched(&moved(Mode::Iptables, Mode::Nftables), Id::D15).is_none());
}

#[test]
fn a_mode_does_not_differ_from_itself() {
    for mode in [Mode::Iptables, Mode::Ipvs, Mode::Nftables] {
        assert!(moved(mode, mode).is_empty());
    }
}
