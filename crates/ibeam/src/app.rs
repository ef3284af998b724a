//! What every command starts from: flags, places, configuration, words. Resolved once.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use ibeam_output::{Catalogue, Contract, Locale};
use ibeam_protocol::{Notice, Reason};

use crate::cli::Flags;
use crate::config::Config;
use crate::credentials::Credentials;
use crate::dialect::Voice;
use crate::environment::{catalogue, refuse_what_is_not_text, variable};
use crate::place::Places;
use crate::programs::Programs;
use crate::shortage;
use crate::trust::Trust;

/// The resolved start.
pub(crate) struct App {
    pub(crate) flags: Flags,
    /// The version of the output contract that was asked for.
    pub(crate) asked: Option<Contract>,
    pub(crate) places: Places,
    /// Where programs of ours are found.
    pub(crate) programs: Programs,
    /// Whether the project's files count whole, and those files.
    pub(crate) trust: Trust,
    pub(crate) config: Config,
    pub(crate) credentials: Credentials,
    pub(crate) catalogue: Arc<Catalogue>,
    /// Absolute and resolved.
    pub(crate) workspace: PathBuf,
    pub(crate) started: Instant,
    /// stdout in another program's dialect.
    pub(crate) voice: Option<Voice>,
}

impl App {
    /// Resolves everything from the flags and the environment.
    ///
    /// # Errors
    /// `NoInput` for the workspace, `BadConfig`, `Usage`, `Unsupported`.
    pub(crate) fn new(flags: Flags, voice: Option<Voice>, started: Instant) -> Result<Self, Reason> {
        refuse_what_does_not_exist(&flags)?;
        refuse_what_is_not_text()?;
        // A dialect is made of contract 1.
        let asked = if voice.is_some() { None } else { asked_contract(&flags)? };
        let given = flags.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
        let no_input = |said: String| Reason::NoInput { path: given.display().to_string(), said };
        let unread =
            |error: io::Error| shortage::behind(&error).unwrap_or_else(|| no_input(error.to_string()));
        let workspace = given.canonicalize().map_err(unread)?;
        if !workspace.is_dir() {
            return Err(no_input("not a directory".to_owned()));
        }
        let places = Places::of(&workspace)?;
        let added = flags.add_dir.iter().filter_map(|directory| directory.canonicalize().ok());
        let roots = std::iter::once(workspace.clone()).chain(added).collect();
        let programs = Programs::of(std::env::var_os("PATH").as_deref(), roots);
        let trust = Trust::judge(&flags, &places, &workspace);
        let config = Config::load(&flags, &places, &trust, &variable)?;
        let credentials = Credentials::load(&places.credentials)?;
        let catalogue = match config.text(&["lang"]) {
            None => catalogue(None),
            Some(name) => Catalogue::new(Locale::from_name(name).ok_or_else(|| Reason::Usage {
                said: format!("there is no language `{name}`; there are en, es, id, ja, fr, pt"),
            })?),
        };
        let catalogue = Arc::new(catalogue);
        Ok(Self {
            flags,
            asked,
            places,
            programs,
            trust,
            config,
            credentials,
            catalogue,
            workspace,
            started,
            voice,
        })
    }

    /// What to say of arguments of another program's that were left out.
    pub(crate) fn ignored_arguments(&self) -> Option<Notice> {
        let live = self.voice.as_ref().map(Voice::live).filter(|live| !live.ignored.is_empty())?;
        let (dialect, arguments) = (live.dialect.to_string(), live.ignored.join(", "));
        Some(Notice::ArgumentsIgnored { dialect, arguments })
    }

    /// The version of the output contract that holds.
    pub(crate) fn contract(&self) -> Contract {
        self.asked.unwrap_or_default()
    }
}

/// Flags of the original whose feature this version does not have, where ignoring them would mislead.
fn refuse_what_does_not_exist(flags: &Flags) -> Result<(), Reason> {
    let unsupported = |what: &str| Err(Reason::Unsupported { what: what.to_owned() });
    if flags.insecure {
        return unsupported("--insecure");
    }
    if flags.worktree.is_some() {
        return unsupported("--worktree");
    }
    if flags.cloud {
        return unsupported("--cloud");
    }
    // Where it comes first, it has been taken off.
    if let Some(dialect) = &flags.dialect {
        return Err(Reason::Usage { said: format!("`--dialect {dialect}` must be the first argument") });
    }
    Ok(())
}

/// What `--contract`, else `IBEAM_CONTRACT` says.
fn asked_contract(flags: &Flags) -> Result<Option<Contract>, Reason> {
    let Some(name) = flags.contract.clone().or_else(|| variable("IBEAM_CONTRACT")) else { return Ok(None) };
    let known = Contract::from_name(&name);
    known.map(Some).ok_or_else(|| Reason::Usage {
        said: format!(
            "there is no contract `{name}`; there are {}",
            Contract::ALL.map(Contract::name).join(" and ")
        ),
    })
}
