//! Label and field selectors: which objects a list or watch is about.
//!
//! The equality-based forms of `k8s.io/apimachinery/pkg/labels` and `fields`: `key=value`,
//! `key==value`, `key!=value`, and for labels `key` and `!key`. The set-based forms are refused, as a
//! selector that is silently ignored would show kube-proxy objects that a real server hides.

use serde_json::Value;
use thiserror::Error;

/// A conjunction of conditions on labels and fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector(Vec<Condition>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    /// The JSON pointer of what is asked.
    pointer: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Present,
    Absent,
    Equal(String),
    Unequal(String),
}

/// A selector of a form that is not served.
#[derive(Debug, Error)]
#[error("selector {0:?}: only key, !key, key=value, key==value and key!=value are served")]
pub struct UnknownForm(String);

impl Selector {
    /// Reads the parameters `labelSelector` and `fieldSelector` of a request.
    ///
    /// # Errors
    ///
    /// If one has a form other than those that the module names.
    pub fn parse(labels: &str, fields: &str) -> Result<Self, UnknownForm> {
        let labels = terms(labels).map(|term| condition(term, label_pointer));
        let fields = terms(fields).map(|term| condition(term, field_pointer));
        labels.chain(fields).collect::<Result<_, _>>().map(Self)
    }

    /// Tells whether an object meets every condition.
    #[must_use]
    pub fn selects(&self, object: &Value) -> bool {
        self.0.iter().all(|condition| condition.holds(object))
    }
}

impl Condition {
    fn holds(&self, object: &Value) -> bool {
        let value = object.pointer(&self.pointer).and_then(Value::as_str);
        match &self.test {
            Test::Present => value.is_some(),
            Test::Absent => value.is_none(),
            Test::Equal(wanted) => value.unwrap_or_default() == wanted,
            Test::Unequal(other) => value.unwrap_or_default() != other,
        }
    }
}

fn terms(selector: &str) -> impl Iterator<Item = &str> {
    selector.split(',').map(str::trim).filter(|term| !term.is_empty())
}

fn condition(term: &str, pointer: fn(&str) -> String) -> Result<Condition, UnknownForm> {
    let (key, test) = if let Some((key, value)) = term.split_once("!=") {
        (key, Test::Unequal(value.to_owned()))
    } else if let Some((key, value)) = term.split_once('=') {
        (key, Test::Equal(value.trim_start_matches('=').to_owned()))
    } else if let Some(key) = term.strip_prefix('!') {
        (key, Test::Absent)
    } else {
        (term, Test::Present)
    };
    if key.contains([' ', '(', ')']) {
        return Err(UnknownForm(term.to_owned()));
    }
    Ok(Condition { pointer: pointer(key), test })
}

fn label_pointer(key: &str) -> String {
    format!("/metadata/labels/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn field_pointer(key: &str) -> String {
    format!("/{}", key.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(labels: &str, fields: &str) -> bool {
        let object = json!({"metadata": {"name": "x", "labels": {"a/b": "1", "c": ""}}});
        Selector::parse(labels, fields).unwrap().selects(&object)
    }

    #[test]
    fn labels_and_fields_select_by_equality_and_presence() {
        for yes in ["", "a/b", "c", "!d", "a/b=1", "a/b==1", "a/b!=2", "d!=1", "a/b=1,!d"] {
            assert!(selects(yes, "metadata.name=x"), "{yes}");
        }
        for no in ["d", "!a/b", "a/b=2", "a/b!=1", "a/b=1,d"] {
            assert!(!selects(no, ""), "{no}");
        }
        assert!(!selects("", "metadata.name=y"));
    }

    #[test]
    fn set_based_selectors_are_refused() {
        assert!(Selector::parse("a in (1, 2)", "").is_err());
    }
}
