//! The flags of Claude Code and their effects.

use ibeam_protocol::{Reason, sentence, sentence_text};

use super::{ClaudeDraft, append, permission_rules, resolve_claude_model, set};
use crate::dialect::flag_table::{Arity, Flag, FlagAction, usage_error};
use Arity::{Nothing, OptionalValue, Value, Values};
use FlagAction::{Apply, Ignore, NoOp, Reject};
use ibeam_agent::run::given_instructions::literal;

/// Changes the draft for one value of a flag.
type ApplyFlag = fn(&mut ClaudeDraft, &str) -> Result<(), Reason>;

/// Returns a row of the table of flags.
const fn flag(
    names: &'static [&'static str],
    arity: Arity,
    action: FlagAction<ClaudeDraft>,
) -> Flag<ClaudeDraft> {
    Flag { names, arity, action }
}

/// Returns the row of a flag that changes the draft.
const fn apply(names: &'static [&'static str], arity: Arity, take: ApplyFlag) -> Flag<ClaudeDraft> {
    flag(names, arity, Apply(take))
}

/// The reason why other sources of settings are refused.
const USE_SETTINGS_FLAG: &str = sentence_text!("settings are given as `--settings`");
/// The reason why flags for another place of work are refused.
const ONLY_THIS_DIRECTORY: &str = sentence_text!("a run works in this directory");

