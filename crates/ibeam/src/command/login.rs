//! `login` and `logout`: store and delete API keys.
//!
//! Reads the key from the terminal without echo, or from a pipe. A key among the arguments is accepted only as
//! `--api-key`, which is removed from the command line of the process.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;

use ibeam_config::Credentials;
use ibeam_output::SubcommandLine;
use ibeam_protocol::{Failure, Reason};
use ibeam_providers::{KnownProvider, known_provider};
use rustix::termios::{LocalModes, OptionalActions, isatty, tcgetattr, tcsetattr};

use super::print_text;
use crate::app::AppContext;
use crate::cli_error::CliError;
use crate::model::check_provider_name;

const DEFAULT_PROVIDER: &str = "anthropic";

pub(super) fn login(app: &AppContext, provider: Option<&str>, stdout: &mut File) -> Result<(), CliError> {
    let provider = check_provider_name(app, provider.unwrap_or(DEFAULT_PROVIDER))?;
    let key = match &app.base.flags.api_key {
        Some(key) => key.clone(),
        None if known_provider(&provider).is_some_and(KnownProvider::is_keyless) => {
            let detail = format!(
                "`{provider}` needs no key: `--model {provider}/NAME` uses it; `ibeam login {provider} --api-key KEY` \
                 stores one all the same"
            );
            return Err(Reason::Usage { detail }.into());
        }
        None => read_key(&provider)?,
    };
    let key = key.trim();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(Reason::Usage { detail: "a key is one word without spaces".to_owned() }.into());
    }
    let mut credentials = Credentials::load(&app.dirs.credentials)?;
    credentials.store(&provider, key)?;
    print_text(
        stdout,
        &format!("Logged in to {provider}: the key is stored in {}\n", app.dirs.credentials.display()),
    )
}

pub(super) fn logout(app: &AppContext, provider: Option<&str>, stdout: &mut File) -> Result<(), CliError> {
    let provider = provider.map(|name| check_provider_name(app, name)).transpose()?;
    let mut credentials = Credentials::load(&app.dirs.credentials)?;
    let removed = credentials.remove(provider.as_deref())?;
    let count = u64::try_from(removed).unwrap_or(u64::MAX);
    print_text(stdout, &format!("{}\n", app.base.catalogue.line(&SubcommandLine::LoggedOut { count })))
}

/// Reads one line, without echo on a terminal.
fn read_key(provider: &str) -> Result<String, Failure> {
    let failed = |error: io::Error| Reason::Io { what: "stdin".to_owned(), detail: error.to_string() };
    let stdin = io::stdin();
    let no_echo = if isatty(stdin.as_fd()) { Some(NoEcho::start(provider)?) } else { None };
    let mut key = String::new();
    stdin.lock().read_line(&mut key).map_err(failed)?;
    drop(no_echo);
    Ok(key)
}

/// The terminal without echo, until dropped.
struct NoEcho {
    previous: rustix::termios::Termios,
}

impl NoEcho {
    fn start(provider: &str) -> Result<Self, Failure> {
        let failed =
            |error: rustix::io::Errno| Reason::Io { what: "tty".to_owned(), detail: error.to_string() };
        drop(write!(io::stderr(), "key for {provider}: "));
        let previous = tcgetattr(io::stdin()).map_err(failed)?;
        let mut settings = previous.clone();
        settings.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &settings).map_err(failed)?;
        Ok(Self { previous })
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.previous);
        drop(writeln!(io::stderr()));
    }
}
