//! The lines of the report on the names that clients start this program under.

use super::words::Words;

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

pub(crate) fn words(line: &ShimLine<'_>) -> Words {
    match *line {
        ShimLine::Created { link, program } => {
            Words::new("shim-made").text("link", link).text("program", program)
        }
        ShimLine::Unchanged { link } => Words::new("shim-kept").text("link", link),
        ShimLine::InPath { directory } => Words::new("shim-in-path").text("directory", directory),
        ShimLine::NotInPath { directory, command } => {
            Words::new("shim-not-in-path").text("directory", directory).text("command", command)
        }
        ShimLine::Shadowed { name, other, directory } => {
            Words::new("shim-hidden").text("name", name).text("other", other).text("directory", directory)
        }
    }
}
