//! Marks: kube-proxy keeps a bit of each packet's mark to itself, which others must leave alone.

use kps_flow::ClientClass;
use kps_model::Mode;
use kps_ruleset::iptables::{Target, print_rule};
use kps_ruleset::nftables::{BinaryOp, Expr, Meta, Statement, Value};

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target::targets;

/// Tells rules of others that set or clear kube-proxy's bit.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let Some(view) = scene.subject.views.first() else { return Vec::new() };
    let bit = view.mark;
    let target = targets(view).next();
    let touching = in_iptables(scene, bit).into_iter().chain(in_nftables(scene, bit));
    touching
        .map(|rule| {
            let detail = format!("{rule} changes {bit:#x}, which marks what is to be masqueraded");
            let objects = vec![format!("Node {}", scene.subject.node)];
            let witness = target.and_then(|target| {
                let protocol = target.port.port.key.protocol;
                scene.sent_by(ClientClass::Outside, protocol, target.address, target.number)
            });
            Finding::new(Lint::MarkBitShared, objects, detail).with(witness)
        })
        .collect()
}

fn in_iptables(scene: &Scene<'_>, bit: u32) -> Vec<String> {
    let rules = &scene.subject.state.iptables;
    let mut touching = Vec::new();
    for family in [&rules.v4, &rules.v6] {
        for (table, chains) in &family.tables {
            let foreign = chains.chains.iter().filter(|(name, _)| !name.starts_with("KUBE-"));
            for (name, chain) in foreign {
                for rule in &chain.rules {
                    let touches = matches!(&rule.target, Some(Target::Mark(mark))
                        if (mark.value | mark.mask) & bit != 0);
                    if touches {
                        let text = print_rule(rule, family.family);
                        touching.push(format!("{table} {name}: {text}"));
                    }
                }
            }
        }
    }
    touching
}

fn in_nftables(scene: &Scene<'_>, bit: u32) -> Vec<String> {
    let tables = scene.subject.state.nftables.tables.iter();
    let own = |name: &str| scene.subject.config.mode == Mode::Nftables && name == "kube-proxy";
    let mut touching = Vec::new();
    for table in tables.filter(|table| !own(&table.name)) {
        for (name, chain) in &table.chains {
            for rule in &chain.rules {
                let touches = rule.statements.iter().any(|statement| match statement {
                    Statement::Mangle(mangle) if mangle.target == Expr::Meta(Meta::Mark) => {
                        bits(&mangle.value) & bit != 0
                    }
                    _ => false,
                });
                if touches {
                    touching.push(format!("{} {name}: {rule}", table.name));
                }
            }
        }
    }
    touching
}

/// Returns the bits that a value for the mark may change; none where that is not plain.
fn bits(value: &Expr) -> u32 {
    match value {
        Expr::Value(Value::Mark(_)) => u32::MAX,
        Expr::Binary(binary) => match (&binary.left, binary.op, &binary.right) {
            (Expr::Meta(Meta::Mark), BinaryOp::And, Expr::Value(Value::Mark(kept))) => !kept,
            (
                Expr::Meta(Meta::Mark),
                BinaryOp::Or | BinaryOp::Xor,
                Expr::Value(Value::Mark(set)),
            ) => *set,
            (left, BinaryOp::Or | BinaryOp::Xor, Expr::Value(Value::Mark(set))) => {
                bits(left) | *set
            }
            _ => 0,
        },
        _ => 0,
    }
}
