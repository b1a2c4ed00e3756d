//! The dump of a node: a directory of what its tools print.
//!
//! A dump seldom has everything. What is missing is said, and what cannot be read is reported file
//! by file; the rest still counts.

use std::fs;
use std::io;
use std::path::Path;

use thiserror::Error;

use crate::host::parse as host;
use crate::iptables::{self, Family};
use crate::node::NodeState;
use crate::{ipset, ipvs, nftables};

/// What a dump holds.
#[derive(Debug, Default)]
pub struct Dump {
    /// The state that it shows.
    pub state: NodeState,
    /// The files that are not there.
    pub missing: Vec<&'static str>,
    /// What could not be read.
    pub errors: Vec<DumpError>,
}

/// A place of a file that could not be read.
#[derive(Debug, Error)]
#[error("{file}: {source}")]
pub struct DumpError {
    /// The file's name.
    pub file: &'static str,
    /// What is wrong with it.
    pub source: Cause,
}

/// What is wrong with a file: the error of its reader.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Reads one file of a dump into the state, and returns what it could not read.
type Reader = fn(&mut NodeState, &str) -> Vec<Cause>;

/// The files of a dump. Of two that say the same, the first that is there is read.
const FILES: &[&[(&str, Reader)]] = &[
    &[("nft.txt", nft_text), ("nft.json", nft_json)],
    &[("iptables-save.txt", iptables_save)],
    &[("ip6tables-save.txt", ip6tables_save)],
    &[("ipset-save.txt", ipset_save)],
    &[("ipvsadm-save.txt", ipvsadm_save)],
    &[("addr.txt", addresses)],
    &[("link.txt", links)],
    &[("route.txt", routes)],
    &[("rule.txt", rules)],
    &[("sysctl.txt", sysctls)],
];

impl NodeState {
    /// Reads a directory of dumps: `nft.txt` or else `nft.json`, `iptables-save.txt`,
    /// `ip6tables-save.txt`, `ipset-save.txt`, `ipvsadm-save.txt`, `addr.txt`, `link.txt`, `route.txt`,
    /// `rule.txt`, `sysctl.txt`.
    ///
    /// # Errors
    ///
    /// If the directory, or a file that is there, cannot be opened.
    pub fn read_dump(dir: &Path) -> io::Result<Dump> {
        fs::metadata(dir)?;
        let mut dump = Dump::default();
        for alternatives in FILES {
            dump.read_first(dir, alternatives)?;
        }
        Ok(dump)
    }
}

impl Dump {
    fn read_first(&mut self, dir: &Path, files: &[(&'static str, Reader)]) -> io::Result<()> {
        for (file, read) in files {
            match fs::read(dir.join(file)) {
                Ok(bytes) => {
                    let errors = read(&mut self.state, &String::from_utf8_lossy(&bytes));
                    let errors = errors.into_iter().map(|source| DumpError { file, source });
                    self.errors.extend(errors);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.missing.extend(files.first().map(|(file, _)| *file));
        Ok(())
    }
}

fn boxed<E: std::error::Error + Send + Sync + 'static>(errors: Vec<E>) -> Vec<Cause> {
    errors.into_iter().map(Into::into).collect()
}

fn nft_text(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = nftables::parse_ruleset(text);
    state.nftables = parsed.value;
    boxed(parsed.errors)
}

fn nft_json(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = nftables::parse_json(text);
    state.nftables = parsed.value;
    boxed(parsed.errors)
}

fn iptables_save(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = iptables::parse_ruleset(text, Family::Ipv4);
    state.iptables.v4 = parsed.value;
    boxed(parsed.errors)
}

fn ip6tables_save(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = iptables::parse_ruleset(text, Family::Ipv6);
    state.iptables.v6 = parsed.value;
    boxed(parsed.errors)
}

fn ipset_save(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = ipset::parse_sets(text);
    state.ipset = parsed.value;
    boxed(parsed.errors)
}

fn ipvsadm_save(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = ipvs::parse_table(text);
    state.ipvs = parsed.value;
    boxed(parsed.errors)
}

fn addresses(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = host::parse_addresses(text);
    state.host.addresses = parsed.value;
    boxed(parsed.errors)
}

fn links(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = host::parse_links(text);
    state.host.links = parsed.value;
    boxed(parsed.errors)
}

fn routes(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = host::parse_routes(text);
    state.host.routes = parsed.value;
    boxed(parsed.errors)
}

fn rules(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = host::parse_rules(text, false);
    state.host.rules = parsed.value;
    boxed(parsed.errors)
}

fn sysctls(state: &mut NodeState, text: &str) -> Vec<Cause> {
    let parsed = host::parse_sysctls(text);
    state.host.sysctls = parsed.value;
    boxed(parsed.errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(path: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots").join(path)
    }

    #[test]
    fn a_dump_says_what_it_lacks() {
        let dump = NodeState::read_dump(&snapshot("nftables/dump")).unwrap();
        assert!(dump.errors.is_empty(), "{:?}", dump.errors);
        assert_eq!(
            dump.missing,
            [
                "iptables-save.txt",
                "ip6tables-save.txt",
                "ipset-save.txt",
                "ipvsadm-save.txt",
                "rule.txt"
            ]
        );
        assert_eq!(dump.state.nftables.tables.len(), 2);
        assert!(dump.state.host.routes.len() > 50);
        assert_eq!(dump.state.host.sysctls["net.ipv4.ip_forward"], "1");
    }

    #[test]
    fn a_dump_of_ipvs_has_all_its_parts() {
        let dump = NodeState::read_dump(&snapshot("corpus/random-104/1.37.2/ipvs")).unwrap();
        assert!(dump.errors.is_empty(), "{:?}", dump.errors);
        assert_eq!(dump.missing, ["nft.txt", "link.txt", "route.txt", "rule.txt", "sysctl.txt"]);
        assert!(dump.state.iptables.v4.chain("filter", "KUBE-IPVS-FILTER").is_some());
        assert!(dump.state.iptables.v6.chain("nat", "KUBE-SERVICES").is_some());
        assert_eq!(dump.state.ipset.sets.len(), 34);
        assert!(dump.state.ipvs.services.len() > 10);
    }

    #[test]
    fn no_directory_is_an_error() {
        assert!(NodeState::read_dump(Path::new("no/such/directory")).is_err());
    }
}
