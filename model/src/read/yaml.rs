//! YAML, cut into objects before the YAML library sees it.
//!
//! A kubectl list of a large cluster is one document of 100 MB and more. Cut at its items, each
//! item is parsed by itself: memory stays small, cores share the work, an error has a line, and one
//! bad object does not hide the rest. Where the cut is not sure to mean the same as the whole
//! document (flow style, anchors, tabs), the document stays whole.

/// A piece of a file that holds one object or one whole document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Its text; the dash of a list item is replaced by a blank.
    pub text: std::borrow::Cow<'a, str>,
    /// The line of the file where it starts, counted from 1.
    pub line: usize,
    /// The kind of the typed list that it was cut from, such as `ServiceList`: its items may leave
    /// out their own kind.
    pub list: Option<&'a str>,
}

/// Cuts a file at its document marks, and each document at the items of its list.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for (document, line) in documents(text) {
        match items(document, line) {
            Some(items) => pieces.extend(items),
            None => pieces.push(Piece { text: document.into(), line, list: None }),
        }
    }
    pieces
}

/// Splits at lines that start with `---`, which cannot stand inside a scalar at that place.
fn documents(text: &str) -> Vec<(&str, usize)> {
    let mut documents = Vec::new();
    let (mut start, mut start_line) = (0, 1);
    for (number, (offset, line)) in lines(text).enumerate() {
        if is_document_mark(line) {
            documents.push((&text[start..offset], start_line));
            let mark = "---".len();
            (start, start_line) = (offset + mark, number + 1);
        }
    }
    documents.push((&text[start..], start_line));
    documents.retain(|(document, _)| document.lines().any(|line| !is_blank(line)));
    documents
}

fn is_document_mark(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\r']))
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#') || line == "..."
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

/// Cuts a document at the items of its top-level `items:`; `None` if that is not surely right.
fn items(document: &str, first_line: usize) -> Option<Vec<Piece<'_>>> {
    let kind = list_kind(document)?;
    let list = (kind != "List").then_some(kind);
    let cut = if is_plain(document) { Cut::of(document)? } else { return None };
    let ends = cut.starts.iter().skip(1).map(|(offset, _)| *offset).chain([cut.end]);
    let piece = |((start, number), end): (&(usize, usize), usize)| Piece {
        text: without_dash(&document[*start..end], cut.dash).into(),
        line: first_line + number,
        list,
    };
    Some(cut.starts.iter().zip(ends).map(piece).collect())
}

/// Where the items of a list are.
struct Cut {
    /// The indentation of their dashes.
    dash: usize,
    /// The offset and the line, counted from 0, of each.
    starts: Vec<(usize, usize)>,
    /// Where the last one ends.
    end: usize,
}

impl Cut {
    fn of(document: &str) -> Option<Cut> {
        let mut lines = lines(document).enumerate().filter(|(_, (_, line))| !is_blank(line));
        lines.find(|(_, (_, line))| *line == "items:")?;
        let (number, (offset, line)) = lines.next()?;
        let dash = dash_indent(line)?;
        let mut cut = Cut { dash, starts: vec![(offset, number)], end: document.len() };
        for (number, (offset, line)) in lines {
            if dash_indent(line) == Some(dash) {
                cut.starts.push((offset, number));
            } else if indentation(line) == 0 {
                cut.end = offset;
                break;
            } else if indentation(line) <= dash {
                return None;
            }
        }
        Some(cut)
    }
}

/// Returns the kind of a list document, if it has one at the top level.
fn list_kind(document: &str) -> Option<&str> {
    let mut kinds = document.lines().filter_map(|line| line.strip_prefix("kind:"));
    let kind = kinds.next()?.trim().trim_matches(['"', '\'']);
    (kinds.next().is_none() && kind.ends_with("List")).then_some(kind)
}

/// Tells whether a document has nothing whose meaning reaches beyond an item: anchors, aliases,
/// tags, directives, tabs as indentation.
fn is_plain(document: &str) -> bool {
    document.lines().all(|line| {
        let content = line.trim_start_matches([' ', '-']);
        let value = content.split_once(": ").map_or(content, |(_, value)| value);
        let reaches = |text: &str| text.starts_with(['&', '*', '!', '\t']);
        !line.starts_with('%') && !reaches(content) && !reaches(value.trim_start_matches(' '))
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

fn without_dash(item: &str, dash: usize) -> String {
    let mut text = item.to_owned();
    text.replace_range(dash..=dash, " ");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(String, usize)> {
        pieces(text).into_iter().map(|p| (p.text.into_owned(), p.line)).collect()
    }

    #[test]
    fn a_list_is_cut_at_its_items() {
        let text = "apiVersion: v1\nitems:\n- a: 1\n  b:\n  - x\n- a: 2\nkind: List\n";
        assert_eq!(texts(text), [("  a: 1\n  b:\n  - x\n".into(), 3), ("  a: 2\n".into(), 6)]);
    }

    #[test]
    fn an_indented_list_is_cut_too() {
        let text = "kind: List\nitems:\n  - a: 1\n  - a: 2\nmetadata: {}\n";
        assert_eq!(texts(text), [("    a: 1\n".into(), 3), ("    a: 2\n".into(), 4)]);
    }

    #[test]
    fn documents_are_split() {
        assert_eq!(texts("a: 1\n---\n# nothing\n---\nb: 2\n").len(), 2);
    }

    #[test]
    fn anchors_keep_the_document_whole() {
        let text = "kind: List\nitems:\n- a: &x 1\n- a: *x\n";
        assert_eq!(texts(text), [(text.into(), 1)]);
    }
}
