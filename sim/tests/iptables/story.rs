//! The trace of a walk, as a person reads it.

use kps_sim::Walker;
use kps_sim::trace::Place;

use crate::tables::{table, with_tables};
use crate::world::{process, walk};

const TABLES: &str = "
    :SERVICES - [0:0]
    :SERVICE - [0:0]
    :ENDPOINT-1 - [0:0]
    :ENDPOINT-2 - [0:0]
    :MARK-MASQ - [0:0]
    -A OUTPUT -m comment --comment \"service portals\" -j SERVICES
    -A POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
    -A POSTROUTING -j MARK --set-xmark 0x4000/0x0
    -A POSTROUTING -j MASQUERADE --random-fully
    -A SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j SERVICE
    -A SERVICE ! -s 10.244.0.0/16 -j MARK-MASQ
    -A SERVICE -m recent --rcheck --seconds 60 --reap --name one --mask 255.255.255.255 --rsource -j ENDPOINT-1
    -A SERVICE -m statistic --mode random --probability 0.50000000000 -j ENDPOINT-1
    -A SERVICE -j ENDPOINT-2
    -A ENDPOINT-1 -p tcp -m recent --set --name one --mask 255.255.255.255 --rsource -m tcp -j DNAT --to-destination 10.244.0.5:8080
    -A ENDPOINT-2 -p tcp -m tcp -j DNAT --to-destination 10.244.1.5:8080
    -A MARK-MASQ -j MARK --set-xmark 0x4000/0x4000";

#[test]
fn a_trace_tells_the_whole_way() {
    let state = with_tables(&table("nat", TABLES));
    let walk = walk(&state, &process("10.96.0.1", 80));
    let story: Vec<String> = walk.paths[0].steps.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(story.join("\n"));
}

#[test]
fn a_step_leads_back_to_the_text_of_its_rule() {
    let state = with_tables(&table("nat", TABLES));
    let walker = Walker::new(&state);
    let walk = walk(&state, &process("10.96.0.1", 80));
    let texts = walk.paths[0].steps.iter().filter_map(|step| match &step.place {
        Place::Rule(place) => walker.rule_text(place),
        Place::Kernel => None,
    });
    let texts: Vec<String> = texts.collect();
    assert!(texts.iter().any(|text| text.contains("-d 10.96.0.1/32 -p tcp")), "{texts:#?}");
}
