//! Rules and statements.

use super::lexer::Token;
use super::{Expected, Parser, Result};
use crate::nftables::ast::{
    Binary, BinaryOp, Expr, Mangle, MapSource, Match, Payload, Reject, Relation, Rule, SetOp,
    SetUpdate, Statement, TableFamily, Value, Verdict, VerdictMap,
};
use crate::nftables::datatype::{ICMPX_CODE, Kind, kind_of};

impl<'a> Parser<'a> {
    /// Reads a rule up to its end. What is not understood stays as text from there on.
    pub(super) fn rule(&mut self) -> Rule {
        let mut statements = std::mem::take(&mut self.statements_buffer);
        let mut comment = None;
        self.lexer.remark = None;
        let line = self.lexer.token_line();
        while !self.at_end() && comment.is_none() {
            let from = self.lexer.token_start();
            if self.eat_word("comment") {
                comment = self.expect_name("a comment").ok().map(Into::into);
                continue;
            }
            match self.statement() {
                Ok(statement) => statements.push(statement),
                Err(_) => statements.push(self.unsupported_statement(from, line, &mut comment)),
            }
        }
        if !self.at_end() {
            self.report(Expected("the end of the rule"));
            self.raw_rest(self.lexer.token_start());
        }
        self.remark(&mut statements, line);
        let rule =
            Rule { statements: statements.drain(..).collect(), comment, handle: self.handle() };
        self.statements_buffer = statements;
        rule
    }

    /// Keeps a comment of nft that stands for a match or target that it cannot show.
    fn remark(&mut self, statements: &mut Vec<Statement>, line: u32) {
        let remark = self.lexer.remark.take();
        if let Some(text) = remark.filter(|text| hides_statement(text)) {
            let text = format!("# {text}").into();
            let unsupported = crate::nftables::Unsupported { text, line };
            statements.push(Statement::Unsupported(unsupported));
        }
    }

    fn unsupported_statement(
        &mut self,
        from: usize,
        line: u32,
        comment: &mut Option<crate::Name>,
    ) -> Statement {
        let mut unsupported = self.unsupported_rest(from, line);
        let text = unsupported.text.as_str();
        if let Some((head, quoted)) = text.rsplit_once(" comment \"")
            && let Some(inner) = quoted.strip_suffix('"')
        {
            *comment = Some(inner.into());
            unsupported.text = head.trim_end().into();
        }
        Statement::Unsupported(unsupported)
    }

    fn statement(&mut self) -> Result<Statement> {
        if self.begins_lookup() {
            return self.on_lookup();
        }
        let word = self.word().ok_or(Expected("a statement"))?;
        let from = self.lexer.token_start();
        self.bump();
        match word {
            "accept" | "drop" | "continue" | "return" | "jump" | "goto" => {
                self.verdict_named(word).map(Statement::Verdict)
            }
            "queue" if self.at_end() => Ok(Statement::Verdict(Verdict::Queue)),
            "dnat" | "snat" | "masquerade" | "redirect" => self.nat(word),
            "reject" => self.reject(),
            "counter" => self.counter(),
            "limit" => self.limit(),
            "log" => self.log(),
            "notrack" => Ok(Statement::NoTrack),
            "xt" => self.xt(),
            "add" | "update" | "delete" if self.is_punct(b'@') => self.set_update(word),
            _ => {
                self.lexer.resume_at(from);
                self.bump();
                Err(Expected("a statement"))
            }
        }
    }

    fn verdict_named(&mut self, word: &str) -> Result<Verdict> {
        Ok(match word {
            "accept" => Verdict::Accept,
            "drop" => Verdict::Drop,
            "continue" => Verdict::Continue,
            "return" => Verdict::Return,
            "queue" => Verdict::Queue,
            "jump" => Verdict::Jump(self.expect_name("a chain")?.into()),
            "goto" => Verdict::Goto(self.expect_name("a chain")?.into()),
            _ => return Err(Expected("a verdict")),
        })
    }

    pub(super) fn verdict(&mut self) -> Result<Verdict> {
        let word = self.expect_word("a verdict")?;
        self.verdict_named(word)
    }

    /// Reads a statement that begins with what is looked at.
    fn on_lookup(&mut self) -> Result<Statement> {
        let left = self.lookup()?;
        if self.eat_word("set") {
            let kind = kind_of(&left);
            let value = self.computed(kind, [kind, Kind::Other])?;
            return Ok(Statement::Mangle(Mangle { target: left, value }));
        }
        if self.eat_word("vmap") {
            let map = self.map_source(&left, [Kind::Verdict; 2])?;
            return Ok(Statement::VerdictMap(VerdictMap { key: left, map }));
        }
        self.match_(left).map(Statement::Match)
    }

