//! What has no order may stand in any.

use kps_model::KubeVersion;
use kps_ruleset::NodeState;
use proptest::prelude::*;

use crate::{MODES, chain_mut, drift, dumped, rendered, runner, world};

#[test]
fn rendered_rules_do_not_drift_in_any_order() {
    for mode in MODES {
        let worlds = (world::clusters(), world::configs(mode));
        let outcome = runner(12).run(&worlds, |(cluster, config)| {
            for version in KubeVersion::ALL {
                let mut turned = cluster.clone();
                turned.services.reverse();
                turned.slices.reverse();
                let mut dump = dumped(&rendered(&turned, "a", &config, version));
                turn(&mut dump);
                let found = drift(&cluster, "a", std::slice::from_ref(&config), &dump);
                prop_assert_eq!(&found.findings, &[], "{} {}", mode, version);
                prop_assert!(found.fit.versions.contains(&version));
            }
            Ok(())
        });
        if let Err(failure) = outcome {
            panic!("{failure}");
        }
    }
}

/// Turns round what has no order.
fn turn(state: &mut NodeState) {
    for table in &mut state.nftables.tables {
        table.chains.reverse();
        table.sets.reverse();
        table.sets.values_mut().for_each(|set| set.elements.reverse());
    }
    for rules in [&mut state.iptables.v4, &mut state.iptables.v6] {
        rules.tables.values_mut().for_each(|table| table.chains.reverse());
        if let Some(chain) = chain_mut(rules, "nat", "KUBE-NODEPORTS") {
            chain.rules.reverse();
        }
    }
    state.ipset.sets.reverse();
    state.ipset.sets.values_mut().for_each(|set| set.entries.reverse());
    state.ipvs.services.reverse();
}
