//! How traffic of local pods is recognised (`pkg/proxy/util/localdetector.go`).

use ipnet::IpNet;
use kps_flow::Family;

use super::node::NodeFacts;
use crate::config::DetectLocal;

/// A way to tell packets of local pods from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detector {
    /// By source address.
    Cidr(IpNet),
    /// By the interface's name.
    Interface(String),
    /// By the start of the interface's name.
    InterfacePrefix(String),
}

impl Detector {
    /// Returns the detector of a family; `None` where the configuration gives it nothing to go by.
    #[must_use]
    pub fn new(detect: &DetectLocal, node: &NodeFacts, family: Family) -> Option<Detector> {
        match detect {
            DetectLocal::ClusterCidr(cidrs) => first_of(cidrs, family),
            DetectLocal::NodeCidr => first_of(&node.pod_cidrs, family),
            DetectLocal::BridgeInterface(name) => Some(Detector::Interface(name.clone())),
            DetectLocal::InterfaceNamePrefix(prefix) => {
                Some(Detector::InterfacePrefix(prefix.clone()))
            }
        }
    }
}

fn first_of(cidrs: &[IpNet], family: Family) -> Option<Detector> {
    let cidr = cidrs.iter().find(|cidr| Family::of(cidr.addr()) == family)?;
    Some(Detector::Cidr(cidr.trunc()))
}
