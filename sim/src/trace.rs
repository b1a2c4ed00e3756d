//! The story of a packet: what happened to it, step by step.
//!
//! Steps are kept in a list whose tail is shared among the branches of a walk, so that a branch
//! costs nothing until it differs.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use kps_flow::RejectKind;
use kps_ruleset::Name;
use kps_ruleset::nftables::{Hook, Policy, TableFamily};
use num_rational::Ratio;

use crate::conntrack::Endpoint;
use crate::mark::Mark;
use crate::packet::Packet;

/// One thing that happened, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Where.
    pub place: Place,
    /// What.
    pub deed: Deed,
}

/// A place in the packet's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The kernel outside of any rule.
    Kernel,
    /// A rule, or the chain itself.
    Rule(RulePlace),
}

/// A rule of one of the rule languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RulePlace {
    /// The language.
    pub language: Language,
    /// The family of the table.
    pub family: TableFamily,
    /// The table.
    pub table: Name,
    /// The chain.
    pub chain: Name,
    /// The rule's place in the chain, from 0; `None` for the chain as a whole.
    pub rule: Option<u32>,
}

/// A rule language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// nftables.
    Nftables,
    /// iptables.
    Iptables,
    /// IPVS.
    Ipvs,
}

impl Language {
    /// Returns what stands in a chain, in a word: for IPVS, in a virtual server.
    fn item(self) -> &'static str {
        match self {
            Language::Nftables | Language::Iptables => "rule",
            Language::Ipvs => "real server",
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// The packet reaches a hook, looking like this.
    Reaches(Hook, Box<Packet>),
    /// A base chain is entered.
    Enters {
        /// Its priority.
        priority: i32,
    },
    /// A set or map was asked and has the key.
    Found {
        /// The set's name; `None` if it is anonymous.
        set: Option<Name>,
        /// The element's place in the set, from 0.
        element: usize,
    },
    /// One of several alternatives was drawn.
    Drew {
        /// Which one, from 0.
        index: u32,
        /// Of how many.
        of: u32,
    },
    /// A condition that holds at random was tried.
    Tossed {
        /// How likely it is.
        share: Ratio<u64>,
        /// Whether it held.
        hit: bool,
    },
    /// The rule goes to a chain and comes back.
    Jumps(Name),
    /// The rule goes to a chain for good.
    Goes(Name),
    /// Back to the calling chain.
    Returns,
    /// This base chain is done with the packet.
    Accepts,
    /// The packet is thrown away.
    Drops,
    /// The end of a base chain.
    Policy(Policy),
    /// The client is told.
    Rejects(RejectKind),
    /// The mark changes.
    Marks {
        /// Before.
        from: Mark,
        /// After.
        to: Mark,
    },
    /// The destination is to change.
    TranslatesDestination(Endpoint),
    /// The source is to change.
    TranslatesSource {
        /// To what.
        to: Endpoint,
        /// Whether the kernel chose the address (masquerading).
        masquerade: bool,
    },
    /// IPVS sends the packet to a real server.
    Schedules {
        /// The scheduler's name.
        scheduler: Name,
        /// The real server.
        to: Endpoint,
    },
    /// Conntrack is told to leave the packet alone.
    Untracks,
    /// The client is remembered in a set.
    Remembers(Name),
    /// The route was looked up.
    Routed(Way),
    /// The kernel refuses the packet.
    Refuses(String),
    /// The walk goes on under an assumption.
    Assumes {
        /// What the model cannot decide.
        what: Name,
        /// What this branch takes it to be.
        holds: bool,
    },
}

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To this host.
    Local,
    /// Out by an interface.
    Out {
        /// The interface.
        link: Name,
        /// The next hop; `None` if the destination is on the link.
        gateway: Option<IpAddr>,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.deed)
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Deed::Reaches(hook, packet) => write!(f, "reaches {}: {packet}", hook_name(*hook)),
            Deed::Enters { priority } => write!(f, "enters at priority {priority}"),
            Deed::Jumps(chain) => write!(f, "jumps to {chain}"),
            Deed::Goes(chain) => write!(f, "goes to {chain}"),
            Deed::Returns => f.write_str("returns"),
            Deed::Accepts => f.write_str("accepts"),
            Deed::Drops => f.write_str("drops the packet"),
            Deed::Policy(Policy::Accept) => f.write_str("ends with the policy accept"),
            Deed::Policy(Policy::Drop) => f.write_str("ends with the policy drop"),
            Deed::Rejects(kind) => write!(f, "refuses the packet with {kind}"),
            Deed::Untracks => f.write_str("hides the packet from conntrack"),
            Deed::Remembers(set) => write!(f, "remembers the client in {set}"),
            Deed::Routed(way) => write!(f, "is routed {way}"),
            Deed::Refuses(why) => write!(f, "is refused: {why}"),
            change => change.fmt_change(f),
        }
    }
}

