use super::*;
use crate::nftables::print_ruleset;

/// What a person pastes: prompts, warnings, handles, counters, CRLF, odd spelling.
#[test]
fn pasted_text() {
    let text = "root@node-a:~# nft -a list ruleset\r\n\
        # Warning: table ip nat is managed by iptables-nft, do not touch!\r\n\
        table ip nat { # handle 3\r\n\
        \tchain PREROUTING { # handle 1\r\n\
        \t\ttype nat hook prerouting priority -100; policy accept;\r\n\
        \t\tmeta l4proto tcp  tcp dport 80 counter packets 7 bytes 420 accept # handle 4\r\n\
        \t\txt match \"recent\" counter packets 0 bytes 0 drop # handle 5\r\n\
        \t\tmeta mark set mark or 0x4000\r\n\
        \t\tmeta mark & 0x4000 != 0 return\r\n\
        \t\tiifname veth* tcp dport http accept\r\n\
        \t}\r\n\
        }\r\n\
        $ nft list table ip6 x\n\
        table ip6 x {\n\
        \tset s { type inet_service; flags interval\n\
        \t\telements = {\n\t\t\t1-3,\n\t\t\thttps,\n\t\t}\n\t}\n\
        }\n";
    let parsed = parse_ruleset(text);
    assert_eq!(parsed.errors, []);
    assert_eq!(parsed.value.tables[0].chains[0].rules[1].handle, Some(5));
    insta::assert_snapshot!(print_ruleset(&parsed.value), @r#"
    table ip nat {
    	chain PREROUTING {
    		type nat hook prerouting priority dstnat; policy accept;
    		meta l4proto tcp tcp dport 80 counter packets 7 bytes 420 accept
    		xt match "recent" counter packets 0 bytes 0 drop
    		meta mark set meta mark | 0x00004000
    		meta mark & 0x00004000 != 0x00000000 return
    		iifname "veth*" tcp dport 80 accept
    	}
    }
    table ip6 x {
    	set s {
    		type inet_service
    		flags interval
    		elements = { 1-3, 443 }
    	}
    }
    "#);
}

/// A file as `/etc/nftables.conf`: a flush, blocks, commands, several statements on a line.
#[test]
fn script_file() {
    let text = "#!/usr/sbin/nft -f\nflush ruleset\n\n\
        table inet filter {\n\
        \tchain input { type filter hook input priority filter + 5; policy drop; ct state vmap { established : accept, related : accept }; iif lo accept\n\
        \t\ticmp type { echo-request, 3 } limit rate 5/second accept; tcp flags & (fin|syn) == syn drop\n\
        \t}\n\
        }\n\
        add rule inet filter input tcp dport { 22 } accept comment \"ssh\"\n\
        add table ip t; add chain ip t c { type nat hook postrouting priority srcnat; }\n\
        add rule ip t c ip saddr 10.0.0.0/8 masquerade random,persistent\n\
        define x = 5\n";
    let parsed = parse_ruleset(text);
    let errors: Vec<String> = parsed.errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(errors.join("\n"), @"line 12, column 1: expected a command that can be applied, found `define x = 5: not modelled`");
    insta::assert_snapshot!(print_ruleset(&parsed.value), @r#"
    table inet filter {
    	chain input {
    		type filter hook input priority filter + 5; policy drop;
    		ct state vmap { established : accept, related : accept }
    		iif "lo" accept
    		icmp type { destination-unreachable, echo-request } limit rate 5/second accept
    		tcp flags syn / fin,syn drop
    		tcp dport 22 accept comment "ssh"
    	}
    }
    table ip t {
    	chain c {
    		type nat hook postrouting priority srcnat; policy accept;
    		ip saddr 10.0.0.0/8 masquerade random,persistent
    	}
    }
    "#);
}

/// Each form of command that kube-proxy sends.
#[test]
fn kube_proxy_script() {
    let text = r#"add table ip kube-proxy { comment "rules for kube-proxy" ; }
add chain ip kube-proxy filter-input { type filter hook input priority 0 ; }
add chain ip kube-proxy reject-chain { comment "helper for @no-endpoint-services / @no-endpoint-nodeports" ; }
flush chain ip kube-proxy reject-chain
add set ip kube-proxy cluster-ips { type ipv4_addr ; comment "Active ClusterIPs" ; }
add set ip kube-proxy affinity-X-ns/svc/tcp/p__10.0.0.1/80 { type ipv4_addr ; flags dynamic,timeout ; timeout 10800s ; }
add map ip kube-proxy service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add rule ip kube-proxy masquerading mark and 0x00004000 != 0 mark set mark xor 0x00004000 masquerade fully-random
add rule ip kube-proxy masquerading ct status dnat ip saddr . ip daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random
add rule ip kube-proxy cluster-ips-check ip daddr { 172.30.0.0/16,172.31.0.0/16 } drop comment "Drop traffic to unallocated ClusterIPs"
add rule ip kube-proxy services iifname != veth* mark set mark or 0x00004000
add rule ip kube-proxy firewall-X-ns/svc/tcp/p ip saddr != { 203.0.113.0/25 , 10.0.0.1/32 } drop
add rule ip kube-proxy service-X-ns/svc/tcp/p meta l4proto tcp dnat ip addr . port to numgen random mod 2 map { 0 : 10.180.0.4 . 80 , 1 : 10.180.0.5 . 80 }
add rule ip kube-proxy service-Y-ns/svc/tcp/p numgen random mod 1 vmap { 0 : goto endpoint-Z }
add rule ip kube-proxy endpoint-Z update @affinity-X-ns/svc/tcp/p__10.0.0.1/80 { ip saddr }
add rule ip6 kube-proxy endpoint-Z meta l4proto tcp dnat to [fd00::1]:80
add element ip kube-proxy service-ips { 172.30.0.45 . tcp . 80 comment "ns/svc:p" : goto service-Y-ns/svc/tcp/p }
delete element ip kube-proxy service-ips { 172.30.0.45 . tcp . 80 }
delete map ip kube-proxy service-ips
add counter ip kube-proxy localhost-nodeport-rejected-tcp
delete counter ip kube-proxy localhost-nodeport-rejected-tcp
delete table ip kube-proxy
"#;
    let parsed = parse_script(text);
    assert_eq!(parsed.errors, []);
    assert_eq!(crate::nftables::print_script(&parsed.value), text);
}

#[test]
fn unknown_objects_and_statements_do_not_hide_the_rest() {
    let text = "table inet x {\n\
        \tflowtable f {\n\t\thook ingress priority filter\n\t\tdevices = { eth0 }\n\t}\n\
        \tchain c {\n\
        \t\tip saddr 1.2.3.4 frobnicate { a, b } deeply comment \"why\"\n\
        \t\tip saddr 1.2.3 accept\n\
        \t\taccept\n\
        \t}\n\
        }\n\
        what is this\n\
        table ip y {\n}\n";
    let parsed = parse_ruleset(text);
    let errors: Vec<String> = parsed.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, ["line 12, column 1: expected a table or a command, found `what`"]);
    let chain = &parsed.value.tables[0].chains[0];
    let lines: Vec<String> = chain.rules.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "ip saddr 1.2.3.4 frobnicate { a, b } deeply comment \"why\"",
            "ip saddr 1.2.3 accept",
            "accept"
        ]
    );
    assert_eq!(parsed.value.tables.len(), 2);
    assert_eq!(parsed.value.tables[0].other.len(), 1);
}

