//! Reachability as code: what somebody expects of packets, and whether rules keep it.
//!
//! ```text
//! text --read--> Suite of Expectations, and Faults      a walk's outcomes
//!                        |                                     |
//!                        +------------------> hold <-----------+
//! ```
//!
//! A file says who sends (`from`), where to (`to`), and what is to happen (`expect`). Clients and
//! destinations stay words here: only whoever has a node's state can tell which addresses they mean.

mod endpoint;
mod hold;
mod read;
mod source;
mod suite;

pub use endpoint::{EndpointName, Share, Shares};
pub use hold::{Mismatch, hold};
pub use read::{Fault, line_of, read};
pub use source::ExpectedSource;
pub use suite::{Expectation, Expected, Suite};
