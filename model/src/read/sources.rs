//! Files, directories and standard input.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Source;
use crate::Diagnostic;

/// A text with the name by which findings refer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The file as given, `-` for standard input.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// Gives each input of a source to `take`, one after the other: only one is in memory.
pub fn inputs(source: &Source, take: &mut dyn FnMut(Result<Input, Diagnostic>)) {
    match source {
        Source::Stdin => take(stdin()),
        Source::Path(path) => match files(path) {
            Ok(files) => files.iter().for_each(|file| take(file_text(file))),
            Err(error) => take(Err(unreadable(path, &error))),
        },
    }
}

fn stdin() -> Result<Input, Diagnostic> {
    let mut bytes = Vec::new();
    match std::io::stdin().lock().read_to_end(&mut bytes) {
        Ok(_) => decoded("-", bytes),
        Err(error) => Err(Diagnostic::unreadable("-", None, &error.to_string())),
    }
}

fn file_text(path: &Path) -> Result<Input, Diagnostic> {
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    decoded(&path.display().to_string(), bytes)
}

fn decoded(name: &str, bytes: Vec<u8>) -> Result<Input, Diagnostic> {
    let text = match bytes.as_slice() {
        [0xff, 0xfe, units @ ..] => utf16(units, u16::from_le_bytes),
        [0xfe, 0xff, units @ ..] => utf16(units, u16::from_be_bytes),
        _ => String::from_utf8(bytes).ok(),
    };
    text.map(|text| Input { name: name.to_owned(), text })
        .ok_or_else(|| Diagnostic::unreadable(name, None, "neither UTF-8 nor marked as UTF-16"))
}

/// Decodes UTF-16, which PowerShell makes of what `kubectl get > FILE` prints.
fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (units, []) = bytes.as_chunks::<2>() else { return None };
    char::decode_utf16(units.iter().map(|pair| unit(*pair))).collect::<Result<_, _>>().ok()
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::unreadable(&path.display().to_string(), None, &error.to_string())
}

/// Returns a file itself, or the object files below a directory in the order of their paths.
fn files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries: Vec<PathBuf> =
        fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        if fs::metadata(&entry)?.is_dir() {
            found.extend(files(&entry)?);
        } else if is_object_file(&entry) {
            found.push(entry);
        }
    }
    Ok(found)
}

fn is_object_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}