#[test]
fn bad_input_is_survived() {
    let deep = "{".repeat(200_000);
    let nested = "table ip x { chain y { ip saddr ".to_owned() + &"{ ".repeat(100_000);
    let ands = "table ip x { chain y { meta mark ".to_owned() + &"& 1 ".repeat(50_000) + "} }";
    let parens = "table ip x { chain y { ct state ".to_owned() + &"(".repeat(100_000);
    let texts: [&str; 12] = [
        &deep,
        &nested,
        &ands,
        &parens,
        "table ip x { chain y { tcp dport 99999999999999999999999 accept } }",
        "table ip x { set s { type ipv4_addr; timeout 99999999999999999d; size 9999999999; } }",
        "table ip x { chain y { type filter hook input priority 2147483647 + 10; } }",
        "table ip x { chain y { dnat to [fd00::1 } }",
        "table ip \"\u{0}\u{1}",
        "\u{feff}\u{fffd}\u{fffd} add \u{7f}",
        "add element ip x y { 1.2.3.4 . : drop",
        "table ip x { map m { type ipv4_addr : verdict; elements = { 1.2.3.4 : jump",
    ];
    for text in texts {
        let parsed = parse_ruleset(text);
        let _ = (print_ruleset(&parsed.value), parse_script(text));
    }
}

#[test]
fn every_prefix_of_a_listing_is_survived() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/nftables/statements/nft.txt");
    let text = std::fs::read_to_string(path).unwrap();
    for end in (0..text.len()).step_by(7).filter(|end| text.is_char_boundary(*end)) {
        let _ = parse_ruleset(&text[..end]);
    }
}

/// `::…` after `dnat to` is an address, not a port; a generator found it.
#[test]
fn translation_to_an_address_that_begins_with_colons() {
    let text =
        "table ip6 t {\n\tchain c {\n\t\tdnat to ::ffff:1.2.3.4\n\t\tdnat to [::1]:80\n\t}\n}\n";
    assert_eq!(print_ruleset(&parse_ruleset(text).value), text);
}
