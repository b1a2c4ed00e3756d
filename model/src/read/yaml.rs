//! YAML, cut into objects before the YAML library sees it.
//!
//! A kubectl list of a large cluster is one document of 100 MB and more. Cut at its items, each
//! item is parsed by itself: memory stays small, cores share the work, an error has a line, and one
//! bad object does not hide the rest.
//!
//! The cut goes by indentation alone, which decides everything in YAML but what stands in quotes or
//! brackets. An item that was cut inside of these is never YAML by itself, so the cut is right if
//! every item is YAML and so is the list without its items. If one is not, the reader takes the
//! document as a whole.

use super::form::{Form, YamlText};
use super::object::Head;

/// How deep brackets may be nested. The library's time grows with the square of it.
const MAX_DEPTH: usize = 1000;

/// A document of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// Its text.
    pub text: &'a str,
    /// The line of the file where it starts, counted from 1.
    pub line: usize,
}

/// A list, cut at its items.
#[derive(Debug)]
pub struct List<'a> {
    /// What it says of its kind.
    pub head: Head,
    /// Its items.
    pub items: Vec<Item<'a>>,
}

/// An item of a list.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    text: &'a str,
    dash: usize,
    /// The line of the document where it starts, counted from 0.
    pub line: usize,
}

impl Item<'_> {
    /// Returns its text, with a blank for the dash.
    pub fn text(&self) -> String {
        let mut text = self.text.to_owned();
        text.replace_range(self.dash..=self.dash, " ");
        text
    }
}

/// Splits a file at its document marks, which cannot stand inside of anything at the start of a
/// line.
pub fn documents(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let mut start = Document { text, line: 1 };
    for (number, (offset, line)) in lines(text).enumerate() {
        let Some(mark) = ["---", "..."].into_iter().find(|mark| is_mark(line, mark)) else {
            continue;
        };
        let before = text.len() - start.text.len();
        let document = Document { text: &text[before..offset], ..start };
        if mark != "---" || !document.is_directives() {
            documents.push(document);
        }
        start = Document { text: &text[offset + mark.len()..], line: number + 1 };
    }
    documents.push(start);
    documents.retain(|document| document.text.lines().any(|line| !is_blank(line)));
    documents
}

impl<'a> Document<'a> {
    /// Tells whether there is nothing but directives, such as `%YAML 1.1`.
    fn is_directives(&self) -> bool {
        self.text.lines().all(|line| is_blank(line) || line.starts_with('%'))
    }

    /// Cuts a list at the items of its top-level `items:`; `None` if it is no list, or not in block
    /// style.
    pub fn list(&self) -> Option<List<'a>> {
        let cut = Cut::of(self.text)?;
        let without_items =
            [&self.text[..cut.items], "items: []\n", &self.text[cut.end..]].concat();
        let form = YamlText(&without_items);
        let head: Head = form.typed().ok().filter(Head::is_list)?;
        form.items().ok()?.filter(Vec::is_empty)?;
        Some(List { head, items: cut.items_of(self.text) })
    }
}

/// Where the items of a list are.
struct Cut {
    /// The offset of the line `items:`.
    items: usize,
    /// The indentation of the dashes.
    dash: usize,
    /// The offset and the line, counted from 0, of each item.
    starts: Vec<(usize, usize)>,
    /// Where the last one ends.
    end: usize,
}

impl Cut {
    fn of(document: &str) -> Option<Cut> {
        let written = |line: &str| !line.trim().is_empty();
        let mut lines = lines(document).enumerate().filter(|(_, (_, line))| written(line));
        let (_, (items, _)) = lines.find(|(_, (_, line))| line.trim_end() == "items:")?;
        let (number, (offset, line)) = lines.find(|(_, (_, line))| !is_blank(line))?;
        let dash = dash_indent(line)?;
        let mut cut = Cut { items, dash, starts: vec![(offset, number)], end: document.len() };
        for (number, (offset, line)) in lines {
            let indent = indentation(line);
            if dash_indent(line) == Some(dash) {
                cut.starts.push((offset, number));
            } else if indent == 0 && !is_blank(line) {
                cut.end = offset;
                break;
            } else if indent != 0 && indent <= dash {
                return None;
            }
        }
        Some(cut)
    }

    fn items_of<'a>(&self, document: &'a str) -> Vec<Item<'a>> {
        let ends = self.starts.iter().skip(1).map(|(offset, _)| *offset).chain([self.end]);
        let item = |((start, line), end): (&(usize, usize), usize)| Item {
            text: &document[*start..end],
            dash: self.dash,
            line: *line,
        };
        self.starts.iter().zip(ends).map(item).collect()
    }
}

/// Reads the kind off the lines of a block mapping: no line that is indented as its first one can
/// belong to anything else, unless quotes or brackets are open, so a plain word after `kind:` there
/// is the kind, if the next line does not continue it.
pub fn glance(text: &str) -> Option<Head> {
    let first = text.lines().find(|line| !is_blank(line)).filter(|line| is_entry(line))?;
    let indent = &first[..indentation(first)];
    let mut head = Head::default();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    while let Some(line) = lines.next().filter(|line| is_closed(line)) {
        let Some(entry) = line.strip_prefix(indent) else { continue };
        let field = match entry.split_once(": ") {
            Some(("kind", _)) => &mut head.kind,
            Some(("apiVersion", _)) => &mut head.api_version,
            _ => continue,
        };
        let is_continued = lines.peek().is_some_and(|next| indentation(next) > indent.len());
        *field = Some(plain_word(&entry[entry.find(' ')?..]).filter(|_| !is_continued)?.to_owned());
        if head.kind.is_some() && head.api_version.is_some() {
            return Some(head);
        }
    }
    None
}

