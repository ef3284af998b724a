//! The thread that reads keys, and the history of prompts on disk.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ibeam_output::Catalogue;
use ibeam_protocol::{Reason, Sentence, Signal, sentence};
use ibeam_tui::{Action, Color, RawTerminal, Style, TerminalEvent, next_event, terminal_size};
use nix::sys::signal::raise;
use rustix::process::getpid;
use sha2::{Digest, Sha256};

use super::inline_screen::InlineScreen;
use ibeam_agent::app::AppContext;
use ibeam_agent::environment::variable;
use ibeam_agent::programs::Programs;
use ibeam_agent::pump::CurrentStop;

/// The time between two draws of the seconds of what runs.
const TICK: Duration = Duration::from_millis(250);
/// The number of prompts that the history returns.
const MAX_HISTORY: usize = 1000;
/// The size of a history file from which on it is not read, in bytes.
const MAX_HISTORY_BYTES: u64 = 16 << 20;

/// The thread that reads keys.
pub(super) struct InputThread {
    pub(super) screen: Arc<InlineScreen>,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) stop: CurrentStop,
    pub(super) history: PromptHistory,
    /// The terminal, for an external editor.
    pub(super) terminal: Option<File>,
}

impl InputThread {
    /// Starts the thread. It ends with the process, or with the terminal.
    ///
    /// # Errors
    /// The system's error when no thread can be started.
    pub(super) fn start(self) -> io::Result<()> {
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || self.run()).map(drop)
    }

    fn run(self) {
        loop {
            let now = Instant::now;
            let is_loading = self.screen.with(|ui| ui.is_loading_view()).unwrap_or(false);
            let action = match next_event(if is_loading { Duration::ZERO } else { TICK }) {
                Ok(None) => self.screen.with(|ui| ui.draw(now()).map(|()| None)),
                Ok(Some(event)) => self.screen.with(|ui| ui.handle(event, now())),
                Err(error) => Some(Err(error)),
            };
            match action {
                Some(Ok(None)) => {}
                Some(Ok(Some(action))) => self.execute(action),
                // The terminal was closed, or the process ends.
                Some(Err(_)) | None => {
                    self.stop.request(Reason::Signalled(Signal::Hup));
                    return;
                }
            }
        }
    }

    fn execute(&self, action: Action) {
        match action {
            Action::Submitted(prompt) => {
                self.history.add(&prompt);
                self.screen.input.notify_one();
            }
            Action::Commanded => self.screen.input.notify_one(),
            Action::Interrupt => self.interrupt(),
            Action::Exit => {
                self.screen.is_leaving.store(true, Ordering::Release);
                self.screen.input.notify_one();
                if self.screen.is_busy() {
                    self.interrupt();
                }
            }
            Action::ShowTranscript => self.screen.show_transcript(),
            Action::Suspend => {
                self.without_screen(|| {
                    // The signal goes to this thread, which then stops before it draws again: a signal to the process
                    // could be received by another thread later. A thread may send itself any signal.
                    let _ = raise(nix::sys::signal::Signal::SIGTSTP);
                });
            }
            Action::Edit(text) => {
                let mut edited = Ok(text.clone());
                let editor = editor_command();
                self.without_screen(|| edited = edit_externally(&editor, &text, self.terminal.as_ref()));
                match edited {
                    Ok(text) => {
                        self.screen.with(|ui| {
                            ui.set_input(text.trim_end());
                            drop(ui.draw(Instant::now()));
                        });
                    }
                    Err(error) => {
                        let detail = Sentence::from(error.to_string());
                        let line = sentence!(
                            "the editor `{editor}` failed, so the input is as before: {detail}",
                            editor,
                            detail
                        );
                        self.screen.print(Style::color(Color::Red), &self.catalogue.sentence(&line));
                    }
                }
            }
        }
    }

    /// Ends the command of the person, or else the turn.
    fn interrupt(&self) {
        if self.screen.runs_command.load(Ordering::Acquire) {
            self.screen.cancel.notify_one();
        } else {
            self.stop.request(Reason::Signalled(Signal::Int));
        }
    }

    /// Calls `work` while another program may use the terminal. Events wait until it returns.
    fn without_screen(&self, work: impl FnOnce()) {
        self.screen.with(|ui| {
            drop(ui.stop());
            RawTerminal::restore();
            work();
            if let Ok(raw) = RawTerminal::start() {
                // The driver of the runs restores the mode at the end.
                std::mem::forget(raw);
            }
            let (width, height) = terminal_size();
            drop(ui.handle(TerminalEvent::Resize { width, height }, Instant::now()));
            drop(ui.start(Instant::now()));
        });
    }
}

