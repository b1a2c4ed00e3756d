//! Objects and statements from JSON.

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::read_value::{element, elements, expr, map_source, right, verdict};
use super::{JsonError, model};
use crate::nftables::ast::{
    BaseChain, Binary, BinaryOp, Chain, ChainKind, Counter, DataType, Expr, Hook, Mangle, Match,
    Nat, NatFlags, NatKind, Policy, Reject, Relation, Rule, Ruleset, Set, SetFlags, SetOp,
    SetUpdate, Statement, Table, TableFamily, Unsupported, Value, VerdictMap,
};
use crate::nftables::datatype::{KeyKinds, Kind, kind_of};
use crate::nftables::parse::reject_with;
use crate::nftables::transaction::TableId;
use crate::{Name, Parsed};

type Result<T> = std::result::Result<T, String>;

/// Reads a whole listing.
pub(super) fn listing(text: &str) -> Parsed<Ruleset, JsonError> {
    let json: Json = match serde_json::from_str(text) {
        Ok(json) => json,
        Err(error) => return failed(syntax(&error)),
    };
    let Some(objects) = json.get("nftables").and_then(Json::as_array) else {
        return failed(JsonError::NoListing);
    };
    let mut parsed = Parsed { value: Ruleset::default(), errors: Vec::new() };
    for (index, object) in objects.iter().enumerate() {
        if let Err(message) = read_object(object, &mut parsed.value) {
            parsed.errors.push(JsonError::Object { index, message });
        }
    }
    parsed.value.tables.iter_mut().for_each(mark_dynamic_sets);
    parsed
}

fn failed(error: JsonError) -> Parsed<Ruleset, JsonError> {
    Parsed { value: Ruleset::default(), errors: vec![error] }
}

fn syntax(error: &serde_json::Error) -> JsonError {
    JsonError::Syntax { line: error.line(), column: error.column(), message: error.to_string() }
}

fn read_object(object: &Json, ruleset: &mut Ruleset) -> Result<()> {
    // In a script an object stands inside its command.
    let object = object.get("add").or_else(|| object.get("create")).unwrap_or(object);
    let members = object.as_object().ok_or("expected an object")?;
    let (kind, body) = members.iter().next().ok_or("expected an object with one member")?;
    match kind.as_str() {
        "metainfo" => Ok(()),
        "table" => table(body, ruleset),
        "counter" => counter(body, ruleset),
        "set" | "map" => set(body, ruleset),
        "chain" => chain(body, ruleset),
        "rule" => rule(body, ruleset),
        _ => other(kind, body, ruleset),
    }
}

fn typed<T: DeserializeOwned>(body: &Json) -> Result<T> {
    T::deserialize(body).map_err(|error| error.to_string())
}

fn family(word: &str) -> Result<TableFamily> {
    TableFamily::named(word).ok_or_else(|| format!("unknown family `{word}`"))
}

/// Returns the table of an object. One that was not listed is made: a listing may be a part.
fn table_of<'r>(ruleset: &'r mut Ruleset, of: &str, name: &str) -> Result<&'r mut Table> {
    let id = TableId { family: family(of)?, name: name.into() };
    let at = ruleset.tables.iter().position(|table| table.id() == id).unwrap_or_else(|| {
        ruleset.tables.push(Table::new(id));
        ruleset.tables.len() - 1
    });
    ruleset.tables.get_mut(at).ok_or_else(|| "no table".to_owned())
}

fn table(body: &Json, ruleset: &mut Ruleset) -> Result<()> {
    let read: model::Table = typed(body)?;
    let table = table_of(ruleset, &read.family, &read.name)?;
    table.handle = read.handle;
    table.comment = read.comment.map(Into::into);
    let flags = read.flags.iter().flat_map(strings);
    // nft 1.0.6 writes the family in place of the flag.
    table.flags = flags
        .filter(|flag| matches!(*flag, "dormant" | "owner" | "persist"))
        .map(Into::into)
        .collect();
    Ok(())
}

fn counter(body: &Json, ruleset: &mut Ruleset) -> Result<()> {
    let read: model::Counter = typed(body)?;
    let table = table_of(ruleset, &read.family, &read.table)?;
    let counter = Counter {
        comment: read.comment.map(Into::into),
        packets: read.packets,
        bytes: read.bytes,
        handle: read.handle,
    };
    table.counters.insert(read.name.into(), counter);
    Ok(())
}

