//! `sim render`: the rules that kube-proxy installs on a node.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use kps_model::{Mode, NodeView};
use kps_render::{iptables, ipvs, nftables, print_operations};
use kps_ruleset::iptables::print_restore;
use kps_ruleset::nftables::{print_json, print_ruleset, print_script};
use kps_ruleset::{NodeState, host, ipset};

use crate::Verdict;
use crate::args::{Format, Render};
use crate::cluster::{Objects, Proxied};
use crate::error::Failure;
use crate::node::rendered;

/// Renders rules to files or to standard output.
pub fn run(arguments: &Render) -> Result<Verdict, Failure> {
    let objects = Objects::load(&arguments.cluster)?;
    let all = arguments.cluster.all_nodes;
    for proxied in objects.proxied() {
        match &arguments.out {
            Some(dir) if all => write_files(&dir.join(proxied.node), &files(&proxied))?,
            Some(dir) => write_files(dir, &files(&proxied))?,
            None => write_text(&proxied, arguments.format, all)?,
        }
    }
    Ok(objects.verdict)
}

/// Returns the files that a dump of the node would have, by name.
fn files(proxied: &Proxied<'_>) -> Vec<(&'static str, String)> {
    let state = rendered(proxied);
    match proxied.mode {
        Mode::Nftables => vec![
            ("nft.txt", print_ruleset(&state.nftables)),
            ("nft.json", print_json(&state.nftables)),
        ],
        Mode::Iptables => saved(&state).into(),
        Mode::Ipvs => {
            let mut files: Vec<_> = saved(&state).into();
            files.push(("ipset-save.txt", ipset::print_save(&state.ipset)));
            files.push(("ipvsadm-save.txt", kps_ruleset::ipvs::print_save(&state.ipvs)));
            files.push(("addr.txt", host::print_addresses(&state.host)));
            files
        }
    }
}

fn saved(state: &NodeState) -> [(&'static str, String); 2] {
    let print = |ruleset| kps_ruleset::iptables::print_ruleset(ruleset, false);
    [
        ("iptables-save.txt", print(&state.iptables.v4)),
        ("ip6tables-save.txt", print(&state.iptables.v6)),
    ]
}

fn write_files(dir: &Path, files: &[(&str, String)]) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(Failure::file(dir))?;
    for (name, text) in files {
        let path = dir.join(name);
        fs::write(&path, text).map_err(Failure::file(&path))?;
    }
    Ok(())
}

fn write_text(proxied: &Proxied<'_>, format: Format, all_nodes: bool) -> Result<(), Failure> {
    let text = text(proxied, format)?;
    let mut out = io::stdout().lock();
    if all_nodes && format != Format::Json {
        writeln!(out, "# {}", proxied.node)?;
    }
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn text(proxied: &Proxied<'_>, format: Format) -> Result<String, Failure> {
    match (proxied.mode, format) {
        (Mode::Nftables, Format::Json) => Ok(print_json(&rendered(proxied).nftables)),
        (mode, Format::Json) => {
            Err(Failure::Usage(format!("the tools of mode {mode} have no JSON form; use dump")))
        }
        (Mode::Nftables, Format::Dump) => Ok(print_ruleset(&rendered(proxied).nftables)),
        (_, Format::Dump) => Ok(titled(&files(proxied))),
        (mode, Format::Script) => {
            // What the tools make of the script is not written, but whether they take it is told.
            rendered(proxied);
            Ok(proxied.views.iter().map(|view| script(mode, view)).collect())
        }
    }
}

/// Writes several dumps behind each other, each under its name.
fn titled(files: &[(&str, String)]) -> String {
    files.iter().flat_map(|(name, text)| ["# ", name, "\n", text]).collect()
}

/// Returns what the proxier of a view feeds to its tools.
fn script(mode: Mode, view: &NodeView) -> String {
    match mode {
        Mode::Nftables => print_script(&nftables::plan(view).into_commands()),
        Mode::Iptables => {
            let family = iptables::ruleset_family(view.family);
            print_restore(&iptables::plan(view).into_restore(), family)
        }
        Mode::Ipvs => print_operations(&ipvs::plan(view).into_operations()),
    }
}
