//! Laws of the iptables language, and the real tools as judges.

mod bad_input;
mod compare;
mod generate;
mod kernel;
mod laws;
mod transaction;
mod written;
