//! A report as a page that needs nothing else: no other file, no server.
//!
//! What changes is written out; the board of Services is data, of which the page's script draws what is
//! in sight. So a page of 10 000 Services stays small and quick.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::io;

use askama::Template;
use kps_compare::diff::{Cause, Cell, Cells, Group, Kind, Report, Row, Shown};
use kps_compare::difference::Risk;
use kps_flow::{ClientClass, Flow, Outcome};
use num_rational::BigRational;
use serde::Serialize;

use super::document::{Difference, Document, Share};
use super::{Migration, RISKS, counted, row_label, services};
use crate::report::bars::{as_f64, readable};

const STYLE: &str = include_str!("../../../templates/migration.css");
const SCRIPT: &str = include_str!("../../../templates/migration.js");
/// How many names of Services are written out.
const MOST_SERVICES: usize = 12;
/// The clients in the order of the board's letters.
const CLIENTS: [ClientClass; 4] =
    [ClientClass::Pod, ClientClass::RemotePod, ClientClass::Node, ClientClass::Outside];

/// The page.
#[derive(Template)]
#[template(path = "migration.html")]
struct Page {
    sides: [String; 2],
    names: [String; 2],
    document: Document,
    tiles: Vec<Tile>,
    cards: Vec<Card>,
    style: &'static str,
    script: &'static str,
    data: String,
}

/// A number at the head of the page.
struct Tile {
    class: String,
    number: String,
    word: String,
}

/// What is told of a cause.
struct Card {
    class: &'static str,
    open: bool,
    anchor: String,
    extent: String,
    services: String,
    nodes: String,
    stories: Vec<String>,
    difference: Difference,
}

impl Migration<'_> {
    /// Writes the page.
    ///
    /// # Errors
    /// If it cannot be written, which no report does.
    pub fn page(&self) -> io::Result<String> {
        let mut document = self.document();
        let differences = std::mem::take(&mut document.differences);
        let cards = self.report.groups.iter().zip(differences);
        let page = Page {
            sides: [self.left, self.right].map(|side| format!("{} {}", side.mode(), side.version)),
            names: self.names(),
            tiles: tiles(self.report),
            cards: cards.map(|(group, difference)| self.card(group, difference)).collect(),
            document,
            style: STYLE,
            script: SCRIPT,
            // The page ends the data where a tag would begin.
            data: serde_json::to_string(&Board::of(self))?.replace('<', "\\u003c"),
        };
        page.render().map_err(io::Error::other)
    }

    fn card(&self, group: &Group, difference: Difference) -> Card {
        let services = services(group);
        let mut extent = match services.len() {
            0 => String::new(),
            number => counted(number, "Service", "Services"),
        };
        if group.classes > 0 {
            let classes = usize::try_from(group.classes).unwrap_or(usize::MAX);
            let apart = if extent.is_empty() { "" } else { ", " };
            let _ = write!(extent, "{apart}{}", counted(classes, "class", "classes"));
        }
        let more = if services.len() > MOST_SERVICES { ", ..." } else { "" };
        let shown: Vec<&str> = services.iter().take(MOST_SERVICES).map(String::as_str).collect();
        let stories = self.stories.of(group.cause);
        let stories = stories.map(|told| told.each_ref().map(|told| told.whole.clone()).into());
        Card {
            class: risk_class(group.risk),
            open: self.report.groups.first().is_some_and(|first| first.cause == group.cause),
            anchor: anchor(group.cause),
            extent,
            services: format!("{}{more}", shown.join(", ")),
            nodes: self.on_nodes(&group.nodes).unwrap_or_default(),
            stories: stories.unwrap_or_default(),
            difference,
        }
    }
}

impl Share {
    /// Returns the width of the share's bar.
    fn percent(&self) -> String {
        self.exact().as_ref().map_or_else(String::new, percent)
    }

    fn readable(&self) -> String {
        self.exact().as_ref().map_or_else(String::new, readable)
    }

