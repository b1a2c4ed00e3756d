//! Tables in block form, and the objects in them.

use super::lexer::Token;
use super::{Expected, Parser, Result};
use crate::nftables::ast::{
    BaseChain, Chain, ChainKind, Counter, Hook, Policy, Table, TableFamily,
};
use crate::nftables::print::named_priorities;
use crate::nftables::transaction::TableId;

impl<'a> Parser<'a> {
    /// Reads the family and name of a table; without a family it is `ip`.
    pub(super) fn table_id(&mut self) -> Result<TableId> {
        let word = self.expect_name("a table")?;
        let next_is_name = matches!(self.token, Token::Word(_) | Token::Quoted(_));
        match TableFamily::named(word) {
            Some(family) if next_is_name => {
                let name = self.expect_name("the name of a table")?.into();
                Ok(TableId { family, name })
            }
            _ => Ok(TableId { family: TableFamily::Ip, name: word.into() }),
        }
    }

    /// Reads a table after its `{`.
    pub(super) fn table_body(&mut self, id: TableId) -> Table {
        self.family = id.family;
        let mut table = Table { handle: self.handle(), ..Table::new(id) };
        loop {
            self.skip_separators();
            if self.eat_punct(b'}') {
                return table;
            }
            if self.token == Token::End {
                self.report(Expected("`}`"));
                return table;
            }
            if let Err(error) = self.table_item(&mut table) {
                self.report(error);
                self.skip_line();
            }
        }
    }

    fn table_item(&mut self, table: &mut Table) -> Result<()> {
        let (from, line) = (self.lexer.token_start(), self.lexer.token_line());
        match self.expect_word("an object of a table")? {
            "chain" => {
                let name = self.name_and_brace("the name of a chain")?.into();
                let chain = self.chain_body(table.family);
                extend_chain(table.chains.entry(name).or_default(), chain);
            }
            word @ ("set" | "map") => {
                let name = self.name_and_brace("the name of a set")?.into();
                let set = self.set_body(word == "map");
                table.sets.insert(name, set);
            }
            "counter" => {
                let name = self.name_and_brace("the name of a counter")?.into();
                let counter = self.counter_body()?;
                table.counters.insert(name, counter);
            }
            "comment" => table.comment = Some(self.expect_name("a comment")?.into()),
            "flags" => self.table_flags(table)?,
            _ => {
                let unsupported = self.unsupported_rest(from, line);
                table.other.push(unsupported);
            }
        }
        Ok(())
    }

