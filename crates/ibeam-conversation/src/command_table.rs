//! The `/` commands of a conversation by name: their descriptions, their completion, and the values that they take.

use ibeam_output::Catalogue;
use ibeam_providers::Effort;
use ibeam_tui::{COMMAND_WORDS, Candidate, TuiLine};

use ibeam_agent::run_options::WorkMode;

struct ConversationCommand {
    name: &'static str,
    description: TuiLine<'static>,
    /// Whether a value may follow the name.
    takes_value: bool,
}

impl ConversationCommand {
    const fn new(name: &'static str, description: TuiLine<'static>) -> Self {
        Self { name, description, takes_value: false }
    }

    const fn with_value(name: &'static str, description: TuiLine<'static>) -> Self {
        Self { name, description, takes_value: true }
    }
}

/// The commands in the order of the help.
const COMMANDS: [ConversationCommand; 19] = [
    ConversationCommand::new("/help", TuiLine::CommandHelp),
    ConversationCommand::with_value("/model", TuiLine::CommandModel),
    ConversationCommand::with_value("/mode", TuiLine::CommandMode),
    ConversationCommand::with_value("/effort", TuiLine::CommandEffort),
    ConversationCommand::with_value("/resume", TuiLine::CommandResume),
    ConversationCommand::new("/new", TuiLine::CommandNew),
    ConversationCommand::new("/compact", TuiLine::CommandCompact),
    ConversationCommand::with_value("/undo", TuiLine::CommandUndo),
    ConversationCommand::new("/redo", TuiLine::CommandRedo),
    ConversationCommand::with_value("/diff", TuiLine::CommandDiff),
    ConversationCommand::new("/transcript", TuiLine::CommandTranscript),
    ConversationCommand::new("/cost", TuiLine::CommandCost),
    ConversationCommand::new("/context", TuiLine::CommandContext),
    ConversationCommand::new("/permissions", TuiLine::CommandPermissions),
    ConversationCommand::new("/mcp", TuiLine::CommandMcp),
    ConversationCommand::new("/skills", TuiLine::CommandSkills),
    ConversationCommand::new("/status", TuiLine::CommandStatus),
    ConversationCommand::with_value("/export", TuiLine::CommandExport),
    ConversationCommand::new("/exit", TuiLine::CommandExit),
];

/// The name for the level of reasoning of the configuration, or else of the model.
pub(super) const DEFAULT_EFFORT: &str = "default";
/// The other names of commands.
const ALIASES: [&str; 2] = ["/clear", "/quit"];

/// Returns the names of the commands, each with its slash.
pub fn conversation_commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name)
}

/// Returns the commands, and the words that may follow them, for the completion.
pub(super) fn candidates(catalogue: &Catalogue) -> Vec<Candidate> {
    let commands = COMMANDS.iter().map(|command| Candidate {
        word: command.name.to_owned(),
        description: catalogue.line(&command.description),
    });
    let with_word = |word: String| Candidate { word, description: String::new() };
    let modes = mode_names().into_iter().map(|name| with_word(format!("/mode {name}")));
    let efforts = effort_names().into_iter().map(|name| with_word(format!("/effort {name}")));
    commands.chain(modes).chain(efforts).collect()
}

/// Whether a name is that of a command. A word without a slash is one only if it is alone.
pub(super) fn is_built_in(name: &str, has_value: bool) -> bool {
    COMMANDS.iter().any(|command| command.name == name)
        || ALIASES.contains(&name)
        || (!has_value && COMMAND_WORDS.contains(&name))
}

/// Whether a command takes a value after its name.
pub(super) fn takes_value(name: &str) -> bool {
    COMMANDS.iter().any(|command| command.name == name && command.takes_value)
}

pub(super) fn mode_names() -> Vec<String> {
    WorkMode::ALL.map(|mode| mode.name().to_owned()).to_vec()
}

/// Returns the names of the levels of reasoning, and that for the level of the configuration.
pub(super) fn effort_names() -> Vec<String> {
    let levels = Effort::ALL.iter().map(|effort| effort.as_str());
    [DEFAULT_EFFORT].into_iter().chain(levels).map(str::to_owned).collect()
}

/// Returns the commands and the keys.
pub(super) fn help(catalogue: &Catalogue, keys: &[TuiLine<'_>]) -> String {
    let commands = COMMANDS
        .iter()
        .map(|command| format!("{:<14}{}\n", command.name, catalogue.line(&command.description)));
    let keys: Vec<String> = keys.iter().map(|line| catalogue.line(line)).collect();
    format!("{}\n{}:\n{}", commands.collect::<String>(), catalogue.line(&TuiLine::Keys), keys.join("\n"))
}
