//! Objects and statements as JSON.

use serde_json::{Value as Json, json};

use super::model;
use super::write_value::{element, expr, map_source, unsupported, value};
use crate::Name;
use crate::nftables::ast::{
    BaseChain, Chain, Counter, DataType, Expr, Match, Nat, Reject, Relation, Rule, Ruleset, Set,
    SetFlags, SetUpdate, Statement, Table, TableFamily, Verdict,
};
use crate::nftables::datatype::{ICMPX_CODE, KeyKinds, Kind, kind_of};
use crate::nftables::transaction::TableId;

/// Returns a rule set as nft 1.0.6 lists it: of each table its objects, then all its rules.
pub(super) fn listing(ruleset: &Ruleset) -> model::Listing {
    let version = "1.0.6";
    let release_name = "Lester Gooch #5";
    let info = model::MetaInfo { version, release_name, json_schema_version: 1 };
    let mut nftables = vec![model::Object::MetaInfo(info)];
    ruleset.tables.iter().for_each(|table| table_objects(table, &mut nftables));
    model::Listing { nftables }
}

fn table_objects(table: &Table, to: &mut Vec<model::Object>) {
    let id = table.id();
    to.push(model::Object::Table(model::Table {
        family: id.family.as_str().to_owned(),
        name: id.name.to_string(),
        handle: table.handle,
        comment: None,
        flags: flag_list(table.flags.iter().map(Name::as_str)),
    }));
    to.extend(table.counters.iter().map(|(n, c)| model::Object::Counter(counter(id, *n, c))));
    to.extend(table.sets.iter().map(|(name, of)| {
        let object = if of.is_map() { model::Object::Map } else { model::Object::Set };
        object(set(id, *name, of))
    }));
    to.extend(table.chains.iter().map(|(n, c)| model::Object::Chain(chain(id, *n, c))));
    for (name, chain) in &table.chains {
        to.extend(chain.rules.iter().map(|r| model::Object::Rule(rule(id, *name, r))));
    }
}

fn flag_list<'a>(words: impl Iterator<Item = &'a str>) -> Option<Json> {
    let words: Vec<&str> = words.collect();
    (!words.is_empty()).then(|| json!(words))
}

fn text(name: Option<Name>) -> Option<String> {
    name.map(|name| name.to_string())
}

fn counter(table: TableId, name: Name, counter: &Counter) -> model::Counter {
    model::Counter {
        family: table.family.as_str().to_owned(),
        name: name.to_string(),
        table: table.name.to_string(),
        handle: counter.handle,
        comment: text(counter.comment),
        packets: counter.packets,
        bytes: counter.bytes,
    }
}

fn set(table: TableId, name: Name, set: &Set) -> model::Set {
    let shown = SetFlags { dynamic: false, ..set.flags };
    let kinds = KeyKinds::Types(&set.key);
    let data_kinds = KeyKinds::Types(set.data.as_deref().unwrap_or_default());
    model::Set {
        family: table.family.as_str().to_owned(),
        name: name.to_string(),
        table: table.name.to_string(),
        key: types(&set.key),
        handle: set.handle,
        comment: text(set.comment),
        map: set.data.as_deref().map(|data| {
            let names: Vec<&str> = data.iter().map(DataType::as_str).collect();
            json!(names.join(" . "))
        }),
        size: set.size,
        flags: flag_list(shown.words()),
        timeout: set.timeout.map(|time| time / 1000),
        gc_interval: set.gc_interval.map(|time| time / 1000),
        auto_merge: set.auto_merge,
        elem: set.elements.values().map(|e| element(e, kinds, data_kinds)).collect(),
        stmt: set.counter.then(|| json!([{"counter": null}])),
    }
}

fn types(types: &[DataType]) -> Json {
    match types {
        [one] => json!(one.as_str()),
        many => json!(many.iter().map(DataType::as_str).collect::<Vec<_>>()),
    }
}

fn chain(table: TableId, name: Name, chain: &Chain) -> model::Chain {
    let base = chain.base.as_deref();
    model::Chain {
        family: table.family.as_str().to_owned(),
        table: table.name.to_string(),
        name: name.to_string(),
        handle: chain.handle,
        comment: None,
        kind: base.map(|base| base.kind.as_str().to_owned()),
        hook: base.map(|base| base.hook.as_str().to_owned()),
        prio: base.map(|base| base.priority),
        dev: base.and_then(devices),
        policy: base.map(|base| base.policy.as_str().to_owned()),
    }
}

