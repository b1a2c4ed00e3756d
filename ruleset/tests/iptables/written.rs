//! The text that kube-proxy writes.

use kps_ruleset::iptables::{
    Family, Flush, Probability, Ruleset, apply, parse_restore, parse_rule, print_restore,
    print_rule, print_ruleset, print_written,
};

/// Rules as kube-proxy writes them, and as `iptables-save` shows them afterwards.
const RULES: &[(&str, &str)] = &[
    (
        "-m comment --comment \"block incoming localnet connections\" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
        "! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment \"block incoming localnet connections\" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
    ),
    (
        "-m comment --comment \"ns6/svc6:p80 has no endpoints\" -m tcp -p tcp -d 172.30.0.46 --dport 80 -j REJECT",
        "-d 172.30.0.46/32 -p tcp -m comment --comment \"ns6/svc6:p80 has no endpoints\" -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable",
    ),
    (
        "-m comment --comment \"ns2/svc2:p80 has no local endpoints\" -m addrtype --dst-type LOCAL -m tcp -p tcp --dport 3001 -j DROP",
        "-p tcp -m comment --comment \"ns2/svc2:p80 has no local endpoints\" -m addrtype --dst-type LOCAL -m tcp --dport 3001 -j DROP",
    ),
    (
        "-m conntrack --ctstate INVALID -m nfacct --nfacct-name ct_state_invalid_dropped_pkts -j DROP",
        "-m conntrack --ctstate INVALID -m nfacct --nfacct-name  ct_state_invalid_dropped_pkts -j DROP",
    ),
    (
        "-m comment --comment \"kubernetes forwarding rules\" -m mark --mark 0x00004000/0x00004000 -j ACCEPT",
        "-m comment --comment \"kubernetes forwarding rules\" -m mark --mark 0x4000/0x4000 -j ACCEPT",
    ),
    (
        "-m mark ! --mark 0x00004000/0x00004000 -j RETURN",
        "-m mark ! --mark 0x4000/0x4000 -j RETURN",
    ),
    ("-j MARK --xor-mark 0x00004000", "-j MARK --set-xmark 0x4000/0x0"),
    ("-j MARK --or-mark 0x00004000", "-j MARK --set-xmark 0x4000/0x4000"),
    (
        "-m comment --comment \"kubernetes service traffic requiring SNAT\" -j MASQUERADE --random-fully",
        "-m comment --comment \"kubernetes service traffic requiring SNAT\" -j MASQUERADE --random-fully",
    ),
    (
        "-m comment --comment \"ns1/svc1:p80 cluster IP\" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ",
        "! -s 10.0.0.0/8 -d 172.30.0.41/32 -p tcp -m comment --comment \"ns1/svc1:p80 cluster IP\" -m tcp --dport 80 -j KUBE-MARK-MASQ",
    ),
    (
        "-m comment --comment \"ns1/svc1:p80 cluster IP\" -m udp -p udp -d 172.30.0.41 --dport 80 ! -i cbr0 -j KUBE-MARK-MASQ",
        "-d 172.30.0.41/32 ! -i cbr0 -p udp -m comment --comment \"ns1/svc1:p80 cluster IP\" -m udp --dport 80 -j KUBE-MARK-MASQ",
    ),
    (
        "-m comment --comment ns1/svc1:p80 -s 10.180.0.1 -j KUBE-MARK-MASQ",
        "-s 10.180.0.1/32 -m comment --comment \"ns1/svc1:p80\" -j KUBE-MARK-MASQ",
    ),
    (
        "-m comment --comment ns1/svc1:p80 -m tcp -p tcp -j DNAT --to-destination 10.180.0.1:80",
        "-p tcp -m comment --comment \"ns1/svc1:p80\" -m tcp -j DNAT --to-destination 10.180.0.1:80",
    ),
    (
        "-m comment --comment ns2/svc2:p80 -m tcp -p tcp -d 127.0.0.0/8 --dport 3001 -m nfacct --nfacct-name localhost_nps_accepted_pkts -j KUBE-EXT-GNZBNJ2PO5MGZ6GT",
        "-d 127.0.0.0/8 -p tcp -m comment --comment \"ns2/svc2:p80\" -m tcp --dport 3001 -m nfacct --nfacct-name  localhost_nps_accepted_pkts -j KUBE-EXT-GNZBNJ2PO5MGZ6GT",
    ),
    (
        "-m comment --comment \"ns4/svc4:p80 -> 10.180.0.4:80\" -m statistic --mode random --probability 0.3333333333 -j KUBE-SEP-UKSFD7AGPMPPLUHC",
        "-m comment --comment \"ns4/svc4:p80 -> 10.180.0.4:80\" -m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-UKSFD7AGPMPPLUHC",
    ),
    (
        "-m comment --comment \"ns5/svc5:p80 -> 10.180.0.3:80\" -m recent --name KUBE-SEP-I77PXRDZVX7PMWMN --rcheck --seconds 10800 --reap -j KUBE-SEP-I77PXRDZVX7PMWMN",
        "-m comment --comment \"ns5/svc5:p80 -> 10.180.0.3:80\" -m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-I77PXRDZVX7PMWMN --mask 255.255.255.255 --rsource -j KUBE-SEP-I77PXRDZVX7PMWMN",
    ),
    (
        "-m comment --comment ns5/svc5:p80 -m recent --name KUBE-SEP-I77PXRDZVX7PMWMN --set -m tcp -p tcp -j DNAT --to-destination 10.180.0.3:80",
        "-p tcp -m comment --comment \"ns5/svc5:p80\" -m recent --set --name KUBE-SEP-I77PXRDZVX7PMWMN --mask 255.255.255.255 --rsource -m tcp -j DNAT --to-destination 10.180.0.3:80",
    ),
    (
        "-m comment --comment \"ns5/svc5:p80 loadbalancer IP\" -s 203.0.113.7/32 -j KUBE-EXT-NUKIZ6OKUXPJNT4C",
        "-s 203.0.113.7/32 -m comment --comment \"ns5/svc5:p80 loadbalancer IP\" -j KUBE-EXT-NUKIZ6OKUXPJNT4C",
    ),
    (
        "-m comment --comment \"other traffic to ns5/svc5:p80 will be dropped by KUBE-PROXY-FIREWALL\"",
        "-m comment --comment \"other traffic to ns5/svc5:p80 will be dropped by KUBE-PROXY-FIREWALL\"",
    ),
    (
        "-m comment --comment \"kubernetes service nodeports; NOTE: this must be the last rule in this chain\" -m addrtype --dst-type LOCAL ! -d 127.0.0.0/8 -j KUBE-NODEPORTS",
        "! -d 127.0.0.0/8 -m comment --comment \"kubernetes service nodeports; NOTE: this must be the last rule in this chain\" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS",
    ),
    (
        "-p sctp -m comment --comment \"Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'\" -m set --match-set KUBE-NODE-PORT-SCTP-HASH dst,dst -j KUBE-MARK-MASQ",
        "-p sctp -m comment --comment \"Kubernetes nodeport SCTP port for masquerade purpose with type \\'hash ip:port\\'\" -m set --match-set KUBE-NODE-PORT-SCTP-HASH dst,dst -j KUBE-MARK-MASQ",
    ),
    (
        "-m comment --comment \"Kubernetes service cluster ip + port for masquerade purpose\" -m set --match-set KUBE-CLUSTER-IP dst,dst ! -s 10.244.0.0/16 -j KUBE-MARK-MASQ",
        "! -s 10.244.0.0/16 -m comment --comment \"Kubernetes service cluster ip + port for masquerade purpose\" -m set --match-set KUBE-CLUSTER-IP dst,dst -j KUBE-MARK-MASQ",
    ),
    (
        "-m set --match-set KUBE-EXTERNAL-IP dst,dst -m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT",
        "-m set --match-set KUBE-EXTERNAL-IP dst,dst -m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT",
    ),
    (
        "-s 5.6.7.8 -m ipvs --vaddr 5.6.7.8 --vproto tcp --vport 80 -j DROP",
        "-s 5.6.7.8/32 -m ipvs --vproto 6 --vaddr 5.6.7.8 --vport 80 -j DROP",
    ),
    ("-j KUBE-SVC-XPGD46QRK7WJZT7O", "-j KUBE-SVC-XPGD46QRK7WJZT7O"),
];