/// Tells whether a line is surely a field of a block mapping.
fn is_entry(line: &str) -> bool {
    let line = line.trim();
    let has_key = line.ends_with(':') || line.contains(": ");
    has_key && line.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Tells whether a line surely leaves no quote or bracket open for the next one.
fn is_closed(line: &str) -> bool {
    let content = line.trim_start_matches([' ', '-']).trim_end();
    let opens = |text: &str| text.starts_with(['"', '\'', '{', '[', '&', '!', '?', '%']);
    match content.split_once(": ") {
        _ if line.contains('\t') => false,
        _ if is_whole(content) => true,
        Some((key, value)) => !opens(key) && (!opens(value.trim_start()) || is_whole(value)),
        None => !opens(content),
    }
}

/// Tells whether a value is plain to see as a whole quoted text, or brackets without any quotes.
fn is_whole(value: &str) -> bool {
    let value = value.trim_start();
    let count = |wanted: char| value.matches(wanted).count();
    let quotes = (count('"'), count('\''));
    match value.chars().next().zip(value.chars().next_back()) {
        Some(('"', '"')) => quotes == (2, 0),
        Some(('\'', '\'')) => quotes == (0, 2),
        Some(('{', '}') | ('[', ']')) => {
            quotes == (0, 0) && count('{') == count('}') && count('[') == count(']')
        }
        _ => false,
    }
}

/// Returns a YAML scalar that is one plain word.
fn plain_word(text: &str) -> Option<&str> {
    let word = text.trim();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'/' | b'-');
    let starts_as_word = word.starts_with(|first: char| first.is_ascii_alphabetic());
    (starts_as_word && word.bytes().all(is_plain)).then_some(word)
}

/// Tells whether brackets are nested deeper than any object has them. Brackets in texts count too,
/// which makes no difference for real ones.
pub fn is_too_deep(text: &str) -> bool {
    let mut depth = 0usize;
    memchr::memchr2_iter(b'[', b'{', text.as_bytes()).count() > MAX_DEPTH
        && text.bytes().any(|byte| {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth > MAX_DEPTH
        })
}

fn is_mark(line: &str, mark: &str) -> bool {
    line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Returns the lines of a text without their ends, each with its offset.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = offset;
        offset += line.len();
        (start, line.trim_end_matches(['\n', '\r']))
    })
}

fn dash_indent(line: &str) -> Option<usize> {
    let indent = indentation(line);
    let rest = &line[indent..];
    (rest == "-" || rest.starts_with("- ")).then_some(indent)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<(String, usize)> {
        let list = Document { text, line: 1 }.list().unwrap();
        list.items.iter().map(|item| (item.text(), item.line)).collect()
    }

    #[test]
    fn a_list_is_cut_at_its_items() {
        let text = "apiVersion: v1\nitems:\n- a: 1\n  b:\n  - x\n- a: 2\nkind: List\n";
        assert_eq!(items(text), [("  a: 1\n  b:\n  - x\n".into(), 2), ("  a: 2\n".into(), 5)]);
    }

    #[test]
    fn an_indented_list_is_cut_too() {
        let text = "kind: List\nitems:\n  - a: 1\n  - a: 2\nmetadata: {}\n";
        assert_eq!(items(text), [("    a: 1\n".into(), 2), ("    a: 2\n".into(), 3)]);
    }

    #[test]
    fn documents_end_at_marks_and_start_after_directives() {
        let starts = |text: &str| documents(text).iter().map(|d| d.line).collect::<Vec<_>>();
        assert_eq!(starts("a: 1\n---\n# nothing\n---\nb: 2\n"), [1, 4]);
        assert_eq!(starts("%YAML 1.1\n--- # first\na: 1\n...\nb: 2\n"), [2, 4]);
        assert_eq!(starts("a: |\n ---\n ...\n"), [1]);
    }

    #[test]
    fn no_list_is_seen_where_there_is_none() {
        let list = |text| Document { text, line: 1 }.list().is_some();
        assert!(!list("kind: Menu\nitems:\n- a\n"));
        assert!(!list("a: \"x\nitems:\n- a\n\"\nkind: List\n"));
        assert!(!list("kind: List\nitems:\n- a\nitems:\n- b\n"));
        assert!(!list("kind: List\nitems: [a]\n"));
    }

    #[test]
    fn a_glance_does_not_look_into_quotes() {
        let kind = |text: &str| glance(text).and_then(|head| head.kind);
        let object = "apiVersion: v1\nendpoints:\n- {a: b}\nkind: Node\n";
        assert_eq!(kind(object).as_deref(), Some("Node"));
        assert_eq!(kind("apiVersion: v1\nx: \"\nkind: Node\n\"\nkind: Service\n"), None);
        assert_eq!(kind("apiVersion: v1\nx: {\nkind: Node\n}\nkind: Service\n"), None);
        assert_eq!(kind("apiVersion: v1\nkind: 12\n"), None);
    }

    #[test]
    fn deep_nesting_is_seen() {
        assert!(is_too_deep(&"[".repeat(1001)));
        assert!(!is_too_deep(&"[]".repeat(5000)));
    }
}