    fn match_(&mut self, left: Expr) -> Result<Match> {
        let kind = kind_of(&left);
        let spelled = self.relation();
        if spelled.is_none() && kind.is_bitmask() && self.eat_punct(b'!') {
            return self.no_bit(left, kind);
        }
        let right = self.right(&left, kind)?;
        if left == Expr::Payload(Payload::TcpFlags) && self.eat_word("/") {
            return self.masked_flags(left, spelled, right);
        }
        let by_set = matches!(right, Expr::Set(_) | Expr::SetRef(_));
        let any_bit =
            kind.is_bitmask() && !by_set && matches!(left, Expr::Payload(_) | Expr::Ct(_));
        let natural = if any_bit { Relation::AnyBit } else { Relation::Equal };
        Ok(any_bit_if_masked(Match { left, op: spelled.unwrap_or(natural), right }))
    }

    fn relation(&mut self) -> Option<Relation> {
        let relation = match self.token {
            Token::Double([b'=', b'=']) | Token::Word("eq") => Relation::Equal,
            Token::Double([b'!', b'=']) | Token::Word("ne" | "neq") => Relation::NotEqual,
            Token::Double([b'<', b'=']) | Token::Word("le") => Relation::LessEqual,
            Token::Double([b'>', b'=']) | Token::Word("ge") => Relation::GreaterEqual,
            Token::Punct(b'<') | Token::Word("lt") => Relation::Less,
            Token::Punct(b'>') | Token::Word("gt") => Relation::Greater,
            _ => return None,
        };
        self.bump();
        Some(relation)
    }

    fn right(&mut self, left: &Expr, kind: Kind) -> Result<Expr> {
        if self.eat_punct(b'@') {
            return Ok(Expr::SetRef(self.expect_name("a set")?.into()));
        }
        if self.is_punct(b'{') {
            return match self.map_source(left, [Kind::Other; 2])? {
                MapSource::Anonymous(elements) => Ok(Expr::Set(elements)),
                MapSource::Named(name) => Ok(Expr::SetRef(name)),
            };
        }
        let value = self.constant(kind)?;
        if self.is_word(".") {
            return Err(Expected("a set of concatenations"));
        }
        Ok(Expr::Value(value))
    }

    /// Reads `! BITS`: none of the bits is set.
    fn no_bit(&mut self, left: Expr, kind: Kind) -> Result<Match> {
        let right = Expr::Value(self.constant(kind)?);
        let masked = Binary { left, op: BinaryOp::And, right };
        let zero = Expr::Value(Value::Number(0));
        Ok(Match { left: Expr::Binary(Box::new(masked)), op: Relation::Equal, right: zero })
    }

    /// Reads the mask of `tcp flags BITS / MASK`.
    fn masked_flags(&mut self, left: Expr, op: Option<Relation>, bits: Expr) -> Result<Match> {
        let right = Expr::Value(self.constant(Kind::TcpFlags)?);
        let masked = Binary { left, op: BinaryOp::And, right };
        let op = op.unwrap_or(Relation::Equal);
        Ok(Match { left: Expr::Binary(Box::new(masked)), op, right: bits })
    }

    fn reject(&mut self) -> Result<Statement> {
        if !self.eat_word("with") {
            return Ok(Statement::Reject(Reject::Default));
        }
        let kind = self.expect_word("a kind of rejection")?;
        if kind == "tcp" && self.eat_word("reset") {
            return Ok(Statement::Reject(Reject::TcpReset));
        }
        self.eat_word("type");
        self.eat_word("code");
        let code = self.expect_word("a code")?;
        let reject = reject_with(kind, code, self.family).ok_or(Expected("a code"))?;
        Ok(Statement::Reject(reject))
    }

    fn counter(&mut self) -> Result<Statement> {
        if self.eat_word("name") {
            let name = self.expect_name("the name of a counter")?;
            if !(self.at_end() || matches!(self.token, Token::Word(_))) || name == "tcp" {
                return Err(Expected("the end of the rule"));
            }
            return Ok(Statement::NamedCounter(name.into()));
        }
        let (packets, bytes) = self.counts()?;
        Ok(Statement::Counter { packets, bytes })
    }

    /// Reads `packets N bytes N`, which may be left out.
    pub(super) fn counts(&mut self) -> Result<(u64, u64)> {
        let packets =
            if self.eat_word("packets") { self.expect_number("a number of packets")? } else { 0 };
        let bytes =
            if self.eat_word("bytes") { self.expect_number("a number of bytes")? } else { 0 };
        Ok((packets, bytes))
    }

    /// Reads `rate [over] N[ UNIT]/TIME [burst N UNIT]`; kept as text.
    fn limit(&mut self) -> Result<Statement> {
        let from = self.lexer.token_start();
        if !self.eat_word("rate") {
            return Err(Expected("`rate`"));
        }
        let mut to = from;
        self.eat_word("over");
        self.text_word(&mut to)?;
        if self.word().is_some_and(|word| word.contains("bytes/")) {
            self.text_word(&mut to)?;
        }
        if self.eat_word("burst") {
            self.text_word(&mut to)?;
            if self.word().is_some_and(|word| word.ends_with("bytes") || word == "packets") {
                self.text_word(&mut to)?;
            }
        }
        Ok(Statement::Limit(self.lexer.text_between(from, to).into()))
    }

