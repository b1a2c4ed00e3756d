//! Releases of kube-proxy whose rules and semantics are modelled.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A minor release of kube-proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KubeVersion {
    /// 1.34.
    V1_34,
    /// 1.35.
    V1_35,
    /// 1.36.
    V1_36,
    /// 1.37.
    V1_37,
}

impl KubeVersion {
    /// The releases that are modelled, oldest first.
    pub const ALL: [KubeVersion; 4] =
        [KubeVersion::V1_34, KubeVersion::V1_35, KubeVersion::V1_36, KubeVersion::V1_37];

    /// The newest release that is modelled.
    pub const NEWEST: KubeVersion = KubeVersion::V1_37;

    /// Returns the text form, such as `1.37`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            KubeVersion::V1_34 => "1.34",
            KubeVersion::V1_35 => "1.35",
            KubeVersion::V1_36 => "1.36",
            KubeVersion::V1_37 => "1.37",
        }
    }
}

/// A release that is not modelled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a release that is modelled; expected 1.34, 1.35, 1.36 or 1.37")]
pub struct ParseVersionError(pub String);

impl FromStr for KubeVersion {
    type Err = ParseVersionError;

    /// Reads `1.37`, `v1.37` or `v1.37.2`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.strip_prefix('v').unwrap_or(text);
        KubeVersion::ALL
            .into_iter()
            .find(|version| {
                bare.strip_prefix(version.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
            .ok_or_else(|| ParseVersionError(text.to_owned()))
    }
}

impl fmt::Display for KubeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