impl Deed {
    /// Writes what was looked up, drawn, supposed or changed.
    fn fmt_change(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Deed::Found { set: Some(set), element } => {
                write!(f, "finds element {} of {set}", element + 1)
            }
            Deed::Found { set: None, element } => write!(f, "finds element {}", element + 1),
            Deed::Drew { index, of } => write!(f, "draws {index} of 0 to {}", of.saturating_sub(1)),
            Deed::Tossed { share, hit: true } => write!(f, "is lucky, with a chance of {share}"),
            Deed::Tossed { share, hit: false } => write!(f, "is unlucky, with a chance of {share}"),
            Deed::Marks { from, to } => write!(f, "changes the mark from {from} to {to}"),
            Deed::TranslatesDestination(to) => write!(f, "makes {to} the destination"),
            Deed::TranslatesSource { to, masquerade: true } => write!(f, "masquerades as {to}"),
            Deed::TranslatesSource { to, masquerade: false } => write!(f, "makes {to} the source"),
            Deed::Schedules { scheduler, to } => {
                write!(f, "makes {to} the real server, by {scheduler}")
            }
            Deed::Assumes { what, holds: true } => write!(f, "supposes that it holds: {what}"),
            Deed::Assumes { what, holds: false } => {
                write!(f, "supposes that it does not hold: {what}")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Local => f.write_str("to this host"),
            Way::Out { link, gateway: Some(gateway) } => {
                write!(f, "out by {link} through {gateway}")
            }
            Way::Out { link, gateway: None } => write!(f, "out by {link}"),
        }
    }
}

/// Returns the name of a hook as rules spell it.
#[must_use]
pub fn hook_name(hook: Hook) -> &'static str {
    match hook {
        Hook::Ingress => "ingress",
        Hook::Prerouting => "prerouting",
        Hook::Input => "input",
        Hook::Forward => "forward",
        Hook::Output => "output",
        Hook::Postrouting => "postrouting",
        Hook::Egress => "egress",
    }
}

impl Way {
    /// Returns the next hop, if there is one.
    #[must_use]
    pub fn gateway(self) -> Option<IpAddr> {
        match self {
            Way::Local => None,
            Way::Out { gateway, .. } => gateway,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Kernel => f.write_str("kernel"),
            Place::Rule(place) => place.fmt(f),
        }
    }
}

impl fmt::Display for RulePlace {
    /// Writes table, chain and rule, or virtual and real server; they are counted from 1 here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.table, self.chain)?;
        match self.rule {
            Some(rule) => write!(f, " {} {}", self.language.item(), u64::from(rule) + 1),
            None => Ok(()),
        }
    }
}

/// A list of steps whose tail is shared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    step: Step,
    before: Trace,
}

impl Trace {
    pub(crate) fn push(&mut self, step: Step) {
        *self = Trace(Some(Arc::new(Link { step, before: self.clone() })));
    }

    /// Returns the steps in the order in which they happened.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut next = self.0.as_deref();
        while let Some(link) = next {
            steps.push(link.step.clone());
            next = link.before.0.as_deref();
        }
        steps.reverse();
        steps
    }
}

impl Drop for Link {
    /// Unlinks step by step: a long story must not overflow the stack.
    fn drop(&mut self) {
        let mut next = self.before.0.take();
        while let Some(mut link) = next.and_then(Arc::into_inner) {
            next = link.before.0.take();
        }
    }
}
