//! The `/` commands of a conversation: their names, their descriptions, the values that they take, and their execution, on
//! the inline screen and in line mode.

use ibeam_agent::checkpoint::UndoTarget;
use ibeam_agent::run::session_opener::is_ephemeral;
use ibeam_agent::run_error::RunError;
use ibeam_agent::run_options::WorkMode;
use ibeam_output::Catalogue;
use ibeam_protocol::{sentence, sentence_text};
use ibeam_providers::Effort;
use ibeam_tui::{Candidate, Style, TuiLine};

use super::command_display::INFORMATION;
use super::person_commands::{CommandContext, CommandEnd, Reopening, RequestedUndo};
use super::session_status::status;
use super::transcript_view::StoredConversation;

/// The function of a command. That of one with a value gets the text after its name.
enum Execution {
    Print(fn(&CommandContext<'_, '_>)),
    Decide(fn(&mut CommandContext<'_, '_>, Option<&str>) -> Result<CommandEnd, RunError>),
}

use Execution::{Decide, Print};

struct ConversationCommand {
    name: &'static str,
    /// Other names. A word without a slash counts only if it is alone.
    aliases: &'static [&'static str],
    description: &'static str,
    /// Whether a value may follow the name.
    takes_value: bool,
    /// Whether it reads the stored session.
    reads_session: bool,
    execution: Execution,
}

impl ConversationCommand {
    const fn new(name: &'static str, description: &'static str, execution: Execution) -> Self {
        Self { name, aliases: &[], description, takes_value: false, reads_session: false, execution }
    }

    const fn with_value(self) -> Self {
        Self { takes_value: true, ..self }
    }

    const fn with_aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn reading_the_session(self) -> Self {
        Self { reads_session: true, ..self }
    }

