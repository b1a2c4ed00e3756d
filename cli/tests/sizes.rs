//! One idea a file: none grows beyond what a reader takes in. (The length of functions is limited by
//! clippy, in `clippy.toml`.)
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;

/// Lines of a file without its tests.
const MOST_LINES: usize = 500;

#[test]
fn no_source_file_has_more_than_five_hundred_lines_without_tests() {
    let metadata = MetadataCommand::new().no_deps().exec().unwrap();
    let mut files = Vec::new();
    for package in &metadata.packages {
        let root = package.manifest_path.parent().unwrap();
        collect(root.join("src").as_std_path(), &mut files);
    }
    assert!(files.len() > 100, "only {} files are found", files.len());
    let long: Vec<_> = files
        .iter()
        .map(|file| (lines(file), file))
        .filter(|(lines, _)| *lines > MOST_LINES)
        .collect();
    assert!(long.is_empty(), "split these: {long:#?}");
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Counts the lines before the module `tests`; files of tests have none.
fn lines(file: &Path) -> usize {
    if file.ends_with("tests.rs") {
        return 0;
    }
    let text = fs::read_to_string(file).unwrap();
    text.lines().take_while(|line| *line != "#[cfg(test)]").count()
}
