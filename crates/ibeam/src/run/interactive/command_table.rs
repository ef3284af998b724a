//! The `/` commands of a conversation by name: their descriptions, their completion, and the values that they take.

use clap::ValueEnum;
use ibeam_output::Catalogue;
use ibeam_providers::Effort;
use ibeam_tui::{Candidate, TuiLine};

use crate::cli::Mode;

/// The commands and their descriptions.
const COMMANDS: [(&str, TuiLine<'_>); 19] = [
    ("/help", TuiLine::CommandHelp),
    ("/model", TuiLine::CommandModel),
    ("/mode", TuiLine::CommandMode),
    ("/effort", TuiLine::CommandEffort),
    ("/resume", TuiLine::CommandResume),
    ("/new", TuiLine::CommandNew),
    ("/compact", TuiLine::CommandCompact),
    ("/undo", TuiLine::CommandUndo),
    ("/redo", TuiLine::CommandRedo),
    ("/diff", TuiLine::CommandDiff),
    ("/transcript", TuiLine::CommandTranscript),
    ("/cost", TuiLine::CommandCost),
    ("/context", TuiLine::CommandContext),
    ("/permissions", TuiLine::CommandPermissions),
    ("/mcp", TuiLine::CommandMcp),
    ("/skills", TuiLine::CommandSkills),
    ("/status", TuiLine::CommandStatus),
    ("/export", TuiLine::CommandExport),
    ("/exit", TuiLine::CommandExit),
];

/// The commands that take a value.
const WITH_VALUE: [&str; 7] = ["/model", "/mode", "/effort", "/resume", "/undo", "/diff", "/export"];
/// The other names of commands.
const ALIASES: [&str; 2] = ["/clear", "/quit"];
/// The commands that are words without a slash.
const WORDS: [&str; 4] = ["help", "?", "exit", "quit"];

/// Returns the names of the commands, each with its slash.
pub(crate) fn conversation_commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(word, _)| *word)
}

/// Returns the commands, and the words that may follow them, for the completion.
pub(super) fn candidates(catalogue: &Catalogue) -> Vec<Candidate> {
    let commands = COMMANDS
        .iter()
        .map(|(word, line)| Candidate { word: (*word).to_owned(), description: catalogue.line(line) });
    let with_word = |word: String| Candidate { word, description: String::new() };
    let modes = mode_names().into_iter().map(|name| with_word(format!("/mode {name}")));
    let efforts = Effort::ALL.iter().map(|effort| with_word(format!("/effort {}", effort.as_str())));
    commands.chain(modes).chain(efforts).collect()
}

/// Whether a name is that of a command. A word without a slash is one only if it is alone.
pub(super) fn is_built_in(name: &str, has_value: bool) -> bool {
    COMMANDS.iter().any(|(word, _)| *word == name)
        || ALIASES.contains(&name)
        || (!has_value && WORDS.contains(&name))
}

/// Whether a command takes a value after its name.
pub(super) fn takes_value(name: &str) -> bool {
    WITH_VALUE.contains(&name)
}

/// Returns the names of the modes.
pub(super) fn mode_names() -> Vec<String> {
    let values = Mode::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
}

/// Returns the names of the levels of reasoning.
pub(super) fn effort_names() -> Vec<String> {
    Effort::ALL.map(|effort| effort.as_str().to_owned()).into()
}

/// Returns the commands and the keys.
pub(super) fn help(catalogue: &Catalogue, keys: &[TuiLine<'_>]) -> String {
    let commands = COMMANDS.iter().map(|(word, line)| format!("{word:<14}{}\n", catalogue.line(line)));
    let keys: Vec<String> = keys.iter().map(|line| catalogue.line(line)).collect();
    format!("{}\n{}:\n{}", commands.collect::<String>(), catalogue.line(&TuiLine::Keys), keys.join("\n"))
}
