//! What pairs of dataplanes tell.
//!
//! [`judge`](mod@judge) holds the walk of rendered rules against what Kubernetes promises. Where a mode rightly
//! departs from the promise, the [`Exception`] that says so is a value of one closed enum, with the
//! id by which the difference is known; whatever is neither kept nor excused is a finding.
//! [`expect`] holds walks against what somebody wrote down.
//! [`conform`] holds them against what a kernel was seen to do.
//! [`difference`] lists how the modes differ, and what each difference means for a user.
//! [`drift`] holds what a node has against what it should have.
//! [`replay`] follows a node through changes, with connections that stay open.

pub mod conform;
pub mod diff;
pub mod difference;
pub mod drift;
pub mod exception;
pub mod expect;
pub mod judge;
pub mod lint;
pub mod replay;

pub use exception::Exception;
pub use judge::{Finding, Judge, Judgement, judge, judge_outcomes};