fn set(body: &Json, ruleset: &mut Ruleset) -> Result<()> {
    let read: model::Set = typed(body)?;
    let table = table_of(ruleset, &read.family, &read.table)?;
    let mut set = Set {
        key: types(&read.key),
        data: read.map.as_ref().map(types),
        flags: set_flags(read.flags.as_ref()),
        timeout: read.timeout.map(milliseconds),
        gc_interval: read.gc_interval.map(milliseconds),
        size: read.size,
        auto_merge: read.auto_merge,
        counter: read.stmt.as_ref().is_some_and(|stmt| stmt.to_string().contains("\"counter\"")),
        comment: read.comment.map(Into::into),
        handle: read.handle,
        ..Set::default()
    };
    let (key, data) = (set.key.clone(), set.data.clone().unwrap_or_default());
    for elem in &read.elem {
        let element = element(elem, KeyKinds::Types(&key), KeyKinds::Types(&data))?;
        set.elements.insert(element.key.clone(), element);
    }
    table.sets.insert(read.name.into(), set);
    Ok(())
}

fn milliseconds(seconds: u64) -> u64 {
    seconds.saturating_mul(1000)
}

/// Reads one name, a list of names, or names joined by ` . `.
fn types(json: &Json) -> Vec<DataType> {
    strings(json).flat_map(|names| names.split(" . ")).map(DataType::named).collect()
}

/// Returns a string, or the strings of a list.
fn strings(json: &Json) -> impl Iterator<Item = &str> {
    let list = json.as_array().map(Vec::as_slice).unwrap_or_default();
    json.as_str().into_iter().chain(list.iter().filter_map(Json::as_str))
}

fn set_flags(json: Option<&Json>) -> SetFlags {
    let mut flags = SetFlags::default();
    for flag in json.into_iter().flat_map(strings) {
        match flag {
            "constant" => flags.constant = true,
            "interval" => flags.interval = true,
            "timeout" => flags.timeout = true,
            "dynamic" => flags.dynamic = true,
            _ => {}
        }
    }
    flags
}

fn chain(body: &Json, ruleset: &mut Ruleset) -> Result<()> {
    let read: model::Chain = typed(body)?;
    let chain = Chain {
        comment: read.comment.as_deref().map(Into::into),
        base: base_chain(&read)?.map(Box::new),
        rules: Vec::new(),
        handle: read.handle,
    };
    let table = table_of(ruleset, &read.family, &read.table)?;
    table.chains.insert(read.name.into(), chain);
    Ok(())
}

fn base_chain(read: &model::Chain) -> Result<Option<BaseChain>> {
    let (Some(kind), Some(hook), Some(priority)) = (&read.kind, &read.hook, read.prio) else {
        return Ok(None);
    };
    let kind = match kind.as_str() {
        "filter" => ChainKind::Filter,
        "nat" => ChainKind::Nat,
        "route" => ChainKind::Route,
        _ => return Err(format!("unknown type of chain `{kind}`")),
    };
    let hook = Hook::named(hook).ok_or_else(|| format!("unknown hook `{hook}`"))?;
    let drops = read.policy.as_deref() == Some("drop");
    let policy = if drops { Policy::Drop } else { Policy::Accept };
    let devices = read.dev.iter().flat_map(strings).map(Into::into).collect();
    Ok(Some(BaseChain { kind, hook, priority, policy, devices }))
}

fn rule(body: &Json, ruleset: &mut Ruleset) -> Result<()> {
    let read: model::Rule = typed(body)?;
    let family = family(&read.family)?;
    let statements = read.expr.iter().map(|json| statement_or_text(json, family)).collect();
    let rule = Rule { statements, comment: read.comment.map(Into::into), handle: read.handle };
    let table = table_of(ruleset, &read.family, &read.table)?;
    table.chains.entry(read.chain.into()).or_default().rules.push(rule);
    Ok(())
}

