//! A node with virtual servers: that of `world`, with addresses on kube-ipvs0.

use kps_ruleset::host::parse::parse_addresses;
use kps_ruleset::{NodeState, ipvs};

use crate::world::node;

const ON_KUBE_IPVS0: &str = "\
9: kube-ipvs0    inet 10.96.0.1/32 scope global kube-ipvs0
9: kube-ipvs0    inet6 fd00:10:96::1/128 scope global
";

/// Marks what outside clients and node processes send to 10.96.0.1 and masquerades it, as
/// kube-proxy does.
pub const MARKING: &str = "table inet nat {
    chain pre { type nat hook prerouting priority -100; jump services }
    chain out { type nat hook output priority -100; jump services }
    chain services {
        ip saddr != 10.244.0.0/16 ip daddr 10.96.0.1 meta mark set 0x4000
        ip6 saddr != fd00:10:244::/48 ip6 daddr fd00:10:96::1 meta mark set 0x4000
    }
    chain post { type nat hook postrouting priority 100; meta mark 0x4000 masquerade }
}
";

/// A node with these rules and these virtual servers, as `ipvsadm-save -n` prints them.
pub fn director(rules: &str, servers: &str) -> NodeState {
    let mut state = node(rules);
    let parsed = ipvs::parse_table(servers);
    assert_eq!(parsed.errors, [], "{servers}");
    state.ipvs = parsed.value;
    state.host.addresses.extend(parse_addresses(ON_KUBE_IPVS0).value);
    state
}

/// A virtual server `10.96.0.1:80` with one real server: the pod of this node.
pub const ONE: &str = "-A -t 10.96.0.1:80 -s rr\n-a -t 10.96.0.1:80 -r 10.244.0.5:8080 -m -w 1\n";
