//! `sim trace`: the story of one packet.

use kps_flow::{ClientClass, Family, Flow};
use kps_sim::conntrack::CtState;
use kps_sim::{Options, Path, Pick, Walk, Walker};

use crate::Verdict;
use crate::args::{Output, Trace, Tracked};
use crate::error::Failure;
use crate::node::{Given, Node};
use crate::owners::Owners;
use crate::report::story::Story;
use crate::report::{Report, Reports, diagnostics};
use crate::{clients, destination};

/// Tells what happens to one packet.
pub fn run(arguments: &Trace) -> Result<Verdict, Failure> {
    let given = Given::load(&arguments.node)?;
    let mut reports = Reports::new(arguments.node.cluster.all_nodes);
    for node in given.nodes() {
        let node = node?;
        reports.add(node.name(), tell(arguments, &node)?)?;
    }
    reports.finish()?;
    Ok(given.verdict())
}

fn tell(arguments: &Trace, node: &Node<'_>) -> Result<Report, Failure> {
    let walker = node.walker();
    for assumed in walker.assumed() {
        diagnostics::note(&format!("assumed: {assumed}"));
    }
    let flow = flow(arguments, node, &walker)?;
    let options = Options { trace: true, state: state(arguments.ct), ..Options::default() };
    let walk = walker.walk(&flow, &options);
    let owners = Owners::of(node);
    let cluster = node.proxied.as_ref().map(|proxied| proxied.cluster);
    let state = &node.state;
    let (flow, walker, walk, owners) = (&flow, &walker, &walk, &owners);
    let is_reply = arguments.ct == Tracked::Reply;
    let story = Story { flow, state, walker, walk, owners, is_reply, cluster };
    let path = picked(arguments.pick.as_deref(), walk)?;
    Ok(match arguments.output {
        Output::Text => Report::Text(story.text(path)),
        Output::Json => Report::Json(story.json(path)),
    })
}

fn flow(arguments: &Trace, node: &Node<'_>, walker: &Walker<'_>) -> Result<Flow, Failure> {
    let target = destination::find("--to", &arguments.to, node)?;
    let family = Family::of(target.address);
    let client = clients::find("--from", &arguments.from, family, node, walker)?;
    let interface = match (&arguments.iface, client.class) {
        (_, ClientClass::Node) => None,
        (Some(name), _) => Some(name.clone()),
        (None, _) => client.interface,
    };
    Ok(Flow {
        client: client.class,
        interface,
        source: client.address,
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: target.protocol,
        destination: target.address,
        port: target.port,
    })
}

fn state(tracked: Tracked) -> CtState {
    match tracked {
        Tracked::New => CtState::New,
        Tracked::Established => CtState::Established,
        Tracked::Reply => CtState::Reply,
        Tracked::Related => CtState::Related,
        Tracked::Invalid => CtState::Invalid,
        Tracked::Untracked => CtState::Untracked,
    }
}

/// Returns the way to tell: the one that was asked for, else the first.
fn picked<'w>(pick: Option<&str>, walk: &'w Walk) -> Result<&'w Path, Failure> {
    let text = pick.unwrap_or("0");
    let meant = match (text.parse(), text.parse()) {
        (Ok(number), _) => Some(Pick::Nth(number)),
        (_, Ok(endpoint)) => Some(Pick::Endpoint(endpoint)),
        _ => None,
    };
    meant.and_then(|pick| walk.pick(pick)).ok_or_else(|| {
        let last = walk.paths.len().saturating_sub(1);
        Failure::Usage(format!(
            "--pick {text}: there is no such way; give a number from 0 to {last}, or an endpoint"
        ))
    })
}
