//! The words that every stage shares.
//!
//! A [`Flow`] asks a question: what happens to the first packet that this client sends to that
//! address? A [`Dataplane`] answers it. Three kinds of answer exist ([`Answer`]): a rule walker
//! gives an exact [`Distribution`] of [`Outcome`]s, a kernel gives counts of samples
//! ([`Observation`]), and Kubernetes' documented behaviour gives a [`Promise`]. [`agree`] compares
//! any two of them with a declared [`Strictness`].
//!
//! This crate knows neither Kubernetes objects nor rule languages. Start with [`flow`], then
//! [`outcome`].

pub mod answer;
pub mod client;
pub mod distribution;
pub mod family;
pub mod flow;
pub mod outcome;
pub mod protocol;

pub use answer::{
    Answer, Dataplane, Disagreement, Observation, Promise, SourcePromise, Strictness, agree,
};
pub use client::ClientClass;
pub use distribution::{Distribution, Weight};
pub use family::Family;
pub use flow::Flow;
pub use outcome::{Delivery, Outcome, RejectKind, SourceNat};
pub use protocol::Protocol;
