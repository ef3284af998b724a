//! The screen of interactive mode: an inline display in the normal screen of the terminal.
//!
//! Finished lines are printed once and belong to the scrollback of the terminal. Only the last rows are live: running
//! calls, queued messages, a question, the input, the status. The display consumes events and keys, and writes to any
//! `io::Write`. It starts no run, reads no file and no variable. The picker of sessions, a change and the transcript are
//! full-screen views in the alternate screen.

mod changes;
mod completion;
mod dialog;
mod editor;
mod highlight;
mod history;
mod live_rows;
mod markdown;
mod markdown_blocks;
mod pager;
mod palette;
mod picker;
mod question;
mod screen;
mod styled;
mod terminal;
mod tool_lines;
mod transcript;
mod ui;
mod view;

pub use changes::{ShownChanges, diff_lines, proposed_change};
pub use completion::Candidate;
pub use dialog::{DialogGuard, DialogInput, DialogOptions, DialogReply, EscapeEffect};
pub use ibeam_output::TuiLine;
pub use markdown::document_lines;
pub use pager::PagerStart;
pub use palette::{Palette, Rgb};
pub use picker::{PickerEntry, PickerOptions};
pub use question::{Choice, LastingAnswers, Question, Reply};
pub use screen::{Screen, TerminalTraits};
pub use styled::{Color, Line, Style};
pub use terminal::{RawTerminal, TerminalEvent, next_event, terminal_size};
pub use tool_lines::overwritten;
pub use transcript::{TranscriptLines, mode_name};
pub use ui::{Action, Activity, COMMAND_WORDS, ListFiles, QueuedPrompt, Ui, UiOptions};
