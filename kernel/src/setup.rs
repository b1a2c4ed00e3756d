//! What makes a fresh namespace look like a node: a [`Setup`], which is text for the tools that load
//! it. It can be sent to another kernel, or be read.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

use kps_ruleset::NodeState;
use kps_ruleset::host::{Address, Host};
use kps_ruleset::iptables::{self, DualStack, Match, Ruleset};
use kps_ruleset::ipvs::{self, Command, Table, VirtualServer};
use kps_ruleset::{ipset, nftables};
use serde::{Deserialize, Serialize};

use crate::{network, sysctl};

/// How a node is made, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Whether it takes a kernel with IPVS.
    pub ipvs: bool,
    /// The links, but for loopback.
    pub links: Vec<Link>,
    /// The sysctls that are set, by their dotted names.
    pub sysctls: Vec<(String, String)>,
    /// Addresses and routes.
    pub network: Vec<Input>,
    /// The addresses that the node must have before it gets rules: the kernel adds those of IPv6
    /// late.
    pub awaited: Vec<Ipv6Addr>,
    /// Rules, sets and virtual servers.
    pub rules: Vec<Input>,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Whether it is set up.
    pub up: bool,
}

/// What a tool is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its standard input.
    pub text: String,
}

/// Which of the iptables tools load rules: the two variants share a language, not their code in the
/// kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    /// `iptables-restore`: the variant that the machine has chosen.
    #[default]
    Chosen,
    /// `iptables-nft-restore`: rules of nftables, with matches of xtables where it has none.
    Nft,
    /// `iptables-legacy-restore`: rules of xtables.
    Legacy,
}

impl Setup {
    /// Returns how a node with this state is made.
    #[must_use]
    pub fn new(state: &NodeState, variant: Variant) -> Setup {
        let host = &state.host;
        let links = links(host);
        Setup {
            ipvs: needs_ipvs(state),
            sysctls: sysctl::chosen(host, &links, needs_ipvs(state)),
            network: [false, true].map(|v6| network::input(host, &links, v6)).into(),
            awaited: host.addresses.iter().filter_map(ipv6).collect(),
            rules: rules(state, variant),
            links,
        }
    }
}

/// Tells whether there is anything that only IPVS knows.
fn needs_ipvs(state: &NodeState) -> bool {
    let DualStack { v4, v6 } = &state.iptables;
    let chains = [v4, v6].into_iter().flat_map(|rules| rules.tables.values());
    let rules = chains.flat_map(|table| table.chains.values()).flat_map(|chain| &chain.rules);
    let mut matches = rules.flat_map(|rule| &rule.matches);
    !state.ipvs.services.is_empty() || matches.any(|test| matches!(test, Match::Ipvs(_)))
}

impl Variant {
    fn tool(self, v6: bool) -> &'static str {
        match (self, v6) {
            (Variant::Chosen, false) => "iptables-restore",
            (Variant::Chosen, true) => "ip6tables-restore",
            (Variant::Nft, false) => "iptables-nft-restore",
            (Variant::Nft, true) => "ip6tables-nft-restore",
            (Variant::Legacy, false) => "iptables-legacy-restore",
            (Variant::Legacy, true) => "ip6tables-legacy-restore",
        }
    }
}

/// Returns the links that anything of the host names, but for loopback. Those that are not listed
/// are up.
fn links(host: &Host) -> Vec<Link> {
    let named = host.links.iter().map(|link| link.name);
    let addressed = host.addresses.iter().map(|address| address.link);
    let routed = host.routes.iter().filter_map(|route| route.link);
    let all: BTreeSet<String> =
        named.chain(addressed).chain(routed).map(|name| name.to_string()).collect();
    let is_up = |name: &str| host.links.iter().all(|link| link.up || *link.name != *name);
    let others = all.into_iter().filter(|name| name != "lo");
    others.map(|name| Link { up: is_up(&name), name }).collect()
}

fn ipv6(address: &Address) -> Option<Ipv6Addr> {
    match address.network.addr() {
        IpAddr::V6(it) if !it.is_loopback() => Some(it),
        _ => None,
    }
}

/// Returns what the tools that kube-proxy uses are given. Sets come before the rules that name them.
fn rules(state: &NodeState, variant: Variant) -> Vec<Input> {
    let NodeState { nftables, iptables, ipset, ipvs, .. } = state;
    let inputs = [
        ("nft", &["-f", "-"][..], nftables::print::print_ruleset(nftables)),
        ("ipset", &["restore"], ipset::print_save(ipset)),
        (variant.tool(false), &[], restorable(&iptables.v4)),
        (variant.tool(true), &[], restorable(&iptables.v6)),
        ("ipvsadm", &["--restore"], ipvs::print_commands(&commands(ipvs))),
    ];
    let given = inputs.into_iter().filter(|(.., text)| !text.is_empty());
    given.map(|(tool, arguments, text)| Input::new(tool, arguments, text)).collect()
}

