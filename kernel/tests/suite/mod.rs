//! All that a kernel is asked about a node: what becomes of each flow and of the answer to it, whether
//! session affinity holds, whether shares are as they should be; each held against a walker.

#[path = "../conformance/answers.rs"]
mod answers;
pub mod shares;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use kps_compare::conform::{Conformity, Difference, hold};
use kps_flow::{ClientClass, Distribution, Flow, Observation, Outcome};
use kps_kernel::{Kernel, KernelError};
use kps_model::intent::Owner;
use kps_model::{Intent, NodeView};
use kps_ruleset::NodeState;
use kps_ruleset::iptables::Policy;
use kps_sim::{Options, Walker};

use shares::{Misfit, misfit};

/// What is known of a node, and what it is asked.
pub struct Suite<'a> {
    kernel: &'a Kernel,
    state: &'a NodeState,
    walker: Walker<'a>,
    questions: Vec<Question>,
}

/// A flow, and what is known of it.
struct Question {
    flow: Flow,
    walked: Distribution<Outcome>,
    /// Whether it goes to a Service with affinity; `None` unless it goes to one Service.
    sticky: Option<bool>,
}

/// Something that is not as the walker says.
#[derive(Debug)]
pub enum Noticed {
    /// A packet comes out elsewhere.
    Outcome(Box<Difference>),
    /// An answer comes out elsewhere.
    Answer(Flow),
    /// The same where only what some rule accepts is forwarded.
    Strictly(Box<Noticed>),
    /// A client does not stay at its endpoint.
    Affinity(Flow),
    /// An endpoint gets too much or too little.
    Shares(Flow, Misfit),
}

/// What is looked at, from the cheapest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Outcomes,
    Strictly,
    Affinity,
    Shares,
}

/// How often a packet is sent of which several things may become.
const AGAIN: usize = 6;
/// How many clients ask a Service with affinity again and again.
const CLIENTS: usize = 12;
/// How often packets that are shared out are sent.
const SAMPLES: usize = 400;

impl<'a> Suite<'a> {
    pub fn new(
        kernel: &'a Kernel,
        state: &'a NodeState,
        views: &[NodeView],
        flows: Vec<Flow>,
    ) -> Suite<'a> {
        let walker = Walker::new(state);
        let question = |flow: Flow| Question {
            sticky: sticky(views, &flow),
            walked: walk(&walker, &flow),
            flow,
        };
        let questions = flows.into_iter().map(question).collect();
        Suite { kernel, state, walker, questions }
    }

    pub fn flows(&self) -> impl ExactSizeIterator<Item = &Flow> {
        self.questions.iter().map(|question| &question.flow)
    }

    /// Tells the first thing about a kernel with this state that is not as the walker says, unless
    /// it is noticed without a change, too.
    pub fn look(&self, state: &NodeState) -> Result<Option<Noticed>, KernelError> {
        for look in [Look::Outcomes, Look::Strictly, Look::Affinity, Look::Shares] {
            if let Some(noticed) = self.look_at(look, state)? {
                let unchanged = self.look_at(look, self.state)?;
                assert!(unchanged.is_none(), "without a change: {}", unchanged.unwrap());
                return Ok(Some(noticed));
            }
        }
        Ok(None)
    }

    fn look_at(&self, look: Look, state: &NodeState) -> Result<Option<Noticed>, KernelError> {
        match look {
            Look::Outcomes => self.outcomes(&self.walker, state),
            Look::Strictly => {
                let expected = strict(self.state);
                let noticed = self.outcomes(&Walker::new(&expected), &strict(state))?;
                Ok(noticed.map(|noticed| Noticed::Strictly(Box::new(noticed))))
            }
            Look::Affinity => self.affinity(state),
            Look::Shares => self.shares(state),
        }
    }

    /// Each flow is sent once, and some times more if several things may become of it.
    fn outcomes(
        &self,
        walker: &Walker<'_>,
        state: &NodeState,
    ) -> Result<Option<Noticed>, KernelError> {
        let times = |question: &Question| if question.is_shared() { AGAIN } else { 1 };
        let asked: Vec<Flow> =
            self.questions.iter().flat_map(|it| vec![it.flow.clone(); times(it)]).collect();
        let seen = self.kernel.exchange(state, &asked)?;
        let noticed = asked.iter().zip(seen).find_map(|(flow, exchange)| {
            let wrong = answers::wrong(walker, flow, &exchange);
            match hold(walker, flow, &exchange.observation()) {
                Conformity::Differs(difference) => Some(Noticed::Outcome(difference)),
                _ => wrong.map(|_| Noticed::Answer(flow.clone())),
            }
        });
        Ok(noticed)
    }

    /// Clients of Services with affinity ask again and again.
    fn affinity(&self, state: &NodeState) -> Result<Option<Noticed>, KernelError> {
        let mut targets = BTreeMap::new();
        for it in self.questions.iter().filter(|it| it.is_shared() && it.sticky == Some(true)) {
            let target = (it.flow.destination, it.flow.port, it.flow.protocol.number());
            targets.entry(target).or_insert(it);
        }
        let clients: Vec<Flow> =
            targets.values().flat_map(|it| self.alike(it).take(CLIENTS)).collect();
        let asked: Vec<Flow> = clients.iter().flat_map(|flow| vec![flow.clone(); AGAIN]).collect();
        let seen = self.kernel.observe(state, &asked)?;
        let strays = |chunk: &&[Observation]| endpoints(chunk).len() > 1;
        let stray = clients.iter().zip(seen.chunks(AGAIN)).find(|(_, chunk)| strays(chunk));
        Ok(stray.map(|(flow, _)| Noticed::Affinity(flow.clone())))
    }

    /// Packets from the same client, or from many clients of a Service with affinity. Of all flows
    /// that the same endpoints share in the same way, one is sent often.
    fn shares(&self, state: &NodeState) -> Result<Option<Noticed>, KernelError> {
        let mut chosen: Vec<&Question> = Vec::new();
        let arriving = self.questions.iter().filter(|it| it.flow.client != ClientClass::Node);
        for it in arriving.filter(|it| it.is_shared() && it.sticky.is_some()) {
            if chosen.iter().all(|other| other.walked.merged() != it.walked.merged()) {
                chosen.push(it);
            }
        }
        let (sticky, free): (Vec<_>, Vec<_>) =
            chosen.into_iter().partition(|it| it.sticky == Some(true));
        let often = free.iter().flat_map(|it| vec![it.flow.clone(); SAMPLES]);
        let seen = self.kernel.observe(state, &often.collect::<Vec<_>>())?;
        let mut noticed =
            free.iter().zip(seen.chunks(SAMPLES)).find_map(|(it, seen)| it.unfit(seen));
        for it in sticky {
            if noticed.is_none() {
                // Clients would stay where they are from before.
                let asked: Vec<Flow> = self.alike(it).take(SAMPLES).collect();
                noticed = it.unfit(&self.kernel.observe(state, &asked)?);
            }
        }
        Ok(noticed)
    }

    /// Returns the same flow from clients near its own that are treated alike.
    fn alike<'q>(&'q self, question: &'q Question) -> impl Iterator<Item = Flow> + 'q {
        let alike = |flow: &Flow| walk(&self.walker, flow).merged() == question.walked.merged();
        neighbours(&question.flow).filter(alike)
    }
}

