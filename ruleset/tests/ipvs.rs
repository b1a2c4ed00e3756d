//! IPVS tables: real output comes back, listings read like what is saved, commands do what the kernel
//! does.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use kps_ruleset::Protocol;
use kps_ruleset::ipvs::{
    Connections, Forwarding, Netmask, Persistence, RealServer, Scheduler, SchedulerFlags,
    ServiceId, Table, Timeouts, VirtualServer, apply, compare, parse_commands, parse_table,
    print_commands, print_save,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn read(text: &str) -> Table {
    let parsed = parse_table(text);
    assert_eq!(parsed.errors, []);
    parsed.value
}

#[test]
fn what_kube_proxy_makes_comes_back() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/corpus");
    let mut count = 0;
    for cluster in fs::read_dir(corpus).unwrap() {
        let path = cluster.unwrap().path().join("1.37.2/ipvs/ipvsadm-save.txt");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        assert_eq!(print_save(&read(&text)), text, "{}", path.display());
        count += 1;
    }
    assert!(count >= 20, "{count}");
}

/// A table as `ipvsadm-save -n` prints it.
const SAVED: &str = "\
-A -t 192.0.2.10:30080 -s rr
-a -t 192.0.2.10:30080 -r 10.244.0.5:8080 -m -w 1
-a -t 192.0.2.10:30080 -r 10.244.2.9:8080 -m -w 1
-A -t 203.0.113.5:80 -s lblcr -p 600 -M 255.255.255.0
-A -t 10.96.0.10:53 -s wlc -p 10800
-a -t 10.96.0.10:53 -r 10.244.0.3:53 -m -w 0
-A -u 10.96.0.10:53 -s mh -b mh-port
-A -u 10.96.0.11:53 -s sh -o -b sh-fallback,sh-port
-a -u 10.96.0.11:53 -r 10.244.0.3:53 -g -w 100
-a -u 10.96.0.11:53 -r 10.244.0.4:53 -i -w 2
-A --sctp-service 10.96.0.12:3868 -s nq
-a --sctp-service 10.96.0.12:3868 -r 10.244.0.8:3868 -m -w 1
-A -t [fd00:10:96::a]:53 -s lc -p 60 -M 64
-a -t [fd00:10:96::a]:53 -r [fd00:10:244::3]:5353 -m -w 1
-a -t [fd00:10:96::a]:53 -r [2001:db8::ffff]:5353 -m -w 7
-A -f 5 -s rr -p 300
-a -f 5 -r 10.244.0.9:0 -m -w 3
-A -f 70000 -6 -s sed
";

/// The same as `ipvsadm -Ln` prints it, and the timeouts.
const LISTED: &str = "\
IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn
TCP  192.0.2.10:30080 rr
  -> 10.244.0.5:8080              Masq    1      3          2         \n  -> 10.244.2.9:8080              Masq    1      0          0         \nTCP  203.0.113.5:80 lblcr persistent 600 mask 255.255.255.0
TCP  10.96.0.10:53 wlc persistent 10800
  -> 10.244.0.3:53                Masq    0      0          7         \nUDP  10.96.0.10:53 mh (mh-port)
UDP  10.96.0.11:53 sh (sh-fallback,sh-port) ops
  -> 10.244.0.3:53                Route   100    0          0         \n  -> 10.244.0.4:53                Tunnel  2      0          0         \nSCTP 10.96.0.12:3868 nq
  -> 10.244.0.8:3868              Masq    1      0          0         \nTCP  [fd00:10:96::a]:53 lc persistent 60 mask 64
  -> [fd00:10:244::3]:5353        Masq    1      0          0         \n  -> [2001:db8::ffff]:5353        Masq    7      0          0         \nFWM  5 rr persistent 300
  -> 10.244.0.9:0                 Masq    3      0          0         \nFWM  70000 IPv6 sed
Timeout (tcp tcpfin udp): 900 120 300
";

/// Some of it as `/proc/net/ip_vs` shows it, which has no names for flags.
const PROC: &str = "\
IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
TCP  C000020A:7580 rr \n  -> 0AF40209:1F90      Masq    1      0          0         \n  -> 0AF40005:1F90      Masq    1      3          2         \nTCP  CB007105:0050 lblcr persistent 600 FFFFFF00
UDP  0A60000B:0035 sh ops \nTCP  [fd00:0010:0096:0000:0000:0000:0000:000a]:0035 lc persistent 60 40000000
  -> [fd00:0010:0244:0000:0000:0000:0000:0003]:14E9      Masq    1      0          0         \nFWM  00000005 rr persistent 300 FFFFFFFF
  -> 0AF40009:0000      Masq    3      0          0         \n";

#[test]
fn every_kind_of_server_comes_back() {
    assert_eq!(print_save(&read(SAVED)), SAVED);
}