/// Keeps an object that the tree does not model.
fn other(kind: &str, body: &Json, ruleset: &mut Ruleset) -> Result<()> {
    let member = |name: &str| body.get(name).and_then(Json::as_str);
    let (Some(family), Some(table)) = (member("family"), member("table")) else {
        return Err(format!("unknown object `{kind}`"));
    };
    let text = format!("{kind} {}", member("name").unwrap_or_default()).into();
    table_of(ruleset, family, table)?.other.push(Unsupported { text, line: 0 });
    Ok(())
}

/// Only a set with `dynamic` can be updated by rules, which the JSON of older nft does not say.
fn mark_dynamic_sets(table: &mut Table) {
    let rules = table.chains.values().flat_map(|chain| &chain.rules);
    let updated: Vec<Name> = rules
        .flat_map(|rule| &rule.statements)
        .filter_map(|statement| match statement {
            Statement::SetUpdate(update) => Some(update.set),
            _ => None,
        })
        .collect();
    for name in updated {
        if let Some(set) = table.sets.get_mut(&name) {
            set.flags.dynamic = true;
        }
    }
}

fn statement_or_text(json: &Json, family: TableFamily) -> Statement {
    statement(json, family).unwrap_or_else(|| {
        let text = json.as_str().map_or_else(|| json.to_string(), str::to_owned).into();
        Statement::Unsupported(Unsupported { text, line: 0 })
    })
}

fn statement(json: &Json, family: TableFamily) -> Option<Statement> {
    let (kind, body) = json.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "match" => Statement::Match(match_(body)?),
        "vmap" => {
            let key = expr(body.get("key")?)?;
            let map = map_source(body.get("data")?, &key)?;
            Statement::VerdictMap(VerdictMap { key, map })
        }
        "mangle" => {
            let target = expr(body.get("key")?)?;
            let value = right(body.get("value")?, &target)?;
            Statement::Mangle(Mangle { target, value })
        }
        "dnat" | "snat" | "masquerade" | "redirect" => Statement::Nat(nat(kind, body)?),
        "reject" => Statement::Reject(reject(body, family)?),
        "set" => Statement::SetUpdate(set_update(body, family)?),
        "counter" => match body {
            Json::String(name) => Statement::NamedCounter(name.as_str().into()),
            Json::Object(body) if body.contains_key("map") => return None,
            body => {
                Statement::Counter { packets: count(body, "packets"), bytes: count(body, "bytes") }
            }
        },
        "limit" => Statement::Limit(limit(body)?.into()),
        "log" => Statement::Log(log(body)?.into()),
        "notrack" => Statement::NoTrack,
        "xt" => {
            let target = body.get("type")?.as_str()? == "target";
            Statement::Xt { target, name: body.get("name")?.as_str()?.into() }
        }
        _ => Statement::Verdict(verdict(json)?),
    })
}

fn count(body: &Json, member: &str) -> u64 {
    body.get(member).and_then(Json::as_u64).unwrap_or(0)
}

fn match_(body: &Json) -> Option<Match> {
    let left = expr(body.get("left")?)?;
    let op = body.get("op")?.as_str()?;
    let right_side = right(body.get("right")?, &left)?;
    let op = match op {
        "in" if kind_of(&left).is_bitmask() => Relation::AnyBit,
        "==" | "in" => Relation::Equal,
        "!=" => Relation::NotEqual,
        "<" => Relation::Less,
        "<=" => Relation::LessEqual,
        ">" => Relation::Greater,
        ">=" => Relation::GreaterEqual,
        "!" => return Some(no_bit(left, right_side)),
        _ => return None,
    };
    Some(Match { left: present_if_boolean(left, body.get("right")?), op, right: right_side })
}

fn no_bit(left: Expr, right: Expr) -> Match {
    let masked = Binary { left, op: BinaryOp::And, right };
    let right = Expr::Value(Value::Number(0));
    Match { left: Expr::Binary(Box::new(masked)), op: Relation::Equal, right }
}

/// `fib … oif` against a truth value asks whether there is a route.
fn present_if_boolean(left: Expr, right: &Json) -> Expr {
    match left {
        Expr::Fib { flags, .. } if right.is_boolean() => {
            Expr::Fib { result: crate::nftables::FibResult::Present, flags }
        }
        other => other,
    }
}

