//! Laws of the iptables language, and the real tools as judges.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

mod bad_input;
mod compare;
mod generate;
mod kernel;
mod laws;
mod transaction;
mod written;