#[test]
fn a_listing_reads_like_what_is_saved() {
    let listed = read(LISTED);
    assert_eq!(compare(&read(SAVED), &listed), []);
    assert_eq!(print_save(&listed), SAVED);
    assert_eq!(listed.timeouts, Some(Timeouts { tcp: 900, tcp_fin: 120, udp: 300 }));
    let first = &listed.services[0].real_servers[0];
    assert_eq!(first.connections, Connections { active: 3, inactive: 2 });
}

#[test]
fn proc_is_hexadecimal() {
    insta::assert_snapshot!(print_save(&read(PROC)), @r"
    -A -t 192.0.2.10:30080 -s rr
    -a -t 192.0.2.10:30080 -r 10.244.0.5:8080 -m -w 1
    -a -t 192.0.2.10:30080 -r 10.244.2.9:8080 -m -w 1
    -A -t 203.0.113.5:80 -s lblcr -p 600 -M 255.255.255.0
    -A -u 10.96.0.11:53 -s sh -o
    -A -t [fd00:10:96::a]:53 -s lc -p 60 -M 64
    -a -t [fd00:10:96::a]:53 -r [fd00:10:244::3]:5353 -m -w 1
    -A -f 5 -s rr -p 300
    -a -f 5 -r 10.244.0.9:0 -m -w 3
    ");
}

#[test]
fn columns_that_say_nothing_are_passed_over() {
    let stats = "\
Prot LocalAddress:Port               Conns   InPkts  OutPkts  InBytes OutBytes
  -> RemoteAddress:Port
TCP  192.0.2.10:30080                    5       20       15     1200     3000
  -> 10.244.0.5:8080                     3       12        9      720     1800
";
    let thresholds = "\
Prot LocalAddress:Port            Uthreshold Lthreshold ActiveConn InActConn
  -> RemoteAddress:Port
TCP  192.0.2.10:30080
  -> 10.244.0.5:8080              1000       500        3          2
";
    let table = read(&format!("{LISTED}{stats}{thresholds}"));
    assert_eq!(compare(&read(SAVED), &table).len(), 1);
    let server = &table.services[0].real_servers[0];
    assert_eq!((server.upper_threshold, server.lower_threshold), (1000, 500));
    let errors = parse_table(stats).errors;
    assert_eq!(errors[0].expected, "a listing with schedulers");
}

#[test]
fn what_makes_no_sense_is_reported() {
    let text = "\
-A -t 10.0.0.1 -s
-A -t nowhere:80 -s rr
-a -t 10.0.0.1:80 -r 10.0.0.2:80 -m -w 1
-A -t 10.0.0.1:80 -s rr --frob
TCP  10.0.0.9:80 rr frob
  -> 10.0.0.2:80 Masq 1 0
ICMP 10.0.0.1:80 rr
-A -t 10.0.0.1:80 -s rr
-A -t 10.0.0.1:80 -s rr
-a -t 10.0.0.1:80 -r 10.0.0.2:99999 -m
-Q
";
    let errors: Vec<String> = parse_table(text).errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(errors.join("\n"), @"
    line 1: expected a value, found `-A -t 10.0.0.1 -s`
    line 2: expected an address and a port, found `-A -t nowhere:80 -s rr`
    line 3: expected a known virtual server, found `-a -t 10.0.0.1:80 -r 10.0.0.2:80 -m -w 1`
    line 4: expected an option of ipvsadm, found `-A -t 10.0.0.1:80 -s rr --frob`
    line 5: expected a property of a virtual server, found `TCP  10.0.0.9:80 rr frob`
    line 6: expected three numbers, found `-> 10.0.0.2:80 Masq 1 0`
    line 7: expected a protocol, found `ICMP 10.0.0.1:80 rr`
    line 9: expected a command that can be done, found `-A -t 10.0.0.1:80 -s rr`
    line 10: expected an address and a port, found `-a -t 10.0.0.1:80 -r 10.0.0.2:99999 -m`
    line 11: expected a command of ipvsadm, found `-Q`
    ");
}

#[test]
fn commands_change_the_table() {
    let text = "\
-A -t 10.0.0.1:80 -s rr
-a -t 10.0.0.1:80 -r 10.0.0.2:80 -m -w 1
-a -t 10.0.0.1:80 -r 10.0.0.3:80 -m -w 1 -x 10 -y 5
-e -t 10.0.0.1:80 -r 10.0.0.2:80 -m -w 0
-E -t 10.0.0.1:80 -s sh -b sh-port
-A -t 10.0.0.9:80 -s rr
-D -t 10.0.0.9:80
--set 0 60 0
";
    let commands = parse_commands(text);
    assert_eq!(commands.errors, []);
    assert_eq!(print_commands(&commands.value), text);
    let mut table = Table::default();
    for command in &commands.value {
        apply(&mut table, command).unwrap();
    }
    assert_eq!(table.timeouts, Some(Timeouts { tcp: 900, tcp_fin: 60, udp: 300 }));
    let addresses: Vec<String> =
        table.services[0].real_servers.iter().map(|s| s.address.to_string()).collect();
    assert_eq!(addresses, ["10.0.0.3", "10.0.0.2"], "the last one added is at the head");
    for (text, error) in [
        ("-A -t 10.0.0.1:80", "virtual server -t 10.0.0.1:80 already exists"),
        ("-D -t 10.0.0.9:80", "no virtual server -t 10.0.0.9:80"),
        (
            "-a -t 10.0.0.1:80 -r 10.0.0.2:80",
            "virtual server -t 10.0.0.1:80 already has a real server 10.0.0.2 port 80",
        ),
        (
            "-d -t 10.0.0.1:80 -r 10.0.0.8:80",
            "virtual server -t 10.0.0.1:80 has no real server 10.0.0.8 port 80",
        ),
    ] {
        let command = &parse_commands(text).value[0];
        assert_eq!(apply(&mut table, command).unwrap_err().to_string(), error);
    }
}

#[test]
fn differences_are_named() {
    let other = SAVED
        .replace("30080 -s rr", "30080 -s lc")
        .replace("10.244.2.9:8080", "10.244.2.8:8080")
        .replace("-w 100", "-w 99")
        .replace("-A -f 5 -s rr -p 300\n-a -f 5 -r 10.244.0.9:0 -m -w 3\n", "-A -f 6 -s rr\n");
    let found: Vec<String> =
        compare(&read(SAVED), &read(&other)).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "virtual server -t 192.0.2.10:30080: expected -s rr, found -s lc",
            "virtual server -t 192.0.2.10:30080: missing real server 10.244.2.9 port 8080",
            "virtual server -t 192.0.2.10:30080: extra real server 10.244.2.8 port 8080",
            "virtual server -u 10.96.0.11:53: expected -r 10.244.0.3:53 -g -w 100, found -r 10.244.0.3:53 -g -w 99",
            "missing virtual server -f 5",
            "extra virtual server -f 6"
        ]
    );
}

