//! Why a packet fares differently on two sides.

use std::borrow::Cow;
use std::fmt;

use super::setting::Setting;
use crate::difference::{About, Id, Risk};

/// A cause of differences. The order is that in which causes are told where nothing else decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A documented difference between modes.
    Documented(Id),
    /// A setting that differs.
    Setting(Setting),
    /// The release, beyond what is documented as a difference between modes.
    Release,
    /// Rules that a node has are not those that kube-proxy would install.
    Rules,
}

impl Cause {
    /// Returns the stable name by which reports know it: an id such as `D07`, or a word.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Cause::Documented(id) => id.to_string().into(),
            Cause::Setting(setting) => setting.name().into(),
            Cause::Release => "release".into(),
            Cause::Rules => "rules".into(),
        }
    }

    /// Returns what is told of it.
    #[must_use]
    pub const fn about(self) -> &'static About {
        match self {
            Cause::Documented(id) => id.about(),
            Cause::Setting(setting) => setting.about(),
            Cause::Release => &RELEASE,
            Cause::Rules => &RULES,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

const RELEASE: About = About {
    title: "another release",
    meaning: "Releases take objects and settings differently: 1.36 no longer passes over Services with \
        the label of headless ones, takes the better of two states of an endpoint that slices list \
        twice, and has the gate AllowServiceExternalIPs; 1.37 knows more words in nodePortAddresses.",
    source: "CHANGELOG of Kubernetes; pkg/proxy",
    risk: Risk::Breaks,
    before: "Look at the packets that change.",
    after: "Try these packets.",
    setting: None,
};

const RULES: About = About {
    title: "rules of the node that kube-proxy would not install",
    meaning: "The dump has rules of others that decide over packets to Services, or kube-proxy's own \
        rules are stale or damaged.",
    source: "the dump",
    risk: Risk::Breaks,
    before: "Find out whose rules these are: sim drift tells them one by one.",
    after: "See that whoever wrote them still does, and that they still mean the same.",
    setting: None,
};
