//! The document of facts: text, and blocks of commands with what they show.

use std::fmt;

/// What a section runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// The kernel of this machine.
    Host,
    /// User-mode Linux.
    UserMode,
}

/// The document, piece by piece.
pub struct Document {
    /// The commands that make the node of each section.
    pub setup: String,
    sections: Vec<Section>,
}

/// What stands between two headings.
pub struct Section {
    kernel: Kernel,
    pieces: Vec<Piece>,
}

enum Piece {
    /// A line that is no command.
    Text(String),
    /// A command, as it stands after `$ ` and `> `, and the lines that it shows.
    Command(Vec<String>, Vec<String>),
}

/// Stands alone on a line before what a command prints.
const MARK: &str = "\u{1}";

impl Document {
    /// Reads a document.
    pub fn parse(text: &str) -> Document {
        let mut reader = Reader::default();
        text.lines().for_each(|line| reader.take(line));
        reader.end_section();
        Document { setup: reader.setup, sections: reader.sections }
    }

    /// Returns the sections with commands for a kernel.
    pub fn sections(&self, kernel: Kernel) -> Vec<&Section> {
        self.sections.iter().filter(|section| section.runs_on(kernel)).collect()
    }

    /// Returns the same sections, to change what their commands show.
    pub fn sections_mut(&mut self, kernel: Kernel) -> Vec<&mut Section> {
        self.sections.iter_mut().filter(|section| section.runs_on(kernel)).collect()
    }
}

impl Section {
    fn runs_on(&self, kernel: Kernel) -> bool {
        self.kernel == kernel && self.commands().next().is_some()
    }

    fn commands(&self) -> impl Iterator<Item = &Vec<String>> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Command(command, _) => Some(command),
            Piece::Text(_) => None,
        })
    }

    /// Returns the script that makes the node and runs the commands, one after the other.
    pub fn script(&self, setup: &str) -> String {
        let one = |command: &Vec<String>| {
            let command = command.join("\n");
            format!("echo {MARK}\n{command}\ncode=$?\n[ $code = 0 ] || echo \"? $code\"\n")
        };
        format!("{setup}\n{}exit 0\n", self.commands().map(one).collect::<String>())
    }

    /// Takes over what the commands printed.
    pub fn note(&mut self, output: &str) {
        let mark = format!("{MARK}\n");
        let mut shown = output.split(&mark);
        let before = shown.next().unwrap_or_default();
        assert!(before.is_empty(), "the node cannot be made: {before}");
        for piece in &mut self.pieces {
            if let Piece::Command(_, lines) = piece {
                let output = shown.next().unwrap_or_default();
                *lines = output.lines().map(|line| line.trim_end().to_owned()).collect();
            }
        }
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pieces = self.sections.iter().flat_map(|section| &section.pieces);
        pieces.try_for_each(|piece| piece.fmt(f))
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Piece::Text(line) => writeln!(f, "{line}"),
            Piece::Command(command, shown) => {
                for (number, line) in command.iter().enumerate() {
                    writeln!(f, "{} {line}", if number == 0 { '$' } else { '>' })?;
                }
                shown.iter().try_for_each(|line| writeln!(f, "{line}"))
            }
        }
    }
}

/// Where in the document a reader is.
#[derive(Default, PartialEq)]
enum Place {
    #[default]
    Prose,
    Setup,
    Console,
}

#[derive(Default)]
struct Reader {
    place: Place,
    setup: String,
    user_mode: bool,
    pieces: Vec<Piece>,
    sections: Vec<Section>,
}

impl Reader {
    fn take(&mut self, line: &str) {
        match (&self.place, line) {
            (Place::Prose, "```sh") => self.place = Place::Setup,
            (Place::Prose, "```console" | "```console uml") => {
                self.place = Place::Console;
                self.user_mode |= line.ends_with("uml");
            }
            (Place::Setup | Place::Console, "```") => self.place = Place::Prose,
            (Place::Prose, heading) if heading.starts_with("## ") => self.end_section(),
            (Place::Setup, command) => self.setup.extend([command, "\n"]),
            (Place::Console, line) => return self.take_console(line),
            (Place::Prose, _) => {}
        }
        self.pieces.push(Piece::Text(line.to_owned()));
    }

    fn take_console(&mut self, line: &str) {
        if let Some(command) = line.strip_prefix("$ ") {
            self.pieces.push(Piece::Command(vec![command.to_owned()], Vec::new()));
        } else if let Some(Piece::Command(command, shown)) = self.pieces.last_mut() {
            match line.strip_prefix("> ") {
                Some(more) if shown.is_empty() => command.push(more.to_owned()),
                _ => shown.push(line.to_owned()),
            }
        }
    }

    fn end_section(&mut self) {
        let kernel = if self.user_mode { Kernel::UserMode } else { Kernel::Host };
        self.user_mode = false;
        self.sections.push(Section { kernel, pieces: std::mem::take(&mut self.pieces) });
    }
}
