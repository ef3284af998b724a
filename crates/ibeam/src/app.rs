//! What every command starts from: flags, directories, configuration, catalogue. Resolved once.
//!
//! A command that needs nothing of this user's starts from less: what is broken or missing there does not stop it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use ibeam_config::{Config, ConfigError, Credentials, Dirs, Origin, Trust};
use ibeam_output::{Catalogue, Contract, Locale};
use ibeam_protocol::{FailureCode, Notice, Reason};
use rustix::fs::{Access, access};

use crate::cli::Flags;
use crate::dialect::DialectWriter;
use crate::environment::{catalogue, reject_non_utf8_variables, variable};
use crate::programs::Programs;
use crate::resource_exhaustion;

/// What a command starts from that needs nothing of this user's.
pub(crate) struct BaseContext {
    pub(crate) flags: Flags,
    /// The version of the output contract that was asked for.
    requested_contract: Option<Contract>,
    pub(crate) config: Config,
    /// What is wrong with the configuration of a command that does not need it to be right.
    pub(crate) config_errors: Vec<Reason>,
    pub(crate) catalogue: Arc<Catalogue>,
}

/// What a command makes of a configuration that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigUse {
    /// It is reject_unsupported_flags.
    Needed,
    /// What could be read is shown; then the fault is the failure of the command.
    Shown,
    /// The fault is a warning.
    Incidental,
}

/// What runs start from, and commands that look after what belongs to this user.
pub(crate) struct AppContext {
    pub(crate) base: BaseContext,
    pub(crate) dirs: Dirs,
    /// Where programs of ours are found.
    pub(crate) programs: Programs,
    /// Whether the project's files count whole, and those files.
    pub(crate) trust: Trust,
    pub(crate) credentials: Credentials,
    /// Absolute and resolved.
    pub(crate) workspace: PathBuf,
    pub(crate) started_at: Instant,
    /// stdout in another program's dialect.
    pub(crate) dialect_writer: Option<DialectWriter>,
}

impl BaseContext {
    /// Resolves the flags alone; the configuration counts where it is whole and there is a place for it.
    ///
    /// # Errors
    /// `Usage`, `NotText`, `Unsupported`.
    pub(crate) fn offline(flags: Flags, dialect_writer: Option<&DialectWriter>) -> Result<Self, Reason> {
        let requested_contract =
            reject_unsupported_flags(&flags).and_then(|()| requested_contract(&flags, dialect_writer))?;
        let whole = || {
            let (workspace, dirs) = resolve_workspace(&flags)?;
            let trust = Trust::evaluate(flags.trust_request(), &dirs, &workspace);
            let config = Config::load(&flags.settings(), &dirs, &trust, &variable)?;
            let catalogue = catalogue_of(&config)?;
            Ok::<_, Reason>((config, catalogue))
        };
        let bare = |_: Reason| {
            let config = Config::from_flags(&flags.settings())?;
            let catalogue = catalogue_of(&config)?;
            Ok::<_, Reason>((config, catalogue))
        };
        let (config, catalogue) = whole().or_else(bare)?;
        Ok(Self { flags, requested_contract, config, config_errors: Vec::new(), catalogue })
    }

    /// The version of the output contract that was asked for.
    pub(crate) fn requested_contract(&self) -> Option<Contract> {
        self.requested_contract
    }

    /// The version of the output contract that holds.
    pub(crate) fn contract(&self) -> Contract {
        self.requested_contract.unwrap_or_default()
    }
}

impl AppContext {
    /// Resolves everything from the flags and the environment.
    ///
    /// # Errors
    /// `NoInput` for the workspace, `Usage`, `Unsupported`; `BadConfig` where the configuration is needed.
    pub(crate) fn new(
        flags: Flags,
        dialect_writer: Option<DialectWriter>,
        config_use: ConfigUse,
        started_at: Instant,
    ) -> Result<Self, Reason> {
        let requested_contract = reject_unsupported_flags(&flags)
            .and_then(|()| requested_contract(&flags, dialect_writer.as_ref()))?;
        let (workspace, dirs) = resolve_workspace(&flags)?;
        let added = flags.add_dir.iter().filter_map(|directory| directory.canonicalize().ok());
        let roots = std::iter::once(workspace.clone()).chain(added).collect();
        let programs = Programs::new(std::env::var_os("PATH").as_deref(), roots);
        let trust = Trust::evaluate(flags.trust_request(), &dirs, &workspace);
        let is_needed = config_use == ConfigUse::Needed;
        let settings = flags.settings();
        let (config, errors) = match is_needed {
            true => (Config::load(&settings, &dirs, &trust, &variable)?, Vec::new()),
            false => Config::load_readable(&settings, &dirs, &trust, &variable)?,
        };
        let mut config_errors: Vec<Reason> = errors.into_iter().map(Reason::from).collect();
        let mut pass_over = |fault: Reason| match is_needed || fault.code() != FailureCode::Config {
            true => Err(fault),
            false => {
                config_errors.push(fault);
                Ok(())
            }
        };
        let none = |()| Credentials::empty(&dirs.credentials);
        let credentials =
            Credentials::load(&dirs.credentials).or_else(|error| pass_over(error.into()).map(none))?;
        let of_environment = |()| Arc::new(catalogue(None));
        let catalogue = catalogue_of(&config).or_else(|error| pass_over(error.into()).map(of_environment))?;
        let base = BaseContext { flags, requested_contract, config, config_errors, catalogue };
        Ok(Self { base, dirs, programs, trust, credentials, workspace, started_at, dialect_writer })
    }

