//! Keys that are read when the first request needs them: from a file, or from the output of a command.
//!
//! A key is kept for the process, and read again after a service has refused it. The configuration of the user names
//! the file or the command; that of a project cannot. The command is started without a shell, in the home directory,
//! with the environment of this program and without input. It ends with its time limit, and what it started too.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join3;
use ibeam_config::Setting;
use ibeam_core::Redactor;
use ibeam_output::escape_to_one_line;
use ibeam_protocol::Reason;
use ibeam_providers::{KeyReader, KeyRequest, Secret};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use crate::app::AppContext;

/// The size limit of the file and of the output.
const MAX_BYTES: u64 = 64 * 1024;
/// The maximum number of characters of an error output that a message contains.
const MAX_STDERR_CHARS: usize = 400;

/// The file or the command that has the key of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeferredKey {
    /// `api_key_file`.
    File(PathBuf),
    /// `api_key_command`: a program and its arguments.
    Command(Vec<String>),
}

impl DeferredKey {
    /// Returns the file or the command in the configuration of provider `name`.
    ///
    /// # Errors
    /// `BadConfig` if both are set, or the command is empty.
    pub(crate) fn find(app: &AppContext, name: &str) -> Result<Option<Self>, Reason> {
        let Some(provider) = app.base.settings.providers.get(name) else { return Ok(None) };
        Self::choose(&app.dirs.home, &provider.api_key_file.value, &provider.api_key_command)
    }

    /// Returns the first file or the command.
    ///
    /// # Errors
    /// `BadConfig` if both are set, or the command is empty.
    pub(crate) fn choose(
        home: &Path,
        files: &[String],
        command: &Setting<Option<Vec<String>>>,
    ) -> Result<Option<Self>, Reason> {
        let file = Self::files(home, files).next();
        let Setting { value: command, origin } = command;
        let invalid = |detail: &str| Reason::from(origin.invalid(detail.to_owned()));
        match (file, command) {
            (Some(_), Some(_)) => Err(invalid("`api_key_command` and `api_key_file` exclude each other")),
            (Some(file), None) => Ok(Some(file)),
            (None, Some(words)) if words.first().is_none_or(|program| program.trim().is_empty()) => {
                Err(invalid("`api_key_command` has no program: write `[\"PROGRAM\", \"ARGUMENT\"]`"))
            }
            (None, Some(words)) => Ok(Some(Self::Command(words.clone()))),
            (None, None) => Ok(None),
        }
    }

    /// Returns files with keys.
    pub(super) fn files(home: &Path, files: &[String]) -> impl Iterator<Item = Self> {
        files.iter().map(|file| Self::File(expand_home(home, file)))
    }

    /// Returns the key of a file, if it can be read now, else the file or the command: what differs for another key.
    pub(super) fn identity(&self) -> String {
        match self {
            Self::File(path) => {
                read_file(path).and_then(|text| parse_key(&text)).unwrap_or_else(|_| self.describe())
            }
            Self::Command(words) => words.join(" "),
        }
    }

    /// Returns where the key comes from, for people: the file or the program.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Command(words) => {
                format!("the command `{}`", escape_to_one_line(words.first().map_or("", String::as_str)))
            }
        }
    }

    /// Returns the key of the configuration.
    pub(super) fn setting(&self) -> &'static str {
        match self {
            Self::File(_) => "api_key_file",
            Self::Command(_) => "api_key_command",
        }
    }

    /// Reads the key, and redacts it from all output.
    ///
    /// # Errors
    /// The message why there is no key.
    pub(crate) async fn read(
        &self,
        runner: &KeyCommandRunner,
        redactor: &Redactor,
    ) -> Result<String, String> {
        let text = match self {
            Self::File(path) => read_file(path),
            Self::Command(words) => runner.run(words, redactor).await,
        };
        let key = text.and_then(|text| parse_key(&text))?;
        redactor.add(&key);
        Ok(key)
    }

    /// Returns the reader of the key for provider `name`.
    pub(crate) fn reader(&self, app: &AppContext, name: &str) -> KeyReader {
        let (source, keys, redactor) = (self.clone(), Arc::clone(&app.deferred_keys), app.redactor().clone());
        let setting = format!("providers.{name}.{}", self.setting());
        let (name, place) = (name.to_owned(), format!("{name} {}", self.describe()));
        let runner = KeyCommandRunner::new(app);
        KeyReader::new(move |request| {
            let (source, keys, redactor) = (source.clone(), Arc::clone(&keys), redactor.clone());
            let (setting, name, runner) = (setting.clone(), name.clone(), runner.clone());
            let place = place.clone();
            async move {
                let known = keys.lock().unwrap_or_else(PoisonError::into_inner).get(&place).cloned();
                if let (KeyRequest::First, Some(known)) = (request, known) {
                    return Ok(Some(known));
                }
                let key = source.read(&runner, &redactor).await.map_err(|detail| Reason::KeyUnavailable {
                    provider: name.clone(),
                    setting,
                    detail,
                })?;
                let secret = Secret::new(&key);
                keys.lock().unwrap_or_else(PoisonError::into_inner).insert(place, secret.clone());
                Ok(Some(secret))
            }
            .boxed()
        })
    }
}

