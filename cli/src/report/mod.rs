//! How answers are written.

pub mod answer;
pub mod bars;
#[cfg(target_os = "linux")]
pub mod conformity;
pub mod diagnostics;
pub mod drift;
pub mod expectation;
pub mod expectations;
pub mod findings;
pub mod growth;
pub mod junit;
pub mod migration;
pub mod replay;
pub mod sides;
pub mod spread;
pub mod story;
pub mod style;

use std::io::Write;

use serde_json::Value;

use crate::error::Failure;
use style::NAME;

/// Writes a report of each node: stories one after the other, JSON as one document.
pub struct Reports {
    all_nodes: bool,
    documents: Vec<Value>,
}

/// What is reported of a node.
pub enum Report {
    /// For people.
    Text(String),
    /// For programs.
    Json(Value),
}

impl Reports {
    /// Reports of the only node, or of all nodes each under its name.
    pub fn new(all_nodes: bool) -> Reports {
        Reports { all_nodes, documents: Vec::new() }
    }

    /// Adds the report of a node. Text is written at once.
    pub fn add(&mut self, node: Option<&str>, report: Report) -> Result<(), Failure> {
        match report {
            Report::Text(text) => self.write(node, &text),
            Report::Json(mut document) => {
                if self.all_nodes {
                    document["node"] = Value::from(node);
                }
                self.documents.push(document);
                Ok(())
            }
        }
    }

    /// Writes what is left: a document, or with all nodes a list of documents.
    pub fn finish(mut self) -> Result<(), Failure> {
        if self.documents.is_empty() {
            return Ok(());
        }
        let document = match (self.all_nodes, self.documents.pop()) {
            (false, Some(only)) => only,
            (_, last) => {
                self.documents.extend(last);
                Value::Array(self.documents)
            }
        };
        writeln!(anstream::stdout().lock(), "{document:#}")?;
        Ok(())
    }

    fn write(&self, node: Option<&str>, text: &str) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if let Some(node) = node.filter(|_| self.all_nodes) {
            writeln!(out, "{NAME}== {node} =={NAME:#}\n")?;
        }
        out.write_all(text.as_bytes())?;
        if self.all_nodes {
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}
