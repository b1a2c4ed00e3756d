//! What was wrong or odd about an input, with its place.

use std::fmt;

use crate::read::form::Failure;
use crate::read::object::Head;

/// A finding about an input. Reading goes on after each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub place: Place,
    /// The object, as `Kind namespace/name`, as far as known.
    pub object: Option<String>,
    /// The field, as a path such as `spec.ports[0].port`.
    pub field: Option<String>,
    /// What is wrong, what was expected, what to do.
    pub message: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// A value is left out, as kube-proxy leaves it out.
    Warning,
    /// An object or a file is left out.
    Error,
}

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The file as given, `-` for standard input; empty if the finding is about the whole cluster.
    pub source: String,
    /// The line, counted from 1.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for Diagnostic {
    /// Writes `FILE:LINE: SEVERITY: OBJECT: FIELD: MESSAGE` with the parts that are known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.source.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{}: ", self.severity)?;
        for part in self.object.iter().chain(&self.field) {
            write!(f, "{part}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Writes `Kind namespace/name`, without the parts that are empty.
#[must_use]
pub fn object_name(kind: &str, namespace: &str, name: &str) -> String {
    match (namespace, name) {
        ("", "") => kind.to_owned(),
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}

impl Diagnostic {
    /// A warning about the cluster as a whole.
    #[must_use]
    pub fn about_cluster(message: String) -> Diagnostic {
        let place = Place::default();
        Diagnostic { severity: Severity::Warning, place, object: None, field: None, message }
    }

    /// A finding about a whole file.
    pub(crate) fn unreadable(source: &str, line: Option<usize>, why: &str) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            place: Place { source: source.to_owned(), line },
            object: None,
            field: None,
            message: format!("cannot be read: {why}"),
        }
    }

    /// A finding about a piece that is no object of the kind that it names.
    pub(crate) fn untyped(mut place: Place, head: &Head, failure: &Failure) -> Diagnostic {
        if let (Some(first), Some(within)) = (place.line, failure.line) {
            place.line = Some(first + within.saturating_sub(1));
        }
        Diagnostic {
            severity: Severity::Error,
            place,
            object: head.printed(),
            field: failure.field.clone(),
            message: format!("left out: {}", failure.message),
        }
    }

    /// A finding about an object that is none, or of an API that kube-proxy no longer reads.
    /// Other kinds are passed over in silence.
    pub(crate) fn outdated(place: Place, head: &Head) -> Option<Diagnostic> {
        let group = head.api_version.as_deref().unwrap_or_default();
        let message = match (group, head.kind.as_deref().unwrap_or_default()) {
            (_, "") => "left out: it has no kind, so it is no Kubernetes object",
            ("discovery.k8s.io/v1beta1", "EndpointSlice") => {
                "left out: kube-proxy reads discovery.k8s.io/v1; export it again"
            }
            ("v1", "Endpoints") => {
                "left out: kube-proxy reads EndpointSlices; add them to the export"
            }
            _ => return None,
        };
        Some(Diagnostic {
            severity: Severity::Warning,
            place,
            object: head.printed(),
            field: None,
            message: message.to_owned(),
        })
    }
}