/// Returns a path of the configuration with the home directory instead of `~/`.
pub(crate) fn expand_home(home: &Path, path: &str) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(path),
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    let bytes = ibeam_files::regular_file::read(path, MAX_BYTES)
        .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    String::from_utf8(bytes).map_err(|_| format!("`{}` is not UTF-8", path.display()))
}

/// Returns the key in the content of a file or in an output, without the white space around it.
fn parse_key(text: &str) -> Result<String, String> {
    let key = text.trim();
    match key {
        "" => Err("it gives no text".to_owned()),
        key if key.contains(char::is_whitespace) => {
            Err("it gives more than a key: a key is one word without spaces".to_owned())
        }
        key => Ok(key.to_owned()),
    }
}

/// Runs the command of `api_key_command`.
#[derive(Clone)]
pub(crate) struct KeyCommandRunner {
    programs: crate::programs::Programs,
    home: PathBuf,
    timeout: Duration,
}

impl KeyCommandRunner {
    pub(crate) fn new(app: &AppContext) -> Self {
        let timeout = app.base.settings.timeouts.api_key_command.value;
        Self { programs: app.programs.clone(), home: app.dirs.home.clone(), timeout }
    }

    /// Runs the command and returns its output.
    ///
    /// # Errors
    /// A message with the reason and the error output.
    pub(crate) async fn run(&self, words: &[String], redactor: &Redactor) -> Result<String, String> {
        let (program, arguments) = words.split_first().ok_or("the command is empty")?;
        let path = self.find(program)?;
        let mut child = Command::new(&path)
            .args(arguments)
            .env("PATH", self.programs.path())
            .current_dir(&self.home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("`{}` could not be started: {error}", path.display()))?;
        let mut group = KillOnDrop(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let work = join3(read_bounded(stdout, &mut output), read_bounded(stderr, &mut errors), child.wait());
        let ended = tokio::time::timeout(self.timeout, work).await;
        let stderr = stderr_text(&errors, redactor);
        match ended {
            Err(_) => Err(format!("`{program}` did not end within {:?}{stderr}", self.timeout)),
            Ok((_, _, Err(error))) => Err(format!("`{program}` could not be waited for: {error}")),
            Ok((_, _, Ok(status))) => {
                // What it left running, such as an agent that keeps passwords, may go on.
                group.0 = None;
                match status.success() {
                    true => String::from_utf8(output).map_err(|_| format!("`{program}` printed no UTF-8")),
                    false => Err(format!("`{program}` ended with {status}{stderr}")),
                }
            }
        }
    }

    /// Returns the path of a program: absolute, below the home directory, or found in `PATH` outside of the workspace.
    fn find(&self, program: &str) -> Result<PathBuf, String> {
        let path = expand_home(&self.home, program);
        if path.is_absolute() {
            return Ok(path);
        }
        if program.contains('/') {
            return Err(format!(
                "`{program}` is a relative path; write an absolute one, or one that begins with `~/`"
            ));
        }
        self.programs.find(program).ok_or_else(|| format!("`{program}` is not in PATH"))
    }
}

/// A process group that is killed when this value is dropped.
struct KillOnDrop(Option<Pid>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn read_bounded(pipe: Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) {
    if let Some(pipe) = pipe {
        drop(pipe.take(MAX_BYTES).read_to_end(bytes).await);
    }
}

/// Returns the end of an error output on one line, for the end of a message.
fn stderr_text(bytes: &[u8], redactor: &Redactor) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = redactor.redact(text.trim()).into_owned();
    let skipped = text.chars().count().saturating_sub(MAX_STDERR_CHARS);
    let end: String = text.chars().skip(skipped).collect();
    let line = end.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { line } else { format!(": {}", escape_to_one_line(&line)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_word() {
        assert_eq!(parse_key(" sk-1\n"), Ok("sk-1".to_owned()));
        assert!(parse_key(" \n").unwrap_err().contains("no text"));
        for text in ["user sk-1", "sk-1\nsk-2"] {
            let error = parse_key(text).unwrap_err();
            assert!(error.contains("one word") && !error.contains("sk-1"), "{error}");
        }
    }

    #[test]
    fn an_error_output_is_shown_on_one_line_without_keys() {
        let redactor = Redactor::new(["0123456789abcdef".to_owned()]);
        assert_eq!(stderr_text(b"", &redactor), "");
        let text = stderr_text(b"gpg: no\n\tkey 0123456789abcdef\x1b[31m\n", &redactor);
        assert_eq!(text, ": gpg: no key ***<U+001B>[31m");
        assert!(stderr_text(&[b'x'; 5000], &redactor).len() < 500);
    }
}