    fn exact(&self) -> Option<BigRational> {
        self.share.parse().ok()
    }

    fn fate(&self) -> &'static str {
        fate(&self.outcome)
    }
}

/// Returns the kind of an outcome, by which the page colours it.
fn fate(outcome: &str) -> &'static str {
    match outcome.split(' ').next() {
        Some("dropped" | "rejected") => "refused",
        Some("delivered") => "delivered",
        _ => "passed",
    }
}

fn percent(share: &BigRational) -> String {
    format!("{:.2}", as_f64(share) * 100.0)
}

fn tiles(report: &Report) -> Vec<Tile> {
    let of_risk = RISKS.map(|(risk, word, _)| {
        let shown = report.groups.iter().filter(|group| group.is_in_packets());
        let number = shown.filter(|group| group.risk == risk).count();
        let zero = if number == 0 { " zero" } else { "" };
        let class = format!("{}{zero}", risk_class(risk));
        Tile { class, number: number.to_string(), word: word.to_owned() }
    });
    let plain = |number: String, word: String| Tile { class: String::new(), number, word };
    let rows = report.rows.keys().flatten().count();
    let more = [
        plain(
            report.differing.to_string(),
            format!("of {} classes of packets differ", report.classes),
        ),
        plain(report.touched().to_string(), format!("of {rows} Service ports touched")),
    ];
    of_risk.into_iter().chain(more).collect()
}

fn risk_class(risk: Risk) -> &'static str {
    match risk {
        Risk::Breaks => "breaks",
        Risk::Opens => "opens",
        Risk::ChangesBalance => "balance",
        Risk::Harmless => "harmless",
    }
}

fn anchor(cause: Cause) -> String {
    let name = cause.name();
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    format!("cause-{}", plain.collect::<String>())
}

/// The board of Services, as the page's script reads it. Texts are numbered, so that each is there
/// once.
#[derive(Serialize)]
struct Board {
    names: [String; 2],
    kinds: Vec<String>,
    clients: Vec<String>,
    /// The clients that can dial each kind, as bits.
    senders: Vec<u8>,
    risks: Vec<[&'static str; 2]>,
    /// Name, title and place in the page.
    causes: Vec<[String; 3]>,
    sets: Vec<Vec<usize>>,
    who: Vec<String>,
    texts: Vec<String>,
    /// The kind of outcome that each text tells.
    fates: Vec<&'static str>,
    /// A share, and the width of its bar.
    shares: Vec<(String, String)>,
    /// Outcomes and shares; of many outcomes the first few, and how many more there are.
    sides: Vec<(Vec<(usize, usize)>, usize)>,
    rows: Vec<BoardRow>,
}

/// Label, kinds of address as bits, where packets go, and which of them fare differently.
type BoardRow = (String, u16, Vec<String>, Vec<Square>);

/// A class of packets that fare differently: kind and client, who, where to, left and right outcomes,
/// causes, risk.
type Square = [usize; 7];

/// How many outcomes of a side the board tells.
const MOST_OUTCOMES: usize = 4;

/// Gives numbers to things, the same thing the same number.
#[derive(Default)]
struct Numbers<T>(HashMap<T, usize>, Vec<T>);

impl<T: Clone + Eq + std::hash::Hash> Numbers<T> {
    fn of(&mut self, thing: T) -> usize {
        let next = self.1.len();
        *self.0.entry(thing).or_insert_with_key(|thing| {
            self.1.push(thing.clone());
            next
        })
    }
}

/// A board in the making.
#[derive(Default)]
struct Drawing {
    sets: Numbers<Vec<usize>>,
    who: Numbers<String>,
    texts: Numbers<String>,
    shares: Numbers<(String, String)>,
    sides: Numbers<(Vec<(usize, usize)>, usize)>,
    causes: BTreeMap<Cause, usize>,
}

impl Board {
    fn of(migration: &Migration<'_>) -> Board {
        let groups = migration.report.groups.iter().filter(|group| group.is_in_packets());
        let causes: Vec<Cause> = groups.map(|group| group.cause).collect();
        let numbered = causes.iter().enumerate().map(|(number, cause)| (*cause, number));
        let mut drawing = Drawing { causes: numbered.collect(), ..Drawing::default() };
        let rows =
            migration.report.rows.iter().map(|(row, cells)| drawing.row(row.as_ref(), cells));
        let rows = rows.collect();
        let told =
            |cause: &Cause| [cause.to_string(), cause.about().title.to_owned(), anchor(*cause)];
        Board {
            names: migration.names(),
            kinds: Kind::ALL.iter().map(ToString::to_string).collect(),
            senders: Kind::ALL.iter().map(|kind| senders(*kind)).collect(),
            clients: CLIENTS.iter().map(ToString::to_string).collect(),
            risks: RISKS.iter().map(|(risk, word, _)| [*word, risk_class(*risk)]).collect(),
            causes: causes.iter().map(told).collect(),
            sets: drawing.sets.1,
            who: drawing.who.1,
            fates: drawing.texts.1.iter().map(|text| fate(text)).collect(),
            texts: drawing.texts.1,
            shares: drawing.shares.1,
            sides: drawing.sides.1,
            rows,
        }
    }
}

impl Drawing {
    fn row(&mut self, row: Option<&Row>, cells: &Cells) -> BoardRow {
        let label = row.map_or_else(|| "past all Services".to_owned(), row_label);
        let has = Kind::ALL.iter().enumerate().filter(|(_, kind)| cells.kinds.contains(kind));
        let has = has.fold(0, |bits, (number, _)| bits | 1 << number);
        let mut places = Numbers::default();
        let squares = cells.differing.iter().map(|((kind, client), cell)| {
            let to = places.of(destination(&cell.difference.flow));
            self.square(*kind, *client, to, cell)
        });
        let squares = squares.collect();
        (label, has, places.1, squares)
    }

