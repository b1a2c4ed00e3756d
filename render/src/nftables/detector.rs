//! How traffic of local pods is told from other traffic (`pkg/proxy/util/localdetector.go`).

use ipnet::IpNet;
use kps_flow::Family;
use kps_model::Detector;
use kps_ruleset::nftables::{Expr, Match, Meta, Relation, Statement, Value};

use super::matches::saddr;

/// The test for traffic of local pods.
pub(super) fn if_local(detector: &Detector, family: Family) -> Statement {
    detect(detector, family, Relation::Equal)
}

/// The test for all other traffic.
pub(super) fn if_not_local(detector: &Detector, family: Family) -> Statement {
    detect(detector, family, Relation::NotEqual)
}

fn detect(detector: &Detector, family: Family, op: Relation) -> Statement {
    let (left, right) = match detector {
        Detector::Cidr(cidr) => (saddr(family), prefix(*cidr)),
        Detector::Interface(name) => {
            (Expr::Meta(Meta::Iifname), Value::Interface(name.as_str().into()))
        }
        Detector::InterfacePrefix(prefix) => {
            (Expr::Meta(Meta::Iifname), Value::Interface(format!("{prefix}*").into()))
        }
    };
    Statement::Match(Match { left, op, right: Expr::Value(right) })
}

/// A network as a constant.
pub(super) fn prefix(network: IpNet) -> Value {
    match network {
        IpNet::V4(net) => Value::Ipv4Prefix(net.network(), net.prefix_len()),
        IpNet::V6(net) => Value::Ipv6Prefix(net.network(), net.prefix_len()),
    }
}
