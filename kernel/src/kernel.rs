//! Which kernel is asked.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use kps_flow::{Flow, Observation};
use kps_ruleset::NodeState;

use crate::exchange::{Exchange, Request};
use crate::program::Program;
use crate::served::Served;
use crate::setup::{Setup, Variant};
use crate::{KernelError, answer, user_mode};

/// Kernels that can be asked: the one that runs us, and one in user mode for what that lacks, which
/// is booted when it is first needed and ends with this.
#[derive(Debug, Default)]
pub struct Kernel {
    variant: Variant,
    program: Option<Program>,
    user_mode: Mutex<Option<Served>>,
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

    /// Has this node program serve as init of a kernel in user mode, for virtual servers.
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
        let exchanges = self.ask(state, flows, false)?;
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
        self.ask(state, flows, true)
    }

    fn ask(
        &self,
        state: &NodeState,
        flows: &[Flow],
        answered: bool,
    ) -> Result<Vec<Exchange>, KernelError> {
        let request =
            |variant| Request { setup: Setup::new(state, variant), flows: flows.into(), answered };
        let here = request(self.variant);
        if !here.setup.needs_ipvs() || Path::new(TABLE).exists() {
            return answer(&here);
        }
        let program = self.program.as_ref().ok_or(KernelError::Ipvs)?;
        let mut served = self.user_mode.lock().unwrap_or_else(PoisonError::into_inner);
        let mut node = match served.take() {
            Some(node) => node,
            None => user_mode::boot(program)?,
        };
        let response = node.ask(&request(Variant::Legacy))?;
        *served = Some(node);
        Ok(response?)
    }
}

/// What a kernel with IPVS has.
const TABLE: &str = "/proc/net/ip_vs";
