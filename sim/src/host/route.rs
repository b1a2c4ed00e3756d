//! Route look-up: policy rules by priority, then the longest prefix, then the lowest metric
//! (ip-rule(8), ip-route(8)).

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::host::{Address, Host, PolicyRule, Route, RouteKind, Scope};

use super::inventory::Inventory;
use super::{LOOPBACK, Network};
use crate::mark::Mark;

/// The table of local and broadcast addresses.
pub const LOCAL: u32 = 255;
/// The table that holds the ordinary routes.
pub const MAIN: u32 = 254;
/// The last table that is looked in.
pub const DEFAULT: u32 = 253;

/// What a route is looked up for.
#[derive(Debug, Clone, Copy)]
pub struct Query {
    /// Where the packet goes.
    pub destination: IpAddr,
    /// Where it comes from, if that is settled.
    pub source: Option<IpAddr>,
    /// Its mark.
    pub mark: Mark,
    /// The interface by which it came in; `None` for a node process (whose packets a rule with
    /// `iif lo` selects).
    pub input: Option<Name>,
}

/// The routing tables.
#[derive(Debug, Default)]
pub struct Tables {
    routes: Vec<Route>,
    by_table: HashMap<(u32, Family), ByLength>,
}

/// The routes of one table: for each prefix length, longest first, the routes by network address.
type ByLength = BTreeMap<std::cmp::Reverse<u8>, HashMap<IpAddr, Vec<usize>>>;

impl Tables {
    /// Indexes the routes, and adds those that the kernel makes by itself for the addresses.
    pub(super) fn new(host: &Host, addresses: &Inventory, assumed: &mut Vec<String>) -> Tables {
        let mut tables = Tables::default();
        host.routes.iter().for_each(|route| tables.add(route.clone()));
        for address in addresses.all() {
            local_routes(address, addresses).for_each(|route| tables.add_missing(route));
        }
        for family in Family::BOTH {
            if !tables.by_table.contains_key(&(MAIN, family)) {
                tables.assume_main(addresses.all(), family, assumed);
            }
        }
        tables
    }

    fn add(&mut self, route: Route) {
        let network = route.destination;
        let by_length = self.by_table.entry((route.table, family_of(network))).or_default();
        let same_length = by_length.entry(std::cmp::Reverse(network.prefix_len())).or_default();
        let same = same_length.entry(network.network()).or_default();
        let at = same.partition_point(|&i| self.routes[i].metric <= route.metric);
        same.insert(at, self.routes.len());
        self.routes.push(route);
    }

    fn add_missing(&mut self, route: Route) {
        if self.find(route.table, route.destination).is_none() {
            self.add(route);
        }
    }

    /// Without any route of a family the description is taken to lack them, not the node: the
    /// networks of its addresses and a default route over the first real interface are added.
    fn assume_main(&mut self, addresses: &[Address], family: Family, assumed: &mut Vec<String>) {
        let of_family =
            |a: &&Address| family_of(a.network) == family && a.link.as_str() != LOOPBACK;
        for address in addresses.iter().filter(of_family) {
            self.add_missing(plain(
                MAIN,
                RouteKind::Unicast,
                address.network.trunc(),
                address.link,
            ));
        }
        let uplink = addresses.iter().filter(of_family).find(|a| {
            a.scope == Scope::Global && a.network.prefix_len() != a.network.max_prefix_len()
        });
        if let Some(uplink) = uplink {
            let mut route = plain(MAIN, RouteKind::Unicast, everything(family), uplink.link);
            route.gateway = Some(uplink.network.hosts().next().unwrap_or(uplink.network.addr()));
            self.add(route);
            assumed.push(format!("{family} routes: default over {}", uplink.link));
        }
    }

    fn find(&self, table: u32, network: IpNet) -> Option<&Route> {
        let by_length = self.by_table.get(&(table, family_of(network)))?;
        let same =
            by_length.get(&std::cmp::Reverse(network.prefix_len()))?.get(&network.network())?;
        same.first().map(|&i| &self.routes[i])
    }

    /// Returns the best route to `address` in one table.
    pub(super) fn longest(&self, table: u32, address: IpAddr) -> Option<&Route> {
        let by_length = self.by_table.get(&(table, Family::of(address)))?;
        by_length.iter().find_map(|(length, networks)| {
            let same = networks.get(&masked(address, length.0))?;
            same.first().map(|&i| &self.routes[i])
        })
    }

    pub(super) fn all(&self) -> &[Route] {
        &self.routes
    }
}

impl Network {
    /// Looks up the route of a packet. `decide` is asked about policy rules that the model cannot
    /// decide: those with selectors that it does not know, or that test unknown bits of the mark.
    ///
    /// # Errors
    /// Gives what `decide` gives.
    pub fn route<E>(
        &self,
        query: &Query,
        mut decide: impl FnMut(&PolicyRule) -> Result<bool, E>,
    ) -> Result<Option<&Route>, E> {
        for rule in &self.rules {
            if !match rule_selects(rule, query) {
                Some(selects) => selects,
                None => decide(rule)?,
            } {
                continue;
            }
            match self.tables.longest(rule.table, query.destination) {
                None => {}
                Some(route) if route.kind == RouteKind::Throw => {}
                Some(route) => return Ok(Some(route)),
            }
        }
        Ok(None)
    }
}

