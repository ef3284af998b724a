//! The lines of the report on the names that clients start this program under.

use super::message::Message;

/// What `shim` says, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field's name and its variant's sentence say it all")]
pub enum ShimLine<'a> {
    /// It was made, or made anew.
    Created { link: &'a str, program: &'a str },
    /// It was as it should be.
    Unchanged { link: &'a str },
    /// Clients will find it.
    InPath { directory: &'a str },
    /// They will not; `command` changes that.
    NotInPath { directory: &'a str, command: &'a str },
    /// They will find another program under this name first.
    Shadowed { name: &'a str, other: &'a str, directory: &'a str },
}

pub(crate) fn message_for(line: &ShimLine<'_>) -> Message {
    match *line {
        ShimLine::Created { link, program } => {
            Message::new("shim-made").text("link", link).text("program", program)
        }
        ShimLine::Unchanged { link } => Message::new("shim-kept").text("link", link),
        ShimLine::InPath { directory } => Message::new("shim-in-path").text("directory", directory),
        ShimLine::NotInPath { directory, command } => {
            Message::new("shim-not-in-path").text("directory", directory).text("command", command)
        }
        ShimLine::Shadowed { name, other, directory } => {
            Message::new("shim-hidden").text("name", name).text("other", other).text("directory", directory)
        }
    }
}