#[test]
fn rules_print_as_written_and_as_saved() {
    for (written, saved) in RULES {
        let rule = parse_rule(written, Family::Ipv4);
        assert_eq!(print_written(&rule, Family::Ipv4), *written);
        assert_eq!(print_rule(&rule, Family::Ipv4), *saved);
        assert_eq!(parse_rule(saved, Family::Ipv4), rule);
    }
}

#[test]
fn probabilities_print_with_ten_decimals_as_written_and_eleven_as_saved() {
    for (count, written, saved) in [
        (2, "0.5000000000", "0.50000000000"),
        (3, "0.3333333333", "0.33333333349"),
        (7, "0.1428571429", "0.14285714272"),
        (1, "1.0000000000", "1.00000000000"),
    ] {
        let text = format!("-m statistic --mode random --probability {written}");
        let rule = parse_rule(&text, Family::Ipv4);
        assert_eq!(print_written(&rule, Family::Ipv4), text);
        assert!(print_rule(&rule, Family::Ipv4).ends_with(saved));
        let chances = Probability::one_of(count).chances();
        assert!(format!("{rule:?}").contains(&format!("Probability({chances})")));
    }
}

#[test]
fn every_count_prints_as_it_was_written() {
    for count in (1..20_000).step_by(7) {
        let text =
            format!("-m statistic --mode random --probability {:.10}", 1.0 / f64::from(count));
        let rule = parse_rule(&text, Family::Ipv4);
        assert_eq!(print_written(&rule, Family::Ipv4), text);
    }
}

