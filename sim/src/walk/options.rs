//! What is asked of a walk beyond the flow itself.

use crate::conntrack::CtState;

/// Options of a walk. The default is the first packet of a connection, with the sets that rules
/// add to as they were dumped, and no trace.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// What conntrack says of the packet.
    pub state: CtState,
    /// Whether sets that rules add to (session affinity) are taken to be empty.
    pub fresh: bool,
    /// Whether the steps are kept.
    pub trace: bool,
}
