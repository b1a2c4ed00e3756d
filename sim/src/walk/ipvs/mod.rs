//! IPVS within a walk: what its functions at the hooks do with a packet.
//!
//! Two functions do all the work (`net/netfilter/ipvs/ip_vs_core.c`): one serves packets of
//! clients ([`Duty::Serve`], `ip_vs_in_hook`), one gives answers of real servers the virtual address
//! back ([`Duty::Answer`], `ip_vs_out_hook`). `find` finds the virtual server of a packet,
//! `schedule` its real server, `send` rewrites the packet and sends it on.
//!
//! It is not for the state of schedulers: which server is next in turn stands in no dump, so that
//! every server that could be chosen has a share ([`crate::ipvs::reach`](mod@crate::ipvs::reach)).

mod answer;
pub(crate) mod find;
mod matching;
mod schedule;
mod send;

use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::ipvs::ServiceId;
use kps_ruleset::nftables::{Hook, TableFamily};

use super::Walker;
use super::branch::{Branch, Interrupt};
use super::options::Options;
use crate::conntrack::{Endpoint, Side};
use crate::trace::{Deed, Language, Place, RulePlace};

/// What a function of IPVS does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Sends packets for a virtual server to a real one.
    Serve,
    /// Makes the virtual server the source of a real server's answers.
    Answer,
}

/// Where the functions are hooked in: one before or after translation (`ip_vs_ops4`).
pub(crate) const PLACES: [(Hook, i32, Duty); 5] = [
    (Hook::Input, 98, Duty::Answer),
    (Hook::Input, 99, Duty::Serve),
    (Hook::Output, -99, Duty::Answer),
    (Hook::Output, -98, Duty::Serve),
    (Hook::Forward, 100, Duty::Answer),
];

/// A connection that IPVS sends on (`struct ip_vs_conn`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    /// The virtual server that it came to.
    pub service: ServiceId,
    /// The client, as IPVS saw it.
    pub client: Endpoint,
    /// The address that the client dialled.
    pub address: Endpoint,
    /// The real server.
    pub server: Endpoint,
    /// Which one that is of the virtual server's, from 0.
    pub number: u32,
}

/// Where a packet is after a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// Still there: the next function of the hook gets it.
    Stays,
    /// At the start of another hook.
    Leaves,
}

impl Walker<'_> {
    /// Runs a function of IPVS. It leaves alone what IPVS has handled already
    /// (`skb->ipvs_property`), and what is not of a protocol with ports.
    pub(super) fn ipvs(
        &self,
        duty: Duty,
        branch: &mut Branch,
        options: Options,
    ) -> Result<After, Interrupt> {
        let packet = &branch.packet;
        if packet.served || !packet.protocol.has_ports() {
            return Ok(After::Stays);
        }
        match duty {
            Duty::Answer => {
                answer::give_back(branch);
                Ok(After::Stays)
            }
            Duty::Serve => self.serve(branch, options),
        }
    }

    fn serve(&self, branch: &mut Branch, options: Options) -> Result<After, Interrupt> {
        let known = branch.scheduled.filter(|scheduled| scheduled.is_of_client(branch));
        match known {
            Some(scheduled) => self.send(scheduled, branch),
            None => match self.schedule(branch, options)? {
                Some(scheduled) => self.send(scheduled, branch),
                None => Ok(After::Stays),
            },
        }
    }
}

impl Scheduled {
    /// Tells whether a packet goes from the client to the virtual server.
    fn is_of_client(&self, branch: &Branch) -> bool {
        let packet = &branch.packet;
        packet.endpoint(Side::Source) == self.client
            && packet.endpoint(Side::Destination) == self.address
    }
}

impl Branch {
    /// Notes a step at a virtual server.
    fn note_service(
        &mut self,
        service: ServiceId,
        server: Option<u32>,
        deed: impl FnOnce() -> Deed,
    ) {
        self.note(|| Place::Rule(RulePlace::virtual_server(service, server)), deed);
    }
}

impl RulePlace {
    /// Returns the place of a virtual server, or of one of its real servers, counted from 0: it
    /// stands where rules have a chain.
    #[must_use]
    pub fn virtual_server(service: ServiceId, server: Option<u32>) -> RulePlace {
        let family = if service.is_ipv6() { TableFamily::Ip6 } else { TableFamily::Ip };
        RulePlace {
            language: Language::Ipvs,
            family,
            table: Name::new("ipvs"),
            chain: Name::from(spelt(service)),
            rule: server,
        }
    }
}

fn spelt(service: ServiceId) -> String {
    match service {
        ServiceId::Address { protocol, address, port } => {
            let protocol = protocol.to_string();
            format!("{protocol} {}", Endpoint { address, port: Some(port) })
        }
        ServiceId::Mark { mark, .. } => format!("fwmark {mark}"),
    }
}

/// Tells whether a virtual server is for packets of a family.
fn is_for(service: ServiceId, family: Family) -> bool {
    service.is_ipv6() == (family == Family::V6)
}
