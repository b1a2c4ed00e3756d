//! Real tools take what is printed. Skipped where they, or the right to make a namespace, are missing.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use kps_ruleset::iptables::{Family, parse_ruleset, print_ruleset};

/// Runs a shell script in a network namespace of its own with a text as input; `None` if that cannot
/// be done here.
fn in_namespace(script: &str, input: &str) -> Option<(bool, String)> {
    let mut child = Command::new("unshare")
        .args(["-n", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(input.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), text))
}

fn is_usable(tool: &str) -> bool {
    in_namespace(&format!("{tool} --version"), "").is_some_and(|(done, _)| done)
}

const SETS: &str = "for s in cali40masq-ipam-pools cali40all-ipam-pools cali40all-hosts-net trusted \
    cali40s:abcdefghijklmnopqrstu; do ipset create $s hash:net; done; \
    ipset create blocked hash:ip,port; ipset create seen hash:ip timeout 600; ";

#[test]
fn the_tools_load_what_is_printed_and_print_the_same() {
    for (name, family, tool) in [
        ("kubelet", Family::Ipv4, "iptables"),
        ("docker", Family::Ipv4, "iptables"),
        ("portmap", Family::Ipv4, "iptables"),
        ("calico", Family::Ipv4, "iptables"),
        ("firewalld", Family::Ipv4, "iptables"),
        ("ufw", Family::Ipv4, "iptables"),
        ("mixed", Family::Ipv4, "iptables"),
        ("kubelet6", Family::Ipv6, "ip6tables"),
    ] {
        for variant in ["nft", "legacy"] {
            let restore = format!("{tool}-{variant}-restore");
            if !is_usable(&restore) || !is_usable("ipset") {
                eprintln!("skipped: {restore} cannot be used here");
                continue;
            }
            let file = format!("../snapshots/iptables/nodes/{name}.{variant}.save");
            let text =
                std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
            let printed = print_ruleset(&parse_ruleset(&text, family).value, false);
            let script = format!("{SETS}{restore} && {tool}-{variant}-save");
            let (done, answer) = in_namespace(&script, &printed).unwrap();
            assert!(done, "{name} {variant}: {answer}");
            let mut saved = parse_ruleset(&answer, family).value;
            let mut expected = parse_ruleset(&text, family).value;
            saved.tables.sort_keys();
            expected.tables.sort_keys();
            assert_eq!(print_ruleset(&saved, false), print_ruleset(&expected, false));
        }
    }
}
