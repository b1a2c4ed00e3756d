//! The switches of a node that decide about connections.

use std::time::Duration;

use kps_ruleset::ipvs::Timeouts;

/// `net.ipv4.vs.*` and the timeouts of `ipvsadm --set` (kernel,
/// `Documentation/networking/ipvs-sysctl.rst`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// `expire_nodest_conn`: a connection whose server is gone is scheduled again, not dropped.
    pub expire_nodest_conn: bool,
    /// `expire_quiescent_template`: a client does not return to a server of weight 0.
    pub expire_quiescent_template: bool,
    /// `conn_reuse_mode`: which closed connections a new SYN may replace; a set of bits.
    pub conn_reuse_mode: u32,
    /// `lblc_expiration`: when an unused destination is forgotten.
    pub lblc_expiration: Duration,
    /// `lblcr_expiration`: the same, and when a destination's set of servers shrinks.
    pub lblcr_expiration: Duration,
    /// How long idle connections last.
    pub timeouts: Timeouts,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for Settings {
    /// What a kernel starts with.
    fn default() -> Settings {
        Settings {
            expire_nodest_conn: false,
            expire_quiescent_template: false,
            conn_reuse_mode: 1,
            lblc_expiration: DAY,
            lblcr_expiration: DAY,
            timeouts: Timeouts { tcp: 900, tcp_fin: 120, udp: 300 },
        }
    }
}
