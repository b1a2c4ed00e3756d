//! Expressions, elements and constants as JSON.

use serde_json::{Value as Json, json};

use super::write::{right, verdict};
use crate::nftables::ast::{
    Ct, CtDirection, Data, Element, Expr, FibResult, MapSource, NumgenMode, Unsupported, Value,
};
use crate::nftables::datatype::{KeyKinds, Kind, protocol_name};

pub(super) fn expr(of: &Expr) -> Json {
    match of {
        Expr::Payload(payload) => {
            let (protocol, field) = payload.as_str().split_once(' ').unwrap_or_default();
            json!({"payload": {"protocol": protocol, "field": field}})
        }
        Expr::Meta(meta) => json!({"meta": {"key": meta.as_str()}}),
        Expr::Ct(of) => ct(*of),
        Expr::Fib { result, flags } => {
            let result = match result {
                FibResult::Type => "type",
                FibResult::Oif | FibResult::Present => "oif",
                FibResult::Oifname => "oifname",
            };
            json!({"fib": {"result": result, "flags": flags.words().collect::<Vec<_>>()}})
        }
        Expr::Numgen { mode, modulus, offset } => {
            let mode = if *mode == NumgenMode::Random { "random" } else { "inc" };
            json!({"numgen": {"mode": mode, "mod": modulus, "offset": offset}})
        }
        Expr::Concat(parts) => json!({"concat": parts.iter().map(expr).collect::<Vec<_>>()}),
        Expr::Binary(binary) => {
            let sides = json!([expr(&binary.left), right(&binary.right, &binary.left)]);
            json!({binary.op.symbol(): sides})
        }
        Expr::Value(constant) => value(constant, Kind::Other),
        Expr::Set(_) => right(of, &Expr::Concat(Box::default())),
        Expr::SetRef(name) => json!(format!("@{name}")),
        Expr::Map(lookup) => {
            let data = map_source(&lookup.map, &lookup.key);
            json!({"map": {"key": expr(&lookup.key), "data": data}})
        }
        Expr::Unsupported(text) => unsupported(text),
    }
}

/// Returns what was read from JSON as it was, and other text as a string, as nft does with what its
/// JSON form cannot say.
pub(super) fn unsupported(of: &Unsupported) -> Json {
    let json = of.text.starts_with('{').then(|| serde_json::from_str(&of.text).ok()).flatten();
    json.unwrap_or_else(|| json!(of.text.as_str()))
}

fn ct(ct: Ct) -> Json {
    let mut body = json!({"key": ct.key.as_str()});
    if let Some(direction) = ct.direction {
        let original = direction == CtDirection::Original;
        body["dir"] = json!(if original { "original" } else { "reply" });
    }
    json!({"ct": body})
}

pub(super) fn map_source(map: &MapSource, key: &Expr) -> Json {
    match map {
        MapSource::Named(name) => json!(format!("@{name}")),
        MapSource::Anonymous(elements) => {
            let kinds = KeyKinds::Expr(key);
            let elements = elements.iter().map(|e| element(e, kinds, KeyKinds::Types(&[])));
            json!({"set": elements.collect::<Vec<_>>()})
        }
    }
}

/// Returns a key, or a pair of key and data; a key with more than itself is wrapped.
pub(super) fn element(element: &Element, kinds: KeyKinds<'_>, data: KeyKinds<'_>) -> Json {
    let mut key = concat(&element.key, kinds);
    if element.comment.is_some() || element.state.is_some() {
        key = wrapped(element, &key);
    }
    match &element.data {
        None => key,
        Some(Data::Verdict(v)) => json!([key, verdict(*v)]),
        Some(Data::Values(values)) => json!([key, concat(values, data)]),
    }
}

fn wrapped(element: &Element, key: &Json) -> Json {
    let state = element.state.as_deref().copied().unwrap_or_default();
    let mut body = json!({"val": key});
    if let Some(timeout) = state.timeout {
        body["timeout"] = json!(timeout / 1000);
    }
    if let Some(expires) = state.expires {
        body["expires"] = json!(expires / 1000);
    }
    if let Some(comment) = element.comment {
        body["comment"] = json!(comment.as_str());
    }
    if let Some((packets, bytes)) = state.counter {
        body["counter"] = json!({"packets": packets, "bytes": bytes});
    }
    json!({"elem": body})
}

fn concat(values: &[Value], kinds: KeyKinds<'_>) -> Json {
    match values {
        [one] => value(one, kinds.at(0)),
        many => {
            let parts = many.iter().enumerate().map(|(at, part)| value(part, kinds.at(at)));
            json!({"concat": parts.collect::<Vec<_>>()})
        }
    }
}

pub(super) fn value(of: &Value, kind: Kind) -> Json {
    match *of {
        Value::Ipv4Prefix(address, len) => prefix(&Value::Ipv4(address), len),
        Value::Ipv6Prefix(address, len) => prefix(&Value::Ipv6(address), len),
        Value::Ipv4Range(from, to) => range(&Value::Ipv4(from), &Value::Ipv4(to), kind),
        Value::Ipv6Range(from, to) => range(&Value::Ipv6(from), &Value::Ipv6(to), kind),
        Value::PortRange(from, to) => json!({"range": [from, to]}),
        Value::NumberRange(from, to) => range(&Value::Number(from), &Value::Number(to), kind),
        Value::Protocol(number) => {
            protocol_name(number).map_or_else(|| json!(number), |name| json!(name))
        }
        Value::Port(port) => json!(port),
        Value::Mark(mark) => json!(mark),
        Value::Number(number) => named_number(number, kind),
        Value::CtState(bits) => flags(u64::from(bits), Kind::CtState),
        Value::CtStatus(bits) => flags(u64::from(bits), Kind::CtStatus),
        Value::Verdict(of) => verdict(of),
        Value::Interface(name) => json!(name.as_str()),
        Value::Word(word) => word_value(word.as_str()),
        Value::Ipv4(_) | Value::Ipv6(_) | Value::AddressType(_) | Value::Wildcard => {
            json!(of.to_string())
        }
    }
}

fn prefix(address: &Value, len: u8) -> Json {
    json!({"prefix": {"addr": address.to_string(), "len": len}})
}

fn range(from: &Value, to: &Value, kind: Kind) -> Json {
    json!({"range": [value(from, kind), value(to, kind)]})
}

/// A range of quoted words reads as one word; the JSON form has its ends.
fn word_value(word: &str) -> Json {
    json!(word.trim_matches('"'))
}

fn named_number(number: u64, kind: Kind) -> Json {
    match kind {
        Kind::TcpFlags => flags(number, kind),
        Kind::Boolean if number < 2 => json!(number == 1),
        Kind::Ifindex => json!(number.to_string()),
        _ => kind.word(number).map_or_else(|| json!(number), |word| json!(word)),
    }
}

/// Returns the words of a bit mask, as a list if they are many.
fn flags(bits: u64, kind: Kind) -> Json {
    let known = kind.symbols().iter().fold(0, |all, (_, bit)| all | bit);
    if bits == 0 || bits & !known != 0 {
        return json!(bits);
    }
    let set = kind.symbols().iter().filter(|(_, bit)| bits & bit != 0);
    let words: Vec<&str> = set.map(|(word, _)| *word).collect();
    match &*words {
        [word] => json!(word),
        words => json!(words),
    }
}
