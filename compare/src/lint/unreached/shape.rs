//! Rules of either language, reduced to what they ask and whether they end the walk.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

use kps_ruleset::Name;
use kps_ruleset::iptables::{self, Header, Match, Target};
use kps_ruleset::nftables::{self, Data, Expr, MapSource, Statement, Verdict};

/// A rule, as far as it matters for the rules behind it.
#[derive(Debug, Default)]
pub struct Shape {
    /// What it asks, each as a number that stands for the text of it, in order.
    pub asks: Vec<u64>,
    /// Whether what it asks depends on more than the packet: on chance, time or memory.
    pub is_unsure: bool,
    /// How it ends the walk.
    pub end: End,
    /// All that it does, as a number that stands for the text of it.
    pub effect: u64,
    /// The chains that it may go to.
    pub leads_to: Vec<Name>,
    /// The comment, which names the Service in rules of kube-proxy.
    pub comment: Option<Name>,
}

/// How a rule that applies ends the walk through its chain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// It does not.
    #[default]
    Open,
    /// The packet's walk through this base chain is over.
    Sure,
    /// The packet goes back to the calling chain.
    Back,
    /// The packet goes to a chain and may come back.
    Jump(Name),
    /// The packet goes to a chain for good.
    Goto(Name),
}

impl Shape {
    /// Reduces a rule of iptables.
    pub fn of_iptables(rule: &iptables::Rule) -> Shape {
        let mut shape = Shape { comment: rule.comment(), ..Shape::default() };
        let Header { source, destination, input, output, protocol, fragment } = &rule.header;
        shape.ask("s", source.as_ref());
        shape.ask("d", destination.as_ref());
        shape.ask("i", input.as_ref());
        shape.ask("o", output.as_ref());
        shape.ask("p", protocol.as_ref());
        shape.ask("f", fragment.as_ref());
        for m in &rule.matches {
            shape.match_of_iptables(m);
        }
        shape.asks.sort_unstable();
        shape.asks.dedup();
        shape.effect = number(&rule.target);
        shape.end = match &rule.target {
            Some(
                Target::Accept
                | Target::Drop
                | Target::Reject(_)
                | Target::Dnat(_)
                | Target::Snat(_)
                | Target::Masquerade(_)
                | Target::Redirect(_)
                | Target::Netmap(_)
                | Target::Tproxy(_),
            ) => End::Sure,
            Some(Target::Return) => End::Back,
            Some(Target::Jump(chain)) => End::Jump(*chain),
            Some(Target::Goto(chain)) => End::Goto(*chain),
            _ => End::Open,
        };
        if let End::Jump(chain) | End::Goto(chain) = shape.end {
            shape.leads_to.push(chain);
        }
        shape
    }

    fn match_of_iptables(&mut self, m: &Match) {
        match m {
            Match::Comment(_) => {}
            // `-m tcp` without a test asks for the protocol, which the header did.
            Match::Tcp(test) if *test == iptables::TcpTest::default() => {}
            Match::Udp(test) if *test == iptables::PortTest::default() => {}
            Match::Recent(_)
            | Match::Statistic(_)
            | Match::Limit(_)
            | Match::Hashlimit(_)
            | Match::Unknown(_) => {
                self.is_unsure = true;
                self.ask("m", Some(m));
            }
            _ => self.ask("m", Some(m)),
        }
    }

    /// Reduces a rule of nftables.
    pub fn of_nftables(rule: &nftables::Rule) -> Shape {
        let mut shape = Shape { comment: rule.comment, ..Shape::default() };
        let is_deed = |statement: &&Statement| {
            !matches!(statement, Statement::Match(_) | Statement::Counter { .. })
        };
        let deeds: Vec<&Statement> = rule.statements.iter().filter(is_deed).collect();
        shape.effect = number(&deeds);
        for statement in &rule.statements {
            shape.statement(statement);
        }
        shape.asks.sort_unstable();
        shape.asks.dedup();
        shape
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Match(m) => {
                self.is_unsure |= matches!(m.left, Expr::Numgen { .. } | Expr::Unsupported(_));
                self.ask("match", Some(m));
            }
            Statement::Verdict(verdict) => {
                self.end = end_of(*verdict);
                self.leads_to.extend(chain_of(*verdict));
            }
            Statement::VerdictMap(map) => {
                self.is_unsure = true;
                self.ask("map", Some(&map.key));
                if let MapSource::Anonymous(elements) = &map.map {
                    let verdicts = elements.iter().filter_map(|element| match element.data {
                        Some(Data::Verdict(verdict)) => chain_of(verdict),
                        _ => None,
                    });
                    self.leads_to.extend(verdicts);
                }
            }
            Statement::Nat(_) | Statement::Reject(_) => self.end = End::Sure,
            Statement::Limit(_) | Statement::Xt { .. } | Statement::Unsupported(_) => {
                self.is_unsure = true;
                self.ask("other", Some(statement));
            }
            _ => {}
        }
    }

    fn ask(&mut self, word: &str, asked: Option<&impl Debug>) {
        self.asks.extend(asked.map(|asked| number(&(word, asked))));
    }
}

fn number(thing: &impl Debug) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{thing:?}").hash(&mut hasher);
    hasher.finish()
}

fn end_of(verdict: Verdict) -> End {
    match verdict {
        Verdict::Accept | Verdict::Drop | Verdict::Queue => End::Sure,
        Verdict::Return => End::Back,
        Verdict::Jump(chain) => End::Jump(chain),
        Verdict::Goto(chain) => End::Goto(chain),
        Verdict::Continue => End::Open,
    }
}

/// Returns the chain that a verdict leads to.
pub fn chain_of(verdict: Verdict) -> Option<Name> {
    match verdict {
        Verdict::Jump(chain) | Verdict::Goto(chain) => Some(chain),
        _ => None,
    }
}