impl Question {
    /// Tells whether more than one endpoint may get it.
    fn is_shared(&self) -> bool {
        self.walked.merged().into_keys().filter_map(endpoint).count() > 1
    }

    fn unfit(&self, seen: &[Observation]) -> Option<Noticed> {
        misfit(&self.walked, seen).map(|misfit| Noticed::Shares(self.flow.clone(), misfit))
    }
}

fn walk(walker: &Walker<'_>, flow: &Flow) -> Distribution<Outcome> {
    let options = Options { fresh: true, ..Options::default() };
    walker.walk(flow, &options).distribution()
}

fn sticky(views: &[NodeView], flow: &Flow) -> Option<bool> {
    let view = views.iter().find(|view| view.family == flow.family())?;
    match Intent::new(view).owner(flow) {
        Owner::Port(port, _) => Some(port.port.affinity.is_some()),
        Owner::Nobody | Owner::Contested => None,
    }
}

/// Returns the state of a node that forwards only what some rule accepts, as Docker has it.
fn strict(state: &NodeState) -> NodeState {
    let mut state = state.clone();
    for rules in [&mut state.iptables.v4, &mut state.iptables.v6] {
        for (name, chain) in rules.tables.values_mut().flat_map(|table| &mut table.chains) {
            if name.as_str() == "FORWARD" {
                chain.policy = chain.policy.map(|_| Policy::Drop);
            }
        }
    }
    state
}

/// Returns the same flow from clients with addresses near its own.
fn neighbours(flow: &Flow) -> impl Iterator<Item = Flow> + '_ {
    let near = |source: IpAddr, number: u8| match source {
        IpAddr::V4(ip) => IpAddr::V4((u32::from(ip) ^ u32::from(number)).into()),
        IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) ^ u128::from(number)).into()),
    };
    flow.source.into_iter().flat_map(move |source| {
        (0..=255).map(move |n| Flow { source: Some(near(source, n)), ..flow.clone() })
    })
}

fn endpoint(outcome: &Outcome) -> Option<SocketAddr> {
    match outcome {
        Outcome::Deliver(delivery) => Some(delivery.endpoint),
        _ => None,
    }
}

/// Returns the endpoints that any of these packets got to.
fn endpoints(seen: &[Observation]) -> BTreeSet<SocketAddr> {
    seen.iter().flat_map(|seen| seen.counts.keys()).filter_map(endpoint).collect()
}

impl fmt::Display for Noticed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Noticed::Outcome(difference) => write!(f, "outcome: {}", difference.flow),
            Noticed::Answer(flow) => write!(f, "answer: {flow}"),
            Noticed::Strictly(noticed) => write!(f, "under policy DROP: {noticed}"),
            Noticed::Affinity(flow) => write!(f, "affinity: {flow}"),
            Noticed::Shares(flow, misfit) => write!(f, "shares: {flow}: {misfit}"),
        }
    }
}
