//! Which kernel is asked.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use kps_flow::{Flow, Observation};
use kps_ruleset::NodeState;

use crate::exchange::{Exchange, Exchanges, Request, Step};
use crate::program::Program;
use crate::served::Served;
use crate::setup::{Setup, Variant};
use crate::{KernelError, answer, namespace, user_mode};

/// Kernels that can be asked: the one that runs us, and one in user mode for what that lacks, which
/// is booted when it is first needed and ends with this.
#[derive(Debug, Default)]
pub struct Kernel {
    variant: Variant,
    program: Option<Program>,
    /// A child with rights that we do not have.
    child: Node,
    /// A kernel in user mode.
    user_mode: Node,
}

/// A node program, started when it is first asked.
#[derive(Debug, Default)]
struct Node(Mutex<Option<Served>>);

impl Node {
    /// Asks. A program that fails is started anew the next time.
    fn ask(
        &self,
        start: impl FnOnce() -> Result<Served, KernelError>,
        request: &Request,
    ) -> Result<Exchanges, KernelError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut served = kept.take().map_or_else(start, Ok)?;
        let response = served.ask(request)?;
        *kept = Some(served);
        Ok(response?)
    }
}

impl Kernel {
    /// Returns the kernel that runs us, with the variant of iptables that the machine has chosen.
    #[must_use]
    pub fn new() -> Kernel {
        Kernel::default()
    }

    /// Has iptables rules loaded by this variant of the tools. A kernel in user mode has only the
    /// legacy one, since it lacks the families of nftables that the other one uses.
    #[must_use]
    pub fn with_variant(self, variant: Variant) -> Kernel {
        Kernel { variant, ..self }
    }

    /// Has this node program serve where we cannot: as the init of a kernel in user mode, for virtual
    /// servers; in a user namespace, if we may not make network namespaces.
    #[must_use]
    pub fn with_program(self, program: Program) -> Kernel {
        Kernel { program: Some(program), ..self }
    }

    /// Sends the first packet of each flow through a node with this state, and tells what came of
    /// each, in their order; nothing of those that cannot be sent.
    ///
    /// # Errors
    /// If no kernel can be asked, or a tool refuses the rules.
    pub fn observe(
        &self,
        state: &NodeState,
        flows: &[Flow],
    ) -> Result<Vec<Observation>, KernelError> {
        let exchanges = self.send(state, flows, false)?;
        Ok(exchanges.into_iter().map(Exchange::observation).collect())
    }

    /// Does the same, has those that get a packet answer, and tells what came of the answers, too.
    ///
    /// # Errors
    /// If no kernel can be asked, or a tool refuses the rules.
    pub fn exchange(
        &self,
        state: &NodeState,
        flows: &[Flow],
    ) -> Result<Vec<Exchange>, KernelError> {
        self.send(state, flows, true)
    }

    fn send(
        &self,
        state: &NodeState,
        flows: &[Flow],
        answered: bool,
    ) -> Result<Vec<Exchange>, KernelError> {
        let sent = self.follow(state, &[Step::Send { flows: flows.into(), answered }])?;
        Ok(sent.into_iter().flatten().collect())
    }

    /// Has things happen to a node with this state, one after the other, and tells what came of each
    /// step that sends.
    ///
    /// # Errors
    /// If no kernel can be asked, or a tool refuses rules.
    pub fn follow(
        &self,
        state: &NodeState,
        steps: &[Step],
    ) -> Result<Vec<Vec<Exchange>>, KernelError> {
        let request = |variant| Request { setup: Setup::new(state, variant), steps: steps.into() };
        let here = request(self.variant);
        let has_ipvs = Path::new(TABLE).exists();
        match &self.program {
            Some(program) if here.setup.ipvs && !has_ipvs => {
                self.user_mode.ask(|| user_mode::boot(program), &request(Variant::Legacy))
            }
            None if here.setup.ipvs && !has_ipvs => Err(KernelError::Ipvs),
            Some(program) if !namespace::permitted() => self.child.ask(|| program.start(), &here),
            _ => answer(&here),
        }
    }
}

/// What a kernel with IPVS has.
const TABLE: &str = "/proc/net/ip_vs";
