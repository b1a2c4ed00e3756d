//! What a node's kernel and its other rules do to Services.

use std::collections::BTreeSet;

use kps_model::Mode;
use kps_ruleset::NodeState;
use kps_ruleset::host::Link;

use crate::sound::Trial;

fn set(state: &mut NodeState, name: &str, value: &str) {
    state.host.sysctls.insert(name.to_owned(), value.to_owned());
}

fn fired(mode: Mode, change: fn(&mut NodeState)) -> BTreeSet<&'static str> {
    Trial::new(mode, &[]).on(change).fired()
}

const LOCAL_RANGE: &str = "net.ipv4.ip_local_port_range";

#[test]
fn node_ports_that_the_kernel_may_lend_are_told() {
    let meets = |state: &mut NodeState| set(state, LOCAL_RANGE, "1024\t65535");
    assert_eq!(fired(Mode::Nftables, meets), ["node-port-in-local-range"].into());
    let apart = |state: &mut NodeState| set(state, LOCAL_RANGE, "32768\t60999");
    assert_eq!(fired(Mode::Nftables, apart), [].into());
    let reserved = |state: &mut NodeState| {
        set(state, LOCAL_RANGE, "1024\t65535");
        set(state, "net.ipv4.ip_local_reserved_ports", "8080,30000-32767");
    };
    assert_eq!(fired(Mode::Nftables, reserved), [].into());
}

#[test]
fn settings_without_which_nothing_is_forwarded_are_told() {
    for mode in [Mode::Iptables, Mode::Nftables, Mode::Ipvs] {
        let fired = fired(mode, |state| set(state, "net.ipv4.ip_forward", "0"));
        assert!(fired.contains("sysctl-breaks-services"), "{mode}: {fired:?}");
        // Virtual servers send to real ones without asking; it is the answers that are not forwarded.
        assert_eq!(fired.contains("promise-broken"), mode != Mode::Ipvs, "{mode}: {fired:?}");
    }
    let untracked = |state: &mut NodeState| set(state, "net.ipv4.vs.conntrack", "0");
    assert!(fired(Mode::Ipvs, untracked).contains("sysctl-breaks-services"));
    assert_eq!(fired(Mode::Nftables, untracked), [].into());
}

#[test]
fn bridges_that_pass_rules_by_are_told() {
    let bridged = |state: &mut NodeState| {
        for name in ["port0", "port1"] {
            let link = Link { name: name.into(), up: true, master: Some("cni0".into()) };
            state.host.links.push(link);
        }
        set(state, "net.bridge.bridge-nf-call-iptables", "0");
    };
    assert_eq!(fired(Mode::Nftables, bridged), ["bridge-bypasses-rules"].into());
    let alone = |state: &mut NodeState| set(state, "net.bridge.bridge-nf-call-iptables", "0");
    assert_eq!(fired(Mode::Nftables, alone), [].into());
}

#[test]
fn answers_to_arp_are_a_matter_of_the_kernels_setting() {
    let near = ["172.16.0.1 => 192.0.2.99", "ipMode: Proxy => ipMode: VIP"];
    let strict = |state: &mut NodeState| set(state, "net.ipv4.conf.all.arp_ignore", "1");
    let fired = Trial::new(Mode::Ipvs, &near).on(strict).fired();
    assert!(!fired.contains("arp-for-service-address"), "{fired:?}");
}

#[test]
fn a_foreign_rule_that_takes_the_mark_bit_is_told() {
    let marks = |rule: &str| {
        let edit = format!(
            "-A PREROUTING -m comment => -A PREROUTING -j MARK --set-xmark {rule}\n-A PREROUTING -m comment"
        );
        Trial::new(Mode::Iptables, &[]).with_rules(&[&edit]).fired()
    };
    assert!(marks("0x1/0xffffffff").contains("mark-bit-shared"));
    assert!(marks("0x4000/0x4000").contains("mark-bit-shared"));
    assert_eq!(marks("0x1/0x1"), [].into());
}