    /// What to say of arguments of another program's that were left out.
    pub(crate) fn ignored_arguments_notice(&self) -> Option<Notice> {
        let options = self
            .dialect_writer
            .as_ref()
            .map(DialectWriter::options)
            .filter(|options| !options.ignored_arguments.is_empty())?;
        let (dialect, arguments) = (options.dialect.to_string(), options.ignored_arguments.join(", "));
        Some(Notice::ArgumentsIgnored { dialect, arguments })
    }
}

/// The workspace, absolute and resolved, and the directories of this user and of the project in it.
///
/// # Errors
/// `NoInput` for the workspace; `CannotCreate` where no home says where.
pub(crate) fn resolve_workspace(flags: &Flags) -> Result<(PathBuf, Dirs), Reason> {
    let given = flags.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let no_input = |detail: String| Reason::NoInput { path: given.display().to_string(), detail };
    let unread = |error: io::Error| {
        resource_exhaustion::from_io_error(&error).unwrap_or_else(|| no_input(error.to_string()))
    };
    let workspace = given.canonicalize().map_err(unread)?;
    if !workspace.is_dir() {
        return Err(no_input("not a directory".to_owned()));
    }
    // The files in it would each be called unreadable.
    access(&workspace, Access::EXEC_OK).map_err(|errno| unread(errno.into()))?;
    let dirs = Dirs::for_workspace(&workspace)?;
    Ok((workspace, dirs))
}

/// Words for people, in the language of the configuration.
fn catalogue_of(config: &Config) -> Result<Arc<Catalogue>, ConfigError> {
    let catalogue = match config.text(&["lang"]) {
        None => catalogue(None),
        Some(name) => Catalogue::new(Locale::from_name(name).ok_or_else(|| {
            let said = format!("unknown language `{name}`; use one of: en, es, id, ja, fr, pt");
            let origin = config.get(&["lang"]).map_or(&Origin::Default, |setting| &setting.origin);
            origin.invalid(said)
        })?),
    };
    Ok(Arc::new(catalogue))
}

/// Holds that the environment is text, and that no flag of the original is given whose feature this version does not
/// have, where ignoring it would mislead.
fn reject_unsupported_flags(flags: &Flags) -> Result<(), Reason> {
    let unsupported = |what: &str| Err(Reason::Unsupported { what: what.to_owned() });
    reject_non_utf8_variables()?;
    reject_empty_values(flags)?;
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
        return Err(Reason::Usage { detail: format!("`--dialect {dialect}` must be the first argument") });
    }
    Ok(())
}

/// Holds that no flag is given an empty value or a bound of 0. An empty variable is as good as none, but a flag was meant
/// to change something: most likely a variable of a script was not set.
///
/// # Errors
/// `Usage` with the flag.
fn reject_empty_values(flags: &Flags) -> Result<(), Reason> {
    let texts = [
        ("--model", &flags.model),
        ("--api-key", &flags.api_key),
        ("--endpoint", &flags.endpoint),
        ("--approval", &flags.approval),
        ("--timeout", &flags.timeout),
        ("--max-cost", &flags.max_cost),
        ("--lang", &flags.lang),
        ("--contract", &flags.contract),
    ];
    let lists = [
        ("--allow", &flags.allow),
        ("--ask", &flags.ask),
        ("--deny", &flags.deny),
        ("--allow-net", &flags.allow_net),
        ("--allow-socket", &flags.allow_socket),
        ("--without", &flags.without),
        ("--header", &flags.header),
        ("--mcp-config", &flags.mcp_config),
    ];
    let path = |flag, path: &'_ PathBuf| (flag, path.to_string_lossy().into_owned());
    let given = texts
        .into_iter()
        .filter_map(|(flag, text)| Some((flag, text.clone()?)))
        .chain(lists.into_iter().flat_map(|(flag, texts)| texts.iter().map(move |text| (flag, text.clone()))))
        .chain(flags.workspace.iter().map(|found| path("--workspace", found)))
        .chain(flags.add_dir.iter().map(|found| path("--add-dir", found)));
    for (flag, text) in given {
        if text.trim().is_empty() {
            return Err(Reason::Usage {
                detail: format!("`{flag}` is empty; give it a value or leave it out"),
            });
        }
    }
    if flags.heartbeat == Some(0) {
        let detail = "`--heartbeat 0` should be a number of seconds above 0".to_owned();
        return Err(Reason::Usage { detail });
    }
    Ok(())
}

/// The version of the output contract that flags and variables ask for; the usual one where they are wrong.
pub(crate) fn contract_or_default(flags: &Flags, dialect_writer: Option<&DialectWriter>) -> Contract {
    requested_contract(flags, dialect_writer).ok().flatten().unwrap_or_default()
}

/// What `--contract`, else `IBEAM_CONTRACT` says.
fn requested_contract(
    flags: &Flags,
    dialect_writer: Option<&DialectWriter>,
) -> Result<Option<Contract>, Reason> {
    if dialect_writer.is_some() {
        // A dialect is made of contract 1.
        return Ok(None);
    }
    let Some(name) = flags.contract.clone().or_else(|| variable("IBEAM_CONTRACT")) else { return Ok(None) };
    let known = Contract::from_name(&name);
    known.map(Some).ok_or_else(|| Reason::Usage {
        detail: format!(
            "unknown contract `{name}`; use {}",
            Contract::ALL.map(Contract::as_str).join(" or ")
        ),
    })
}
