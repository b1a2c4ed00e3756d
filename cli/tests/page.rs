//! The page of `sim diff` in a browser: it renders, filters, and says nothing on the console. Without
//! Chromium this is said and passed over; with `CI=true` it is a failure.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How Debian and others call it.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// What a browser made of a page.
struct Rendered {
    document: String,
    console: Vec<String>,
}

impl Rendered {
    fn count(&self, text: &str) -> usize {
        self.document.matches(text).count()
    }
}

fn browser() -> Option<&'static str> {
    let works = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let found = BROWSERS.iter().find(works).copied();
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "no Chromium: {BROWSERS:?}");
        println!("passed over: there is no Chromium to open the page in");
    }
    found
}

fn written(name: &str, arguments: &[&str]) -> PathBuf {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let output = Command::new(env!("CARGO_BIN_EXE_sim"))
        .args(["diff", "examples/shop/cluster.yaml", "--config", "examples/shop/config.yaml"])
        .args(arguments)
        .args(["--output", "html"])
        .current_dir(root)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    fs::write(&file, output.stdout).unwrap();
    file
}

fn opened(browser: &str, page: &Path, state: &str) -> Rendered {
    let profile = page.with_extension("profile");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}#{state}", page.display()))
        .output()
        .unwrap();
    let console = String::from_utf8_lossy(&output.stderr);
    let console = console.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
    Rendered {
        console: console.collect(),
        document: String::from_utf8_lossy(&output.stdout).into_owned(),
    }
}

#[test]
fn the_page_renders_filters_and_is_silent() {
    let Some(browser) = browser() else { return };
    let page = written("move", &["--from", "ipvs", "--to", "nftables", "--all-nodes"]);
    let look = |state: &str| {
        let rendered = opened(browser, &page, state);
        assert_eq!(rendered.console, Vec::<String>::new());
        rendered
    };
    let all = look("");
    assert!(all.document.contains("9 of 9 rows"), "{}", all.document);
    assert!(all.count("<button class=\"cell") > 10, "cells that differ can be chosen");
    assert!(all.document.contains("Both ways, rule by rule"));

    let found = look("find=front+ipv6");
    assert!(found.document.contains("1 of 9 rows"), "search takes words in any order");
    let by_cause = look("cause=D08");
    assert!(by_cause.document.contains("1 of 9 rows"), "only the packets past all Services");
    assert_eq!(look("risk=opens&find=catalog").count("<button class=\"cell"), 0);

    let place = 3 * 4 + 3;
    let cell = look(&format!("cell={place}%40shop%2Ffront%3Ahttps%20TCP"));
    for text in ["node port, outside client", "policy Local without a local endpoint", "dropped"] {
        let panel = cell.document.split("id=\"detail\"").nth(1).unwrap();
        let panel = panel.split("</aside>").next().unwrap();
        assert!(panel.contains(text), "{text}: {panel}");
    }
}
