//! The trace of a walk, as a person reads it.

use crate::world::{node, process, walk};

#[test]
fn a_trace_tells_the_whole_way() {
    let state = node(
        "table ip kube-proxy {
        set cluster-ips { type ipv4_addr; elements = { 10.96.0.1 } }
        map service-ips { type ipv4_addr . inet_proto . inet_service : verdict;
            elements = { 10.96.0.1 . tcp . 80 : goto service } }
        chain nat-output { type nat hook output priority -100; jump services }
        chain nat-postrouting { type nat hook postrouting priority srcnat; jump masquerading }
        chain services {
            ip daddr @cluster-ips meta mark set meta mark | 0x4000
            ip daddr . meta l4proto . th dport vmap @service-ips
        }
        chain service {
            meta l4proto tcp dnat ip to numgen random mod 2 map { 0 : 10.244.0.5 . 8080, 1 : 10.244.1.5 . 8080 }
        }
        chain masquerading {
            meta mark & 0x4000 != 0 meta mark set meta mark ^ 0x4000 masquerade fully-random
        }
    }",
    );
    let walk = walk(&state, &process("10.96.0.1", 80));
    let story: Vec<String> = walk.paths[1].steps.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(story.join("\n"));
}
