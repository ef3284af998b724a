//! `shim`: links under the names that clients of the original start it by.
//!
//! Refuses to touch what it did not make, and then makes nothing at all: under such a name stands somebody's program.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ibeam_output::ShimLine;
use ibeam_protocol::{Failure, Reason};
use rustix::fs::{Access, access};

use super::say;
use crate::app::App;
use crate::stderr;

/// What clients start: the name since 2026, and the one before.
const NAMES: [&str; 2] = ["agent", "cursor-agent"];

/// How a file of this program is usually called: a link to one, here or gone, is a link of ours.
const OURS: &str = "ibeam";

pub(super) fn shim(app: &App, directory: &Path, stdout: &mut File) -> Result<(), Failure> {
    let program = this_program()?;
    let directory = std::path::absolute(directory)
        .map_err(|_| Reason::Usage { said: "the name of the directory is empty".to_owned() })?;
    fs::create_dir_all(&directory).map_err(|error| cannot_create(&directory, &error))?;
    let mut links = Vec::new();
    for name in NAMES {
        let link = directory.join(name);
        let found = look(&link, &program).map_err(|error| cannot_create(&link, &error))?;
        if found == Found::Foreign {
            return Err(taken(&link).into());
        }
        links.push((link, found));
    }
    for (link, found) in links {
        let shown = link.display().to_string();
        let line = match found {
            Found::Standing => ShimLine::Kept { link: &shown },
            Found::Nothing => {
                symlink(&program, &link).map_err(|error| cannot_create(&link, &error))?;
                ShimLine::Made { link: &shown, program: &program.to_string_lossy() }
            }
            Found::Ours => {
                replace(&link, &program).map_err(|error| cannot_create(&link, &error))?;
                ShimLine::Made { link: &shown, program: &program.to_string_lossy() }
            }
            // Looked for above, before anything was made.
            Found::Foreign => return Err(taken(&link).into()),
        };
        say(stdout, &format!("{}\n", app.catalogue.shim(&line)))?;
    }
    tell_who_finds_them(app, &directory, &program);
    Ok(())
}

/// The file of this program: absolute, without links.
fn this_program() -> Result<PathBuf, Reason> {
    std::env::current_exe().and_then(fs::canonicalize).map_err(|error| Reason::NoInput {
        path: std::env::args_os().next().unwrap_or_default().to_string_lossy().into_owned(),
        said: error.to_string(),
    })
}

/// What has the name of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// This program, by a link or as a file.
    Standing,
    /// A link to another file of this program.
    Ours,
    Foreign,
}

fn look(link: &Path, program: &Path) -> io::Result<Found> {
    match fs::symlink_metadata(link) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    if fs::canonicalize(link).is_ok_and(|real| real == program) {
        return Ok(Found::Standing);
    }
    let is_ours = |name: &OsStr| name == OURS || Some(name) == program.file_name();
    let target = fs::read_link(link).ok();
    let ours = target.as_deref().and_then(Path::file_name).is_some_and(is_ours);
    Ok(if ours { Found::Ours } else { Found::Foreign })
}

/// Puts a new link in the place of an old one; there is one at every moment.
fn replace(link: &Path, program: &Path) -> io::Result<()> {
    let new = link.with_added_extension("new");
    symlink(program, &new)?;
    fs::rename(&new, link).inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Says on stderr whether clients that look in `PATH` find these links.
fn tell_who_finds_them(app: &App, directory: &Path, program: &Path) {
    let shown = directory.display().to_string();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let real = directory.canonicalize();
    let is_here = |entry: &PathBuf| {
        entry.canonicalize().is_ok_and(|entry| real.as_ref().is_ok_and(|real| entry == *real))
    };
    if !std::env::split_paths(&path).any(|entry| is_here(&entry)) {
        let command = format!("export PATH={}:\"$PATH\"", quoted(&shown));
        let line = ShimLine::NotInPath { directory: &shown, command: &command };
        return stderr::say(&format!("hint: {}", app.catalogue.shim(&line)));
    }
    stderr::say(&app.catalogue.shim(&ShimLine::InPath { directory: &shown }));
    for name in NAMES {
        let is_program = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
        let first = std::env::split_paths(&path).map(|entry| entry.join(name)).find(is_program);
        if let Some(other) = first.filter(|first| first.canonicalize().is_ok_and(|real| real != program)) {
            let line = ShimLine::Hidden { name, other: &other.to_string_lossy(), directory: &shown };
            stderr::say(&format!("warning: {}", app.catalogue.shim(&line)));
        }
    }
}

/// As a word of a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn taken(link: &Path) -> Reason {
    Reason::NameTaken { path: link.display().to_string() }
}

fn cannot_create(path: &Path, error: &io::Error) -> Reason {
    Reason::CannotCreate { path: path.display().to_string(), said: error.to_string() }
}
