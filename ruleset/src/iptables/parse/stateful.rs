//! Reads the options of matches that depend on more than the packet: its connection, time, chance,
//! lists and sets.

use super::super::ast::{
    Conntrack, CtDirection, CtStates, CtStatuses, Hashlimit, Limit, Negatable, Probability, Recent,
    RecentAction, SetMatch, Side, Statistic,
};
use super::args::{Args, Bad, DONE, MORE, NOT_MINE, Progress, Read, Taken, flags, number_range};
use crate::Name;

pub(super) fn state(
    test: &mut Negatable<CtStates>,
    option: &str,
    args: &mut Args<'_, '_>,
) -> Taken {
    if option != "--state" {
        return NOT_MINE;
    }
    *test = Negatable { negated: args.negation(), value: flags(&args.word()?)? };
    DONE
}

pub(super) fn conntrack(test: &mut Conntrack, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--ctstate" => {
            let states: CtStates = flags(&args.word()?)?;
            test.states = args.test(states);
        }
        "--ctstatus" => {
            let statuses = statuses(&args.word()?)?;
            test.statuses = args.test(statuses);
        }
        "--ctproto" => {
            let protocol = args.protocol()?;
            test.protocol = args.test(protocol);
        }
        "--ctexpire" => {
            let seconds = number_range(&args.word()?, ':')?;
            test.expire = args.test(seconds);
        }
        "--ctdir" => test.direction = Some(args.direction()?),
        _ => return tuple(test, option, args),
    }
    DONE
}

/// Reads an option on an end of one of the connection's directions.
fn tuple(test: &mut Conntrack, option: &str, args: &mut Args<'_, '_>) -> Taken {
    let address = match option {
        "--ctorigsrc" => Some(&mut test.original_source),
        "--ctorigdst" => Some(&mut test.original_destination),
        "--ctreplsrc" => Some(&mut test.reply_source),
        "--ctrepldst" => Some(&mut test.reply_destination),
        _ => None,
    };
    if let Some(address) = address {
        let network = args.network()?;
        *address = args.test(network);
        return DONE;
    }
    let port = match option {
        "--ctorigsrcport" => &mut test.original_source_port,
        "--ctorigdstport" => &mut test.original_destination_port,
        "--ctreplsrcport" => &mut test.reply_source_port,
        "--ctrepldstport" => &mut test.reply_destination_port,
        _ => return NOT_MINE,
    };
    let range = args.ports()?;
    *port = args.test(range);
    DONE
}

fn statuses(word: &str) -> Read<CtStatuses> {
    if word == "NONE" { Ok(CtStatuses::empty()) } else { flags(word) }
}

pub(super) fn statistic(test: &mut Statistic, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--mode" => match &*args.word()? {
            "random" => {
                *test = Statistic::Random { negated: false, probability: Probability::new(0) };
            }
            "nth" => *test = Statistic::Nth { negated: false, every: 0, packet: 0 },
            _ => return Err(Bad),
        },
        "--probability" => {
            let probability = Probability::parse(&args.word()?).ok_or(Bad)?;
            *test = Statistic::Random { negated: args.negation(), probability };
            return DONE;
        }
        "--every" => {
            let Statistic::Nth { negated, every, .. } = test else { return Err(Bad) };
            *negated = args.negation();
            *every = args.number()?;
            return if *every == 0 { Err(Bad) } else { DONE };
        }
        "--packet" => {
            let Statistic::Nth { packet, every, .. } = test else { return Err(Bad) };
            *packet = args.number()?;
            return if packet < every { DONE } else { Err(Bad) };
        }
        _ => return NOT_MINE,
    }
    MORE
}

pub(super) fn recent(test: &mut Recent, option: &str, args: &mut Args<'_, '_>) -> Taken {
    let action = match option {
        "--set" => Some(RecentAction::Set),
        "--rcheck" => Some(RecentAction::Check),
        "--update" => Some(RecentAction::Update),
        "--remove" => Some(RecentAction::Remove),
        _ => None,
    };
    if let Some(value) = action {
        test.action = Negatable { negated: args.negation(), value };
        return DONE;
    }
    recent_detail(test, option, args)
}

fn recent_detail(test: &mut Recent, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--seconds" => test.seconds = Some(args.number()?),
        "--reap" => test.reap = true,
        "--hitcount" => test.hit_count = Some(args.number()?),
        "--rttl" => test.ttl = true,
        "--name" => test.name = args.name()?,
        "--mask" => {
            let mask = args.address()?;
            test.mask = Some(mask).filter(|mask| !args.family.is_full_mask(*mask));
        }
        "--rsource" => test.side = Side::Source,
        "--rdest" => test.side = Side::Destination,
        _ => return NOT_MINE,
    }
    MORE
}

pub(super) fn set(test: &mut SetMatch, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--match-set" => {
            test.negated = args.negation();
            test.set = args.name()?;
            test.sides = args.sides()?;
            return DONE;
        }
        "--return-nomatch" => test.return_nomatch = true,
        "--update-counters"
        | "--update-subcounters"
        | "--packets-eq"
        | "--packets-lt"
        | "--packets-gt"
        | "--bytes-eq"
        | "--bytes-lt"
        | "--bytes-gt" => set_counters(test, option, args)?,
        _ => return NOT_MINE,
    }
    MORE
}

/// Keeps an option on the counters of an element as text.
fn set_counters(test: &mut SetMatch, option: &str, args: &mut Args<'_, '_>) -> Read<()> {
    let before = test.counters.map(|c| format!("{c} ")).unwrap_or_default();
    let negation = if args.negation() { "! " } else { "" };
    let value =
        if option.starts_with("--update") { String::new() } else { format!(" {}", args.word()?) };
    test.counters = Some(format!("{before}{negation}{option}{value}").into());
    Ok(())
}

pub(super) fn limit(test: &mut Limit, option: &str, args: &mut Args<'_, '_>) -> Taken {
    match option {
        "--limit" => test.interval = Limit::parse_interval(&args.word()?).ok_or(Bad)?,
        "--limit-burst" => test.burst = args.number()?,
        _ => return NOT_MINE,
    }
    // Nothing is required: the tool's defaults are 3 in an hour, 5 at once.
    DONE
}

pub(super) fn hashlimit(test: &mut Hashlimit, option: &str, args: &mut Args<'_, '_>) -> Taken {
    if !option.starts_with("--hashlimit") {
        return NOT_MINE;
    }
    let mut all = test.options.to_string();
    if !all.is_empty() {
        all.push(' ');
    }
    all.push_str(if args.negation() { "! " } else { "" });
    all.push_str(option);
    if let Some(value) = args.optional_word() {
        all.push(' ');
        all.push_str(&value);
    }
    test.options = Name::from(all);
    Ok(Some(if option == "--hashlimit-name" { Progress::Done } else { Progress::More }))
}

impl Args<'_, '_> {
    pub(super) fn direction(&mut self) -> Read<CtDirection> {
        match &*self.word()? {
            "ORIGINAL" => Ok(CtDirection::Original),
            "REPLY" => Ok(CtDirection::Reply),
            _ => Err(Bad),
        }
    }
}
