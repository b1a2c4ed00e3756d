//! Which sysctls of a host are set in a namespace. A dump may have hundreds, most of them of the
//! whole machine; only those that decide on a packet's way, and belong to a namespace, are set.

use kps_ruleset::host::Host;

use crate::setup::Link;

/// Those of the stack and of connection tracking.
const OF_HOST: [&str; 4] = [
    "net.ipv4.ip_forward",
    "net.ipv6.conf.all.forwarding",
    "net.netfilter.nf_conntrack_tcp_be_liberal",
    "net.netfilter.nf_conntrack_tcp_loose",
];
/// `net.ipv4.conf.LINK.SETTING`.
const OF_LINKS: [&str; 5] =
    ["accept_local", "forwarding", "route_localnet", "rp_filter", "src_valid_mark"];
/// `net.ipv4.vs.SETTING`.
const OF_IPVS: [&str; 4] =
    ["conn_reuse_mode", "conntrack", "expire_nodest_conn", "expire_quiescent_template"];

/// Returns the sysctls to set on a host with these links.
pub fn chosen(host: &Host, links: &[Link], ipvs: bool) -> Vec<(String, String)> {
    let dotted = host.sysctls.iter().map(|(name, value)| (name.replace('/', "."), value.clone()));
    dotted.filter(|(name, _)| decides(name, links, ipvs)).collect()
}

fn decides(name: &str, links: &[Link], ipvs: bool) -> bool {
    if let Some(setting) = name.strip_prefix("net.ipv4.vs.") {
        return ipvs && OF_IPVS.contains(&setting);
    }
    let of_link = name.strip_prefix("net.ipv4.conf.").and_then(|rest| rest.rsplit_once('.'));
    match of_link {
        Some((link, setting)) => OF_LINKS.contains(&setting) && is_there(link, links),
        None => OF_HOST.contains(&name),
    }
}

fn is_there(link: &str, links: &[Link]) -> bool {
    ["all", "default", "lo"].contains(&link) || links.iter().any(|it| it.name == link)
}
