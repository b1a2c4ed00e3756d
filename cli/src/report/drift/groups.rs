//! Effects that are alike, told once.

use std::collections::{BTreeMap, BTreeSet};

use kps_compare::drift::Effect;

/// Effects by one kind of address, with the same kinds of outcome.
pub struct Group<'a> {
    /// The effects; the first one is the witness.
    pub effects: Vec<&'a Effect>,
}

/// Groups effects, in the order in which they come.
pub fn groups(effects: &[Effect]) -> Vec<Group<'_>> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for effect in effects {
        let key = (effect.frontend, effect.expected_kinds(), effect.found_kinds());
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.effects.push(effect),
            None => groups.push(Group { effects: vec![effect] }),
        }
    }
    groups
}

impl Group<'_> {
    /// Returns who sends the packets.
    pub fn classes(&self) -> Vec<String> {
        let classes: BTreeSet<_> = self.effects.iter().map(|effect| effect.class).collect();
        classes.into_iter().map(|class| class.to_string()).collect()
    }

    /// Returns the ServicePorts that packets are for.
    pub fn services(&self) -> Vec<String> {
        let services: BTreeSet<_> = self.effects.iter().map(|effect| &effect.service).collect();
        services.into_iter().cloned().collect()
    }
}
