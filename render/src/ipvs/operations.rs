//! The steps of a sync, in kube-proxy's order.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use kps_ruleset::ipset::{self, Element, Entry};
use kps_ruleset::ipvs::{self, RealServer, ServiceId, VirtualServer};

use super::plan::{DEVICE, Fragment, Plan};
use super::sets::SetKind;
use crate::Operation;
use crate::iptables::{Jump, restore, ruleset_family};

impl Plan {
    /// Returns the steps from a node that has nothing of this proxier.
    #[must_use]
    pub fn into_operations(self) -> Vec<Operation> {
        let family = ruleset_family(self.family);
        let mut operations = self.start();
        operations.extend(Jump::operations(self.jumps, family));
        operations.push(Operation::Device(DEVICE));
        operations.extend(self.create_sets());
        Servers::default().add(&self.fragments, &mut operations);
        operations.extend(self.fill_sets());
        operations.push(Operation::Restore {
            family,
            transactions: restore([
                ("nat", vec![self.rules.nat]),
                ("filter", vec![self.rules.filter]),
            ]),
        });
        operations
    }

    fn start(&self) -> Vec<Operation> {
        let sysctls = self.sysctls.iter().map(|(name, value)| Operation::Sysctl { name, value });
        let timeouts = self.timeouts.map(ipvs::Command::SetTimeouts).map(Operation::Ipvs);
        sysctls.chain(timeouts).collect()
    }

    fn create_sets(&self) -> impl Iterator<Item = Operation> {
        SetKind::ALL.into_iter().map(|kind| {
            let set = kind.create(self.family);
            Operation::Ipset(ipset::Command::Create {
                name: kind.name(self.family),
                kind: set.kind,
                options: set.options,
                exist: true,
            })
        })
    }

    /// Adds the entries, each once, set by set.
    fn fill_sets(&self) -> Vec<Operation> {
        let mut known = HashSet::new();
        let mut entries: Vec<(SetKind, Element)> =
            self.fragments.iter().flat_map(|fragment| &fragment.entries).copied().collect();
        entries.retain(|entry| known.insert(*entry));
        entries.sort_by_key(|(kind, _)| *kind);
        let add = |(kind, element): (SetKind, Element)| {
            let set = kind.name(self.family);
            Operation::Ipset(ipset::Command::Add {
                set,
                element,
                entry: Entry::default(),
                exist: true,
            })
        };
        entries.into_iter().map(add).collect()
    }
}

/// The virtual servers that are there while `ServicePort`s are added one after the other.
#[derive(Default)]
struct Servers<'a> {
    known: HashMap<ServiceId, &'a VirtualServer>,
    /// The addresses on the device.
    bound: HashSet<IpAddr>,
}

impl<'a> Servers<'a> {
    /// Adds each virtual server, then puts its address on the device, then adds real servers.
    fn add(&mut self, fragments: &'a [Fragment], operations: &mut Vec<Operation>) {
        for fragment in fragments {
            let binds: HashSet<IpAddr> = fragment.bound_addresses().collect();
            for (service, server) in &fragment.servers {
                for command in self.commands(*service, server) {
                    let added = matches!(command, ipvs::Command::AddService { .. });
                    operations.push(Operation::Ipvs(command));
                    let address =
                        address_of(*service).filter(|address| added && binds.contains(address));
                    let new = address.filter(|address| self.bound.insert(*address));
                    operations
                        .extend(new.map(|address| Operation::Bind { address, device: DEVICE }));
                }
            }
        }
    }

    fn commands(&mut self, service: ServiceId, server: &'a VirtualServer) -> Vec<ipvs::Command> {
        match self.known.insert(service, server) {
            None => create(service, server),
            Some(old) => change(service, old, server),
        }
    }
}

fn address_of(service: ServiceId) -> Option<IpAddr> {
    match service {
        ServiceId::Address { address, .. } => Some(address),
        ServiceId::Mark { .. } => None,
    }
}

fn create(service: ServiceId, server: &VirtualServer) -> Vec<ipvs::Command> {
    let bare = VirtualServer { real_servers: Vec::new(), ..server.clone() };
    let service_command = ipvs::Command::AddService { service, server: bare };
    let servers = server.real_servers.iter().cloned();
    let servers = servers.map(|server| ipvs::Command::AddServer { service, server });
    std::iter::once(service_command).chain(servers).collect()
}

/// Returns the commands that give a virtual server to another `ServicePort`.
fn change(service: ServiceId, old: &VirtualServer, new: &VirtualServer) -> Vec<ipvs::Command> {
    let mut commands = Vec::new();
    let bare =
        |server: &VirtualServer| VirtualServer { real_servers: Vec::new(), ..server.clone() };
    if bare(old) != bare(new) {
        commands.push(ipvs::Command::EditService { service, server: bare(new) });
    }
    let only = |these: &[RealServer], those: &[RealServer]| -> Vec<RealServer> {
        these.iter().filter(|server| !those.contains(server)).cloned().collect()
    };
    let added = only(&new.real_servers, &old.real_servers).into_iter();
    commands.extend(added.map(|server| ipvs::Command::AddServer { service, server }));
    let gone = only(&old.real_servers, &new.real_servers).into_iter();
    commands.extend(gone.map(|server| ipvs::Command::DeleteServer {
        service,
        address: server.address,
        port: server.port,
    }));
    commands
}
