//! What a difference does to the client of a packet.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use kps_flow::{ClientClass, Distribution, Outcome};

use super::cause::Cause;
use super::proof::Difference;
use crate::difference::{Id, Risk};

/// Returns what a change of outcomes may do to a user: by what is delivered where, and where
/// nothing is, by what is known of the cause.
#[must_use]
pub fn risk(difference: &Difference, cause: Cause) -> Risk {
    let about = cause.about();
    // The packets of pods elsewhere are translated on their own node before they come here.
    if cause == Cause::Documented(Id::D20) && difference.flow.client == ClientClass::RemotePod {
        return Risk::Harmless;
    }
    let (left, right) = (&difference.left, &difference.right);
    let (from, to) = (Ends::of(left), Ends::of(right));
    if from.delivers() && !to.delivers_all() {
        return Risk::Breaks;
    }
    if to.delivers() && !from.delivers_all() {
        return Risk::Opens;
    }
    if from.delivers() {
        let is_moved = !super::same_but_for_source(left, right);
        return if is_moved { Risk::ChangesBalance } else { about.risk };
    }
    match (from.arrives(), to.arrives()) {
        (true, false) => about.risk,
        (false, true) if about.risk != Risk::Harmless => Risk::Opens,
        (true, true) if from.is_local != to.is_local => about.risk,
        _ => Risk::Harmless,
    }
}

/// Where packets end.
struct Ends {
    endpoints: BTreeSet<SocketAddr>,
    others: bool,
    passes: bool,
    is_local: bool,
}

impl Ends {
    fn of(distribution: &Distribution<Outcome>) -> Ends {
        let mut ends =
            Ends { endpoints: BTreeSet::new(), others: false, passes: false, is_local: false };
        for (_, outcome) in distribution.branches() {
            match outcome {
                Outcome::Deliver(to) => {
                    ends.endpoints.insert(to.endpoint);
                }
                other => {
                    ends.others = true;
                    ends.passes |= matches!(other, Outcome::Pass(_));
                    ends.is_local |= matches!(other, Outcome::Local);
                }
            }
        }
        ends
    }

    /// Tells whether packets get somewhere that no Service has to do with.
    fn arrives(&self) -> bool {
        self.passes || self.is_local
    }

    fn delivers(&self) -> bool {
        !self.endpoints.is_empty()
    }

    fn delivers_all(&self) -> bool {
        self.delivers() && !self.others
    }
}
