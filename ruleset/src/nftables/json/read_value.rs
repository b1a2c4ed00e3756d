//! Expressions, elements and constants from JSON.

use serde_json::Value as Json;

use super::read::anonymous;
use crate::nftables::ast::{
    Binary, BinaryOp, Ct, CtDirection, Data, Element, ElementState, Expr, FibFlags, FibResult, Key,
    MapLookup, MapSource, Meta, NumgenMode, Value, Verdict,
};
use crate::nftables::datatype::{KeyKinds, Kind, kind_of};
use crate::nftables::normalise::coerce_to_kind;
use crate::nftables::parse::{MOST_OPERATORS, any_value, ct_key_word, meta, payload, typed};

/// Reads an expression that is no constant.
pub(super) fn expr(json: &Json) -> Option<Expr> {
    let (kind, body) = json.as_object()?.iter().next()?;
    let word = |name: &str| body.get(name).and_then(Json::as_str);
    Some(match kind.as_str() {
        "payload" => Expr::Payload(payload(word("protocol")?, word("field")?)),
        "meta" => {
            let key = word("key")?;
            Expr::Meta(meta(key).unwrap_or_else(|| Meta::Other(key.into())))
        }
        "ct" => Expr::Ct(ct(word("key")?, word("dir"))?),
        "fib" => fib(word("result")?, body.get("flags")?)?,
        "numgen" => numgen(body)?,
        "concat" => {
            Expr::Concat(body.as_array()?.iter().map(expr).collect::<Option<Vec<_>>>()?.into())
        }
        "map" => {
            let key = expr(body.get("key")?)?;
            let map = map_source(body.get("data")?, &key)?;
            Expr::Map(Box::new(MapLookup { key, map }))
        }
        _ => binary(kind, body)?,
    })
}

fn ct(key: &str, direction: Option<&str>) -> Option<Ct> {
    let direction = match direction {
        None => None,
        Some("original") => Some(CtDirection::Original),
        Some("reply") => Some(CtDirection::Reply),
        Some(_) => return None,
    };
    if matches!(key, "helper" | "count") {
        return None;
    }
    Some(Ct { key: ct_key_word(key), direction })
}

fn fib(result: &str, words: &Json) -> Option<Expr> {
    let result = match result {
        "type" => FibResult::Type,
        "oif" => FibResult::Oif,
        "oifname" => FibResult::Oifname,
        _ => return None,
    };
    let mut flags = FibFlags::default();
    let list = words.as_array().map(Vec::as_slice).unwrap_or_default();
    for word in words.as_str().into_iter().chain(list.iter().filter_map(Json::as_str)) {
        match word {
            "saddr" => flags.saddr = true,
            "daddr" => flags.daddr = true,
            "mark" => flags.mark = true,
            "iif" => flags.iif = true,
            "oif" => flags.oif = true,
            _ => return None,
        }
    }
    Some(Expr::Fib { result, flags })
}

fn numgen(body: &Json) -> Option<Expr> {
    let mode = match body.get("mode")?.as_str()? {
        "random" => NumgenMode::Random,
        "inc" => NumgenMode::Increment,
        _ => return None,
    };
    let number = |name: &str| body.get(name).and_then(Json::as_u64);
    let modulus = u32::try_from(number("mod")?).ok()?;
    let offset = u32::try_from(number("offset").unwrap_or(0)).ok()?;
    Some(Expr::Numgen { mode, modulus, offset })
}

fn binary(op: &str, sides: &Json) -> Option<Expr> {
    let op = match op {
        "&" => BinaryOp::And,
        "|" => BinaryOp::Or,
        "^" => BinaryOp::Xor,
        "<<" => BinaryOp::ShiftLeft,
        ">>" => BinaryOp::ShiftRight,
        _ => return None,
    };
    let [first, rest @ ..] = sides.as_array()?.as_slice() else { return None };
    // Newer nft writes a chain of one operator as one list.
    if rest.len() > MOST_OPERATORS {
        return None;
    }
    rest.iter().try_fold(expr(first)?, |left, side| {
        let right = right(side, &left)?;
        Some(Expr::Binary(Box::new(Binary { left, op, right })))
    })
}

/// Reads what an expression is compared with or set to.
pub(super) fn right(json: &Json, left: &Expr) -> Option<Expr> {
    if let Some(name) = json.as_str().and_then(|text| text.strip_prefix('@')) {
        return Some(Expr::SetRef(name.into()));
    }
    if json.get("set").is_some() {
        return anonymous(json, left);
    }
    match constant(json, kind_of(left)) {
        Some(value) => Some(Expr::Value(value)),
        None => expr_of_kind(json, kind_of(left)),
    }
}

/// Reads an expression; the data of a map has the kind of what it is set to.
fn expr_of_kind(json: &Json, kind: Kind) -> Option<Expr> {
    let mut read = expr(json)?;
    if let Expr::Map(lookup) = &mut read
        && let MapSource::Anonymous(elements) = &mut lookup.map
    {
        for element in elements {
            if let Some(Data::Values(values)) = &mut element.data {
                coerce_to_kind(values, kind);
            }
        }
    }
    Some(read)
}

/// Reads an address or port of a translation.
pub(super) fn nat_part(json: &Json, kind: Kind) -> Option<Expr> {
    match constant(json, kind) {
        Some(value) => Some(Expr::Value(value)),
        None => expr_of_kind(json, kind),
    }
}

pub(super) fn map_source(json: &Json, key: &Expr) -> Option<MapSource> {
    if let Some(name) = json.as_str() {
        return Some(MapSource::Named(name.trim_start_matches('@').into()));
    }
    elements(json.get("set")?, KeyKinds::Expr(key)).map(MapSource::Anonymous)
}