    fn name_and_brace(&mut self, expected: &'static str) -> Result<&'a str> {
        let name = self.expect_name(expected)?;
        self.expect_punct(b'{', "`{`")?;
        Ok(name)
    }

    fn table_flags(&mut self, table: &mut Table) -> Result<()> {
        loop {
            table.flags.push(self.expect_word("a flag of a table")?.into());
            if !self.eat_punct(b',') {
                return Ok(());
            }
        }
    }

    /// Reads the body of a named counter after its `{`.
    pub(super) fn counter_body(&mut self) -> Result<Counter> {
        let mut counter = Counter { handle: self.handle(), ..Counter::default() };
        loop {
            self.skip_separators();
            if self.eat_punct(b'}') {
                return Ok(counter);
            }
            if self.eat_word("comment") {
                counter.comment = Some(self.expect_name("a comment")?.into());
            } else if self.is_word("packets") || self.is_word("bytes") {
                (counter.packets, counter.bytes) = self.counts()?;
            } else {
                return Err(Expected("`packets`, `comment` or `}`"));
            }
        }
    }

    /// Reads a chain after its `{`.
    fn chain_body(&mut self, family: TableFamily) -> Chain {
        let mut chain = Chain { handle: self.handle(), ..Chain::default() };
        loop {
            self.skip_separators();
            if self.eat_punct(b'}') {
                return chain;
            }
            if self.token == Token::End {
                self.report(Expected("`}`"));
                return chain;
            }
            if !self.chain_property(&mut chain, family) {
                let rule = self.rule();
                chain.rules.push(rule);
            }
        }
    }

    /// Reads a property of a chain, if one stands here.
    fn chain_property(&mut self, chain: &mut Chain, family: TableFamily) -> bool {
        let read = match self.token {
            Token::Word("type") => {
                self.base_chain(family).map(|base| chain.base = Some(Box::new(base)))
            }
            Token::Word("policy") => self.policy(chain),
            Token::Word("comment") => self.chain_comment(chain),
            _ => return false,
        };
        if let Err(error) = read {
            self.report(error);
            self.skip_line();
        }
        true
    }

    fn chain_comment(&mut self, chain: &mut Chain) -> Result<()> {
        self.bump();
        chain.comment = Some(self.expect_name("a comment")?.into());
        Ok(())
    }

    fn policy(&mut self, chain: &mut Chain) -> Result<()> {
        self.bump();
        let policy = match self.expect_word("a policy")? {
            "accept" => Policy::Accept,
            "drop" => Policy::Drop,
            _ => return Err(Expected("`accept` or `drop`")),
        };
        let base = chain.base.as_mut().ok_or(Expected("a hook before the policy"))?;
        base.policy = policy;
        Ok(())
    }

    /// Reads the properties of a chain after its `{`, as a command gives them.
    pub(super) fn chain_properties(&mut self, family: TableFamily) -> Chain {
        let mut chain = Chain::default();
        loop {
            self.skip_separators();
            if self.eat_punct(b'}') || self.token == Token::End {
                return chain;
            }
            if !self.chain_property(&mut chain, family) {
                self.report(Expected("a property of a chain"));
                self.skip_line();
            }
        }
    }

    fn base_chain(&mut self, family: TableFamily) -> Result<BaseChain> {
        self.bump();
        let kind = chain_kind(self.expect_word("the type of a chain")?)?;
        if !self.eat_word("hook") {
            return Err(Expected("`hook`"));
        }
        let hook = Hook::named(self.expect_word("a hook")?).ok_or(Expected("a hook"))?;
        let devices = self.devices()?;
        if !self.eat_word("priority") {
            return Err(Expected("`priority`"));
        }
        let priority = self.priority(family, hook)?;
        Ok(BaseChain { kind, hook, priority, policy: Policy::Accept, devices })
    }

    fn devices(&mut self) -> Result<Vec<crate::Name>> {
        if self.eat_word("device") {
            return Ok(vec![self.expect_name("a device")?.into()]);
        }
        let mut devices = Vec::new();
        if self.eat_word("devices") {
            self.expect_punct(b'=', "`=`")?;
            self.expect_punct(b'{', "`{`")?;
            while !self.eat_punct(b'}') {
                devices.push(self.expect_name("a device")?.into());
                self.eat_punct(b',');
            }
        }
        Ok(devices)
    }

    /// Reads a number, a name, or a name and a distance: `-110`, `dstnat`, `dstnat - 10`,
    /// `dstnat-10`.
    fn priority(&mut self, family: TableFamily, hook: Hook) -> Result<i32> {
        const WRONG: Expected = Expected("a priority");
        let word = self.expect_word("a priority")?;
        let digits = word.strip_prefix('+').unwrap_or(word);
        if let Ok(number) = digits.parse() {
            return Ok(number);
        }
        let (name, distance) = word.find(['-', '+']).map_or((word, ""), |at| word.split_at(at));
        let distance = match distance {
            "" => self.spaced_distance()?,
            _ => distance.strip_prefix('+').unwrap_or(distance).parse().map_err(|_| WRONG)?,
        };
        let value = priority_named(name, family, hook).ok_or(WRONG)?;
        value.checked_add(distance).ok_or(WRONG)
    }

    fn spaced_distance(&mut self) -> Result<i32> {
        let minus = self.is_word("-");
        if !minus && !self.is_word("+") {
            return Ok(0);
        }
        self.bump();
        let distance: u32 = self.expect_number("a distance")?;
        let distance = i32::try_from(distance).map_err(|_| Expected("a distance"))?;
        Ok(if minus { -distance } else { distance })
    }
}

/// A chain that occurs twice in one table is one chain.
fn extend_chain(chain: &mut Chain, more: Chain) {
    let Chain { comment, base, rules, handle } = more;
    chain.comment = comment.or(chain.comment);
    chain.base = base.or_else(|| chain.base.take());
    chain.handle = handle.or(chain.handle);
    if chain.rules.is_empty() {
        chain.rules = rules;
    } else {
        chain.rules.extend(rules);
    }
}

fn chain_kind(word: &str) -> Result<ChainKind> {
    Ok(match word {
        "filter" => ChainKind::Filter,
        "nat" => ChainKind::Nat,
        "route" => ChainKind::Route,
        _ => return Err(Expected("`filter`, `nat` or `route`")),
    })
}

/// Returns the value of a named priority. A name that nft does not give at this hook has the value
/// that it has elsewhere.
fn priority_named(name: &str, family: TableFamily, hook: Hook) -> Option<i32> {
    let anywhere = named_priorities(family, Hook::Prerouting)
        .iter()
        .chain(named_priorities(family, Hook::Postrouting));
    let here = named_priorities(family, hook).iter();
    here.chain(anywhere).find(|(known, _)| *known == name).map(|(_, value)| *value)
}

impl Hook {
    /// Returns the hook of a keyword.
    #[must_use]
    pub fn named(word: &str) -> Option<Hook> {
        Some(match word {
            "ingress" => Hook::Ingress,
            "prerouting" => Hook::Prerouting,
            "input" => Hook::Input,
            "forward" => Hook::Forward,
            "output" => Hook::Output,
            "postrouting" => Hook::Postrouting,
            "egress" => Hook::Egress,
            _ => return None,
        })
    }
}
