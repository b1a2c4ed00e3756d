//! Odd files: each is reported with its place, and nothing else is lost.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fmt::Write;
use std::path::Path;

use kps_model::{Source, read};

#[test]
fn odd_files_are_reported() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/model/bad");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.collect();
    files.sort();
    let mut out = String::new();
    for file in files {
        let reading = read(&[Source::Path(file.clone())]);
        let cluster = reading.cluster;
        let objects = cluster.services.len()
            + cluster.slices.len()
            + cluster.nodes.len()
            + cluster.service_cidrs.len();
        let name = file.file_name().unwrap().to_str().unwrap();
        writeln!(out, "{name}: {objects} objects").unwrap();
        for diagnostic in reading.diagnostics {
            let text = diagnostic.to_string().replace(folder.to_str().unwrap(), "");
            writeln!(out, "    {}", text.trim_start_matches('/')).unwrap();
        }
    }
    insta::assert_snapshot!(out);
}
