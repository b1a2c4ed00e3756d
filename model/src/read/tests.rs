//! The cut against the whole: cutting a YAML list must never give anything else than reading the
//! document at once.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Origin, Outcome, YamlText, document_outcomes, outcomes, read_text, yaml};

/// What is left of an outcome without its line.
fn printed(outcomes: Vec<Outcome>) -> Vec<String> {
    let object = |outcome: Outcome| match outcome.object {
        Some(Ok(object)) => format!("{object:?}"),
        Some(Err(failure)) => format!("failed {:?} {}", failure.field, failure.message),
        None => format!("passed over {:?} {:?}", outcome.head.api_version, outcome.head.kind),
    };
    outcomes.into_iter().map(object).collect()
}

/// Compares, unless the whole cannot be read: then the cut may still save some objects.
fn assert_cut_is_whole(text: &str) {
    for document in yaml::documents(text) {
        let whole = serde_norway::from_str::<serde_norway::Value>(document.text);
        if !whole.is_ok_and(|mut value| value.apply_merge().is_ok()) {
            continue;
        }
        let origin = Origin { line: 1, list: None, depth: 0 };
        let whole = outcomes(&YamlText(document.text), origin);
        assert_eq!(printed(document_outcomes(&document)), printed(whole), "{}", document.text);
    }
}

/// Lines that open, continue or close what an indentation does not tell.
fn line() -> impl Strategy<Value = String> {
    let content = select(vec![
        "- kind: Node",
        "- kind: Node\n  apiVersion: v1",
        "kind: Node",
        "kind: List",
        "kind: NodeList",
        "apiVersion: v1",
        "items:",
        "items: []",
        "- metadata: {name: a}",
        "metadata:",
        "name: b",
        "name: \"c",
        "d\"",
        "\"",
        "name: 'e",
        "f'",
        "name: |",
        "name: >-",
        "labels: {",
        "x: y,",
        "}",
        "- [",
        "]",
        "name: plain",
        "text",
        "- text",
        "-",
        "- - text",
        "- |",
        "# comment",
        "name: x # comment",
        "name: &anchor z",
        "name: *anchor",
        "<<: *anchor",
        "- &item",
        "- *item",
        "name: !tag t",
        "? kind",
        ": Node",
        "name: 12",
        "\tname: tab",
        "",
        "...",
        "---",
    ]);
    (0usize..5, content).prop_map(|(indent, content)| " ".repeat(indent) + content)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_list_of_odd_lines_is_cut_as_it_is_read(lines in vec(line(), 0..14), after in any::<bool>()) {
        let kind = if after { "" } else { "kind: List\n" };
        let end = if after { "\nkind: List\n" } else { "\n" };
        assert_cut_is_whole(&format!("{kind}items:\n{}{end}", lines.join("\n")));
    }

    #[test]
    fn odd_objects_in_a_list_are_cut_as_they_are_read(
        objects in vec(vec(line(), 0..5), 1..4),
        indent in 0usize..3,
    ) {
        let mut text = "apiVersion: v1\nkind: List\nitems:\n".to_owned();
        for object in objects {
            let margin = " ".repeat(indent);
            text += &[&margin, "- kind: Node\n", &margin, "  apiVersion: v1\n"].concat();
            text.extend(object.iter().flat_map(|line| [&margin, "  ", line, "\n"]).map(String::from));
        }
        assert_cut_is_whole(&text);
    }
}

#[test]
fn quotes_and_brackets_over_several_lines_are_not_cut() {
    for text in [
        "kind: List\nitems:\n- kind: Node\n  metadata:\n    name: \"a\n- b\"\n- kind: Node\n",
        "kind: List\nitems:\n- kind: Node\n  metadata: {name: 'a\n- b'}\n- kind: Node\n",
        "kind: List\nitems:\n   - |\n # comment\n   - kind: Node\n   - kind: Node\n     metadata: {name: a}\n",
        "kind: List\nitems:\n- {kind: Node,\nmetadata: {name: a}}\n- kind: Node\n",
    ] {
        assert_cut_is_whole(text);
        assert_eq!(read_text("text", text).cluster.nodes.len(), 2, "{text}");
    }
}

#[test]
fn lists_in_lists_are_read() {
    let yaml = "kind: List\nitems:\n- kind: NodeList\n  items: [{metadata: {name: a}}]\n";
    let json = r#"[{"kind": "List", "items": [{"kind": "NodeList", "items": [{"metadata": {"name": "a"}}]}]}]"#;
    for text in [yaml, json] {
        let reading = read_text("text", text);
        assert_eq!((reading.cluster.nodes.len(), reading.diagnostics), (1, vec![]), "{text}");
    }
    let deep = "{\"kind\": \"List\", \"items\": [".repeat(20) + &"]}".repeat(20);
    assert_eq!(read_text("text", &deep).diagnostics.len(), 1);
}

#[test]
fn nesting_without_end_is_reported_at_once() {
    let open = |text: &str| text.repeat(200_000);
    for text in [
        open("[") + &open("]"),
        open("{\"a\":") + "1" + &open("}"),
        open("["),
        "a: ".to_owned() + &open("["),
    ] {
        assert_eq!(read_text("text", &text).diagnostics.len(), 1);
    }
}

#[test]
fn merge_keys_and_anchors_are_followed() {
    let text = "kind: List\nitems:\n- &a\n  kind: Node\n  metadata: {name: a}\n\
                - <<: *a\n  metadata: {name: b}\n";
    let reading = read_text("text", text);
    assert_eq!((reading.cluster.nodes.len(), reading.diagnostics), (2, vec![]));
}

#[test]
fn numbers_are_no_strings() {
    let text = "kind: Node\nmetadata: {name: 12}\n";
    let reading = read_text("text", text);
    assert_eq!(reading.cluster.nodes, []);
    assert_eq!(
        reading.diagnostics[0].to_string(),
        "text:2: error: Node: metadata.name: left out: invalid type: integer `12`, expected a \
         string (put it in quotes)"
    );
}

#[test]
fn other_kinds_are_counted() {
    let text = "kind: List\nitems:\n- kind: Pod\n- {kind: Pod}\n- {kind: ConfigMap}\n";
    let counted: Vec<_> = read_text("text", text).passed_over.into_iter().collect();
    assert_eq!(counted, [("ConfigMap".to_owned(), 1), ("Pod".to_owned(), 2)]);
}
