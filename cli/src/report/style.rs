//! The colours of reports. They reach terminals only: everything is written through `anstream`.

use anstyle::{AnsiColor, Style};

/// Nothing special.
pub const PLAIN: Style = Style::new();
/// A name or a heading.
pub const NAME: Style = Style::new().bold();
/// What goes well.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What goes wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What needs a look.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
