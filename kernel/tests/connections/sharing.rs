//! Endpoints get the shares that the rules' random numbers give them.

use kps_sim::{Options, Walker};

use crate::shares::{FALSE_ALARM, misfit};
use crate::world::{Plan, World};
use crate::{BY_RULES, kernel};

/// How many connections are opened.
const CONNECTIONS: usize = 3000;

#[test]
fn random_choices_fit_their_exact_shares() {
    for mode in BY_RULES {
        let Some(kernel) = kernel(mode) else { return };
        let all =
            ["10.244.1.1", "10.244.1.2", "10.244.1.3", "10.244.1.4", "10.244.1.5", "10.244.1.6"];
        let world = |number: usize| Plan::plain("shares", mode, &all[..number]).make();
        let walked = |world: &World| {
            let options = Options { fresh: true, ..Options::default() };
            Walker::new(&world.state).walk(&world.dialled_by(1), &options).distribution()
        };
        for number in 2..all.len() {
            let (world, larger) = (world(number), world(number + 1));
            let flows = vec![world.dialled_by(1); CONNECTIONS];
            let seen = kernel.observe(&world.state, &flows).unwrap();
            let misfits = misfit(&walked(&world), &seen);
            assert!(misfits.is_none(), "{mode}, {number} endpoints: {}", misfits.unwrap());
            let unfit = misfit(&walked(&larger), &seen);
            assert!(unfit.is_some(), "{mode}, {number}: the test sees no difference");
        }
        println!(
            "{mode}: {CONNECTIONS} connections fit, false alarms one in {:.0}",
            1.0 / FALSE_ALARM
        );
    }
}
