//! `sim balance`: how connections spread over the endpoints of a Service.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use kps_flow::{ClientClass, Distribution, Family, Flow, Outcome};
use kps_model::{NodeView, PortView};
use kps_sim::draw::{chi_square_p, draw};
use kps_sim::{Options, Walker};
use num_rational::BigRational;
use serde_json::{Value, json};

use crate::Verdict;
use crate::args::{Balance, Output};
use crate::error::Failure;
use crate::node::{Proxied, rendered};
use crate::report::bars::{as_f64, bar, percent};

/// Shows exact shares, draws connections, and judges counts.
pub fn run(arguments: &Balance) -> Result<Verdict, Failure> {
    let proxied = Proxied::load(&arguments.cluster)?;
    let (view, port) = find(&arguments.service, &proxied.views)?;
    let flow = to_cluster_ip(view, port);
    let state = rendered(&proxied);
    let options = Options { fresh: true, ..Options::default() };
    let distribution = Walker::new(&state).walk(&flow, &options).distribution();
    let spread = Spread { arguments, distribution: &distribution, flow: &flow };
    let text = match arguments.output {
        Output::Text => spread.text()?,
        Output::Json => format!("{:#}\n", spread.json()?),
    };
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(io::Error::from)?;
    Ok(proxied.verdict)
}

/// Finds a ServicePort by `NS/NAME` or `NS/NAME:PORT`, the port by name or number.
fn find<'v>(name: &str, views: &'v [NodeView]) -> Result<(&'v NodeView, &'v PortView), Failure> {
    let (service, wanted) = name.split_once(':').map_or((name, None), |(s, p)| (s, Some(p)));
    let is_meant = |port: &PortView| {
        let key = &port.port.key;
        format!("{}/{}", key.namespace, key.name) == service
            && wanted.is_none_or(|w| key.port_name == w || port.port.port.to_string() == w)
    };
    let found: Vec<_> = views
        .iter()
        .flat_map(|view| view.ports.iter().map(move |port| (view, port)))
        .filter(|(_, port)| is_meant(port))
        .collect();
    let mut names: Vec<String> = found.iter().map(|(_, p)| p.port.port.to_string()).collect();
    names.dedup();
    match found.as_slice() {
        [] => Err(Failure::Usage(format!("--service {name}: there is no such ServicePort"))),
        [first, rest @ ..] if rest.iter().all(|(_, port)| port.port.key == first.1.port.key) => {
            Ok(*first)
        }
        _ => Err(Failure::Usage(format!(
            "--service {name}: which port? add one of :{}",
            names.join(", :")
        ))),
    }
}

/// A connection of a client outside of the node to the cluster IP.
fn to_cluster_ip(view: &NodeView, port: &PortView) -> Flow {
    let text = match view.family {
        Family::V4 => "198.51.100.200",
        Family::V6 => "2001:db8:99::200",
    };
    Flow {
        client: ClientClass::Outside,
        interface: Some("eth0".to_owned()),
        source: text.parse().ok(),
        source_port: Flow::DEFAULT_SOURCE_PORT,
        protocol: port.port.key.protocol,
        destination: port.port.cluster_ip,
        port: port.port.port,
    }
}

struct Spread<'a> {
    arguments: &'a Balance,
    distribution: &'a Distribution<Outcome>,
    flow: &'a Flow,
}

/// One draw.
struct Run {
    seed: u64,
    counts: BTreeMap<Outcome, u64>,
    p_value: Option<f64>,
}

impl Spread<'_> {
    fn shares(&self) -> BTreeMap<&Outcome, BigRational> {
        self.distribution.merged()
    }

    fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let shares = self.shares();
        (0..self.arguments.runs).map(move |run| {
            let seed = self.arguments.seed.wrapping_add(run);
            let counts = draw(self.distribution, self.arguments.connections, seed);
            let judged: Vec<_> = shares
                .iter()
                .map(|(outcome, share)| (counts.get(outcome).copied().unwrap_or(0), as_f64(share)))
                .collect();
            Run { seed, counts, p_value: chi_square_p(&judged) }
        })
    }

    /// Returns the p-value of counts that were given, in the order of the endpoints.
    fn observed_p(&self) -> Result<Option<f64>, Failure> {
        let observed = &self.arguments.observed;
        let shares = self.shares();
        if observed.len() != shares.len() {
            return Err(Failure::Usage(format!(
                "--observed: {} counts for {} outcomes",
                observed.len(),
                shares.len()
            )));
        }
        let judged: Vec<_> =
            observed.iter().zip(shares.values()).map(|(n, share)| (*n, as_f64(share))).collect();
        Ok(chi_square_p(&judged))
    }

    fn text(&self) -> Result<String, Failure> {
        let mut out = String::new();
        let shares = self.shares();
        let _ = writeln!(out, "{}\n\nexact shares", self.flow);
        let largest = shares.values().map(as_f64).fold(0.0, f64::max);
        for (outcome, share) in &shares {
            let bar = bar(as_f64(share), largest);
            let _ =
                writeln!(out, "  {:>10}  {bar:<40}  {outcome}\n{:14}{share}", percent(share), "");
        }
        for run in self.runs() {
            let connections = self.arguments.connections;
            let p = run.p_value.map(|p| format!(", chi-square p = {p:.4}")).unwrap_or_default();
            let _ = writeln!(out, "\n{connections} connections drawn with seed {}{p}", run.seed);
            for (outcome, count) in &run.counts {
                let _ = writeln!(out, "  {count:>10}  {outcome}");
            }
        }
        if !self.arguments.observed.is_empty() {
            let counts = self.arguments.observed.iter().map(u64::to_string);
            let counts = counts.collect::<Vec<_>>().join("/");
            match self.observed_p()? {
                Some(p) => {
                    let _ = writeln!(out, "\nobserved {counts}: chi-square p = {p:.4}");
                }
                None => {
                    let _ = writeln!(out, "\nobserved {counts}: nothing to compare");
                }
            }
        }
        Ok(out)
    }

    fn json(&self) -> Result<Value, Failure> {
        let shares: BTreeMap<String, String> =
            self.shares().iter().map(|(o, share)| (o.to_string(), share.to_string())).collect();
        let run = |run: Run| {
            let counts: BTreeMap<String, u64> =
                run.counts.iter().map(|(outcome, n)| (outcome.to_string(), *n)).collect();
            json!({ "seed": run.seed, "counts": counts, "p": run.p_value })
        };
        let observed = match self.arguments.observed.as_slice() {
            [] => Value::Null,
            counts => json!({ "counts": counts, "p": self.observed_p()? }),
        };
        Ok(json!({
            "flow": self.flow.to_string(),
            "shares": shares,
            "connections": self.arguments.connections,
            "runs": self.runs().map(run).collect::<Vec<_>>(),
            "observed": observed,
        }))
    }
}
