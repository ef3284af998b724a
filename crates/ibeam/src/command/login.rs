//! `login` and `logout`: store and delete API keys.
//!
//! Reads the key from the terminal without echo, or from a pipe. A key among the arguments is accepted only as
//! `--api-key`, which is removed from the command line of the process. A key that the service rejects is not stored.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::key_check::{check_key, store_key};
use ibeam_agent::model::{self, check_provider_name};
use ibeam_agent::stderr;
use ibeam_config::Credentials;
use ibeam_conversation::NoEcho;
use ibeam_output::SubcommandLine;
use ibeam_protocol::{Failure, Reason, sentence};
use ibeam_providers::{KnownProvider, known_provider};
use rustix::termios::isatty;

use super::facts::{CURSOR_FLAGS, CommandFacts};
use super::printing::print_text;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;

/// Store the key of a provider
#[derive(Args, Clone, Debug)]
pub(crate) struct LoginArgs {
    /// The provider; a terminal asks for it, otherwise anthropic
    provider: Option<String>,
    /// Store the key without asking the service whether it is valid
    #[arg(long)]
    no_check: bool,
}

impl SubCommand for LoginArgs {
    const FACTS: CommandFacts = CommandFacts::new("login")
        .uses(&["api_key", "ca_file", "client_cert", "client_key", "header"])
        .ignores(CURSOR_FLAGS)
        .with_examples(&["ibeam login anthropic", "ibeam login openrouter --no-check"]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Incidental
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        login(app, self.provider.as_deref(), self.no_check, call.stdout).map(success)
    }
}

/// Delete the stored key of a provider
#[derive(Args, Clone, Debug)]
pub(crate) struct LogoutArgs {
    /// The provider [default: the only one with a stored key; with several, a terminal asks]
    provider: Option<String>,
    /// Delete the stored keys of all providers
    #[arg(long, conflicts_with = "provider")]
    all: bool,
}

impl SubCommand for LogoutArgs {
    const FACTS: CommandFacts = CommandFacts::new("logout")
        .uses(&[])
        .ignores(CURSOR_FLAGS)
        .with_examples(&["ibeam logout anthropic"]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Incidental
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        logout(app, self.provider.as_deref(), self.all, call.stdout).map(success)
    }
}

const DEFAULT_PROVIDER: &str = "anthropic";

fn login(
    app: &AppContext,
    provider: Option<&str>,
    no_check: bool,
    stdout: &mut File,
) -> Result<(), CliError> {
    let provider = match provider {
        Some(provider) => provider.to_owned(),
        None => ask_provider(app)?,
    };
    let provider = check_provider_name(app, &provider)?;
    let key = match &app.base.options.api_key {
        Some(key) => key.clone(),
        None if known_provider(&provider).is_some_and(KnownProvider::is_keyless) => {
            let detail = sentence!(
                "`{provider}` needs no key: `--model {provider}/NAME` uses it; `ibeam login {provider} --api-key KEY` \
                 stores one all the same",
                provider,
            );
            return Err(Reason::Usage { detail }.into());
        }
        None => read_key(app, &provider)?,
    };
    let key = key.trim();
    if key.is_empty() {
        return Err(Reason::Usage { detail: sentence!("the key is empty") }.into());
    }
    if key.contains(char::is_whitespace) {
        return Err(Reason::Usage { detail: sentence!("a key is one word without spaces") }.into());
    }
    let check = match no_check {
        true => None,
        false => Some(ibeam_agent::run::run_command(None, check_key(app, &provider, key))?),
    };
    let text = store_key(app, &provider, key, check.as_ref())?;
    print_text(stdout, &format!("{text}\n"))?;
    if let Some(source) = model::overriding_key(app, &provider) {
        warn(app, &SubcommandLine::KeyOverridden { source: &source });
    }
    Ok(())
}

