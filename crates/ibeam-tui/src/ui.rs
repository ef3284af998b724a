//! The display and its input: events and keys come in, actions and bytes go out.

mod control_keys;
mod dialogs;
mod history_search;
mod questions;
mod views;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_output::Catalogue;
use ibeam_protocol::{CallId, Event, PermissionMode};

use crate::completion::{Candidate, Completion};
use crate::dialog::OpenDialog;
use crate::editor::Editor;
use crate::history::History;
use crate::live_rows::LiveState;
use crate::palette::Palette;
use crate::question::{OpenQuestion, Reply};
use crate::screen::{Live, Screen};
use crate::styled::{Line, Style};
use crate::terminal::{BELL, PASTE_OFF, PASTE_ON, TITLE_OFF, TITLE_ON, TerminalEvent};
use crate::transcript::Transcript;
use crate::view::View;
use ibeam_output::TuiLine;

pub use self::dialogs::Activity;
pub(crate) use self::dialogs::ShownActivity;
use self::history_search::Search;

/// The time of a turn from which on a bell rings at its end.
const LONG_TURN: Duration = Duration::from_secs(10);
/// Returns the paths that start with a text.
pub type ListFiles = Box<dyn Fn(&str) -> Vec<String> + Send>;

/// The inputs of a display.
pub struct UiOptions {
    pub catalogue: Arc<Catalogue>,
    /// The earlier prompts, the oldest first.
    pub history: Vec<String>,
    /// The `/` commands.
    pub commands: Vec<Candidate>,
    /// The completion of `@` paths.
    pub list_files: ListFiles,
    /// The title of the terminal while the display is shown; `None` for a terminal without one.
    pub title: Option<String>,
}

/// The commands of a conversation that are words without a slash, alone in the input.
pub const COMMAND_WORDS: [&str; 4] = ["help", "?", "exit", "quit"];

/// An action of the program that a key requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A prompt is in the queue; the program adds it to the history on disk.
    Submitted(String),
    /// End the running turn.
    Interrupt,
    /// End the program.
    Exit,
    /// Stop the process, as a shell expects of Ctrl-Z.
    Suspend,
    /// Edit this text in another program, and give it back with [`Ui::set_input`].
    Edit(String),
    /// Show the whole conversation with [`Ui::show_pager`].
    ShowTranscript,
    /// A command is in the queue, which no person typed.
    Commanded,
}

/// A prompt that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedPrompt {
    pub text: String,
    /// Whether the prompt is added to the turn that runs.
    pub steers: bool,
}

/// A key that ends the program when it is pressed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKey {
    /// Always.
    ControlC,
    /// While a turn runs. Without one, once is enough.
    ControlD,
}

/// The display of one session.
pub struct Ui<W> {
    screen: Screen<W>,
    catalogue: Arc<Catalogue>,
    transcript: Transcript,
    editor: Editor,
    history: History,
    commands: Vec<Candidate>,
    list_files: ListFiles,
    completion: Option<Completion>,
    search: Option<Search>,
    queue: Vec<QueuedPrompt>,
    question: Option<OpenQuestion>,
    dialog: Option<OpenDialog>,
    activity: Option<ShownActivity>,
    busy_since: Option<Instant>,
    /// The start of the opening of a session that is not finished.
    opening_since: Option<Instant>,
    exit_armed: Option<(ExitKey, Instant)>,
    /// The full-screen view that is open.
    view: Option<View>,
    /// Whether the live rows are not drawn, because the terminal is used otherwise.
    is_stopped: bool,
    /// The title of the terminal; `None` for a terminal without one.
    title: Option<String>,
    /// The title that the terminal shows.
    shown_title: String,
    /// The time of the last Esc that had no other effect.
    escaped_at: Option<Instant>,
}

impl<W: Write> Ui<W> {
    /// Returns a display on `screen`.
    pub fn new(screen: Screen<W>, options: UiOptions) -> Self {
        let UiOptions { catalogue, history, commands, list_files, title } = options;
        Self {
            screen,
            transcript: Transcript::new(Arc::clone(&catalogue)),
            catalogue,
            editor: Editor::default(),
            history: History::new(history),
            commands,
            list_files,
            completion: None,
            search: None,
            queue: Vec::new(),
            question: None,
            dialog: None,
            activity: None,
            busy_since: None,
            opening_since: None,
            exit_armed: None,
            view: None,
            is_stopped: true,
            title,
            shown_title: String::new(),
            escaped_at: None,
        }
    }

