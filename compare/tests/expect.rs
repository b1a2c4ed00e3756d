//! Expectations: what a file may say, what is told of one that is wrong, and what is held.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::net::IpAddr;

use kps_compare::expect::{self, Fault, Suite, hold, line_of};
use kps_flow::{
    ClientClass, Delivery, Distribution, Flow, Outcome, Protocol, RejectKind, SourceNat, Weight,
};
use kps_model::{Cluster, KubeVersion, Mode};
use num_rational::Ratio;

const FILE: &str = "\
clusters: [cluster.yaml]
kubeVersion: '1.36'
modes: [iptables, nftables]
expectations:
- name: pods reach the catalogue
  from: pod
  to: svc:shop/catalog
  expect: endpoints
  endpoints: [10.244.0.11:8080, 'pod:shop/catalog-1:8080']
  shares: even
  source: kept
- name: nobody else does
  from: outside
  to: 10.96.10.10:80
  expect: refused
";

fn read(text: &str) -> (Suite, Vec<Fault>) {
    expect::read(text).unwrap()
}

fn faults(text: &str) -> Vec<String> {
    let told = |fault: &Fault| {
        let field = fault.field.as_deref().unwrap_or("-");
        format!("{}: {field}: {fault}", fault.line.unwrap_or(0))
    };
    read(text).1.iter().map(told).collect()
}

#[test]
fn a_file_is_read() {
    let (suite, faults) = read(FILE);
    assert_eq!(faults, []);
    assert_eq!(suite.kube_version, Some(KubeVersion::V1_36));
    assert_eq!(suite.modes, [Mode::Iptables, Mode::Nftables]);
    assert_eq!(suite.expectations.len(), 2);
    assert_eq!(line_of(FILE, suite.expectations[1].index), Some(12));
}

#[test]
fn an_unknown_field_is_told_with_its_line_and_hides_no_other_expectation() {
    let text = FILE.replace("  source: kept", "  sauce: kept");
    assert_eq!(read(&text).0.expectations.len(), 1);
    let [fault] = &faults(&text)[..] else { panic!("one fault") };
    assert!(fault.starts_with("11: expectations[0].sauce: unknown field `sauce`"), "{fault}");
}

#[test]
fn wrong_words_are_told_with_what_was_expected() {
    for (from, to, told) in [
        ("source: kept", "source: mine", "5: expectations[0].source: `mine` is no source"),
        ("shares: even", "shares: odd", "10: expectations[0].shares: invalid value"),
        ("expect: refused", "expect: refuse", "15: expectations[1].expect: unknown variant"),
        ("10.244.0.11:8080", "10.244.0.11", "9: expectations[0].endpoints[0]: `10.244.0.11` is no"),
        ("shares: even", "modes: [ip]", "5: expectations[0].modes: `ip`"),
        ("expect: endpoints", "expect: dropped", "5: expectations[0].endpoints: says nothing"),
    ] {
        let told_now = faults(&FILE.replace(from, to));
        assert!(matches!(&told_now[..], [one] if one.starts_with(told)), "{told_now:?}");
    }
}

#[test]
fn a_file_without_its_form_is_no_suite() {
    for (text, told) in [
        ("expectations: []\nmood: good\n", "unknown field `mood`"),
        ("clusters: [a.yaml]\n", "missing field `expectations`"),
        ("kubeVersion: '1.12'\nexpectations: []\n", "`1.12` is not a release"),
        ("[", "expected a mapping"),
        ("", "missing field `expectations`"),
    ] {
        let fault = expect::read(text).unwrap_err();
        assert!(fault.message.contains(told), "{text}: {fault:?}");
    }
}

fn flow() -> Flow {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    Flow {
        client: ClientClass::Pod,
        interface: Some("veth0".to_owned()),
        source: Some(ip("10.244.0.9")),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: Protocol::Tcp,
        destination: ip("10.96.10.10"),
        port: 80,
    }
}

fn to(endpoint: &str, source: SourceNat) -> Outcome {
    Outcome::Deliver(Delivery { endpoint: endpoint.parse().unwrap(), source })
}

/// Holds outcomes, each with a weight in sixths, against one expectation; `None` if it is kept.
fn held(fields: &str, outcomes: &[(u64, Outcome)]) -> Option<String> {
    let text = format!("expectations:\n- {{name: n, from: pod, to: x, {fields}}}\n");
    let suite = read(&text).0;
    let weighed = |(sixths, outcome): &(u64, Outcome)| {
        (Weight::one().times(Ratio::new(*sixths, 6)), outcome.clone())
    };
    let distribution: Distribution<Outcome> = outcomes.iter().map(weighed).collect();
    let judged = hold(&suite.expectations[0], &flow(), &distribution, &Cluster::default());
    judged.err().map(|mismatch| mismatch.to_string())
}

#[test]
fn outcomes_are_held_against_words() {
    let (kept, other) = (SourceNat::Kept, SourceNat::Rewritten(None));
    for (word, outcome) in [
        ("endpoints", to("10.0.0.1:80", kept)),
        ("refused", Outcome::Reject(RejectKind::Icmp(3))),
        ("dropped", Outcome::Drop),
        ("host", Outcome::Local),
        ("onward", Outcome::Pass(other)),
    ] {
        for expected in ["endpoints", "refused", "dropped", "host", "onward"] {
            let is_kept = held(&format!("expect: {expected}"), &[(6, outcome.clone())]).is_none();
            assert_eq!(is_kept, word == expected, "{word} for {expected}");
        }
        let unknown = (6, Outcome::Unknown("why".to_owned()));
        assert!(held(&format!("expect: {word}"), &[unknown]).is_some(), "unknown is never {word}");
        let mixed = [(3, outcome), (3, Outcome::Unknown("why".to_owned()))];
        assert!(held(&format!("expect: {word}"), &mixed).is_some(), "half of it is not {word}");
    }
}

#[test]
fn endpoints_shares_and_sources_are_held() {
    let (a, b) = (to("10.0.0.1:80", SourceNat::Kept), to("10.0.0.2:80", SourceNat::Kept));
    let uneven = [(2, a.clone()), (4, b)];
    for (fields, told) in [
        ("endpoints: ['10.0.0.1:80', '10.0.0.2:80']", None),
        ("shares: {'10.0.0.1:80': 1/3, '10.0.0.2:80': 2/3}", None),
        ("source: kept", None),
        ("source: 10.244.0.9", None),
        ("endpoints: ['10.0.0.1:80']", Some("endpoint 10.0.0.2:80 gets packets (share 2/3)")),
        (
            "endpoints: ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80']",
            Some("10.0.0.3:80 is expected"),
        ),
        ("shares: even", Some("endpoint 10.0.0.1:80 is expected to get a share of 1/2")),
        ("shares: {'10.0.0.1:80': 1/2}", Some("endpoint 10.0.0.1:80 is expected to get a share")),
        ("source: masqueraded", Some("expected source masqueraded, but delivered to 10.0.0.1:80")),
        ("source: 192.0.2.1", Some("expected source 192.0.2.1, but delivered to 10.0.0.1:80")),
    ] {
        let got = held(&format!("expect: endpoints, {fields}"), &uneven);
        match (told, &got) {
            (None, None) => {}
            (Some(told), Some(got)) if got.contains(told) => {}
            _ => panic!("{fields}: {got:?}"),
        }
    }
    assert_eq!(held("expect: endpoints, shares: even", &[(6, a)]), None);
}