fn nat(kind: &str, body: &Json) -> Option<Nat> {
    let kind = match kind {
        "dnat" => NatKind::Dnat,
        "snat" => NatKind::Snat,
        "masquerade" => NatKind::Masquerade,
        _ => NatKind::Redirect,
    };
    if body.get("type_flags").is_some() {
        return None;
    }
    let family = match body.get("family") {
        Some(word) => Some(TableFamily::named(word.as_str()?)?),
        None => None,
    };
    let member = |name: &str, kind: Kind| match body.get(name) {
        Some(json) => super::read_value::nat_part(json, kind).map(Some),
        None => Some(None),
    };
    Some(Nat {
        kind,
        family,
        address: member("addr", Kind::Other)?,
        port: member("port", Kind::Service)?,
        flags: nat_flags(body.get("flags"))?,
    })
}

fn nat_flags(json: Option<&Json>) -> Option<NatFlags> {
    let mut flags = NatFlags::default();
    for flag in json.into_iter().flat_map(strings) {
        match flag {
            "random" => flags.random = true,
            "fully-random" => flags.fully_random = true,
            "persistent" => flags.persistent = true,
            _ => return None,
        }
    }
    Some(flags)
}

fn reject(body: &Json, family: TableFamily) -> Option<Reject> {
    let Some(kind) = body.get("type") else { return Some(Reject::Default) };
    match (kind.as_str()?, body.get("expr")) {
        ("tcp reset", _) => Some(Reject::TcpReset),
        (kind, Some(Json::String(code))) => reject_with(kind, code, family),
        (kind, Some(code)) => reject_with(kind, &code.to_string(), family),
        _ => None,
    }
}

fn set_update(body: &Json, family: TableFamily) -> Option<SetUpdate> {
    let op = match body.get("op")?.as_str()? {
        "add" => SetOp::Add,
        "update" => SetOp::Update,
        "delete" => SetOp::Delete,
        _ => return None,
    };
    let elem = body.get("elem")?;
    let wrapped = elem.get("elem");
    let key = expr(wrapped.map_or(Some(elem), |wrapped| wrapped.get("val"))?)?;
    let timeout = wrapped.and_then(|wrapped| wrapped.get("timeout")).and_then(Json::as_u64);
    let data = match body.get("data") {
        Some(data) => Some(expr(data)?),
        None => None,
    };
    let statements = body.get("stmt").and_then(Json::as_array).map(Vec::as_slice);
    let statements = statements.unwrap_or_default().iter();
    Some(SetUpdate {
        op,
        set: body.get("set")?.as_str()?.trim_start_matches('@').into(),
        key,
        timeout: timeout.map(milliseconds),
        data,
        statements: statements.map(|s| statement(s, family)).collect::<Option<_>>()?,
    })
}

fn limit(body: &Json) -> Option<String> {
    use std::fmt::Write as _;
    let over = if body.get("inv").is_some_and(|inv| inv == true) { "over " } else { "" };
    let rate = body.get("rate")?.as_u64()?;
    let per = body.get("per")?.as_str()?;
    let unit = body.get("rate_unit").and_then(Json::as_str).filter(|unit| *unit != "packets");
    let mut text = match unit {
        Some(unit) => format!("rate {over}{rate} {unit}/{per}"),
        None => format!("rate {over}{rate}/{per}"),
    };
    let default_burst = if unit.is_some() { 0 } else { 5 };
    let burst = body.get("burst").and_then(Json::as_u64).unwrap_or(default_burst);
    if burst != default_burst {
        let of = body.get("burst_unit").and_then(Json::as_str).unwrap_or("packets");
        // Writing to a `String` cannot fail.
        let _ = write!(text, " burst {burst} {of}");
    }
    Some(text)
}

fn log(body: &Json) -> Option<String> {
    let Json::Object(options) = body else { return Some(String::new()) };
    let word = |name: &str, option: &Json| match option {
        Json::String(text) if name == "prefix" => Some(format!("prefix \"{text}\"")),
        Json::String(text) => Some(format!("{name} {text}")),
        Json::Number(number) => Some(format!("{name} {number}")),
        _ => None,
    };
    let words: Option<Vec<String>> = options.iter().map(|(name, o)| word(name, o)).collect();
    Some(words?.join(" "))
}

/// Reads the elements of an anonymous set.
pub(super) fn anonymous(json: &Json, left: &Expr) -> Option<Expr> {
    elements(json.get("set")?, KeyKinds::Expr(left)).map(Expr::Set)
}
