//! Address translations.

use std::net::Ipv6Addr;

use super::lexer::Token;
use super::value::{self, any_value};
use super::{Expected, Parser, Result};
use crate::nftables::ast::{Expr, Nat, NatFlags, NatKind, Statement, TableFamily, Value};
use crate::nftables::datatype::Kind;

impl Parser<'_> {
    /// Reads a translation after its keyword.
    pub(super) fn nat(&mut self, word: &str) -> Result<Statement> {
        let kind = match word {
            "dnat" => NatKind::Dnat,
            "snat" => NatKind::Snat,
            "masquerade" => NatKind::Masquerade,
            _ => NatKind::Redirect,
        };
        let mut nat = Nat {
            kind,
            family: self.nat_family()?,
            address: None,
            port: None,
            flags: NatFlags::default(),
        };
        if self.eat_word("to") || self.begins_target(kind) {
            self.nat_target(&mut nat)?;
        }
        self.nat_flags(&mut nat.flags)?;
        Ok(Statement::Nat(nat))
    }

    /// Reads `ip`, `ip6`, `ip addr . port`. A family without `to` behind it is a header field of
    /// the short form `dnat ip daddr map …`, which is not read.
    fn nat_family(&mut self) -> Result<Option<TableFamily>> {
        let family = match self.word() {
            Some("ip") => Some(TableFamily::Ip),
            Some("ip6") => Some(TableFamily::Ip6),
            _ => None,
        };
        if family.is_some() {
            self.bump();
        }
        if self.eat_word("addr") && !(self.eat_word(".") && self.eat_word("port")) {
            return Err(Expected("`addr . port`"));
        }
        if family.is_some() && !self.is_word("to") {
            return Err(Expected("`to`"));
        }
        Ok(family)
    }

    fn begins_target(&self, kind: NatKind) -> bool {
        let takes_address = matches!(kind, NatKind::Dnat | NatKind::Snat);
        takes_address && !self.at_end() || self.word().is_some_and(begins_port)
    }

    fn nat_target(&mut self, nat: &mut Nat) -> Result<()> {
        match self.token {
            Token::Punct(b'[') => self.bracketed_target(nat)?,
            Token::Word(word) if begins_port(word) => {}
            Token::Word(word) if !self.begins_lookup() => self.written_target(word, nat)?,
            _ => nat.address = Some(self.computed(Kind::Other, [Kind::Other, Kind::Service])?),
        }
        self.nat_port(nat)
    }

    /// Reads an address, a range or a prefix; the port behind an IPv4 address is left.
    fn written_target(&mut self, word: &str, nat: &mut Nat) -> Result<()> {
        let address = match value::ipv6_value(word) {
            Some(address) => address,
            None => self.ipv4_target(word)?,
        };
        nat.address = Some(Expr::Value(address));
        self.bump();
        Ok(())
    }

    fn ipv4_target(&mut self, word: &str) -> Result<Value> {
        let end = word.find(':').unwrap_or(word.len());
        let address = word.get(..end).map(any_value);
        self.lexer.resume_at(self.lexer.token_start() + end);
        match address {
            Some(address @ (Value::Ipv4(_) | Value::Ipv4Range(..) | Value::Ipv4Prefix(..))) => {
                Ok(address)
            }
            _ => Err(Expected("an address")),
        }
    }

    /// Reads `[ADDRESS]`, or `[ADDRESS]-[ADDRESS]`.
    fn bracketed_target(&mut self, nat: &mut Nat) -> Result<()> {
        let from = self.bracketed()?;
        let mut address = Value::Ipv6(from);
        if self.eat_word("-") {
            address = Value::Ipv6Range(from, self.bracketed()?);
        }
        nat.address = Some(Expr::Value(address));
        Ok(())
    }

    fn bracketed(&mut self) -> Result<Ipv6Addr> {
        self.expect_punct(b'[', "`[`")?;
        let address = self.expect_word("an IPv6 address")?.parse();
        self.expect_punct(b']', "`]`")?;
        address.map_err(|_| Expected("an IPv6 address"))
    }

    /// Reads `:PORT`, `:FROM-TO`, or `:` and a map.
    fn nat_port(&mut self, nat: &mut Nat) -> Result<()> {
        let Some(word) = self.word().filter(|word| begins_port(word)) else { return Ok(()) };
        if word.len() > 1 {
            self.lexer.resume_at(self.lexer.token_start() + 1);
        }
        self.bump();
        nat.port = Some(self.computed(Kind::Service, [Kind::Service; 2])?);
        Ok(())
    }

    fn nat_flags(&mut self, flags: &mut NatFlags) -> Result<()> {
        loop {
            match self.word() {
                Some("random") => flags.random = true,
                Some("fully-random") => flags.fully_random = true,
                Some("persistent") => flags.persistent = true,
                _ => return Ok(()),
            }
            self.bump();
            if self.eat_punct(b',') && !matches!(self.token, Token::Word(_)) {
                return Err(Expected("a flag"));
            }
        }
    }
}

/// Whether a word is `:` and a port, and not an IPv6 address such as `::1`.
fn begins_port(word: &str) -> bool {
    word.starts_with(':') && !word.starts_with("::")
}