/// All flags of Claude Code.
pub(super) const FLAGS: &[Flag<ClaudeDraft>] = &[
    flag(&["--print", "-p"], Nothing, NoOp),
    flag(&["--verbose"], Nothing, NoOp),
    apply(&["--help", "-h"], Nothing, |draft, _| set(&mut draft.help, true)),
    apply(&["--version", "-v"], Nothing, |draft, _| set(&mut draft.version, true)),
    apply(&["--output-format"], Value, |draft, value| draft.set_output(value)),
    apply(&["--input-format"], Value, |draft, value| draft.set_input(value)),
    apply(&["--model"], Value, |draft, value| set(&mut draft.model, Some(value.to_owned()))),
    apply(&["--continue", "-c"], Nothing, |draft, _| {
        draft.flags.push("--continue".to_owned());
        set(&mut draft.resumes, true)
    }),
    apply(&["--resume", "-r"], OptionalValue, |draft, value| draft.set_resumed(value)),
    apply(&["--session-id"], Value, |draft, value| set(&mut draft.session_id, Some(value.to_owned()))),
    apply(&["--fork-session"], Nothing, |draft, _| set(&mut draft.forks, true)),
    apply(&["--permission-mode"], Value, |draft, value| set(&mut draft.mode, Some(value.to_owned()))),
    apply(&["--dangerously-skip-permissions"], Nothing, |draft, _| {
        set(&mut draft.bypasses_permissions, true)
    }),
    flag(&["--allow-dangerously-skip-permissions"], Nothing, NoOp),
    apply(&["--allowedTools", "--allowed-tools"], Values, |draft, value| {
        append(&mut draft.allow, permission_rules::split_rules(value))
    }),
    apply(&["--disallowedTools", "--disallowed-tools"], Values, |draft, value| {
        append(&mut draft.deny, permission_rules::split_rules(value))
    }),
    apply(&["--tools"], Values, |draft, value| draft.set_tools(value)),
    apply(&["--permission-prompt-tool"], Value, |draft, value| draft.set_prompt_tool(value)),
    apply(&["--add-dir"], Values, |draft, value| append(&mut draft.directories, [value.to_owned()])),
    apply(&["--max-turns"], Value, |draft, value| draft.forward("--max-turns", value)),
    apply(&["--max-budget-usd"], Value, |draft, value| draft.forward("--max-cost", value)),
    // SDKs write an empty text where their caller gives none.
    apply(&["--system-prompt"], Value, |draft, value| match value {
        "" => Ok(()),
        value => draft.forward("--system-prompt", &literal(value)),
    }),
    apply(&["--append-system-prompt"], Value, |draft, value| match value {
        "" => Ok(()),
        value => draft.forward("--append-system-prompt", &literal(value)),
    }),
    apply(&["--system-prompt-file"], Value, |draft, value| {
        append(&mut draft.instruction_files, [("--system-prompt", value.to_owned())])
    }),
    apply(&["--append-system-prompt-file"], Value, |draft, value| {
        append(&mut draft.instruction_files, [("--append-system-prompt", value.to_owned())])
    }),
    apply(&["--json-schema"], Value, |draft, value| {
        match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(value) {
            Ok(_) => draft.forward("--json-schema", value),
            Err(error) => Err(usage_error(sentence!(
                "`{flag}` should be a JSON object: {error}",
                flag = "--json-schema",
                error
            ))),
        }
    }),
    apply(&["--mcp-config"], Values, |draft, value| append(&mut draft.mcp_configs, [value.to_owned()])),
    apply(&["--strict-mcp-config"], Nothing, |draft, _| {
        append(&mut draft.flags, ["--strict-mcp-config".to_owned()])
    }),
    apply(&["--settings"], Value, |draft, value| append(&mut draft.settings, [value.to_owned()])),
    flag(&["--setting-sources"], Value, Ignore),
    apply(&["--include-partial-messages"], Nothing, |draft, _| set(&mut draft.partial_messages, true)),
    flag(&["--include-hook-events"], Nothing, Ignore),
    apply(&["--replay-user-messages"], Nothing, |draft, _| set(&mut draft.echo_prompts, true)),
    flag(&["--session-mirror"], Nothing, Ignore),
    apply(&["--no-session-persistence"], Nothing, |draft, _| {
        append(&mut draft.flags, ["--ephemeral".to_owned()])
    }),
    apply(&["--fallback-model"], Value, |draft, value| {
        let names =
            value.split(',').map(|name| resolve_claude_model(name).unwrap_or_else(|| "auto".to_owned()));
        draft.forward("--fallback-model", &names.collect::<Vec<_>>().join(","))
    }),
    apply(&["--effort"], Value, |draft, value| draft.forward("--effort", value)),
    apply(&["--thinking"], Value, |draft, value| match value {
        "disabled" => draft.forward("--effort", "none"),
        // The model decides how long it thinks.
        _ => Ok(()),
    }),
    flag(&["--thinking-display"], Value, Ignore),
    apply(&["--max-thinking-tokens"], Value, |draft, value| match value {
        "0" => draft.forward("--effort", "none"),
        value => draft.forward("--thinking-budget", value),
    }),
    flag(&["--task-budget"], Value, Ignore),
    flag(&["--betas"], Values, Ignore),
    flag(&["--agents"], Value, Ignore),
    flag(&["--plugin-dir"], Values, Ignore),
    flag(&["--file"], Values, Ignore),
    flag(&["--name", "-n"], Value, Ignore),
    flag(&["--debug", "-d"], OptionalValue, Ignore),
    flag(&["--debug-file"], Value, Ignore),
    flag(&["--mcp-debug"], Nothing, Ignore),
    flag(&["--ide"], Nothing, Ignore),
    flag(&["--chrome"], Nothing, Ignore),
    flag(&["--no-chrome"], Nothing, NoOp),
    flag(&["--brief"], Nothing, Ignore),
    flag(&["--exclude-dynamic-system-prompt-sections"], Nothing, Ignore),
    flag(&["--debug-to-stderr"], Nothing, Ignore),
    flag(&["--channels"], Values, Ignore),
    flag(&["--plugin-dir-no-mcp"], Values, Ignore),
    flag(&["--project-config-root"], Value, Ignore),
    // No run starts before the first message, which follows `initialize`.
    flag(&["--await-initialize"], Nothing, NoOp),
    flag(&["--disable-slash-commands"], Nothing, NoOp),
    // Hooks remain active: they belong to the user and may restrict the run.
    apply(&["--bare"], Nothing, |draft, _| {
        append(&mut draft.flags, ["--without-instructions", "--strict-mcp-config"].map(str::to_owned))
    }),
    flag(&["--initialize-fields"], Value, Reject(USE_SETTINGS_FLAG)),
    flag(&["--managed-settings"], Value, Reject(USE_SETTINGS_FLAG)),
    flag(&["--managed-settings-in-initialize"], Nothing, Reject(USE_SETTINGS_FLAG)),
    flag(
        &["--permission-prompts"],
        Value,
        Reject(sentence_text!(
            "calls that no rule covers are refused, or the host is asked with `--permission-prompt-tool stdio`"
        )),
    ),
    flag(&["--sdk-url"], Value, Reject(sentence_text!("messages come on stdin"))),
    flag(
        &["--agent"],
        Value,
        Reject(sentence_text!("custom agents do not exist here, and an agent may have fewer tools")),
    ),
    flag(&["--worktree", "-w"], OptionalValue, Reject(ONLY_THIS_DIRECTORY)),
    flag(&["--tmux"], Nothing, Reject(ONLY_THIS_DIRECTORY)),
    flag(&["--remote", "--teleport"], OptionalValue, Reject(ONLY_THIS_DIRECTORY)),
    flag(&["--from-pr"], OptionalValue, Reject(sentence_text!("sessions have no pull requests"))),
    flag(&["--resume-session-at"], Value, Reject(sentence_text!("a session can only be resumed at its end"))),
    flag(&["--resume-drops-turn"], Value, Reject(sentence_text!("a session can only be resumed at its end"))),
];
