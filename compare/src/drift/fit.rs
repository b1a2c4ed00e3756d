//! Which mode, release and settings fit a dump best.
//!
//! Modes are tried of which the dump has anything at all, each with every release that it may be of.
//! Where no configuration is given, settings are taken from the dump as well: field by field, the
//! values that its rules suggest are tried, and kept if more of it is as it should be.

use kps_model::{Config, KubeVersion, Mode};

use super::expected::{Expected, needed};
use super::parts;
use super::settings::{self, Setting};
use super::{Settings, Subject};

/// What fits a dump best, and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The mode.
    pub mode: Mode,
    /// The releases that fit alike, the likeliest first.
    pub versions: Vec<KubeVersion>,
    /// The settings that are not the default's and were found in the dump.
    pub settings: Vec<Setting>,
    /// Settings other than those given with which more would be as it should be.
    pub suggested: Vec<Setting>,
    /// How many chains, rules, elements and servers there should be.
    pub expected: usize,
    /// How many of them are missing or otherwise, with those that are too many.
    pub off: usize,
    /// What else was tried, best first.
    pub others: Vec<Other>,
}

/// A mode or release that does not fit as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Other {
    /// The mode.
    pub mode: Mode,
    /// The release.
    pub version: KubeVersion,
    /// How much would be missing, otherwise or too many.
    pub off: usize,
}

/// What a dump should have, by its best fit.
#[derive(Debug)]
pub(super) struct Best {
    pub expected: Expected,
    pub fit: Fit,
}

/// Returns what fits best; `None` if the dump shows none of the modes that are to be tried.
pub(super) fn best(subject: &Subject<'_>) -> Option<Best> {
    let fits = candidates(subject).into_iter().filter_map(|config| of_mode(subject, config));
    let mut fits: Vec<Best> = fits.collect();
    // Stable: of those that fit alike, the first is taken.
    fits.sort_by_key(Best::misfit);
    let mut fits = fits.into_iter();
    let mut best = fits.next()?;
    for rest in fits {
        let Fit { mode, off, versions, others, .. } = rest.fit;
        best.fit.others.extend(versions.into_iter().map(|version| Other { mode, version, off }));
        best.fit.others.extend(others);
    }
    Some(best)
}

/// Returns the configurations in whose modes the dump has something; if in none, the first that it
/// could show.
fn candidates<'s>(subject: &Subject<'s>) -> Vec<&'s Config> {
    let is_seen =
        |config: &&Config| needed(config.mode).iter().any(|file| !subject.unseen.contains(file));
    let configs: Vec<&Config> = subject.configs.iter().filter(is_seen).collect();
    let shown = configs.iter().filter(|config| parts::shows(config.mode, subject.dump));
    let shown: Vec<&Config> = shown.copied().collect();
    if shown.is_empty() { configs.into_iter().take(1).collect() } else { shown }
}

fn of_mode(subject: &Subject<'_>, config: &Config) -> Option<Best> {
    let best = of_releases(subject, config)?;
    let searched = best.fit.off > 0;
    let found = if searched { with_settings(subject, config, &best) } else { None };
    let Some(found) = found else { return Some(best) };
    let Some(mut better) = of_releases(subject, &found) else { return Some(best) };
    let settings = settings::differing(config, &found);
    if subject.settings == Settings::Found {
        better.fit.settings = settings;
        return Some(better);
    }
    let mut best = best;
    best.fit.suggested = settings;
    Some(best)
}

/// Tries every release.
fn of_releases(subject: &Subject<'_>, config: &Config) -> Option<Best> {
    let mut best: Option<Best> = None;
    let mut others = Vec::new();
    let other = |best: &Best, version| Other { mode: config.mode, version, off: best.fit.off };
    for version in subject.versions {
        let tried = tried(subject, config, *version);
        match &mut best {
            Some(known) if tried.fit.off == known.fit.off => known.fit.versions.push(*version),
            Some(known) if tried.fit.off > known.fit.off => others.push(other(&tried, *version)),
            _ => {
                let worse = best.replace(tried).into_iter();
                others.extend(worse.flat_map(|worse| {
                    let versions = worse.fit.versions.clone();
                    versions.into_iter().map(move |version| other(&worse, version))
                }));
            }
        }
    }
    others.sort_by_key(|other| other.off);
    let mut best = best?;
    best.fit.others = others;
    Some(best)
}

fn tried(subject: &Subject<'_>, config: &Config, version: KubeVersion) -> Best {
    let expected = Expected::new(subject, config, version);
    let fit = Fit {
        mode: config.mode,
        versions: vec![version],
        settings: Vec::new(),
        suggested: Vec::new(),
        expected: parts::size(&expected.state, config.mode),
        off: expected.off(subject),
        others: Vec::new(),
    };
    Best { expected, fit }
}

/// Returns the configuration with the settings that the dump suggests, as far as they fit better.
/// Where hardly anything fits, nothing can be read from the rest.
fn with_settings(subject: &Subject<'_>, config: &Config, best: &Best) -> Option<Config> {
    let version = *best.fit.versions.first()?;
    let shown = settings::Shown::of(subject.dump, config.mode);
    let mut chosen = config.clone();
    let mut least = best.fit.off;
    loop {
        let before = least;
        for propose in settings::FIELDS {
            let proposals = if least == 0 { Vec::new() } else { propose(&chosen, &shown) };
            for proposed in proposals {
                let off = tried(subject, &proposed, version).fit.off;
                if off < least {
                    (chosen, least) = (proposed, off);
                }
            }
        }
        if least == before {
            break;
        }
    }
    let is_poor = is_poor(best.fit.expected, least);
    (least < best.fit.off && !is_poor).then_some(chosen)
}

impl Best {
    /// How badly it fits: the share of what is off, as a number to be compared.
    fn misfit(&self) -> u64 {
        const WHOLE: u64 = 1_000_000;
        let off = u64::try_from(self.fit.off).unwrap_or(u64::MAX);
        let all = u64::try_from(self.fit.expected).unwrap_or(u64::MAX).saturating_add(off);
        off.saturating_mul(WHOLE).checked_div(all).unwrap_or(0)
    }
}

impl Fit {
    /// Tells whether more is off than is as it should be, so that nothing fits well.
    #[must_use]
    pub fn is_poor(&self) -> bool {
        is_poor(self.expected, self.off)
    }
}

fn is_poor(expected: usize, off: usize) -> bool {
    off > expected / 2
}