fn devices(base: &BaseChain) -> Option<Json> {
    match &*base.devices {
        [] => None,
        [device] => Some(json!(device.as_str())),
        devices => Some(json!(devices.iter().map(Name::as_str).collect::<Vec<_>>())),
    }
}

fn rule(table: TableId, chain: Name, rule: &Rule) -> model::Rule {
    model::Rule {
        family: table.family.as_str().to_owned(),
        table: table.name.to_string(),
        chain: chain.to_string(),
        handle: rule.handle,
        comment: text(rule.comment),
        expr: rule.statements.iter().map(|s| statement(s, table.family)).collect(),
    }
}

fn statement(statement: &Statement, family: TableFamily) -> Json {
    match statement {
        Statement::Match(m) => match_(m),
        Statement::Verdict(v) => verdict(*v),
        Statement::VerdictMap(map) => {
            json!({"vmap": {"key": expr(&map.key), "data": map_source(&map.map, &map.key)}})
        }
        Statement::Mangle(mangle) => {
            let value = right(&mangle.value, &mangle.target);
            json!({"mangle": {"key": expr(&mangle.target), "value": value}})
        }
        Statement::Nat(n) => nat(n),
        Statement::Reject(r) => reject(*r, family),
        Statement::SetUpdate(update) => set_update(update, family),
        Statement::Counter { packets, bytes } => {
            json!({"counter": {"packets": packets, "bytes": bytes}})
        }
        Statement::NamedCounter(name) => json!({"counter": name.as_str()}),
        Statement::Limit(text) => limit(text),
        Statement::Log(text) => log(text),
        Statement::NoTrack => json!({"notrack": null}),
        Statement::Xt { target, name } => {
            let kind = if *target { "target" } else { "match" };
            json!({"xt": {"type": kind, "name": name.as_str()}})
        }
        Statement::Unsupported(text) => unsupported(text),
    }
}

pub(super) fn verdict(verdict: Verdict) -> Json {
    match verdict {
        Verdict::Accept => json!({"accept": null}),
        Verdict::Drop => json!({"drop": null}),
        Verdict::Continue => json!({"continue": null}),
        Verdict::Return => json!({"return": null}),
        Verdict::Queue => json!({"queue": null}),
        Verdict::Jump(chain) => json!({"jump": {"target": chain.as_str()}}),
        Verdict::Goto(chain) => json!({"goto": {"target": chain.as_str()}}),
    }
}

fn match_(m: &Match) -> Json {
    let op = match m.op {
        Relation::Equal => "==",
        Relation::NotEqual => "!=",
        Relation::Less => "<",
        Relation::LessEqual => "<=",
        Relation::Greater => ">",
        Relation::GreaterEqual => ">=",
        Relation::AnyBit => "in",
    };
    if let (Expr::Binary(binary), Relation::Equal, true) = (&m.left, m.op, m.right.is_zero())
        && kind_of(&binary.left).is_bitmask()
    {
        let right = right(&binary.right, &binary.left);
        return json!({"match": {"op": "!", "left": expr(&binary.left), "right": right}});
    }
    json!({"match": {"op": op, "left": expr(&m.left), "right": right(&m.right, &m.left)}})
}

/// Returns a constant that is compared with, or set to, an expression.
pub(super) fn right(right: &Expr, left: &Expr) -> Json {
    match right {
        Expr::Value(constant) => value(constant, kind_of(left)),
        Expr::Set(elements) => {
            let kinds = KeyKinds::Expr(left);
            let elements = elements.iter().map(|e| element(e, kinds, KeyKinds::Types(&[])));
            json!({"set": elements.collect::<Vec<_>>()})
        }
        other => expr(other),
    }
}

fn nat(nat: &Nat) -> Json {
    let mut body = serde_json::Map::new();
    if let Some(family) = nat.family {
        body.insert("family".into(), json!(family.as_str()));
    }
    if let Some(address) = &nat.address {
        body.insert("addr".into(), expr(address));
    }
    if let Some(port) = &nat.port {
        body.insert("port".into(), expr(port));
    }
    let flags: Vec<&str> = nat.flags.words().collect();
    match &*flags {
        [] => {}
        [flag] => drop(body.insert("flags".into(), json!(flag))),
        flags => drop(body.insert("flags".into(), json!(flags))),
    }
    let body = if body.is_empty() { Json::Null } else { Json::Object(body) };
    json!({nat.kind.as_str(): body})
}

