use super::*;
use crate::host::{Host, RouteKind, Scope, print_addresses};

const ADDRESSES: &str = "\
1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever
1: lo    inet6 ::1/128 scope host \\       valid_lft forever preferred_lft forever
2: eth0    inet 192.0.2.10/24 scope global eth0\\       valid_lft forever preferred_lft forever
2: eth0    inet6 2001:db8:1::a/64 scope global \\       valid_lft forever preferred_lft forever
3: kube-ipvs0    inet 10.96.0.25/32 scope global kube-ipvs0\\       valid_lft forever preferred_lft forever
";

#[test]
fn addresses_print_as_they_were_read() {
    let parsed = parse_addresses(ADDRESSES);
    assert_eq!(parsed.errors, []);
    let host = Host { addresses: parsed.value, ..Host::default() };
    assert_eq!(print_addresses(&host), ADDRESSES);
}

#[test]
fn odd_addresses() {
    let text = "4: tun0    inet 10.0.0.1 peer 10.0.0.2/32 brd 10.0.0.3 scope link tun0:1\\ x\n\
                5: eth1@if7    inet6 fe80::1/64 scope link tentative \\ x\nnonsense\n";
    let parsed = parse_addresses(text);
    assert_eq!(parsed.value.len(), 2);
    assert_eq!(parsed.value[0].network, "10.0.0.1/32".parse().unwrap());
    assert_eq!((&*parsed.value[1].link, parsed.value[1].scope), ("eth1", Scope::Link));
    assert_eq!(parsed.errors[0].line, 3);
}

#[test]
fn routes_of_both_families() {
    let text = "default via 192.0.2.1 dev eth0 \n\
                10.244.0.4 dev veth1 scope link \n\
                9.9.9.0/24 linkdown \n\
                \tnexthop via 10.0.0.2 dev br0 weight 1 linkdown \n\
                \tnexthop via 10.0.0.3 dev br0 weight 1 linkdown \n\
                broadcast 192.0.2.255 dev eth0 table local proto kernel scope link src 192.0.2.10 \n\
                blackhole 10.9.0.0/16 metric 20\n\
                default via fe80::1 dev eth0 metric 1024 pref medium\n\
                default dev tun0 metric 5 pref medium\n\
                unreachable default dev lo metric 4294967295 error -101\n\
                bogus route\n";
    let parsed = parse_routes(text);
    let lines: Vec<String> = parsed
        .value
        .iter()
        .map(|r| {
            let gateway = r.gateway.map(|g| g.to_string()).unwrap_or_default();
            let link = r.link.map(|l| l.to_string()).unwrap_or_default();
            format!("{} {:?} {} {gateway} {link} {}", r.table, r.kind, r.destination, r.metric)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    254 Unicast 0.0.0.0/0 192.0.2.1 eth0 0
    254 Unicast 10.244.0.4/32  veth1 0
    254 Unicast 9.9.9.0/24 10.0.0.2 br0 0
    254 Unicast 9.9.9.0/24 10.0.0.3 br0 0
    255 Broadcast 192.0.2.255/32  eth0 0
    254 Blackhole 10.9.0.0/16   20
    254 Unicast ::/0 fe80::1 eth0 1024
    254 Unicast ::/0  tun0 5
    254 Unreachable ::/0  lo 4294967295
    ");
    assert_eq!(parsed.value[5].kind, RouteKind::Blackhole);
    assert_eq!(parsed.errors.len(), 1);
}

#[test]
fn rules_of_both_families() {
    let text = "0:\tfrom all lookup local\n\
                32763:\tnot from all fwmark 0xca6c lookup 51820\n\
                32764:\tfrom 10.0.0.0/8 iif lo lookup main\n\
                32765:\tfrom all fwmark 0x1/0xff lookup 100\n\
                0:\tfrom all lookup local\n\
                32766:\tfrom all lookup main\n";
    let parsed = parse_rules(text, false);
    assert_eq!(parsed.errors, []);
    let families: Vec<bool> = parsed.value.iter().map(|rule| rule.ipv6).collect();
    assert_eq!(families, [false, false, false, false, true, true]);
    assert_eq!(parsed.value[1].rest.as_deref(), Some("not"));
    assert_eq!(parsed.value[3].mark, Some((1, 0xff)));
    assert_eq!(parsed.value[2].input.map(|name| name.as_str()), Some("lo"));
}

#[test]
fn links_and_sysctls() {
    let text = "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN\\    link/loopback\n\
                4: veth0@if3: <BROADCAST,M-DOWN> mtu 1500 qdisc noop master br0 state DOWN\\ x\n";
    let links = parse_links(text).value;
    assert_eq!((links[0].up, links[1].up), (true, false));
    assert_eq!(links[1].master.map(|name| name.as_str()), Some("br0"));
    let sysctls = parse_sysctls("net.ipv4.ip_forward = 1\nbroken\n");
    assert_eq!(sysctls.value["net.ipv4.ip_forward"], "1");
    assert_eq!(sysctls.errors[0].line, 2);
}