impl Input {
    /// Returns what a tool is given.
    #[must_use]
    pub fn new(tool: &str, arguments: &[&str], text: String) -> Input {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        Input { tool: tool.to_owned(), arguments, text }
    }
}

fn restorable(rules: &Ruleset) -> String {
    if rules.tables.is_empty() {
        return String::new();
    }
    iptables::print_ruleset(&uncounted(rules), false)
}

/// Returns the rules without matches on nfacct objects: these hold for every packet, and the objects
/// must be there before, which takes a kernel module and a tool that few machines have.
fn uncounted(rules: &Ruleset) -> Ruleset {
    let mut rules = rules.clone();
    let chains = rules.tables.values_mut().flat_map(|table| table.chains.values_mut());
    for rule in chains.flat_map(|chain| &mut chain.rules) {
        let matches = rule.matches.iter().filter(|m| !matches!(m, Match::Nfacct(_)));
        rule.matches = matches.cloned().collect();
    }
    rules
}

/// Returns the commands that make the virtual servers.
fn commands(table: &Table) -> Vec<Command> {
    let timeouts = table.timeouts.map(Command::SetTimeouts);
    timeouts.into_iter().chain(table.services.iter().flat_map(server_commands)).collect()
}

fn server_commands((id, server): (&ipvs::ServiceId, &VirtualServer)) -> Vec<Command> {
    let service = *id;
    let empty = VirtualServer { real_servers: Vec::new(), ..server.clone() };
    let mut all = vec![Command::AddService { service, server: empty }];
    let real = server.real_servers.iter().cloned();
    all.extend(real.map(|server| Command::AddServer { service, server }));
    all
}

#[cfg(test)]
mod tests {
    use kps_ruleset::host;
    use kps_ruleset::ipvs::{Forwarding, RealServer, Scheduler, ServiceId};
    use kps_ruleset::{Name, Protocol};

    use super::*;

    fn director() -> NodeState {
        let mut state = NodeState::default();
        let link = |name, up| host::Link { name: Name::new(name), up, master: None };
        state.host.links = vec![link("lo", true), link("eth0", true), link("kube-ipvs0", false)];
        let address = |link, network: &str, scope| {
            let network = network.parse().unwrap();
            Address { link: Name::new(link), network, scope }
        };
        state.host.addresses = vec![
            address("lo", "::1/128", host::Scope::Host),
            address("kube-ipvs0", "fd00:10:96::1/128", host::Scope::Global),
        ];
        let mut server = VirtualServer::new(Scheduler::RoundRobin);
        let real = [10, 244, 0, 5].into();
        server.real_servers.push(RealServer::new(real, 8080, Forwarding::Masquerade));
        let id = ServiceId::Address {
            protocol: Protocol::TCP,
            address: [10, 96, 0, 1].into(),
            port: 80,
        };
        state.ipvs.services.insert(id, server);
        state
    }

    #[test]
    fn a_link_that_is_down_is_made_and_stays_down() {
        let setup = Setup::new(&director(), Variant::Chosen);
        let link = |name: &str, up| Link { name: name.into(), up };
        assert_eq!(setup.links, [link("eth0", true), link("kube-ipvs0", false)]);
        assert_eq!(
            setup.network[1].text,
            "link set lo up\nlink set eth0 up\naddr add fd00:10:96::1/128 dev kube-ipvs0 nodad\n"
        );
        assert_eq!(setup.awaited, ["fd00:10:96::1".parse::<Ipv6Addr>().unwrap()]);
    }

    #[test]
    fn virtual_servers_take_a_kernel_with_ipvs() {
        let setup = Setup::new(&director(), Variant::Chosen);
        assert!(setup.ipvs);
        assert!(!Setup::new(&NodeState::default(), Variant::Chosen).ipvs);
        assert_eq!(
            setup.rules,
            [Input::new(
                "ipvsadm",
                &["--restore"],
                "-A -t 10.96.0.1:80 -s rr\n-a -t 10.96.0.1:80 -r 10.244.0.5:8080 -m -w 1\n".into()
            )]
        );
    }

    #[test]
    fn sysctls_of_the_machine_are_left_alone() {
        let set = |names: &[&str], state: NodeState| {
            let mut state = state;
            let value = |name: &&str| ((*name).to_owned(), "1".to_owned());
            state.host.sysctls = names.iter().map(value).collect();
            let sysctls = Setup::new(&state, Variant::Chosen).sysctls;
            sysctls.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        let of_links = ["net.ipv4.conf.eth0.rp_filter", "net.ipv4.conf.eth9.rp_filter"];
        assert_eq!(set(&of_links, director()), of_links[..1]);
        assert_eq!(set(&["net/ipv4/ip_forward"], director()), ["net.ipv4.ip_forward"]);
        assert_eq!(set(&["net.ipv4.vs.conntrack"], director()), ["net.ipv4.vs.conntrack"]);
        let others = ["kernel.panic", "net.core.rmem_max", "net.netfilter.nf_conntrack_max"];
        assert!(set(&others, director()).is_empty());
        assert!(set(&["net.ipv4.vs.conntrack"], NodeState::default()).is_empty());
    }
}