#[test]
fn a_restore_text_is_printed_as_it_was_written_and_applied() {
    let mut text =
        String::from("*nat\n:KUBE-MARK-MASQ - [0:0]\n:KUBE-SVC-X - [0:0]\n:OLD - [0:0]\n");
    text.push_str("-A KUBE-MARK-MASQ -j MARK --or-mark 0x00004000\n");
    text.push_str("-A KUBE-SVC-X -m comment --comment \"a b\" -m tcp -p tcp -d 10.0.0.1 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ\n");
    text.push_str("-X OLD\nCOMMIT\n");
    let parsed = parse_restore(&text, Family::Ipv4);
    assert_eq!(parsed.errors, []);
    assert_eq!(print_restore(&parsed.value, Family::Ipv4), text);
    let mut ruleset = Ruleset::new(Family::Ipv4);
    apply(&mut ruleset, &parsed.value, Flush::No).unwrap();
    insta::assert_snapshot!(print_ruleset(&ruleset, false), @r#"
    *nat
    :PREROUTING ACCEPT [0:0]
    :INPUT ACCEPT [0:0]
    :OUTPUT ACCEPT [0:0]
    :POSTROUTING ACCEPT [0:0]
    :KUBE-MARK-MASQ - [0:0]
    :KUBE-SVC-X - [0:0]
    -A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
    -A KUBE-SVC-X ! -s 10.0.0.0/8 -d 10.0.0.1/32 -p tcp -m comment --comment "a b" -m tcp --dport 80 -j KUBE-MARK-MASQ
    COMMIT
    "#);
}

#[test]
fn a_protocol_implies_its_match() {
    for (text, saved) in [
        ("-p tcp --dport 80:90 -j ACCEPT", "-p tcp -m tcp --dport 80:90 -j ACCEPT"),
        ("-p tcp --syn -j DROP", "-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -j DROP"),
        ("-p icmp --icmp-type echo-request -j ACCEPT", "-p icmp -m icmp --icmp-type 8 -j ACCEPT"),
        ("-j ACCEPT -p udp --sport :80", "-p udp -m udp --sport 0:80 -j ACCEPT"),
        ("-s 0.0.0.0/0 -i + -p all -j ACCEPT", "-j ACCEPT"),
        ("-d 10.0.0.0/255.0.0.0 -j ACCEPT", "-d 10.0.0.0/8 -j ACCEPT"),
        ("-m limit --limit 60/minute", "-m limit --limit 1/sec"),
        ("-m state --state RELATED,NEW", "-m state --state NEW,RELATED"),
        (
            "-j CONNMARK --restore-mark --mask 0xff",
            "-j CONNMARK --restore-mark --nfmask 0xff --ctmask 0xff",
        ),
        ("-j MARK --set-mark 5/6", "-j MARK --set-xmark 0x5/0x7"),
    ] {
        assert_eq!(print_rule(&parse_rule(text, Family::Ipv4), Family::Ipv4), saved, "{text}");
    }
}
