//! Configurations: defaults, sections by mode, and what kube-proxy would not start with.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::path::Path;

use kps_model::config::{self, ConfigError, DetectLocal};
use kps_model::{Config, KubeVersion, Mode};

fn good(text: &str, mode: Option<Mode>) -> Config {
    let (config, findings) = config::read("config.yaml", text, mode).unwrap();
    assert_eq!(findings, []);
    config
}

fn refused(text: &str) -> &'static str {
    match config::read("config.yaml", text, None) {
        Err(ConfigError::Invalid { field, .. }) => field,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn nothing_gives_the_defaults() {
    for text in
        ["", "# nothing\n", "{}", "kind: KubeProxyConfiguration\n", "nodePortAddresses: null"]
    {
        assert_eq!(good(text, None), Config::default(), "{text}");
    }
    assert_eq!(Config::default().mark(), 0x4000);
}

#[test]
fn the_mode_chooses_its_section() {
    let text = "mode: iptables\niptables: {masqueradeAll: true, masqueradeBit: 7}\n\
                nftables: {masqueradeBit: 20}\n";
    let iptables = good(text, None);
    assert_eq!((iptables.masquerade_all, iptables.mark()), (true, 1 << 7));
    let nftables = good(text, Some(Mode::Nftables));
    assert_eq!((nftables.masquerade_all, nftables.mark()), (false, 1 << 20));
    let ipvs = good(text, Some(Mode::Ipvs));
    assert_eq!((ipvs.masquerade_all, ipvs.mark()), (true, 1 << 7));
}

#[test]
fn detectors_need_what_they_go_by() {
    let prefix = "detectLocalMode: InterfaceNamePrefix\ndetectLocal: {interfaceNamePrefix: veth}\n";
    assert_eq!(good(prefix, None).detect_local, DetectLocal::InterfaceNamePrefix("veth".into()));
    let both = "clusterCIDR: 10.244.0.0/16,fd00::/56\n";
    let DetectLocal::ClusterCidr(cidrs) = good(both, None).detect_local else { panic!() };
    assert_eq!(cidrs.len(), 2);
    assert_eq!(refused("detectLocalMode: BridgeInterface\n"), "detectLocal.bridgeInterface");
    assert_eq!(refused("detectLocalMode: Guess\n"), "detectLocalMode");
    assert_eq!(refused("clusterCIDR: 10.0.0.0/8,10.1.0.0/16\n"), "clusterCIDR");
    assert_eq!(refused("clusterCIDR: ten\n"), "clusterCIDR");
}

#[test]
fn values_out_of_range_are_refused() {
    assert_eq!(refused("mode: userspace\n"), "mode");
    assert_eq!(refused("iptables: {masqueradeBit: 32}\n"), "iptables.masqueradeBit");
    assert_eq!(
        refused("mode: nftables\nnftables: {masqueradeBit: -1}\n"),
        "nftables.masqueradeBit"
    );
    assert_eq!(refused("nodePortAddresses: [everywhere]\n"), "nodePortAddresses");
    assert_eq!(refused("bindAddress: here\n"), "bindAddress");
    assert_eq!(refused("mode: ipvs\nipvs: {tcpTimeout: -5s}\n"), "ipvs.tcpTimeout");
    assert_eq!(refused("mode: ipvs\nipvs: {excludeCIDRs: [10.0.0.1]}\n"), "ipvs.excludeCIDRs");
    assert_eq!(refused("mode: ipvs\nipvs: {scheduler: best}\n"), "ipvs.scheduler");
}

#[test]
fn durations_are_read_as_go_writes_them() {
    let ipvs =
        good("ipvs: {tcpTimeout: 15m0s, tcpFinTimeout: 1h30m, udpTimeout: 0s}\n", Some(Mode::Ipvs))
            .ipvs;
    assert_eq!((ipvs.tcp_timeout, ipvs.tcp_fin_timeout, ipvs.udp_timeout), (900, 5400, 0));
}

#[test]
fn unknown_fields_are_reported_and_have_no_effect() {
    let text = "mode: nftables\nmasqueradeAll: true\niptables: {localhostNodeports: false}\n";
    let (config, findings) = config::read("config.yaml", text, None).unwrap();
    let fields: Vec<_> = findings.iter().filter_map(|f| f.field.as_deref()).collect();
    assert_eq!(fields, ["masqueradeAll", "iptables.localhostNodeports"]);
    assert_eq!(config.mode, Mode::Nftables);
    assert!(config.localhost_node_ports);
}

#[test]
fn another_document_is_no_configuration() {
    for text in ["kind: Service\napiVersion: v1\n", "- a\n", "mode: [1]\n", "just text"] {
        let read = config::read("config.yaml", text, None);
        assert!(matches!(read, Err(ConfigError::Unreadable(_))), "{text}");
    }
}

#[test]
fn sections_of_other_modes_are_not_validated() {
    let text = "ipvs: {scheduler: best, syncPeriod: never}\nnftables: {masqueradeBit: 99}\n";
    assert_eq!(good(text, None), Config::default());
    assert!(config::read("config.yaml", text, Some(Mode::Ipvs)).is_err());
    assert!(config::read("config.yaml", text, Some(Mode::Nftables)).is_err());
}

#[test]
fn syncs_are_not_rarer_than_allowed() {
    for periods in ["", "syncPeriod: 0s", "syncPeriod: 1m, minSyncPeriod: 1m", "minSyncPeriod: 0s"]
    {
        good(&format!("iptables: {{{periods}}}\n"), None);
    }
    for periods in
        ["syncPeriod: -1s", "minSyncPeriod: -1s", "minSyncPeriod: 31s", "syncPeriod: 5 minutes"]
    {
        assert_eq!(refused(&format!("iptables: {{{periods}}}\n")), "iptables.syncPeriod");
    }
}

#[test]
fn the_map_of_kubeadm_is_opened() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-proxy}\ndata:\n  \
               config.conf: |-\n    mode: ipvs\n    hostname: a\n  kubeconfig.conf: |\n    a: b\n";
    let (config, findings) = config::read("map.yaml", map, None).unwrap();
    assert_eq!((config.mode, findings.len()), (Mode::Ipvs, 1));
    assert!(config::read("map.yaml", &map.replace("config.conf", "x"), None).is_err());
}

#[test]
fn some_releases_refuse_what_others_take() {
    let accepted = |text: &str| {
        let config = good(text, None);
        KubeVersion::ALL.map(|version| config.check_release(version).is_ok())
    };
    assert_eq!(accepted("nodePortAddresses: [primary]\n"), [true; 4]);
    assert_eq!(accepted("nodePortAddresses: [localhost]\n"), [false, false, false, true]);
    assert_eq!(accepted("nodePortAddresses: [primary, 10.0.0.0/8]\n"), [false, false, false, true]);
    let gate = "featureGates: {PreferSameTrafficDistribution: false}\n";
    assert_eq!(accepted(gate), [true, false, false, false]);
}

#[test]
fn recorded_configurations_are_read_without_findings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/corpus");
    let files = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let texts: Vec<String> = files
        .filter_map(|folder| std::fs::read_to_string(folder.join("config.yaml")).ok())
        .collect();
    assert!(!texts.is_empty());
    for text in texts {
        for mode in [Mode::Iptables, Mode::Ipvs, Mode::Nftables] {
            let config = good(&text, Some(mode));
            assert!(KubeVersion::ALL.into_iter().all(|v| config.check_release(v).is_ok()));
        }
    }
}