pub(super) fn elements(json: &Json, kinds: KeyKinds<'_>) -> Option<Box<[Element]>> {
    let one = std::slice::from_ref(json);
    let list = json.as_array().map_or(one, Vec::as_slice);
    list.iter().map(|json| element(json, kinds, KeyKinds::Types(&[])).ok()).collect()
}

/// Reads a key, or a pair of key and data.
pub(super) fn element(
    json: &Json,
    kinds: KeyKinds<'_>,
    data_kinds: KeyKinds<'_>,
) -> Result<Element, String> {
    let (key, data) = match json.as_array().map(Vec::as_slice) {
        Some([key, data]) => (key, Some(data)),
        _ => (json, None),
    };
    let wrong = || format!("not an element: {json}");
    let mut element = wrapped_key(key, kinds).ok_or_else(wrong)?;
    if let Some(data) = data {
        element.data = Some(element_data(data, data_kinds).ok_or_else(wrong)?);
    }
    Ok(element)
}

fn wrapped_key(json: &Json, kinds: KeyKinds<'_>) -> Option<Element> {
    let Some(body) = json.get("elem") else { return Some(Element::new(key(json, kinds)?)) };
    let mut element = Element::new(key(body.get("val")?, kinds)?);
    element.comment = body.get("comment").and_then(Json::as_str).map(Into::into);
    let time = |name: &str| Some(body.get(name)?.as_u64()?.saturating_mul(1000));
    let counter = body.get("counter").map(|counter| {
        let count = |name: &str| counter.get(name).and_then(Json::as_u64).unwrap_or(0);
        (count("packets"), count("bytes"))
    });
    let state = ElementState { timeout: time("timeout"), expires: time("expires"), counter };
    element.state = (state != ElementState::default()).then(|| Box::new(state));
    Some(element)
}

fn element_data(json: &Json, kinds: KeyKinds<'_>) -> Option<Data> {
    match verdict(json) {
        Some(verdict) => Some(Data::Verdict(verdict)),
        None => key(json, kinds).map(Data::Values),
    }
}

fn key(json: &Json, kinds: KeyKinds<'_>) -> Option<Key> {
    let Some(parts) = json.get("concat").and_then(Json::as_array) else {
        return constant(json, kinds.at(0)).map(Key::One);
    };
    let untyped_port = |at: usize| at == 1 && parts.len() == 2;
    let part = |(at, json): (usize, &Json)| match kinds.at(at) {
        Kind::Other if untyped_port(at) => constant(json, Kind::Service),
        kind => constant(json, kind),
    };
    Some(Key::Many(parts.iter().enumerate().map(part).collect::<Option<Vec<_>>>()?.into()))
}

/// Reads a constant of a kind.
fn constant(json: &Json, kind: Kind) -> Option<Value> {
    match json {
        Json::String(text) if text == "*" && !matches!(kind, Kind::Ifname) => Some(Value::Wildcard),
        Json::String(text) => word(text, kind),
        Json::Number(number) => typed(&number.to_string(), kind),
        Json::Bool(truth) => Some(Value::Number(u64::from(*truth))),
        Json::Array(words) if kind.is_bitmask() => bits(words, kind),
        Json::Object(body) => interval(body, kind),
        _ => None,
    }
}

fn word(text: &str, kind: Kind) -> Option<Value> {
    match kind {
        Kind::Ifname | Kind::Ifindex => typed(text, kind),
        Kind::Other => Some(any_value(text)),
        _ => typed(text, kind).or_else(|| Some(Value::Word(text.into()))),
    }
}

fn bits(words: &[Json], kind: Kind) -> Option<Value> {
    let bit = |json: &Json| json.as_str().and_then(|word| kind.number(word));
    let bits = words.iter().map(bit).try_fold(0, |all, bit| Some(all | bit?))?;
    typed(&bits.to_string(), kind)
}

/// Reads `{"prefix": …}` or `{"range": …}`.
fn interval(body: &serde_json::Map<String, Json>, kind: Kind) -> Option<Value> {
    if let Some(prefix) = body.get("prefix") {
        let (address, len) = (prefix.get("addr")?.as_str()?, prefix.get("len")?);
        return typed(&format!("{address}/{len}"), address_kind(kind, address));
    }
    let ends = body.get("range")?.as_array()?;
    let end = |json: &Json| json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    let [from, to] = ends.as_slice() else { return None };
    let (from, to) = (end(from), end(to));
    typed(&format!("{from}-{to}"), address_kind(kind, &from))
}

fn address_kind(kind: Kind, address: &str) -> Kind {
    match (kind, any_value(address)) {
        (Kind::Other, Value::Ipv4(_)) => Kind::Ipv4,
        (Kind::Other, Value::Ipv6(_)) => Kind::Ipv6,
        _ => kind,
    }
}

/// Reads a verdict.
pub(super) fn verdict(json: &Json) -> Option<Verdict> {
    let (kind, body) = json.as_object()?.iter().next()?;
    let target = || body.get("target").and_then(Json::as_str).map(Into::into);
    Some(match kind.as_str() {
        "accept" => Verdict::Accept,
        "drop" => Verdict::Drop,
        "continue" => Verdict::Continue,
        "return" => Verdict::Return,
        "queue" if body.is_null() => Verdict::Queue,
        "jump" => Verdict::Jump(target()?),
        "goto" => Verdict::Goto(target()?),
        _ => return None,
    })
}
