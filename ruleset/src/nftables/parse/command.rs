//! What stands at the top of a text: tables in block form and commands.

use super::lexer::Token;
use super::set::ElementKinds;
use super::{Expected, Item, Parser, Result};
use crate::Name;
use crate::nftables::ast::{Chain, Counter, Element, Unsupported};
use crate::nftables::transaction::{Command, TableId};

impl Parser<'_> {
    /// Returns the next table or command; what cannot be read is reported and skipped.
    pub(super) fn item(&mut self) -> Option<Item> {
        loop {
            self.skip_separators();
            if self.token == Token::End {
                return None;
            }
            if self.skip_prompt() {
                continue;
            }
            self.item_at = (self.lexer.token_line(), self.lexer.token_column());
            match self.item_here() {
                Ok(item) => return Some(item),
                Err(error) => {
                    self.report(error);
                    self.skip_line();
                }
            }
        }
    }

    /// Skips a line that shows how the text was obtained: `root@node:~# nft list ruleset`.
    fn skip_prompt(&mut self) -> bool {
        let line = self.lexer.current_line().trim();
        let runs_nft = [" nft ", " sudo ", "/nft "].iter().any(|word| line.contains(word));
        let prompt = line.find(['$', '#', '%', '>']).is_some_and(|at| at < 80);
        let found = runs_nft && prompt && !self.begins_item();
        if found {
            self.lexer.skip_current_line();
            self.bump();
        }
        found
    }

    fn begins_item(&self) -> bool {
        matches!(
            self.word(),
            Some("table" | "add" | "create" | "insert" | "delete" | "destroy" | "flush")
        )
    }

    fn item_here(&mut self) -> Result<Item> {
        let (from, line) = (self.lexer.token_start(), self.lexer.token_line());
        let verb = self.word().ok_or(Expected("a table or a command"))?;
        if verb == "table" {
            return self.table();
        }
        if !self.begins_item() {
            return match verb {
                "define" | "include" | "replace" | "reset" | "rename" | "undefine" | "redefine" => {
                    Ok(self.unsupported_command(from, line))
                }
                _ => Err(Expected("a table or a command")),
            };
        }
        self.bump();
        match self.command(verb)? {
            Some(command) => Ok(Item::Command(Box::new(command))),
            None => Ok(self.unsupported_command(from, line)),
        }
    }

    fn unsupported_command(&mut self, from: usize, line: u32) -> Item {
        let unsupported: Unsupported = self.unsupported_rest(from, line);
        Item::Command(Box::new(Command::Unsupported(unsupported)))
    }

    fn table(&mut self) -> Result<Item> {
        self.bump();
        let table = self.table_id()?;
        if self.eat_punct(b'{') {
            return Ok(Item::Table(Box::new(self.table_body(table))));
        }
        Ok(Item::Command(Box::new(Command::AddTable { table, comment: None })))
    }

    /// Reads a command after its verb; `None` if the object is not modelled.
    fn command(&mut self, verb: &str) -> Result<Option<Command>> {
        let object = self.expect_word("an object")?;
        if object == "ruleset" && verb == "flush" {
            return Ok(Some(Command::FlushRuleset));
        }
        let known =
            matches!(object, "table" | "chain" | "rule" | "set" | "map" | "element" | "counter");
        if !known {
            return Ok(None);
        }
        let table = self.table_id()?;
        self.family = table.family;
        match verb {
            "add" => self.add(object, table),
            "create" => self.add(object, table).map(|c| c.map(|c| Command::Create(Box::new(c)))),
            "insert" => self.insert(object, table),
            "delete" => self.delete(object, table),
            "destroy" => {
                self.delete(object, table).map(|c| c.map(|c| Command::Destroy(Box::new(c))))
            }
            _ => self.flush(object, table),
        }
    }

    fn add(&mut self, object: &str, table: TableId) -> Result<Option<Command>> {
        if object == "table" {
            let comment = self.table_comment()?;
            return Ok(Some(Command::AddTable { table, comment }));
        }
        let name: Name = self.expect_name("a name")?.into();
        Ok(Some(match object {
            "chain" => {
                let braces = self.eat_punct(b'{');
                let chain =
                    if braces { self.chain_properties(table.family) } else { Chain::default() };
                Command::AddChain { table, name, chain }
            }
            "rule" if self.has_position() => return Ok(None),
            "rule" => Command::AddRule { table, chain: name, rule: self.rule() },
            "element" => Command::AddElement { table, set: name, elements: self.element_list()? },
            "counter" => self.add_counter(table, name)?,
            _ => {
                self.expect_punct(b'{', "`{`")?;
                let set = Box::new(self.set_body(object == "map"));
                Command::AddSet { table, name, set }
            }
        }))
    }

    fn table_comment(&mut self) -> Result<Option<Name>> {
        if !self.eat_punct(b'{') {
            return Ok(None);
        }
        let mut comment = None;
        loop {
            self.skip_separators();
            if self.eat_punct(b'}') {
                return Ok(comment);
            }
            if !self.eat_word("comment") {
                return Err(Expected("`comment` or `}`"));
            }
            comment = Some(self.expect_name("a comment")?.into());
        }
    }

    fn add_counter(&mut self, table: TableId, name: Name) -> Result<Command> {
        let counter = if self.eat_punct(b'{') { self.counter_body()? } else { Counter::default() };
        Ok(Command::AddCounter { table, name, counter })
    }

    /// Whether the rule goes to a place that only a live table can tell.
    fn has_position(&self) -> bool {
        matches!(self.word(), Some("handle" | "position" | "index"))
    }

    fn element_list(&mut self) -> Result<Vec<Element>> {
        let mut elements = Vec::new();
        self.elements(ElementKinds::UNKNOWN, |element| elements.push(element))?;
        Ok(elements)
    }

    fn insert(&mut self, object: &str, table: TableId) -> Result<Option<Command>> {
        if object != "rule" {
            return Ok(None);
        }
        let chain = self.expect_name("a chain")?.into();
        if self.has_position() {
            return Ok(None);
        }
        Ok(Some(Command::InsertRule { table, chain, rule: self.rule() }))
    }

    fn delete(&mut self, object: &str, table: TableId) -> Result<Option<Command>> {
        if object == "table" {
            return Ok(Some(Command::DeleteTable(table)));
        }
        let name: Name = self.expect_name("a name")?.into();
        Ok(Some(match object {
            "chain" => Command::DeleteChain { table, name },
            "counter" => Command::DeleteCounter { table, name },
            "element" => {
                Command::DeleteElement { table, set: name, elements: self.element_list()? }
            }
            "rule" => {
                if !self.eat_word("handle") {
                    return Err(Expected("`handle`"));
                }
                let handle = self.expect_number("a handle")?;
                Command::DeleteRule { table, chain: name, handle }
            }
            _ => Command::DeleteSet { table, name, map: object == "map" },
        }))
    }

    fn flush(&mut self, object: &str, table: TableId) -> Result<Option<Command>> {
        if object == "table" {
            return Ok(Some(Command::FlushTable(table)));
        }
        let name = self.expect_name("a name")?.into();
        Ok(match object {
            "chain" => Some(Command::FlushChain { table, name }),
            "set" | "map" => Some(Command::FlushSet { table, name, map: object == "map" }),
            _ => None,
        })
    }
}
