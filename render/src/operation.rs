//! The steps of a sync where that is more than one text for one tool.

use std::fmt::{self, Write};
use std::net::IpAddr;

use kps_model::address::host_prefix;
use kps_ruleset::iptables::{self, Rule, Transaction, print_restore, print_written};
use kps_ruleset::{Name, ipset, ipvs};

/// A step. It prints as a command for a shell; kube-proxy itself uses netlink instead of `ip` and
/// `ipvsadm`, and writes to files instead of `sysctl`.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// A sysctl is set.
    Sysctl {
        /// Its dotted name.
        name: &'static str,
        /// Its value.
        value: &'static str,
    },
    /// An nfacct object is made.
    Counter(&'static str),
    /// A chain is made.
    Chain {
        /// The family.
        family: iptables::Family,
        /// The table.
        table: &'static str,
        /// The chain.
        chain: Name,
    },
    /// A rule is put on top of a chain.
    Insert {
        /// The family.
        family: iptables::Family,
        /// The table.
        table: &'static str,
        /// The chain.
        chain: Name,
        /// The rule.
        rule: Rule,
    },
    /// Tables are restored without a flush.
    Restore {
        /// The family.
        family: iptables::Family,
        /// The tables.
        transactions: Vec<Transaction>,
    },
    /// A dummy device is made.
    Device(&'static str),
    /// An address is put on a device.
    Bind {
        /// The address.
        address: IpAddr,
        /// The device.
        device: &'static str,
    },
    /// Sets change.
    Ipset(ipset::Command),
    /// Virtual servers change.
    Ipvs(ipvs::Command),
}

/// Returns the steps as a script for a shell.
#[must_use]
pub fn print_operations(operations: &[Operation]) -> String {
    let mut script = String::new();
    for operation in operations {
        // INVARIANT: writing to a String cannot fail.
        let _ = writeln!(script, "{operation}");
    }
    script
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Sysctl { name, value } => write!(f, "sysctl -w {name}={value}"),
            Operation::Counter(name) => write!(f, "nfacct add {name}"),
            Operation::Chain { family, table, chain } => {
                write!(f, "{} -w 5 -N {chain} -t {table}", tool(*family))
            }
            Operation::Insert { family, table, chain, rule } => {
                let rule = print_written(rule, *family);
                write!(f, "{} -w 5 -I {chain} -t {table} {rule}", tool(*family))
            }
            Operation::Restore { family, transactions } => {
                writeln!(f, "{}-restore -w 5 --noflush --counters <<'END'", tool(*family))?;
                write!(f, "{}END", print_restore(transactions, *family))
            }
            Operation::Device(name) => write!(f, "ip link add {name} type dummy"),
            Operation::Bind { address, device } => {
                write!(f, "ip addr add {} dev {device}", host_prefix(*address))
            }
            Operation::Ipset(command) => write!(f, "ipset {command}"),
            Operation::Ipvs(command) => write!(f, "ipvsadm {command}"),
        }
    }
}

fn tool(family: iptables::Family) -> &'static str {
    match family {
        iptables::Family::Ipv4 => "iptables",
        iptables::Family::Ipv6 => "ip6tables",
    }
}
