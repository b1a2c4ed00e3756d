//! Sets, maps and their elements.

use std::sync::Arc;

use super::lexer::Token;
use super::value::any_value;
use super::{Expected, Parser, Result};
use crate::nftables::ast::{
    Data, DataType, Element, ElementState, Expr, Key, MapSource, Set, Value,
};
use crate::nftables::datatype::{KeyKinds, Kind, kind_of_type, type_of};

/// How the elements of a set are read.
#[derive(Clone, Copy)]
pub(super) struct ElementKinds<'k> {
    key: KeyKinds<'k>,
    data: [Kind; 2],
}

impl<'k> ElementKinds<'k> {
    /// Those of a set that is not known.
    pub(super) const UNKNOWN: ElementKinds<'static> =
        ElementKinds { key: KeyKinds::Types(&[]), data: [Kind::Other; 2] };

    fn of(set: &'k Set) -> ElementKinds<'k> {
        let data = set.data.as_deref().unwrap_or_default();
        let kind = |part: usize| data.get(part).map_or(Kind::Other, |t| kind_of_type(*t));
        ElementKinds { key: KeyKinds::Types(&set.key), data: [kind(0), kind(1)] }
    }
}

impl Parser<'_> {
    /// Reads `@name` or the elements of an anonymous set or map.
    pub(super) fn map_source(&mut self, key: &Expr, data: [Kind; 2]) -> Result<MapSource> {
        if self.eat_punct(b'@') {
            return Ok(MapSource::Named(self.expect_name("a map")?.into()));
        }
        let kinds = ElementKinds { key: KeyKinds::Expr(key), data };
        // One buffer serves all maps, so that each is allocated once and in its own size.
        let mut buffer = std::mem::take(&mut self.elements_buffer);
        let read = self.elements(kinds, |element| buffer.push(element));
        let elements = buffer.drain(..).collect();
        self.elements_buffer = buffer;
        read.map(|()| MapSource::Anonymous(elements))
    }

    /// Reads `{ a, b }`. An element that cannot be read ends it.
    pub(super) fn elements(
        &mut self,
        kinds: ElementKinds<'_>,
        mut take: impl FnMut(Element),
    ) -> Result<()> {
        self.expect_punct(b'{', "`{`")?;
        self.skip_newlines();
        while !self.eat_punct(b'}') {
            take(self.element(kinds)?);
            self.skip_newlines();
            let more = self.eat_punct(b',');
            self.skip_newlines();
            if !more && !self.is_punct(b'}') {
                return Err(Expected("`,` or `}`"));
            }
        }
        Ok(())
    }

    fn element(&mut self, kinds: ElementKinds<'_>) -> Result<Element> {
        let mut element = Element::new(self.element_key(kinds.key)?);
        self.element_options(&mut element)?;
        if self.eat_colon() {
            self.skip_newlines();
            element.data = Some(self.data(kinds.data)?);
        }
        Ok(element)
    }

    /// Takes `:`, also where no blank follows it.
    fn eat_colon(&mut self) -> bool {
        let Some(word) = self.word().filter(|word| word.starts_with(':')) else { return false };
        if word.len() > 1 {
            self.lexer.resume_at(self.lexer.token_start() + 1);
        }
        self.bump();
        true
    }

    fn element_key(&mut self, kinds: KeyKinds<'_>) -> Result<Key> {
        let first = self.key_part(kinds.at(0), None)?;
        if !self.is_word(".") {
            return Ok(Key::One(first));
        }
        let mut parts = std::mem::take(&mut self.parts_buffer);
        parts.clear();
        parts.push(first);
        let read = self.more_parts(kinds, &mut parts);
        let key = Key::Many(parts.as_slice().into());
        self.parts_buffer = parts;
        read.map(|()| key)
    }

    fn more_parts(&mut self, kinds: KeyKinds<'_>, parts: &mut Vec<Value>) -> Result<()> {
        while self.eat_word(".") {
            let part = self.key_part(kinds.at(parts.len()), parts.last())?;
            parts.push(part);
        }
        Ok(())
    }

    fn key_part(&mut self, kind: Kind, before: Option<&Value>) -> Result<Value> {
        if kind.is_bitmask() {
            return self.single_bit(kind);
        }
        match self.token {
            Token::Word("*") => {
                self.bump();
                Ok(Value::Wildcard)
            }
            Token::Word(word) if kind == Kind::Other && before.is_some() => {
                self.bump();
                Ok(part_by_look(word, before))
            }
            _ => self.constant(kind),
        }
    }

    /// Reads counts, times and the comment, which come in any order.
    fn element_options(&mut self, element: &mut Element) -> Result<()> {
        let mut state = ElementState::default();
        while let Some(word) = self.word().filter(|word| !word.starts_with(':')) {
            self.bump();
            match word {
                "counter" => state.counter = Some(self.counts()?),
                "timeout" => state.timeout = Some(self.expect_time()?),
                "expires" => state.expires = Some(self.expect_time()?),
                "comment" => element.comment = Some(self.expect_name("a comment")?.into()),
                _ => return Err(Expected("a property of an element")),
            }
        }
        element.state = (state != ElementState::default()).then(|| Box::new(state));
        Ok(())
    }

