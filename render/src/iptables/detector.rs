//! How traffic of local pods is told from other traffic (`pkg/proxy/util/localdetector.go`).

use kps_model::Detector;
use kps_ruleset::iptables::{InterfacePattern, Negatable, Network, RuleWriter};

/// Adds the test for traffic of local pods.
pub(crate) fn if_local(detector: &Detector, rule: RuleWriter) -> RuleWriter {
    detect(detector, false, rule)
}

/// Adds the test for all other traffic.
pub(crate) fn if_not_local(detector: &Detector, rule: RuleWriter) -> RuleWriter {
    detect(detector, true, rule)
}

fn detect(detector: &Detector, negated: bool, rule: RuleWriter) -> RuleWriter {
    match detector {
        Detector::Cidr(cidr) => rule.source(Negatable { negated, value: Network::from(*cidr) }),
        Detector::Interface(name) => rule.input(Negatable { negated, value: interface(name) }),
        Detector::InterfacePrefix(prefix) => {
            rule.input(Negatable { negated, value: interface(&format!("{prefix}+")) })
        }
    }
}

fn interface(pattern: &str) -> InterfacePattern {
    InterfacePattern(pattern.into())
}