fn address(v6: bool) -> BoxedStrategy<IpAddr> {
    if v6 {
        any::<[u8; 16]>().prop_map(IpAddr::from).boxed()
    } else {
        any::<[u8; 4]>().prop_map(IpAddr::from).boxed()
    }
}

fn real_server(v6: bool) -> impl Strategy<Value = RealServer> {
    let method = prop_oneof![
        Just(Forwarding::Masquerade),
        Just(Forwarding::DirectRoute),
        Just(Forwarding::Tunnel)
    ];
    (address(v6), any::<u16>(), method, any::<u16>()).prop_map(|(address, port, method, weight)| {
        RealServer { weight: weight.into(), ..RealServer::new(address, port, method) }
    })
}

fn service() -> impl Strategy<Value = (ServiceId, VirtualServer)> {
    let id = (any::<bool>(), any::<bool>()).prop_flat_map(|(v6, by_mark)| {
        if by_mark {
            let id = (1..=u32::MAX).prop_map(move |mark| ServiceId::Mark { mark, ipv6: v6 });
            return id.boxed();
        }
        let protocol = prop_oneof![Just(Protocol::TCP), Just(Protocol::UDP), Just(Protocol::SCTP)];
        (protocol, address(v6), any::<u16>())
            .prop_map(|(protocol, address, port)| ServiceId::Address { protocol, address, port })
            .boxed()
    });
    let flags = any::<[bool; 3]>().prop_map(|[first, second, third]| SchedulerFlags {
        first,
        second,
        third,
    });
    let scheduler = prop_oneof![
        Just(Scheduler::RoundRobin),
        Just(Scheduler::SourceHashing),
        Just(Scheduler::Maglev),
        Just(Scheduler::Other("new".into()))
    ];
    let rest = (flags, scheduler, proptest::option::of(1..99999_u32), any::<bool>());
    (id, rest).prop_flat_map(|(id, (flags, scheduler, timeout, one_packet))| {
        let persistence = timeout.map(|timeout| Persistence {
            timeout,
            netmask: if timeout % 2 == 0 {
                Netmask::full(id.is_ipv6())
            } else if id.is_ipv6() {
                Netmask::V6(64)
            } else {
                Netmask::V4([255, 255, 0, 0].into())
            },
            engine: None,
        });
        let servers = btree_map(any::<u8>(), real_server(id.is_ipv6()), 0..5);
        servers.prop_map(move |servers| {
            let real_servers = servers.into_values().collect();
            (id, VirtualServer { scheduler, flags, persistence, one_packet, real_servers })
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn reading_undoes_printing(services in vec(service(), 0..6)) {
        let table = Table { services: services.into_iter().collect(), timeouts: None };
        let text = print_save(&table);
        let again = parse_table(&text);
        prop_assert_eq!(&again.errors, &[]);
        prop_assert_eq!(compare(&table, &again.value), []);
        prop_assert_eq!(&parse_table(&print_save(&again.value)).value.services.len(), &table.services.len());
    }

    #[test]
    fn any_text_is_read(
        lines in vec("(-A|-a|TCP|FWM|->|Prot|Timeout \\(tcp tcpfin udp\\):) [ -~é]{0,40}", 0..10),
    ) {
        let _ = parse_table(&lines.join("\n"));
        let _ = parse_commands(&lines.join("\n"));
    }
}