fn logout(app: &AppContext, provider: Option<&str>, all: bool, stdout: &mut File) -> Result<(), CliError> {
    let provider = provider.map(|name| check_provider_name(app, name)).transpose()?;
    let mut credentials = Credentials::load(&app.dirs.credentials)?;
    let provider = match provider {
        None if !all => choose_stored_provider(app, &credentials)?,
        provider => provider,
    };
    let removed = credentials.remove(provider.as_deref())?;
    let line = match &provider {
        Some(provider) if removed > 0 => SubcommandLine::KeyDeleted { provider },
        Some(_) | None => SubcommandLine::LoggedOut { count: u64::try_from(removed).unwrap_or(u64::MAX) },
    };
    print_text(stdout, &format!("{}\n", app.base.catalogue.line(&line)))?;
    for provider in provider.map_or_else(|| model::provider_names(app), |provider| vec![provider]) {
        if let Some(source) = model::overriding_key(app, &provider) {
            warn(app, &SubcommandLine::KeyRemains { provider: &provider, source: &source });
        }
    }
    Ok(())
}

/// Returns the only provider with a stored key, or the one that a person names on a terminal; `None` if no key is stored.
///
/// # Errors
/// `Usage` for several stored keys where nobody can be asked, and for an empty answer.
fn choose_stored_provider(app: &AppContext, credentials: &Credentials) -> Result<Option<String>, CliError> {
    let stored: Vec<&str> = credentials.providers().collect();
    if stored.len() < 2 {
        return Ok(stored.first().map(|provider| (*provider).to_owned()));
    }
    let providers = stored.join(", ");
    if !isatty(io::stdin().as_fd()) {
        let detail = sentence!(
            "keys of several providers are stored ({providers}); name one of them, or give `--all`",
            providers,
        );
        return Err(Reason::Usage { detail }.into());
    }
    print_question(app, &SubcommandLine::LogoutQuestion { providers: &providers });
    let line = read_line()?;
    match line.trim() {
        "" => Err(Reason::Usage { detail: sentence!("nothing was removed") }.into()),
        name => Ok(Some(check_provider_name(app, name)?)),
    }
}

/// Warns of a key that no command stores or deletes.
fn warn(app: &AppContext, line: &SubcommandLine<'_>) {
    stderr::write_line(&format!("warning: {}", app.base.catalogue.line(line)));
}

/// Returns the provider that a person names on a terminal, or the default: a script gives only the key. Asks again after a
/// name that no provider has.
fn ask_provider(app: &AppContext) -> Result<String, Failure> {
    if !isatty(io::stdin().as_fd()) || app.base.options.api_key.is_some() {
        return Ok(DEFAULT_PROVIDER.to_owned());
    }
    loop {
        print_question(app, &SubcommandLine::ProviderQuestion { provider: DEFAULT_PROVIDER });
        let line = read_line()?;
        let name = match line.trim() {
            "" => DEFAULT_PROVIDER,
            name => name,
        };
        match check_provider_name(app, name) {
            // At the end of the input, no further answer comes.
            Err(reason) if line.ends_with('\n') => {
                stderr::write_line(&app.base.catalogue.reason(&reason).to_string());
            }
            checked => return Ok(checked?),
        }
    }
}

/// Reads one line, without echo on a terminal.
fn read_key(app: &AppContext, provider: &str) -> Result<String, Failure> {
    let no_echo = if isatty(io::stdin().as_fd()) {
        let no_echo = NoEcho::start()?;
        print_question(app, &SubcommandLine::KeyQuestion { provider });
        Some(no_echo)
    } else {
        None
    };
    let key = read_line();
    drop(no_echo);
    key
}

/// Prints a question to stderr, without a new line.
fn print_question(app: &AppContext, question: &SubcommandLine<'_>) {
    drop(write!(io::stderr(), "{} ", app.base.catalogue.prompt(question)));
}

fn read_line() -> Result<String, Failure> {
    let failed = |error: io::Error| Reason::Io { what: "stdin".to_owned(), detail: error.to_string() };
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(failed)?;
    Ok(line)
}