    fn has_name(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// The commands in the order of the help.
const COMMANDS: &[ConversationCommand] = &[
    ConversationCommand::new("/help", sentence_text!("commands and keys"), Print(print_help))
        .with_aliases(&["help", "?"]),
    ConversationCommand::new(
        "/model",
        sentence_text!("choose the model, or change to NAME"),
        Decide(|context, model| {
            match model {
                None => context.choose_model()?,
                Some(model) => context.set_model(model),
            }
            Ok(CommandEnd::Done)
        }),
    )
    .with_value(),
    ConversationCommand::new(
        "/mode",
        sentence_text!("change the mode: agent, plan, ask"),
        Decide(|context, mode| context.set_mode(mode)),
    )
    .with_value(),
    ConversationCommand::new(
        "/effort",
        sentence_text!("change how much the model reasons"),
        Decide(|context, effort| context.set_effort(effort)),
    )
    .with_value(),
    ConversationCommand::new(
        "/resume",
        sentence_text!("choose a session, or resume SESSION"),
        Decide(|context, name| match name {
            None => context.pick(),
            Some(name) => Ok(context.resume(name)),
        }),
    )
    .with_value(),
    ConversationCommand::new(
        "/new",
        sentence_text!("start a new session"),
        Decide(|_, _| Ok(CommandEnd::Reopen(Reopening::of_new_session()))),
    )
    .with_aliases(&["/clear"]),
    ConversationCommand::new(
        "/compact",
        sentence_text!("shorten the conversation with a summary"),
        Print(|context| context.compact()),
    ),
    ConversationCommand::new(
        "/undo",
        sentence_text!("restore the files as before the last turn, or before turn N"),
        Decide(|context, described| {
            let undo = context.requested_undo(described);
            Ok(undo.map_or(CommandEnd::Done, |undo| context.reopen_after_undo(undo)))
        }),
    )
    .with_value(),
    ConversationCommand::new(
        "/redo",
        sentence_text!("take back the last /undo"),
        Decide(|context, described| {
            let force = described == Some("--force");
            if described.is_some() && !force {
                context.print_error(&TuiLine::NoArgument { name: "/redo" });
                return Ok(CommandEnd::Done);
            }
            Ok(context.reopen_after_undo(RequestedUndo { target: UndoTarget::LastUndo, force }))
        }),
    )
    .with_value(),
    ConversationCommand::new(
        "/rewind",
        sentence_text!("go back to an earlier prompt: the conversation, the files, or both"),
        Decide(|context, _| context.rewind()),
    )
    .reading_the_session(),
    ConversationCommand::new(
        "/diff",
        sentence_text!("what this session changed in files, or turn N did"),
        Decide(|context, turn| {
            if let Some(turn) = context.turn(turn) {
                context.show_diff(turn)?;
            }
            Ok(CommandEnd::Done)
        }),
    )
    .with_value()
    .reading_the_session(),
    ConversationCommand::new(
        "/transcript",
        sentence_text!("the whole conversation, as Ctrl-T"),
        Print(|context| {
            let conversation = StoredConversation::new(context.app(), context.session.id());
            context.screen.show_transcript(&conversation);
        }),
    )
    .reading_the_session(),
    ConversationCommand::new(
        "/cost",
        sentence_text!("runs, tokens and cost of this session"),
        Print(|context| context.print_cost()),
    )
    .reading_the_session(),
    ConversationCommand::new(
        "/context",
        sentence_text!("size of what the model receives"),
        Print(|context| context.print_context()),
    ),
    ConversationCommand::new(
        "/permissions",
        sentence_text!("permission rules"),
        Print(|context| context.print_rules()),
    ),
    ConversationCommand::new("/mcp", sentence_text!("MCP servers"), Print(|context| context.print_servers())),
    ConversationCommand::new(
        "/skills",
        sentence_text!("skills that can be used"),
        Print(|context| context.list_skills()),
    ),
    ConversationCommand::new(
        "/status",
        sentence_text!("session, model, sandbox"),
        Print(|context| context.screen.print(INFORMATION, &status(context.session))),
    ),
    ConversationCommand::new(
        "/export",
        sentence_text!("write the session to FILE: a page if it ends with .html, else an archive"),
        Decide(|context, file| {
            context.export(file);
            Ok(CommandEnd::Done)
        }),
    )
    .with_value()
    .reading_the_session(),
    ConversationCommand::new(
        "/exit",
        sentence_text!("end the program"),
        Decide(|_, _| Ok(CommandEnd::Leave)),
    )
    .with_aliases(&["/quit", "exit", "quit"]),
];

fn print_help(context: &CommandContext<'_, '_>) {
    let text = help(&context.app().base.catalogue, context.screen.keys());
    context.screen.print(Style::PLAIN, &text);
}

/// Executes `text` if it is one of the commands.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn execute(context: &mut CommandContext<'_, '_>, text: &str) -> Result<CommandEnd, RunError> {
    let (name, argument) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
    let is_word_of_a_prompt = !name.starts_with('/') && argument.is_some();
    let command = COMMANDS.iter().find(|command| command.has_name(name) && !is_word_of_a_prompt);
    let Some(command) = command else { return context.check_command(name, text) };
    context.echo(text);
    if argument.is_some() && !command.takes_value {
        context.print_error(&TuiLine::NoArgument { name });
        return Ok(CommandEnd::Done);
    }
    if command.reads_session && is_ephemeral(context.app()) {
        context.report_usage(sentence!(
            "with `--ephemeral` no session is stored, so `{name}` has nothing to read",
            name,
        ));
        return Ok(CommandEnd::Done);
    }
    match command.execution {
        Print(print) => {
            print(context);
            Ok(CommandEnd::Done)
        }
        Decide(execute) => execute(context, argument),
    }
}

/// The name for the level of reasoning of the configuration, or else of the model.
pub(super) const DEFAULT_EFFORT: &str = "default";
/// Returns the names of the commands, each with its slash.
pub fn conversation_commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name)
}

/// Returns the commands, and the words that may follow them, for the completion.
pub(super) fn candidates(catalogue: &Catalogue) -> Vec<Candidate> {
    let commands = COMMANDS.iter().map(|command| Candidate {
        word: command.name.to_owned(),
        description: catalogue.text(command.description),
    });
    let with_word = |word: String| Candidate { word, description: String::new() };
    let modes = mode_names().into_iter().map(|name| with_word(format!("/mode {name}")));
    let efforts = effort_names().into_iter().map(|name| with_word(format!("/effort {name}")));
    commands.chain(modes).chain(efforts).collect()
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
        .map(|command| format!("{:<14}{}\n", command.name, catalogue.text(command.description)));
    let keys: Vec<String> = keys.iter().map(|line| catalogue.line(line)).collect();
    format!("{}\n{}:\n{}", commands.collect::<String>(), catalogue.line(&TuiLine::Keys), keys.join("\n"))
}

#[cfg(test)]
mod tests {
    use ibeam_tui::COMMAND_WORDS;

    use super::*;

    #[test]
    fn the_screen_shows_the_words_without_a_slash_as_commands() {
        let aliases = COMMANDS.iter().flat_map(|command| command.aliases);
        let words: Vec<&str> = aliases.copied().filter(|alias| !alias.starts_with('/')).collect();
        assert_eq!(words, COMMAND_WORDS);
    }
}
