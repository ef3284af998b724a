//! `shim`: creates links under the names by which clients start the Cursor CLI, and scripts under the names of programs
//! whose dialect ibeam writes.
//!
//! Refuses to replace a file that `shim` did not create, because it is another program. In this case no file is
//! created.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ibeam_agent::app::BaseContext;
use ibeam_agent::stderr;
use ibeam_files::regular_file;
use ibeam_output::ShimLine;
use ibeam_protocol::{Reason, SessionId, sentence};
use rustix::fs::{Access, access};

use super::facts::CommandFacts;
use super::printing::print_text;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;

/// Create links `agent` and `cursor-agent` to this program, for clients that start those names
#[derive(Args, Clone, Debug)]
pub(crate) struct ShimArgs {
    /// The directory for the links; created if it is missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Also create a script `claude` or `codex`, which prints in the format of that agent
    #[arg(long, value_enum, value_delimiter = ',', value_name = "DIALECT")]
    dialect: Vec<ScriptedDialect>,
}

/// A dialect for which `shim` can write a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScriptedDialect {
    /// The script `claude`
    Claude,
    /// The script `codex`
    Codex,
}

impl SubCommand for ShimArgs {
    const FACTS: CommandFacts =
        CommandFacts::new("shim").uses(&[]).with_examples(&["ibeam shim bin --dialect claude,codex"]);
    const IS_OFFLINE: bool = true;

    fn execute_offline(&self, base: &BaseContext, call: Call<'_>) -> Result<ExitCode, CliError> {
        shim(base, &self.directory, &self.dialect, call.stdout).map(success)
    }
}

/// The names that clients start: the current one, since 2026, and the earlier one.
const LINK_NAMES: [&str; 2] = ["agent", "cursor-agent"];

/// The usual file name of this program. A link to a file of this name was created by `shim`.
const PROGRAM_NAME: &str = "ibeam";

/// The start of every script that `shim` creates.
const SCRIPT_HEAD: &[u8] = b"#!/bin/sh\n# Made by `ibeam shim`, which may replace it.\n";

/// The size limit of a script in bytes; a longer file was not created by `shim`.
const MAX_SCRIPT_BYTES: u64 = 64 * 1024;

fn shim(
    base: &BaseContext,
    directory: &Path,
    dialects: &[ScriptedDialect],
    stdout: &mut File,
) -> Result<(), CliError> {
    let program = this_program()?;
    let directory = std::path::absolute(directory)
        .map_err(|_| Reason::Usage { detail: sentence!("the name of the directory is empty") })?;
    fs::create_dir_all(&directory).map_err(|error| match error.kind() {
        // The system's error for an existing file that is not a directory.
        io::ErrorKind::AlreadyExists => cannot_create(&directory, &io::ErrorKind::NotADirectory.into()),
        _ => cannot_create(&directory, &error),
    })?;
    let links = LINK_NAMES
        .map(|name| Shim { path: directory.join(name), content: ShimContent::Link(program.clone()) });
    let scripts = dialects.iter().map(|dialect| Shim {
        path: directory.join(name_of(*dialect)),
        content: ShimContent::Script(script(&program, *dialect)),
    });
    let mut shims = Vec::new();
    for shim in links.into_iter().chain(scripts) {
        let found = shim.find_existing().map_err(|error| cannot_create(&shim.path, &error))?;
        if found == ExistingFile::Foreign {
            return Err(shim.name_taken());
        }
        shims.push((shim, found));
    }
    for (shim, found) in &shims {
        let shown = shim.path.display().to_string();
        let line = match found {
            ExistingFile::UpToDate => ShimLine::Unchanged { link: &shown },
            ExistingFile::Missing | ExistingFile::Replaceable => {
                shim.create(*found).map_err(|error| cannot_create(&shim.path, &error))?;
                ShimLine::Created { link: &shown, program: &program.to_string_lossy() }
            }
            // Checked above, before any file was created.
            ExistingFile::Foreign => return Err(shim.name_taken()),
        };
        print_text(stdout, &format!("{}\n", base.catalogue.line(&line)))?;
    }
    let created: Vec<&Path> = shims.iter().map(|(shim, _)| shim.path.as_path()).collect();
    report_path_lookup(base, &directory, &created);
    Ok(())
}

/// Returns the path of this program: absolute, with links resolved.
fn this_program() -> Result<PathBuf, Reason> {
    std::env::current_exe().and_then(fs::canonicalize).map_err(|error| Reason::NoInput {
        path: std::env::args_os().next().unwrap_or_default().to_string_lossy().into_owned(),
        detail: error.to_string(),
    })
}

fn name_of(dialect: ScriptedDialect) -> &'static str {
    match dialect {
        ScriptedDialect::Claude => "claude",
        ScriptedDialect::Codex => "codex",
    }
}

/// Returns a script that starts the program with a dialect. A link cannot pass this argument.
fn script(program: &Path, dialect: ScriptedDialect) -> Vec<u8> {
    let program = quoted(program.as_os_str());
    [SCRIPT_HEAD, b"exec ", &program, b" --dialect ", name_of(dialect).as_bytes(), b" \"$@\"\n"].concat()
}