    fn data(&mut self, kinds: [Kind; 2]) -> Result<Data> {
        let is_verdict = matches!(
            self.token,
            Token::Word("accept" | "drop" | "continue" | "return" | "jump" | "goto" | "queue")
        );
        if is_verdict && matches!(kinds[0], Kind::Verdict | Kind::Other) {
            return self.verdict().map(Data::Verdict);
        }
        let first = self.constant(kinds[0])?;
        if !self.eat_word(".") {
            return Ok(Data::Values(Key::One(first)));
        }
        let second = self.constant(kinds[1])?;
        if !self.is_word(".") {
            return Ok(Data::Values(Key::Many(Arc::new([first, second]))));
        }
        let mut parts = vec![first, second];
        while self.eat_word(".") {
            parts.push(self.constant(Kind::Other)?);
        }
        Ok(Data::Values(parts.into()))
    }

    /// Reads the body of a set or map after its `{`.
    pub(super) fn set_body(&mut self, is_map: bool) -> Set {
        let mut set = Set { handle: self.handle(), ..Set::default() };
        if is_map {
            set.data = Some(Vec::new());
        }
        loop {
            self.skip_separators();
            if self.eat_punct(b'}') || self.token == Token::End {
                return set;
            }
            let from = self.lexer.token_start();
            if let Err(error) = self.set_property(&mut set, from) {
                self.report(error);
                self.skip_line();
            }
        }
    }

    fn set_property(&mut self, set: &mut Set, from: usize) -> Result<()> {
        let line = self.lexer.token_line();
        match self.expect_word("a property of a set")? {
            "type" => self.set_type(set),
            "typeof" => {
                let from = self.lexer.token_start();
                self.set_typeof(set)?;
                let text = self.lexer.text_between(from, self.lexer.token_start());
                set.type_of = Some(text.into());
                Ok(())
            }
            "flags" => self.set_flags(set),
            "timeout" => self.expect_time().map(|time| set.timeout = Some(time)),
            "gc-interval" => self.expect_time().map(|time| set.gc_interval = Some(time)),
            "size" => self.expect_number("a size").map(|size| set.size = Some(size)),
            "auto-merge" => {
                set.auto_merge = true;
                Ok(())
            }
            "counter" => {
                set.counter = true;
                self.counts().map(|_| ())
            }
            "comment" => {
                set.comment = Some(self.expect_name("a comment")?.into());
                Ok(())
            }
            "elements" => self.set_elements(set),
            _ => {
                set.other.push(self.unsupported_rest(from, line));
                Ok(())
            }
        }
    }

    fn set_elements(&mut self, set: &mut Set) -> Result<()> {
        self.expect_punct(b'=', "`=`")?;
        self.skip_newlines();
        let mut elements = std::mem::take(&mut set.elements);
        let read = self.elements(ElementKinds::of(set), |element| {
            elements.insert(element.key.clone(), element);
        });
        set.elements = elements;
        read
    }

    fn set_type(&mut self, set: &mut Set) -> Result<()> {
        set.key = self.types()?;
        if self.eat_word(":") {
            set.data = Some(self.types()?);
        }
        Ok(())
    }

    fn types(&mut self) -> Result<Vec<DataType>> {
        let mut types = vec![DataType::named(self.expect_word("a type")?)];
        while self.eat_word(".") {
            types.push(DataType::named(self.expect_word("a type")?));
        }
        Ok(types)
    }

    fn set_typeof(&mut self, set: &mut Set) -> Result<()> {
        set.key = self.types_of_lookup()?;
        if self.eat_word(":") {
            set.data = Some(match self.word() {
                Some("verdict") => self.types()?,
                _ => self.types_of_lookup()?,
            });
        }
        Ok(())
    }

    fn types_of_lookup(&mut self) -> Result<Vec<DataType>> {
        let lookup = self.lookup()?;
        let parts = match &lookup {
            Expr::Concat(parts) => &**parts,
            one => std::slice::from_ref(one),
        };
        let named = |part: &Expr| {
            type_of(part).unwrap_or_else(|| DataType::Other(format!("typeof {part}").into()))
        };
        Ok(parts.iter().map(named).collect())
    }

    fn set_flags(&mut self, set: &mut Set) -> Result<()> {
        loop {
            match self.expect_word("a flag of a set")? {
                "constant" => set.flags.constant = true,
                "interval" => set.flags.interval = true,
                "timeout" => set.flags.timeout = true,
                "dynamic" => set.flags.dynamic = true,
                _ => return Err(Expected("a flag of a set")),
            }
            if !self.eat_punct(b',') {
                return Ok(());
            }
        }
    }
}

/// Returns a part of a key whose type is not known: a number behind a protocol is a port.
fn part_by_look(word: &str, before: Option<&Value>) -> Value {
    let by_look = any_value(word);
    let behind_protocol = matches!(before, Some(Value::Protocol(_)));
    match by_look {
        Value::Number(number) if behind_protocol => {
            u16::try_from(number).map_or(by_look, Value::Port)
        }
        Value::NumberRange(from, to) if behind_protocol => {
            match (u16::try_from(from), u16::try_from(to)) {
                (Ok(from), Ok(to)) => Value::PortRange(from, to),
                _ => by_look,
            }
        }
        Value::Word(_) => match Kind::Protocol.number(word).map(u8::try_from) {
            Some(Ok(protocol)) => Value::Protocol(protocol),
            _ => by_look,
        },
        _ => by_look,
    }
}
