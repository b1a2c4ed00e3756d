//! What a mode needs of the node that it runs on.

use kps_model::Mode;

use super::compare::Move;

/// The oldest kernel that nftables mode takes (`pkg/proxy/nftables/proxier.go`).
const NFTABLES_KERNEL: (u32, u32) = (5, 13);

/// Tells what the mode that is moved to needs, and what the node has of it.
pub(super) fn facts(moved: &Move<'_>) -> Vec<String> {
    let needed = match moved.right.setup.mode() {
        Mode::Nftables => "needed: kernel 5.13, and nft 1.0.1 where kube-proxy runs",
        Mode::Ipvs => "needed: the modules ip_vs and ip_vs_SCHEDULER, and ipset 6.0",
        Mode::Iptables => "needed: nothing that a kernel of today lacks",
    };
    let mut facts = vec![needed.to_owned()];
    let kernel = kernel(moved);
    match is_met(moved) {
        Some(false) => {
            facts.push(format!("kernel {kernel} is too old: kube-proxy would not start"));
        }
        Some(true) if !kernel.is_empty() => facts.push(format!("kernel {kernel} is new enough")),
        _ => {}
    }
    facts
}

/// Tells whether the node's kernel will do; `None` if the objects do not say which it is.
pub(super) fn is_met(moved: &Move<'_>) -> Option<bool> {
    match moved.right.setup.mode() {
        Mode::Iptables => Some(true),
        Mode::Ipvs => None,
        Mode::Nftables => Some(release(kernel(moved))? >= NFTABLES_KERNEL),
    }
}

fn kernel<'a>(moved: &Move<'a>) -> &'a str {
    moved.cluster.node(moved.node).map_or("", |node| &node.status.info.kernel_version)
}

/// Reads the first two numbers of what `uname -r` prints.
fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::release;

    #[test]
    fn a_kernel_is_known_by_its_first_two_numbers() {
        assert_eq!(release("5.13.0-rc1"), Some((5, 13)));
        assert_eq!(release("6.1.0-31-amd64"), Some((6, 1)));
        assert_eq!(release("4.18.0-553.el8.x86_64"), Some((4, 18)));
        assert_eq!(release(""), None);
        assert_eq!(release("generic"), None);
    }
}