/// A file that starts this program under another name.
struct Shim {
    path: PathBuf,
    content: ShimContent,
}

enum ShimContent {
    Link(PathBuf),
    Script(Vec<u8>),
}

/// The existing file under the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExistingFile {
    /// No file.
    Missing,
    /// A link to this program, or the same script.
    UpToDate,
    /// A link or script that `shim` created for another file of this program.
    Replaceable,
    /// Any other file, which is not replaced.
    Foreign,
}

impl Shim {
    fn find_existing(&self) -> io::Result<ExistingFile> {
        let kind = match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ExistingFile::Missing),
            Err(error) => return Err(error),
            Ok(found) => found.file_type(),
        };
        Ok(match &self.content {
            ShimContent::Link(program) => {
                let is_program_name =
                    |name: &OsStr| name == PROGRAM_NAME || Some(name) == program.file_name();
                let target = fs::read_link(&self.path).ok();
                match target.as_deref().and_then(Path::file_name) {
                    _ if fs::canonicalize(&self.path).is_ok_and(|real| real == *program) => {
                        ExistingFile::UpToDate
                    }
                    Some(name) if is_program_name(name) => ExistingFile::Replaceable,
                    Some(_) | None => ExistingFile::Foreign,
                }
            }
            ShimContent::Script(script) if kind.is_file() => {
                match regular_file::read(&self.path, MAX_SCRIPT_BYTES) {
                    Ok(text) if text == *script => ExistingFile::UpToDate,
                    Ok(text) if text.starts_with(SCRIPT_HEAD) => ExistingFile::Replaceable,
                    Ok(_) | Err(_) => ExistingFile::Foreign,
                }
            }
            ShimContent::Script(_) => ExistingFile::Foreign,
        })
    }

    /// Creates the link or script. A script is written under another name first, so that it is never incomplete. If
    /// `found` is `Missing`, a file that another process created meanwhile is not replaced.
    fn create(&self, found: ExistingFile) -> io::Result<()> {
        // Unique, so that no other process has this name, and no earlier call left it.
        let new = self.path.with_added_extension(format!("{}.new", SessionId::random()));
        match &self.content {
            ShimContent::Link(program) if found == ExistingFile::Missing => {
                return symlink(program, &self.path);
            }
            ShimContent::Link(program) => symlink(program, &new)?,
            ShimContent::Script(script) => {
                OpenOptions::new().write(true).create_new(true).mode(0o755).open(&new)?.write_all(script)?;
            }
        }
        let placed = match found {
            ExistingFile::Missing => fs::hard_link(&new, &self.path).and_then(|()| fs::remove_file(&new)),
            ExistingFile::UpToDate | ExistingFile::Replaceable | ExistingFile::Foreign => {
                fs::rename(&new, &self.path)
            }
        };
        placed.inspect_err(|_| drop(fs::remove_file(&new)))
    }

    fn name_taken(&self) -> CliError {
        CliError::NameTaken { path: self.path.display().to_string() }
    }
}

/// Reports on stderr whether clients find the links and scripts through `PATH`.
fn report_path_lookup(base: &BaseContext, directory: &Path, created: &[&Path]) {
    let shown = directory.display().to_string();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let real = directory.canonicalize();
    let is_here = |entry: &PathBuf| {
        entry.canonicalize().is_ok_and(|entry| real.as_ref().is_ok_and(|real| entry == *real))
    };
    if !std::env::split_paths(&path).any(|entry| is_here(&entry)) {
        let quoted = quoted(directory.as_os_str());
        let command = format!("export PATH={}:\"$PATH\"", String::from_utf8_lossy(&quoted));
        let line = ShimLine::NotInPath { directory: &shown, command: &command };
        return stderr::write_line(&format!("hint: {}", base.catalogue.line(&line)));
    }
    stderr::write_line(&base.catalogue.line(&ShimLine::InPath { directory: &shown }));
    for shim in created {
        let Some(name) = shim.file_name() else { continue };
        let is_program = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
        let first = std::env::split_paths(&path).map(|entry| entry.join(name)).find(is_program);
        let is_other = |first: &PathBuf| first.canonicalize().ok() != shim.canonicalize().ok();
        if let Some(other) = first.filter(is_other) {
            let (name, other) = (name.to_string_lossy(), other.to_string_lossy());
            let line = ShimLine::Shadowed { name: &name, other: &other, directory: &shown };
            stderr::write_line(&format!("warning: {}", base.catalogue.line(&line)));
        }
    }
}

/// Quotes an argument for a shell.
fn quoted(arg: &OsStr) -> Vec<u8> {
    let bytes = arg.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@%".contains(byte);
    if bytes.iter().all(plain) {
        return bytes.to_vec();
    }
    let mut quoted = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => quoted.extend_from_slice(br"'\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

fn cannot_create(path: &Path, error: &io::Error) -> Reason {
    Reason::CannotCreate { path: path.display().to_string(), detail: error.to_string() }
}
