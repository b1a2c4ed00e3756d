//! The rendered tables against those that the real kube-proxy installed.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod corpus;

use std::collections::HashMap;

use kps_model::{Mode, NodeView};
use kps_render::nftables::{Claim, Plan, plan};
use kps_ruleset::Name;
use kps_ruleset::nftables::{Data, Key, Ruleset, compare, parse_ruleset};

#[test]
fn every_cluster_and_release_is_rendered_as_installed() {
    let cases = corpus::cases(Mode::Nftables, 26);
    for case in &cases {
        let text = std::fs::read_to_string(case.dumps.join("nft.txt")).unwrap();
        let real = parse_ruleset(&text);
        assert!(real.errors.is_empty(), "{:?}", real.errors);
        let mut ours = Ruleset::default();
        for view in &case.views {
            ours.tables.extend(render(view, &real.value).tables);
        }
        let differences = compare(&real.value, &ours);
        let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}:\n{}", case.dumps.display(), lines.join("\n"));
    }
    println!("{} dumps equal", cases.len());
}

/// Renders a view. Where several `ServicePort`s claim one element, kube-proxy lets the one win that
/// its iteration over a Go map meets last, so any claimant may be the one that was installed.
fn render(view: &NodeView, real: &Ruleset) -> Ruleset {
    let plan = plan(view);
    let claims = Claims::of(&plan);
    let mut ours = plan.into_ruleset().unwrap();
    claims.settle_as_in(real, &mut ours);
    ours
}

/// The elements of all `ServicePort`s, with every value that is claimed for each.
struct Claims(HashMap<(Name, Key), Vec<Option<Data>>>);

impl Claims {
    fn of(plan: &Plan) -> Claims {
        let mut claims: HashMap<_, Vec<_>> = HashMap::new();
        for claim in plan.fragments.iter().flat_map(|fragment| &fragment.claims) {
            if let Claim::Element(container, element) = claim {
                let key = (container.name(), element.key.clone());
                claims.entry(key).or_default().push(element.data.clone());
            }
        }
        Claims(claims)
    }

    fn settle_as_in(&self, real: &Ruleset, ours: &mut Ruleset) {
        for table in &mut ours.tables {
            let Some(installed) = real.table(table.family, &table.name) else { continue };
            for ((set, key), claimed) in &self.0 {
                let installed = installed.sets.get(set).and_then(|set| set.elements.get(key));
                let place = table.sets.get_mut(set).and_then(|set| set.elements.get_mut(key));
                if let (Some(installed), Some(element)) = (installed, place)
                    && claimed.contains(&installed.data)
                {
                    element.clone_from(installed);
                }
            }
        }
    }
}
