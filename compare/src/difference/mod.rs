//! How the modes differ: a closed list of documented differences, and what each means for a user.
//!
//! An [`Id`] names a difference; [`Id::about`] is what is told of it. Which of them the objects of
//! a node alone call up when it moves from one [`Side`] to another, [`concerns`] tells.

mod addresses;
mod balance;
mod concern;
mod crowd;
mod explain;
mod host;
mod node_ports;
mod policies;
mod sources;

use std::fmt;

pub use concern::{Concern, Side, concerns};
pub use explain::{Seen, explain};

/// What a difference may do to a user who moves from one mode to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risk {
    /// Traffic that passes in one mode does not in another, or the node itself suffers.
    Breaks,
    /// Traffic gets through, or an address is seen, that was not before.
    Opens,
    /// The same clients are served, but by endpoints in other proportions.
    ChangesBalance,
    /// Nothing that a client notices in ordinary use.
    Harmless,
}

/// What is told of a difference wherever it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// A few words.
    pub title: &'static str,
    /// What each mode does.
    pub meaning: &'static str,
    /// Where it is documented: a page of kubernetes.io, a KEP, an issue or a file of the kernel.
    pub source: &'static str,
    /// The worst that it may do.
    pub risk: Risk,
    /// What to do before moving.
    pub before: &'static str,
    /// What to look at after moving.
    pub after: &'static str,
    /// The setting that removes the difference, if there is one.
    pub setting: Option<&'static str>,
}

/// Declares the ids, each with the file that holds what is told of it.
macro_rules! ids {
    ($($id:ident in $theme:ident,)*) => {
        /// A documented difference between modes. The order is that of the ids.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Id {
            $(#[doc = concat!("See [`Id::about`] for what `", stringify!($id), "` is.")] $id,)*
        }

        impl Id {
            /// All of them, in order.
            pub const ALL: &[Id] = &[$(Id::$id),*];

            /// Returns what is told of the difference.
            #[must_use]
            pub const fn about(self) -> &'static About {
                match self {
                    $(Id::$id => &$theme::$id,)*
                }
            }
        }
    };
}

ids! {
    D01 in node_ports, D02 in node_ports, D03 in node_ports, D04 in node_ports,
    D05 in host, D06 in host,
    D07 in addresses, D08 in addresses, D09 in addresses, D10 in addresses,
    D11 in policies, D12 in policies, D13 in policies, D14 in policies,
    D15 in balance, D16 in balance, D17 in balance, D18 in balance,
    D19 in sources, D20 in sources, D21 in sources, D22 in sources, D23 in sources,
    D24 in addresses, D25 in addresses,
    D26 in host,
    D27 in addresses,
    D28 in host, D29 in host,
    D30 in balance,
    D31 in addresses,
    D32 in host, D33 in host, D34 in host, D35 in host, D36 in host, D37 in host,
    D38 in node_ports, D39 in node_ports, D40 in node_ports,
    D41 in policies,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
