//! The sections `iptables`, `nftables` and `ipvs`: the mode decides which of them count.
//!
//! kube-proxy has one `masqueradeAll` and one pair of sync periods, which it takes from the section
//! of its mode. It looks at the `iptables` section in every mode, and at the others only in theirs.

use super::document::{Document, IpvsSection, RulesSection};
use super::read::{ConfigError, invalid};
use super::{IpvsConfig, Mode};
use crate::address::parse_prefix;

/// The bit of the packet mark that is used by default.
pub const DEFAULT_MASQUERADE_BIT: u8 = 14;

/// How often everything is synced by default.
const DEFAULT_SYNC_PERIOD: &str = "30s";

/// The schedulers of the kernel. kube-proxy tries its scheduler before it starts.
const SCHEDULERS: [&str; 13] =
    ["rr", "wrr", "lc", "wlc", "lblc", "lblcr", "sh", "dh", "sed", "nq", "mh", "fo", "ovf"];

/// What the sections say, for one mode.
pub struct Sections {
    /// `iptables.masqueradeBit`.
    pub iptables_masquerade_bit: u8,
    /// `nftables.masqueradeBit`.
    pub nftables_masquerade_bit: u8,
    /// `masqueradeAll`; ipvs mode takes that of iptables.
    pub masquerade_all: bool,
    /// `iptables.localhostNodePorts`.
    pub localhost_node_ports: bool,
    /// The `ipvs` section.
    pub ipvs: IpvsConfig,
}

impl Sections {
    /// Reads the sections.
    pub fn of(document: &Document, mode: Mode) -> Result<Sections, ConfigError> {
        let absent = RulesSection::default();
        let iptables = document.iptables.as_ref().unwrap_or(&absent);
        let nftables = document.nftables.as_ref().unwrap_or(&absent);
        let own = if mode == Mode::Nftables { nftables } else { iptables };
        let mut sections = Sections {
            iptables_masquerade_bit: bit("iptables.masqueradeBit", iptables)?,
            nftables_masquerade_bit: DEFAULT_MASQUERADE_BIT,
            masquerade_all: own.masquerade_all.unwrap_or(false),
            localhost_node_ports: iptables.localhost_node_ports.unwrap_or(true),
            ipvs: IpvsConfig::default(),
        };
        match mode {
            Mode::Iptables => {
                periods("iptables.syncPeriod", own.periods(), "1s")?;
            }
            Mode::Nftables => {
                sections.nftables_masquerade_bit = bit("nftables.masqueradeBit", nftables)?;
                periods("nftables.syncPeriod", own.periods(), "1s")?;
            }
            Mode::Ipvs => {
                let section = document.ipvs.as_ref();
                sections.ipvs = section.map(ipvs).transpose()?.unwrap_or_default();
            }
        }
        Ok(sections)
    }
}

/// `syncPeriod` and `minSyncPeriod`.
type Periods<'a> = (Option<&'a str>, Option<&'a str>);

impl RulesSection {
    fn periods(&self) -> Periods<'_> {
        (self.sync_period.as_deref(), self.min_sync_period.as_deref())
    }
}

fn bit(field: &'static str, section: &RulesSection) -> Result<u8, ConfigError> {
    match section.masquerade_bit {
        None => Ok(DEFAULT_MASQUERADE_BIT),
        Some(bit) => match u8::try_from(bit) {
            Ok(bit @ 0..=31) => Ok(bit),
            _ => invalid(field, &bit.to_string(), "a bit from 0 to 31"),
        },
    }
}

fn ipvs(section: &IpvsSection) -> Result<IpvsConfig, ConfigError> {
    let scheduler = section.scheduler.clone().unwrap_or_default();
    if !scheduler.is_empty() && !SCHEDULERS.contains(&scheduler.as_str()) {
        return invalid("ipvs.scheduler", &scheduler, "a scheduler of the kernel, such as rr");
    }
    let of_section = (section.sync_period.as_deref(), section.min_sync_period.as_deref());
    periods("ipvs.syncPeriod", of_section, "0s")?;
    Ok(IpvsConfig {
        scheduler,
        exclude_cidrs: exclude_cidrs(section)?,
        strict_arp: section.strict_arp.unwrap_or(false),
        tcp_timeout: seconds("ipvs.tcpTimeout", section.tcp_timeout.as_deref())?,
        tcp_fin_timeout: seconds("ipvs.tcpFinTimeout", section.tcp_fin_timeout.as_deref())?,
        udp_timeout: seconds("ipvs.udpTimeout", section.udp_timeout.as_deref())?,
    })
}

fn exclude_cidrs(section: &IpvsSection) -> Result<Vec<ipnet::IpNet>, ConfigError> {
    let written = section.exclude_cidrs.as_deref().unwrap_or_default();
    let prefix = |text: &String| {
        parse_prefix(text).map_or_else(|| invalid("ipvs.excludeCIDRs", text, "a CIDR"), Ok)
    };
    written.iter().map(prefix).collect()
}

/// Checks how often rules are synced: more than never, and not less than is allowed.
fn periods(field: &'static str, periods: Periods<'_>, least: &str) -> Result<(), ConfigError> {
    const EXPECTED: &str = "durations with 0 <= minSyncPeriod <= syncPeriod and 0 < syncPeriod";
    let period = |text: Option<&str>, default: &str| {
        let written = duration(text.unwrap_or_default());
        if written.is_some_and(|duration| duration.is_zero()) { duration(default) } else { written }
    };
    let sync = period(periods.0, DEFAULT_SYNC_PERIOD);
    let min = period(periods.1, least);
    match (sync, min) {
        (Some(sync), Some(min)) if sync.is_positive() && !min.is_negative() && min <= sync => {
            Ok(())
        }
        _ => {
            let texts = [periods.0, periods.1].map(Option::unwrap_or_default);
            invalid(field, texts.join(", ").trim_matches([',', ' ']), EXPECTED)
        }
    }
}

/// Reads a duration in whole seconds.
fn seconds(field: &'static str, text: Option<&str>) -> Result<u64, ConfigError> {
    let text = text.unwrap_or_default();
    match duration(text).map(|duration| u64::try_from(duration.as_secs())) {
        Some(Ok(seconds)) => Ok(seconds),
        _ => invalid(field, text, "a duration such as 900s"),
    }
}

/// Reads a duration as Go writes it (`900s`, `1h30m`); an absent one is zero.
fn duration(text: &str) -> Option<jiff::SignedDuration> {
    if matches!(text, "" | "0") {
        return Some(jiff::SignedDuration::ZERO);
    }
    // The library knows more forms than Go does.
    let is_go = |byte: u8| byte.is_ascii_digit() || b"-+.hmsun".contains(&byte);
    text.bytes().all(is_go).then(|| text.parse().ok()).flatten()
}