    /// Sets the colours of what is drawn from now on.
    pub fn set_palette(&mut self, palette: Palette) {
        self.screen.set_palette(palette);
    }

    /// Prepares the terminal and draws the first rows.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn start(&mut self, now: Instant) -> io::Result<()> {
        self.is_stopped = false;
        self.screen.write_raw(PASTE_ON)?;
        if self.title.is_some() {
            self.screen.write_raw(TITLE_ON)?;
        }
        if self.view.is_some() {
            self.screen.enter_full()?;
        }
        self.draw(now)
    }

    /// Removes the live rows and restores the terminal.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn stop(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.is_stopped, true) {
            return Ok(());
        }
        self.screen.leave_full()?;
        let finished = self.transcript.take_finished();
        self.screen.draw(&finished, Live::default())?;
        self.screen.clear()?;
        if self.title.is_some() {
            self.shown_title.clear();
            self.screen.write_raw(TITLE_OFF)?;
        }
        self.screen.write_raw(PASTE_OFF)
    }

    /// Adds an event. The lines are printed by [`Self::draw`].
    pub fn on_event(&mut self, event: &Event, now: Instant) {
        self.transcript.on_event(event, now, self.screen.width() - 1);
    }

    /// Shows what the sub-agent with this session does.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn on_subagent_event(&mut self, session: &str, event: &Event, now: Instant) -> io::Result<()> {
        match self.transcript.on_subagent_event(session, event) {
            true => self.draw(now),
            false => Ok(()),
        }
    }

    /// Shows the last line of the output of a call that runs, from the next drawing on.
    pub fn set_output_line(&mut self, call: &CallId, line: &str) {
        self.transcript.set_output_line(call, line);
    }

    /// Prints lines that are not of an event, such as warnings.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn print(&mut self, lines: Vec<Line>, now: Instant) -> io::Result<()> {
        let width = self.screen.width() - 1;
        self.transcript.add_lines(lines.iter().flat_map(|line| line.wrap(width, line.hanging_indent(width))));
        self.draw(now)
    }

    /// Prints what the person typed, before the lines that follow from it.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn echo(&mut self, line: &Line, now: Instant) -> io::Result<()> {
        self.transcript.add_command(line.wrap(self.screen.width() - 1, 2));
        self.draw(now)
    }

    /// Records that a turn runs, or that none does.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn set_busy(&mut self, is_busy: bool, now: Instant) -> io::Result<()> {
        let time = self.busy_since.map(|since| now.saturating_duration_since(since));
        if !is_busy && time.is_some_and(|time| time >= LONG_TURN) {
            self.screen.write_raw(BELL)?;
        }
        self.busy_since = is_busy.then_some(now);
        // A message that came too late for its turn gets a turn of its own.
        self.queue.iter_mut().filter(|_| !is_busy).for_each(|prompt| prompt.steers = false);
        self.draw(now)
    }

    /// Records that a session is being opened, or that none is. What is sent meanwhile waits.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn set_opening(&mut self, is_opening: bool, now: Instant) -> io::Result<()> {
        self.opening_since = is_opening.then_some(now);
        self.draw(now)
    }

    /// Whether something runs that Esc and Ctrl-C end: a turn, the opening of a session, other work of the program.
    pub fn is_busy(&self) -> bool {
        self.busy_since.is_some() || self.opening_since.is_some() || self.has_cancellable_activity()
    }

    /// Returns the next prompt for a turn of its own.
    pub fn next_prompt(&mut self) -> Option<String> {
        (!self.queue.is_empty()).then(|| self.queue.remove(0).text)
    }

    /// Whether a prompt waits for the end of the turn, or is being typed.
    pub fn has_waiting_prompt(&self) -> bool {
        !self.queue.is_empty() || !self.editor.is_empty()
    }

    /// Returns the next message for the turn that runs.
    pub fn next_steering(&mut self) -> Option<String> {
        let at = self.queue.iter().position(|prompt| prompt.steers)?;
        Some(self.queue.remove(at).text)
    }

    /// Replaces the commands of the completion.
    pub fn set_commands(&mut self, commands: Vec<Candidate>) {
        self.commands = commands;
    }

    /// Replaces the completion of `@` paths.
    pub fn set_list_files(&mut self, list_files: ListFiles) {
        self.list_files = list_files;
    }

    /// Prints the events of earlier turns, after the number of turns that are not shown.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn show_past(&mut self, events: &[Event], hidden_turns: u64, now: Instant) -> io::Result<()> {
        if hidden_turns > 0 {
            let line = self.catalogue.line(&TuiLine::EarlierTurns { count: hidden_turns });
            self.transcript.add_lines([Line::new(Style::DIM, &line)]);
        }
        self.transcript.begin_past();
        for event in events {
            self.on_event(event, now);
        }
        self.transcript.end_past();
        self.draw(now)
    }

    /// Shows the model and the mode of the session that is open from the next drawing on, and nothing of an earlier turn.
    /// `context_window` is that of the model in tokens, if it is known.
    pub fn set_status(&mut self, model: &str, mode: PermissionMode, context_window: Option<u64>) {
        self.transcript.set_status(model, mode, context_window);
    }

    /// Adds a prompt that was not typed here.
    pub fn push_prompt(&mut self, text: String, steers: bool) {
        self.queue.push(QueuedPrompt { text, steers });
    }

    /// Replaces the text of the input.
    pub fn set_input(&mut self, text: &str) {
        self.editor.set(text);
    }

    /// Handles an event of the terminal, and draws.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn handle(&mut self, event: TerminalEvent, now: Instant) -> io::Result<Option<Action>> {
        let action = match event {
            TerminalEvent::Resize { width, height } => {
                self.screen.resize(width, height);
                None
            }
            TerminalEvent::Paste(text) => {
                if let Some(view) = &mut self.view {
                    view.on_paste(&text);
                } else if self.close_dialog_that_gives_way() {
                    self.paste(&text, now);
                } else if let Some(dialog) = &mut self.dialog {
                    let of_input = dialog.on_paste(&text, now);
                    self.editor.insert(&of_input.unwrap_or_default());
                } else {
                    self.paste(&text, now);
                }
                None
            }
            TerminalEvent::Key(key) if self.view.is_some() => self.on_view_key(key)?,
            TerminalEvent::Key(key) if self.dialog.is_some() => self.on_dialog_key(key, now),
            TerminalEvent::Key(key) => self.on_key(key, now),
        };
        self.draw(now)?;
        Ok(action)
    }

    /// Draws what has changed, and the seconds of what runs.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn draw(&mut self, now: Instant) -> io::Result<()> {
        self.settle_answer(now);
        self.settle_dialog(now);
        if !self.is_stopped && self.draw_view()? {
            return Ok(());
        }
        self.draw_title()?;
        let finished = self.transcript.take_finished();
        if self.is_stopped {
            return if finished.is_empty() { Ok(()) } else { self.screen.draw(&finished, Live::default()) };
        }
        let live = LiveState {
            catalogue: &self.catalogue,
            transcript: &self.transcript,
            editor: &self.editor,
            queue: &self.queue,
            question: self.question.as_ref(),
            dialog: self.dialog.as_ref(),
            activity: self.activity.as_ref(),
            completion: self.completion.as_ref(),
            search: self.search.as_ref().map(Search::line),
            busy_since: self.busy_since,
            opening_since: self.opening_since,
            exit_key: self.exit_key(now),
            now,
            width: self.screen.width(),
            height: self.screen.max_live_rows(),
        };
        let live = live.compose();
        self.screen.draw(&finished, live)
    }

    fn on_key(&mut self, key: KeyEvent, now: Instant) -> Option<Action> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if key.code != KeyCode::Esc {
            self.escaped_at = None;
        }
        if is_control && key.code == KeyCode::Char('c') {
            return self.on_interrupt_key(now);
        }
        if is_control && key.code == KeyCode::Char('d') && self.editor.is_empty() {
            return self.on_end_key(now);
        }
        self.exit_armed = None;
        if is_control && key.code == KeyCode::Char('z') {
            return Some(Action::Suspend);
        }
        if key.code == KeyCode::Esc {
            self.completion = None;
            self.end_search();
            return self.on_escape(now);
        }
        // The text of a search is not an answer to a question.
        if self.search.is_some() && self.on_search_key(key, is_control) {
            self.note_text(now);
            return None;
        }
        if self.on_question_key(key, now) {
            return None;
        }
        if self.completion.is_some() && self.on_completion_key(key) {
            return None;
        }
        match key.code {
            KeyCode::Enter => return self.on_enter(key.modifiers),
            KeyCode::Tab if self.busy_since.is_some() && !self.editor.is_empty() => {
                return self.submit(false);
            }
            KeyCode::BackTab => return Some(self.next_mode()),
            KeyCode::Char('g') if is_control => return Some(Action::Edit(self.editor.full_text())),
            KeyCode::Char('t') if is_control => return Some(Action::ShowTranscript),
            KeyCode::Char('r') if is_control => self.start_search(),
            KeyCode::Up => self.on_up(),
            KeyCode::Down => {
                if !self.editor.down()
                    && let Some(text) = self.history.next()
                {
                    self.editor.set(&text);
                }
            }
            code => {
                self.edit(code, key.modifiers);
                self.complete();
            }
        }
        None
    }

    fn on_enter(&mut self, modifiers: KeyModifiers) -> Option<Action> {
        if modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) || self.editor.remove_backslash() {
            self.editor.insert("\n");
            return None;
        }
        if self.question.as_ref().is_some_and(|open| open.explains)
            && let Some(open) = self.question.take()
        {
            let text = self.editor.take();
            self.editor.set(&open.draft);
            self.reply(open.question, Reply::RefuseAndExplain(text));
            return None;
        }
        self.submit(true)
    }

    /// Puts the input into the queue. A command waits for the end of the turn.
    fn submit(&mut self, steers: bool) -> Option<Action> {
        if self.editor.text().trim().is_empty() {
            return None;
        }
        self.completion = None;
        let text = self.editor.take();
        self.history.add(&text);
        let is_command = text.starts_with(['/', '!']) || COMMAND_WORDS.contains(&text.trim());
        let steers = steers && self.busy_since.is_some() && !is_command;
        self.queue.push(QueuedPrompt { text: text.clone(), steers });
        Some(Action::Submitted(text))
    }

    /// Goes up a line; from the first line to the last queued message, which can be edited again, or to an earlier prompt.
    fn on_up(&mut self) {
        if self.editor.up() {
            return;
        }
        let queued = if self.editor.is_empty() { self.queue.pop().map(|prompt| prompt.text) } else { None };
        if let Some(text) = queued.or_else(|| self.history.previous(&self.editor.full_text())) {
            self.editor.set(&text);
        }
    }

    fn edit(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        let is_word = modifiers.intersects(KeyModifiers::ALT | KeyModifiers::CONTROL);
        let editor = &mut self.editor;
        match code {
            KeyCode::Char('a') if modifiers == KeyModifiers::CONTROL => editor.home(),
            KeyCode::Char('e') if modifiers == KeyModifiers::CONTROL => editor.end(),
            KeyCode::Char('b') if modifiers == KeyModifiers::CONTROL => editor.left(),
            KeyCode::Char('f') if modifiers == KeyModifiers::CONTROL => editor.right(),
            KeyCode::Char('d') if modifiers == KeyModifiers::CONTROL => editor.delete(),
            KeyCode::Char('h') if modifiers == KeyModifiers::CONTROL => editor.backspace(),
            KeyCode::Char('j') if modifiers == KeyModifiers::CONTROL => editor.insert("\n"),
            KeyCode::Char('k') if modifiers == KeyModifiers::CONTROL => editor.delete_to_line_end(),
            KeyCode::Char('u') if modifiers == KeyModifiers::CONTROL => editor.delete_to_line_start(),
            KeyCode::Char('w') if modifiers == KeyModifiers::CONTROL => editor.delete_word(),
            KeyCode::Char('b') if modifiers == KeyModifiers::ALT => editor.word_left(),
            KeyCode::Char('f') if modifiers == KeyModifiers::ALT => editor.word_right(),
            KeyCode::Char(c) if !is_word => editor.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace if is_word => editor.delete_word(),
            KeyCode::Backspace => editor.backspace(),
            KeyCode::Delete => editor.delete(),
            KeyCode::Left if is_word => editor.word_left(),
            KeyCode::Right if is_word => editor.word_right(),
            KeyCode::Left => editor.left(),
            KeyCode::Right => editor.right(),
            KeyCode::Home => editor.home(),
            KeyCode::End => editor.end(),
            _ => {}
        }
    }

    fn complete(&mut self) {
        let found = Completion::find(self.editor.before(), &self.commands, &*self.list_files);
        self.completion = found.filter(|_| self.question.is_none());
    }

    /// Returns whether the key was one of the completion.
    fn on_completion_key(&mut self, key: KeyEvent) -> bool {
        let Some(completion) = &mut self.completion else { return false };
        match key.code {
            KeyCode::Up => completion.advance(false),
            KeyCode::Down => completion.advance(true),
            KeyCode::Tab | KeyCode::Enter if key.modifiers.is_empty() => {
                let (start, chosen) = (completion.start, completion.chosen());
                self.editor.replace_from(start, &chosen.unwrap_or_default());
                self.complete();
                // A chosen command needs no second key.
                return key.code == KeyCode::Tab || !self.editor.text().starts_with('/');
            }
            _ => return false,
        }
        true
    }
}
