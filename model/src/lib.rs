//! Kubernetes objects in, what kube-proxy makes of them out.
//!
//! ```text
//! files, stdin --read--> Cluster --view--> NodeView (per node and family) --> renderers
//!                 |         ^                  |
//!            Diagnostic   Config               +--> Intent: what Kubernetes promises for a flow
//! ```
//!
//! [`read`](mod@read) takes objects in any form that kubectl writes; [`config`] is KubeProxyConfiguration
//! v1alpha1; [`view`](mod@view) filters and categorises as kube-proxy does before it writes a rule;
//! [`intent`] is the second opinion, written from the documentation rather than from the rules.

pub mod address;
#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod cluster;
pub mod config;
pub mod diagnostic;
pub mod endpoint;
pub mod intent;
pub mod objects;
pub mod read;
pub mod service_port;
mod text;
pub mod version;
pub mod view;

pub use cluster::Cluster;
pub use config::{Config, Mode};
pub use diagnostic::{Diagnostic, Place, Severity};
pub use endpoint::Endpoint;
pub use intent::Intent;
pub use read::{Reading, Source, read};
pub use service_port::{PortKey, ServicePort};
pub use version::KubeVersion;
pub use view::{Detector, NodePortAddresses, NodeView, PortView, view};