    /// Reads the options of `log`; kept as text.
    fn log(&mut self) -> Result<Statement> {
        let from = self.lexer.token_start();
        let mut to = from;
        loop {
            match self.word() {
                Some("prefix" | "level" | "group" | "snaplen" | "queue-threshold") => {
                    self.bump();
                    self.text_word(&mut to)?;
                }
                Some("flags") => self.log_flags(&mut to)?,
                _ => break,
            }
        }
        Ok(Statement::Log(self.lexer.text_between(from, to).into()))
    }

    fn log_flags(&mut self, to: &mut usize) -> Result<()> {
        self.bump();
        let about = self.word();
        self.text_word(to)?;
        if matches!(about, Some("tcp" | "ip")) {
            self.text_word(to)?;
            while self.eat_punct(b',') {
                self.text_word(to)?;
            }
        }
        Ok(())
    }

    /// Takes a word or quoted text and notes where it ends.
    fn text_word(&mut self, to: &mut usize) -> Result<&'a str> {
        *to = self.lexer.token_end();
        self.expect_name("a word")
    }

    fn xt(&mut self) -> Result<Statement> {
        let target = match self.expect_word("`match` or `target`")? {
            "match" => false,
            "target" => true,
            _ => return Err(Expected("`match` or `target`")),
        };
        let name = self.expect_name("the name of an extension")?.into();
        Ok(Statement::Xt { target, name })
    }

    fn set_update(&mut self, word: &str) -> Result<Statement> {
        let op = match word {
            "add" => SetOp::Add,
            "update" => SetOp::Update,
            _ => SetOp::Delete,
        };
        self.bump();
        let set = self.expect_name("a set")?.into();
        self.expect_punct(b'{', "`{`")?;
        let key = self.lookup()?;
        let timeout = if self.eat_word("timeout") { Some(self.expect_time()?) } else { None };
        let mut statements = Vec::new();
        while !self.at_end() && !self.is_word(":") {
            statements.push(self.element_statement()?);
        }
        let data = if self.eat_word(":") {
            Some(self.computed(Kind::Other, [Kind::Other; 2])?)
        } else {
            None
        };
        self.expect_punct(b'}', "`}`")?;
        Ok(Statement::SetUpdate(SetUpdate {
            op,
            set,
            key,
            timeout,
            data,
            statements: statements.into(),
        }))
    }

    fn element_statement(&mut self) -> Result<Statement> {
        match self.expect_word("a statement")? {
            "counter" => self.counter(),
            "limit" => self.limit(),
            _ => Err(Expected("`counter` or `limit`")),
        }
    }
}

/// `FLAGS & BITS != 0` is what nft prints as `FLAGS BITS`.
fn any_bit_if_masked(m: Match) -> Match {
    let zero =
        matches!(m.right, Expr::Value(Value::Number(0) | Value::CtState(0) | Value::CtStatus(0)));
    match m {
        Match { left: Expr::Binary(binary), op: Relation::NotEqual, .. }
            if zero && binary.op == BinaryOp::And && kind_of(&binary.left).is_bitmask() =>
        {
            Match { left: binary.left, op: Relation::AnyBit, right: binary.right }
        }
        Match { left: left @ Expr::Binary(_), op, .. } if zero && kind_of(&left).is_bitmask() => {
            Match { left, op, right: Expr::Value(Value::Number(0)) }
        }
        other => other,
    }
}

/// Returns what `reject with KIND CODE` is; the default of the family if it says just that.
pub(in crate::nftables) fn reject_with(
    kind: &str,
    code: &str,
    family: TableFamily,
) -> Option<Reject> {
    let symbols = match kind {
        "icmp" => Kind::IcmpCode.symbols(),
        "icmpv6" => Kind::Icmpv6Code.symbols(),
        "icmpx" => ICMPX_CODE,
        _ => return None,
    };
    let number = symbols.iter().find(|(word, _)| *word == code).map(|(_, number)| *number);
    let number = number.or_else(|| super::value::number(code))?;
    let code = u8::try_from(number).ok()?;
    Some(match (kind, family, code) {
        ("icmp", TableFamily::Ip, 3) | ("icmpv6", TableFamily::Ip6, 4) => Reject::Default,
        ("icmpx", TableFamily::Inet | TableFamily::Bridge | TableFamily::Netdev, 1) => {
            Reject::Default
        }
        ("icmp", ..) => Reject::Icmp(code),
        ("icmpv6", ..) => Reject::Icmpv6(code),
        _ => Reject::Icmpx(code),
    })
}

/// Whether a comment of nft stands for an iptables extension (`# xt_recent`, `# match comment`).
fn hides_statement(remark: &str) -> bool {
    ["xt_", "match ", "target ", "recent:"].iter().any(|prefix| remark.starts_with(prefix))
}