impl Network {
    /// Returns the interface by which packets to an address leave, and by which those from it come
    /// in as far as nothing else is known.
    #[must_use]
    pub fn link_to(&self, address: IpAddr) -> Option<Name> {
        let query = Query { destination: address, source: None, mark: Mark::ZERO, input: None };
        let route: Result<_, std::convert::Infallible> = self.route(&query, |_| Ok(false));
        route.unwrap_or_default().and_then(|route| route.link)
    }

    /// Tells whether an address is this host's, or of something that is reached through it alone:
    /// by an interface without a next hop. Interfaces that lead to a next hop lead to others too.
    #[must_use]
    pub fn is_behind(&self, address: IpAddr) -> bool {
        if self.is_local(address) {
            return true;
        }
        let query = Query { destination: address, source: None, mark: Mark::ZERO, input: None };
        let route: Result<_, std::convert::Infallible> = self.route(&query, |_| Ok(false));
        let Ok(Some(Route { link: Some(link), kind: RouteKind::Unicast, .. })) = route else {
            return false;
        };
        let leads_on = |route: &Route| route.gateway.is_some() && route.link == Some(*link);
        !self.tables.all().iter().any(leads_on)
    }
}

/// Tells whether a policy rule selects a packet; `None` if the model cannot tell.
fn rule_selects(rule: &PolicyRule, query: &Query) -> Option<bool> {
    let selects = |network: &Option<IpNet>, address: Option<IpAddr>| match (network, address) {
        (None, _) => true,
        (Some(network), Some(address)) => network.contains(&address),
        (Some(network), None) => network.prefix_len() == 0,
    };
    let enters_by = |link: Name| match query.input {
        Some(input) => input == link,
        None => link.as_str() == LOOPBACK,
    };
    let surely_not = rule.ipv6 == query.destination.is_ipv4()
        || !selects(&rule.from, query.source)
        || !selects(&rule.to, Some(query.destination))
        || !rule.input.is_none_or(enters_by);
    if surely_not {
        return Some(false);
    }
    let mark = match rule.mark {
        Some((value, mask)) => query.mark.matches(value, mask),
        None => Some(true),
    };
    match (mark, &rule.rest) {
        (Some(false), _) => Some(false),
        (_, Some(_)) => None,
        (mark, None) => mark,
    }
}

/// Returns the policy rules by priority; the three of every Linux host if none are known.
pub(super) fn policy_rules(known: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut rules = known.to_vec();
    for (family, ipv6) in [(Family::V4, false), (Family::V6, true)] {
        if known.iter().all(|rule| rule.ipv6 != ipv6) {
            rules.extend(initial_rules(family));
        }
    }
    rules.sort_by_key(|rule| rule.priority);
    rules
}

fn initial_rules(family: Family) -> impl Iterator<Item = PolicyRule> {
    [(0, LOCAL), (32_766, MAIN), (32_767, DEFAULT)].into_iter().map(move |(priority, table)| {
        let ipv6 = family == Family::V6;
        PolicyRule {
            priority,
            ipv6,
            from: None,
            to: None,
            mark: None,
            input: None,
            table,
            rest: None,
        }
    })
}

/// Returns the routes of the local table that come with an address.
fn local_routes(address: &Address, all: &Inventory) -> impl Iterator<Item = Route> {
    let network = address.network;
    let host = |kind, at: IpAddr| plain(LOCAL, kind, IpNet::from(at), address.link);
    let mut local = host(RouteKind::Local, network.addr());
    local.source = Some(all.primary_of(address));
    let whole = network.addr().is_loopback() && network.addr().is_ipv4();
    let loopback = whole.then(|| Route { destination: network.trunc(), ..local.clone() });
    let broadcast = (network.addr().is_ipv4() && network.prefix_len() < 31)
        .then(|| host(RouteKind::Broadcast, network.broadcast()));
    let anycast = (network.addr().is_ipv6() && network.prefix_len() < 127)
        .then(|| host(RouteKind::Anycast, network.network()));
    [Some(local), loopback, broadcast, anycast].into_iter().flatten()
}

fn plain(table: u32, kind: RouteKind, destination: IpNet, link: Name) -> Route {
    Route { table, kind, destination, gateway: None, link: Some(link), source: None, metric: 0 }
}

fn everything(family: Family) -> IpNet {
    match family {
        Family::V4 => IpNet::V4(Ipv4Net::default()),
        Family::V6 => IpNet::V6(Ipv6Net::default()),
    }
}

fn masked(address: IpAddr, length: u8) -> IpAddr {
    IpNet::new(address, length).map_or(address, |network| network.network())
}

fn family_of(network: IpNet) -> Family {
    Family::of(network.addr())
}
