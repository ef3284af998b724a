//! The commands in messages, as they are typed in a conversation.

/// Commands of the program, and the commands of a conversation for the same.
const COMMANDS: &[(&str, &str)] = &[
    ("`ibeam undo --redo`", "`/redo`"),
    ("`ibeam undo`", "`/undo`"),
    ("`ibeam diff`", "`/diff`"),
    ("`ibeam models`", "`/model`"),
    ("`ibeam status`", "`/status`"),
    ("`ibeam sessions list`", "`/resume`"),
    ("`ibeam context`", "`/context`"),
    ("`ibeam mcp list`", "`/mcp`"),
    ("`ibeam policy list`", "`/permissions`"),
    ("`--model NAME`", "`/model NAME`"),
    // Any other one is a command of the shell.
    ("`ibeam ", "`!ibeam "),
];

/// Returns a message with the commands that can be typed in a conversation.
pub(super) fn with_typed_commands(message: &str) -> String {
    COMMANDS.iter().fold(message.to_owned(), |text, (of_shell, typed)| text.replace(of_shell, typed))
}

#[cfg(test)]
mod tests {
    use super::with_typed_commands;

    #[test]
    fn commands_of_the_program_are_those_of_the_conversation_or_of_the_shell() {
        for (message, typed) in [
            (
                "hint: `ibeam models` lists them; use `--model NAME`",
                "hint: `/model` lists them; use `/model NAME`",
            ),
            ("`ibeam login openai` stores a key", "`!ibeam login openai` stores a key"),
            ("`ibeam undo --redo` brings them back", "`/redo` brings them back"),
            ("ibeam is the program", "ibeam is the program"),
        ] {
            assert_eq!(with_typed_commands(message), typed);
        }
    }
}