    fn square(&mut self, kind: Kind, client: ClientClass, to: usize, cell: &Cell) -> Square {
        let set = cell.causes.iter().filter_map(|cause| self.causes.get(cause).copied()).collect();
        let shown = Shown::of(&cell.difference);
        [
            number(&Kind::ALL, &kind) * CLIENTS.len() + number(&CLIENTS, &client),
            self.who.of(who(&shown.flow)),
            to,
            self.side(&shown.left),
            self.side(&shown.right),
            self.sets.of(set),
            RISKS.iter().position(|(risk, ..)| *risk == cell.risk).unwrap_or_default(),
        ]
    }

    fn side(&mut self, outcomes: &[(Outcome, BigRational)]) -> usize {
        let told = outcomes.iter().take(MOST_OUTCOMES);
        let told = told.map(|(outcome, share)| {
            let share = self.shares.of((readable(share), percent(share)));
            (self.texts.of(outcome.to_string()), share)
        });
        let told = told.collect();
        self.sides.of((told, outcomes.len().saturating_sub(MOST_OUTCOMES)))
    }
}

fn number<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter().position(|other| other == one).unwrap_or_default()
}

/// Only the node itself can dial its loopback addresses.
fn senders(kind: Kind) -> u8 {
    let can = |client: &ClientClass| kind != Kind::Loopback || *client == ClientClass::Node;
    CLIENTS.iter().enumerate().filter(|(_, c)| can(c)).fold(0, |bits, (nth, _)| bits | 1 << nth)
}

fn who(flow: &Flow) -> String {
    let text = flow.to_string();
    text.rsplit_once(" to ").map_or_else(String::new, |(who, _)| who.to_owned())
}

fn destination(flow: &Flow) -> String {
    let text = flow.to_string();
    text.rsplit_once(" to ").map_or_else(String::new, |(_, to)| to.to_owned())
}
