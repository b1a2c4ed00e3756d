//! The IPVS language: virtual servers and their real servers (ipvsadm(8)).
//!
//! [`ast`] is the tree.

pub mod ast;

pub use ast::*;
