//! Why a transaction has no effect.

use thiserror::Error;

use super::Command;
use crate::nftables::print_script;

/// The command that failed, and why. Nothing of its transaction was done.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("command {}: {kind}: `{text}`", index + 1)]
pub struct ApplyError {
    /// Which command, counted from 0.
    pub index: usize,
    /// The command as text.
    pub text: String,
    /// Why.
    pub kind: ApplyErrorKind,
}

impl ApplyError {
    pub(super) fn new(index: usize, command: Option<&Command>, kind: ApplyErrorKind) -> ApplyError {
        let text = command.map(|c| print_script(std::slice::from_ref(c))).unwrap_or_default();
        ApplyError { index, text: text.trim_end().to_owned(), kind }
    }
}

/// Why a command fails, in the words of the kernel's error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ApplyErrorKind {
    /// `ENOENT`: the table, chain, set, element or target is not there.
    #[error("no such file or directory")]
    NotFound,
    /// `EEXIST`: it is there, with another value or definition.
    #[error("file exists")]
    Exists,
    /// `EBUSY`: a rule or element refers to it.
    #[error("device or resource busy")]
    Busy,
    /// `EMLINK`: chains call each other in a circle or more than 15 deep.
    #[error("too many links")]
    TooManyLinks,
    /// `EOPNOTSUPP`: not possible for this kind of chain.
    #[error("operation not supported")]
    NotSupported,
    /// `EINVAL`: the element does not fit the set.
    #[error("invalid argument")]
    Invalid,
    /// `ERANGE`: a name of more than 255 bytes.
    #[error("numerical result out of range")]
    NameTooLong,
    /// nft itself refuses comments of more than 128 bytes.
    #[error("comment too long, 128 characters maximum allowed")]
    CommentTooLong,
    /// `ENFILE`: the set has reached its size.
    #[error("too many open files in system")]
    SetFull,
    /// The command is not modelled.
    #[error("not modelled")]
    Unsupported,
}