/// The JSON form spells out what `reject` is by default.
fn reject(reject: Reject, family: TableFamily) -> Json {
    let (kind, code) = match (reject, family) {
        (Reject::TcpReset, _) => return json!({"reject": {"type": "tcp reset"}}),
        (Reject::Default, TableFamily::Ip) => ("icmp", 3),
        (Reject::Default, TableFamily::Ip6) => ("icmpv6", 4),
        (Reject::Default, _) => ("icmpx", 1),
        (Reject::Icmp(code), _) => ("icmp", code),
        (Reject::Icmpv6(code), _) => ("icmpv6", code),
        (Reject::Icmpx(code), _) => ("icmpx", code),
    };
    let symbols = match kind {
        "icmp" => Kind::IcmpCode.symbols(),
        "icmpv6" => Kind::Icmpv6Code.symbols(),
        _ => ICMPX_CODE,
    };
    let word = symbols.iter().find(|(_, number)| *number == u64::from(code));
    let code = word.map_or_else(|| json!(code), |(word, _)| json!(word));
    json!({"reject": {"type": kind, "expr": code}})
}

fn set_update(update: &SetUpdate, family: TableFamily) -> Json {
    let key = expr(&update.key);
    let elem = match update.timeout {
        Some(timeout) => json!({"elem": {"val": key, "timeout": timeout / 1000}}),
        None => key,
    };
    let set = format!("@{}", update.set);
    let mut body = json!({"op": update.op.as_str(), "elem": elem, "set": set});
    if let Some(value) = &update.data {
        body["data"] = expr(value);
    }
    if !update.statements.is_empty() {
        let inner = |s: &Statement| match s {
            Statement::Counter { .. } => json!({"counter": null}),
            other => statement(other, family),
        };
        body["stmt"] = update.statements.iter().map(inner).collect();
    }
    json!({"set": body})
}

/// Returns `rate [over] N[ UNIT]/TIME [burst N UNIT]` as JSON, with the burst that nft leaves out.
fn limit(text: &str) -> Json {
    let words: Vec<&str> = text.split_whitespace().collect();
    let over = words.get(1) == Some(&"over");
    let rate: Vec<&str> = words.iter().skip(1 + usize::from(over)).copied().collect();
    let (amount, unit, per) = match *rate {
        [amount, unit, ..] if unit.contains("bytes/") => {
            (amount, unit.split('/').next(), unit.split('/').nth(1))
        }
        [amount, ..] => {
            (amount.split('/').next().unwrap_or(amount), None, amount.split('/').nth(1))
        }
        [] => ("", None, None),
    };
    let burst = words.iter().position(|word| *word == "burst");
    let burst_at = |offset: usize| burst.and_then(|at| words.get(at + offset)).copied();
    let default_burst = if unit.is_some() { 0 } else { 5 };
    let number = |word: &str| word.parse::<u64>().unwrap_or(0);
    let mut body = json!({
        "rate": number(amount),
        "burst": burst_at(1).map_or(default_burst, number),
        "per": per.unwrap_or_default(),
    });
    if over {
        body["inv"] = json!(true);
    }
    if let Some(unit) = unit {
        body["rate_unit"] = json!(unit);
        body["burst_unit"] = json!(burst_at(2).unwrap_or("bytes"));
    }
    json!({"limit": body})
}

/// Returns the options of `log` as JSON.
fn log(text: &str) -> Json {
    let mut body = serde_json::Map::new();
    let mut rest = text.trim();
    while let Some((option, tail)) = rest.split_once(' ') {
        let (argument, tail) = log_argument(tail);
        let number = argument.parse::<u64>().ok().filter(|_| !matches!(option, "prefix" | "level"));
        let value = number.map_or_else(|| json!(argument), |number| json!(number));
        body.insert(option.to_owned(), value);
        rest = tail.trim_start();
    }
    json!({"log": if body.is_empty() { Json::Null } else { Json::Object(body) }})
}

/// Takes a word, or what stands in quotes.
fn log_argument(text: &str) -> (&str, &str) {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"').unwrap_or((quoted, ""));
    }
    text.split_once(' ').unwrap_or((text, ""))
}
