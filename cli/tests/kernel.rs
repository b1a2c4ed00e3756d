//! `sim kernel`, where there is a kernel that can be asked. A machine without the tools or without
//! rights skips this with a line; with `CI=true` it fails.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, thread};

fn sim(arguments: &[&str]) -> Output {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    Command::new(env!("CARGO_BIN_EXE_sim")).args(arguments).current_dir(root).output().unwrap()
}

/// Runs `sim kernel` on the shipped cluster; `None` if the kernel cannot be asked.
fn kernel(arguments: &[&str]) -> Option<String> {
    let fixed = ["kernel", "examples/shop/cluster.yaml", "--node", "worker-1"];
    let output = sim(&[&fixed, arguments].concat());
    let told = String::from_utf8(output.stderr).unwrap();
    if output.status.code() == Some(2) && told.contains("the kernel cannot be asked") {
        assert!(env::var_os("CI").is_none(), "{told}");
        println!("skipped: {told}");
        return None;
    }
    assert!(output.status.success(), "{told}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_kernel_does_what_the_walker_says_of_the_shipped_cluster() {
    for mode in ["nftables", "iptables"] {
        let Some(table) = kernel(&["--mode", mode]) else { return };
        let all = table.lines().last().unwrap();
        let counts: Vec<&str> = all.split_whitespace().collect();
        assert!(counts[1].parse::<usize>().unwrap() > 200 && counts[2] == "0", "{table}");
    }
}

/// What the script of each line of `inputs/kernel.jsonl` shows in mode nftables.
const NFTABLES: [&str; 8] = [
    "left the node by veth4: TCP 198.51.100.7 port 40000 > 10.244.0.12 port 8443",
    "left the node by eth0: ICMP error 3/3 from 192.0.2.10 to 198.51.100.7",
    "left the node by veth0: ICMP error 3/3 from 192.0.2.10 to 10.244.0.7",
    "left the node by eth0: SCTP 10.244.0.7 port 40000 > 198.51.100.200 port 9",
    "the node itself got: UDP 192.0.2.10 port 40000 > 192.0.2.10 port 9",
    "left the node by veth6: TCP 2001:db8:99::7 port 40000 > fd00:10:244::12 port 8443",
    "the node itself got: UDP 2001:db8:99::7 port 40000 > 2001:db8:1::a port 9",
    "left the node by veth0: ICMPv6 error 1/4 from 2001:db8:1::a to fd00:10:244::7",
];

/// And in mode iptables, whose rules leave alone what no Service has.
const IPTABLES: [&str; 8] = [
    NFTABLES[0],
    "left the node by eth0: TCP 198.51.100.7 port 40000 > 10.96.0.10 port 9",
    "left the node by eth0: ICMP 10.244.0.7 > 10.96.0.10",
    NFTABLES[3],
    NFTABLES[4],
    NFTABLES[5],
    NFTABLES[6],
    "left the node by eth0: ICMPv6 fd00:10:244::7 > fd00:10:96::20",
];

#[test]
fn a_script_shows_what_the_kernel_did() {
    for (mode, all) in [("nftables", NFTABLES), ("iptables", IPTABLES)] {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("scripts-{mode}"));
        let _ = fs::remove_dir_all(&dir);
        let out = dir.to_str().unwrap();
        let flows = ["--flows", "cli/tests/inputs/kernel.jsonl"];
        let asked = kernel(&[&["--mode", mode, "--reproduce", out], &flows[..]].concat());
        if asked.is_none() || !has_python() {
            return;
        }
        let runs: Vec<_> = (1..=all.len()).map(|number| script(&dir, number)).collect();
        for (run, shown) in runs.into_iter().zip(all) {
            let text = run.join().unwrap();
            assert!(text.contains(shown), "{mode}: {shown}\n{text}");
        }
    }
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("-V").output().is_ok();
    assert!(found || env::var_os("CI").is_none(), "python3 cannot be started");
    found
}

fn script(dir: &Path, number: usize) -> thread::JoinHandle<String> {
    let path: PathBuf = dir.join("worker-1").join(format!("{number}.sh"));
    thread::spawn(move || {
        let output = Command::new("sh").arg(path).output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat()
    })
}
