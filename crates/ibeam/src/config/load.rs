//! The layers of the configuration, from the weakest to the strongest.
//!
//! Refuses what a project may not set, a flag that contradicts the managed file, and a token that is none.

use std::path::{Path, PathBuf};

use ibeam_policy::Rule;
use ibeam_protocol::{Notice, Reason};

use super::keys::{KEYS, Key, ProjectScope};
use super::layer::{Entry, Layer, Owner};
use super::value::{Kind, Value};
use super::{Config, Origin, Setting, cursor, source, toml};
use crate::cli::{BackgroundArg, Flags, Switch};
use crate::dirs::Dirs;
use crate::trust::Trust;

/// A file full of unknown keys is not a configuration; nobody reads more warnings.
const UNKNOWN_KEYS_TOLD: usize = 10;

/// The bytes of a file; `None` where there is none.
type Read<'a> = dyn Fn(&Path) -> Result<Option<Vec<u8>>, Reason> + 'a;

/// Decides whether loading continues after a fault of a file or variable.
pub(super) type OnFault<'a> = dyn FnMut(Reason) -> Result<(), Reason> + 'a;

impl Config {
    /// Reads the files in `dirs`, the environment and the flags. A project's file counts in full where `trust` is
    /// given.
    ///
    /// # Errors
    /// `BadConfig` with file, line and column; an unknown key is a notice only.
    pub(crate) fn load(
        flags: &Flags,
        dirs: &Dirs,
        trust: &Trust,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Reason> {
        Self::assemble(flags, dirs, trust, variable, &mut Err)
    }

    /// Loads like `load`, without the values that are wrong and the files that cannot be read. Returns their faults too.
    ///
    /// Nothing may run by this configuration: a rule that denies may be among what is missing.
    ///
    /// # Errors
    /// `Usage` for a flag.
    pub(crate) fn load_readable(
        flags: &Flags,
        dirs: &Dirs,
        trust: &Trust,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<Reason>), Reason> {
        let mut faults = Vec::new();
        let mut on_fault = |fault| {
            faults.push(fault);
            Ok(())
        };
        let config = Self::assemble(flags, dirs, trust, variable, &mut on_fault)?;
        Ok((config, faults))
    }

    fn assemble(
        flags: &Flags,
        dirs: &Dirs,
        trust: &Trust,
        variable: &dyn Fn(&str) -> Option<String>,
        on_fault: &mut OnFault<'_>,
    ) -> Result<Self, Reason> {
        let mut config = Self::from_defaults();
        let (ours, theirs) = (&dirs.user_config, &dirs.user_cursor);
        config.take_files(ours, theirs, Owner::User, &source::read, on_fault)?;
        let project = Owner::Project { trusted: trust.is_trusted() };
        let theirs = std::slice::from_ref(&dirs.project_cursor);
        // The bytes that were judged, whatever stands there by now.
        let read = |path: &Path| trust.files.bytes(path);
        config.take_files(&dirs.project_config, theirs, project, &read, on_fault)?;
        for key in KEYS {
            let Some(name) = key.variable else { continue };
            if let Some(text) = variable(name).filter(|text| !text.is_empty()) {
                match Value::parse(key.kind, &text) {
                    None => on_fault(bad_text(name, key, &text))?,
                    value => config.set(key.path_words(), value, Origin::Env(name.to_owned())),
                }
            }
        }
        config.take_flags(flags)?;
        let managed = &dirs.managed_config;
        if let Some(bytes) = unless_fault(source::read_managed(managed), on_fault)?.flatten()
            && let Some(layer) = unless_fault(toml::parse(managed, &bytes, on_fault), on_fault)?
        {
            config.refuse_contradictions(&layer)?;
            config.take(layer, Owner::Managed).or_else(on_fault)?;
        }
        Ok(config)
    }

    /// What the flags say where nothing else counts.
    ///
    /// # Errors
    /// `Usage`.
    pub(crate) fn from_flags(flags: &Flags) -> Result<Self, Reason> {
        let mut config = Self::from_defaults();
        config.take_flags(flags)?;
        Ok(config)
    }

    fn from_defaults() -> Self {
        let mut config = Self::default();
        for key in KEYS {
            if let Some(default) = key.default {
                config.set(key.path_words(), Value::parse(key.kind, default), Origin::Default);
            }
        }
        config
    }

    /// Takes our own file, and the first that is there of those in the original's form.
    fn take_files(
        &mut self,
        ours: &Path,
        theirs: &[PathBuf],
        owner: Owner,
        read: &Read<'_>,
        on_fault: &mut OnFault<'_>,
    ) -> Result<(), Reason> {
        let ours = match unless_fault(read(ours), on_fault)?.flatten() {
            Some(bytes) => unless_fault(toml::parse(ours, &bytes, on_fault), on_fault)?,
            None => None,
        };
        for path in theirs {
            let Some(bytes) = unless_fault(read(path), on_fault)?.flatten() else { continue };
            let Some(mut layer) = unless_fault(cursor::parse(path, &bytes, owner), on_fault)? else { break };
            if ours.as_ref().is_some_and(|ours| ours.has("permissions.allow")) {
                // What narrows adds up in any case. What widens is said in one place.
                layer.entries.retain(|entry| entry.key.path != "permissions.allow");
            }
            self.take(layer, owner).or_else(&mut *on_fault)?;
            break;
        }
        ours.map_or(Ok(()), |ours| self.take(ours, owner)).or_else(on_fault)
    }

    fn take(&mut self, mut layer: Layer, owner: Owner) -> Result<(), Reason> {
        for entry in std::mem::take(&mut layer.entries) {
            if entry.key.kind == Kind::Tokens {
                check_tokens(&entry.value).map_err(|said| layer.bad(entry.offset, said))?;
            }
            if let Owner::Project { trusted } = owner
                && let Some(notice) = self.refused(&entry, &layer.path, trusted)
            {
                if !self.notices.contains(&notice) {
                    self.notices.push(notice);
                }
                continue;
            }
            let (path, line) = (layer.path.clone(), layer.line(entry.offset));
            let origin = match owner {
                Owner::User => Origin::User { path, line },
                Owner::Project { .. } => Origin::Project { path, line },
                Owner::Managed => Origin::Managed { path, line },
            };
            self.set(entry.path, Some(entry.value), origin);
        }
        let more = layer.unknown.len().saturating_sub(UNKNOWN_KEYS_TOLD);
        layer.unknown.truncate(UNKNOWN_KEYS_TOLD);
        layer.unknown.extend((more > 0).then(|| format!("… (+{more})")));
        let path = layer.path.display().to_string();
        self.notices.extend(
            layer.unknown.into_iter().map(|key| Notice::UnknownConfigKey { path: path.clone(), key }),
        );
        Ok(())
    }

    /// What to say of a value that the project's file may not set.
    fn refused(&self, Entry { key, path, value, .. }: &Entry, file: &Path, trusted: bool) -> Option<Notice> {
        let says = |word: &str| *value == Value::Text(word.to_owned());
        let in_force = self.settings.get(path).and_then(|settings| settings.last());
        let (may_now, may_trusted) = match key.project_scope {
            ProjectScope::Any | ProjectScope::Delegated => (true, true),
            ProjectScope::Trusted => (false, true),
            ProjectScope::MayLower => (in_force.is_none_or(|in_force| value.is_below(&in_force.value)), true),
            ProjectScope::MayTighten => {
                (in_force.is_none_or(|in_force| key.kind.is_after(value, &in_force.value)), true)
            }
            ProjectScope::IfEqual(word) => (says(word), true),
            ProjectScope::OnlyEqual(word) => (says(word), says(word)),
            ProjectScope::Never => (false, false),
        };
        let (file, key) = (file.display().to_string(), path.join("."));
        match (may_now || (trusted && may_trusted), may_trusted) {
            (true, _) => None,
            (false, true) => Some(Notice::UntrustedConfigKey { path: file, key }),
            (false, false) => Some(Notice::ForbiddenConfigKey { path: file, key }),
        }
    }

    /// A flag cannot lift what the managed file rules; whoever gives it should know.
    fn refuse_contradictions(&self, managed: &Layer) -> Result<(), Reason> {
        for entry in managed.entries.iter().filter(|entry| !entry.key.kind.adds_up()) {
            let Some(setting) = self.settings.get(&entry.path).and_then(|settings| settings.last()) else {
                continue;
            };
            if let Origin::Flag(flag) = &setting.origin
                && setting.value != entry.value
            {
                let (key, value, ruled) = (entry.path.join("."), &setting.value, &entry.value);
                let (path, line) = (managed.path.display(), managed.line(entry.offset));
                let detail =
                    format!("`{flag}` makes `{key}` {value}, but {path}:{line} rules that it is {ruled}");
                return Err(Reason::Usage { detail });
            }
        }
        Ok(())
    }

    fn take_flags(&mut self, flags: &Flags) -> Result<(), Reason> {
        let texts = [
            ("--model", "model", flags.model.clone()),
            ("--lang", "lang", flags.lang.clone()),
            ("--timeout", "limits.timeout", flags.timeout.clone()),
            ("--max-turns", "limits.max_turns", flags.max_turns.map(|turns| turns.to_string())),
            ("--max-tokens", "limits.max_tokens", flags.max_tokens.map(|tokens| tokens.to_string())),
            ("--max-cost", "limits.max_cost", flags.max_cost.clone()),
            (
                "--max-tool-calls",
                "limits.max_tool_calls",
                flags.max_tool_calls.map(|calls| calls.to_string()),
            ),
            (
                "--background",
                "background",
                flags.background.map(|word| match word {
                    BackgroundArg::Stop => "stop".to_owned(),
                    BackgroundArg::Wait => "wait".to_owned(),
                }),
            ),
            ("--approval", "approval", flags.approval.clone()),
            ("--ephemeral", "session.ephemeral", flags.ephemeral.then(|| "true".to_owned())),
            ("--verbose", "verbose", flags.verbose.then(|| "true".to_owned())),
            (
                "--sandbox",
                "sandbox.mode",
                flags.sandbox.map(|switch| match switch {
                    Switch::Enabled => "enabled".to_owned(),
                    Switch::Disabled => "disabled".to_owned(),
                }),
            ),
        ];
        for (flag, name, text) in texts {
            let (Some(text), Some(key)) = (text, KEYS.iter().find(|key| key.path == name)) else { continue };
            let value = Value::parse(key.kind, &text).ok_or_else(|| Reason::Usage {
                detail: format!("`{flag} {text}` should be {}", key.kind.describe()),
            })?;
            self.set(key.path_words(), Some(value), Origin::Flag(flag.to_owned()));
        }
        for (flag, name, entries) in [
            ("--allow", "permissions.allow", &flags.allow),
            ("--ask", "permissions.ask", &flags.ask),
            ("--deny", "permissions.deny", &flags.deny),
            ("--allow-net", "network.allow", &flags.allow_net),
            ("--allow-socket", "sandbox.sockets", &flags.allow_socket),
        ] {
            let Some(key) = KEYS.iter().find(|key| key.path == name) else { continue };
            let value = Value::List(entries.clone());
            if key.kind == Kind::Tokens {
                check_tokens(&value).map_err(|detail| Reason::Usage { detail })?;
            }
            if !entries.is_empty() {
                self.set(key.path_words(), Some(value), Origin::Flag(flag.to_owned()));
            }
        }
        Ok(())
    }

    fn set(&mut self, path: Vec<String>, value: Option<Value>, origin: Origin) {
        if let Some(value) = value {
            self.settings.entry(path).or_default().push(Setting { value, origin });
        }
    }
}

/// Returns the value, or `None` after a fault that `on_fault` passes over.
fn unless_fault<T>(result: Result<T, Reason>, on_fault: &mut OnFault<'_>) -> Result<Option<T>, Reason> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(fault) => on_fault(fault).map(|()| None),
    }
}

/// What is wrong with the first entry that is no permission token.
fn check_tokens(value: &Value) -> Result<(), String> {
    let Value::List(tokens) = value else { return Ok(()) };
    for token in tokens {
        token.parse::<Rule>().map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn bad_text(name: &str, key: &Key, text: &str) -> Reason {
    Reason::BadConfig {
        path: name.to_owned(),
        line: None,
        column: None,
        detail: format!("`{text}` should be {}", key.kind.describe()),
    }
}