/// Returns the command line of the editor of the user.
fn editor_command() -> String {
    let given = [variable("VISUAL"), variable("EDITOR")]
        .into_iter()
        .flatten()
        .find(|editor| !editor.trim().is_empty());
    given.unwrap_or_else(|| "vi".to_owned())
}

/// Returns `text` as an editor saves it.
///
/// # Errors
/// The error of the system, or the exit code of the editor.
fn edit_externally(editor: &str, text: &str, terminal: Option<&File>) -> io::Result<String> {
    let mut words = editor.split_whitespace();
    let name = words.next().unwrap_or("vi");
    let program = match name.contains('/') {
        true => PathBuf::from(name),
        false => Programs::outside_working_directory().find(name).ok_or(io::ErrorKind::NotFound)?,
    };
    let name = format!("ibeam-prompt-{}.md", unique_name());
    let path = std::env::temp_dir().join(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(text.as_bytes())?;
    let stdout = match terminal {
        Some(terminal) => Stdio::from(terminal.try_clone()?),
        None => Stdio::inherit(),
    };
    let status = Command::new(program).args(words).arg(&path).stdout(stdout).status();
    let edited = std::fs::read_to_string(&path);
    let removed = std::fs::remove_file(&path);
    let status = status?;
    match (status.success(), status.code()) {
        (true, _) => removed.and(edited),
        (false, Some(code)) => Err(io::Error::other(format!("exit code {code}"))),
        (false, None) => Err(io::ErrorKind::Interrupted.into()),
    }
}

/// Returns a name that no other process uses now.
fn unique_name() -> String {
    format!("{}-{}", getpid().as_raw_nonzero(), ibeam_agent::clock::now_ms())
}

/// The earlier prompts of a workspace, in a file with a JSON string on each line.
pub(super) struct PromptHistory(PathBuf);

impl PromptHistory {
    pub(super) fn for_workspace(app: &AppContext) -> Self {
        let digest = Sha256::digest(app.workspace.as_os_str().as_encoded_bytes());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self(app.dirs.data.join("history").join(name))
    }

    /// Returns the prompts, the oldest first. A file that cannot be read has none.
    pub(super) fn load(&self) -> Vec<String> {
        let bytes = ibeam_files::regular_file::open(&self.0, false)
            .and_then(|file| ibeam_files::regular_file::read_all(&file, MAX_HISTORY_BYTES))
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let prompts: Vec<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let skipped = prompts.len().saturating_sub(MAX_HISTORY);
        prompts.into_iter().skip(skipped).collect()
    }

    /// Adds a prompt. The history is a convenience, so a disk that cannot be written is ignored.
    fn add(&self, prompt: &str) {
        let Some(directory) = self.0.parent() else { return };
        drop(DirBuilder::new().recursive(true).mode(0o700).create(directory));
        let line = format!("{}\n", serde_json::Value::from(prompt));
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.0);
        drop(opened.and_then(|mut file| file.write_all(line.as_bytes())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_several_lines_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let history = PromptHistory(directory.path().join("history/x"));
        assert!(history.load().is_empty());
        history.add("one\ntwo");
        history.add("日本語");
        assert_eq!(history.load(), ["one\ntwo", "日本語"]);
    }
}
