//! `ip rule`, both families.

use ipnet::IpNet;

use super::{each_line, table_number};
use crate::Parsed;
use crate::host::PolicyRule;

/// Reads `ip rule` and `ip -6 rule`, one after the other or alone.
///
/// A rule without an address does not say its family. Priorities ascend within one listing, so the
/// first that is lower than the one before it begins the listing of IPv6. `ipv6` is the family of
/// the first listing.
#[must_use]
pub fn parse_rules(text: &str, ipv6: bool) -> Parsed<Vec<PolicyRule>> {
    let mut ipv6 = ipv6;
    let mut last = 0;
    each_line(text, |line| {
        let mut rule = rule(line)?;
        ipv6 |= rule.priority < last;
        last = rule.priority;
        let address = rule.from.or(rule.to);
        rule.ipv6 = address.map_or(ipv6, |net| matches!(net, IpNet::V6(_)));
        ipv6 = rule.ipv6;
        Ok(Some(rule))
    })
}

fn rule(line: &str) -> Result<PolicyRule, &'static str> {
    let (priority, selectors) = line.split_once(':').ok_or("`priority:` and a rule")?;
    let priority = priority.trim().parse().map_err(|_| "a priority")?;
    let mut rule = PolicyRule {
        priority,
        ipv6: false,
        from: None,
        to: None,
        mark: None,
        input: None,
        table: 0,
        rest: None,
    };
    let mut rest = Vec::new();
    let mut words = selectors.split_whitespace();
    while let Some(word) = words.next() {
        if !selector(&mut rule, word, &mut words)? {
            rest.push(word);
        }
    }
    rule.rest = (!rest.is_empty()).then(|| rest.join(" "));
    Ok(rule)
}

/// Reads one selector with its value; false if it is not modelled.
fn selector<'a>(
    rule: &mut PolicyRule,
    word: &str,
    words: &mut impl Iterator<Item = &'a str>,
) -> Result<bool, &'static str> {
    let mut value = || words.next().ok_or("a value");
    match word {
        "from" => rule.from = network(value()?)?,
        "to" => rule.to = network(value()?)?,
        "fwmark" => rule.mark = Some(mark(value()?).ok_or("a mark")?),
        "iif" => rule.input = Some(value()?.into()),
        "lookup" | "table" => rule.table = table_number(value()?).ok_or("the number of a table")?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn network(word: &str) -> Result<Option<IpNet>, &'static str> {
    if word == "all" {
        return Ok(None);
    }
    let net =
        word.parse().or_else(|_| word.parse().map(|address: std::net::IpAddr| address.into()));
    net.map(Some).map_err(|_| "a prefix")
}

/// Reads `MARK` or `MARK/MASK`.
fn mark(word: &str) -> Option<(u32, u32)> {
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    };
    match word.split_once('/') {
        Some((bits, mask)) => Some((number(bits)?, number(mask)?)),
        None => Some((number(word)?, u32::MAX)),
    }
}
