//! Every flag of Claude Code, and what becomes of it.

use ibeam_protocol::Reason;

use super::{Draft, add, put, rules};
use crate::dialect::flag_table::{Action, Arity, Flag, usage};
use crate::dialect::kept_schema;
use Action::{Idle, Ignored, Refused, Taken};
use Arity::{Maybe, Nothing, Value, Values};

type Taking = fn(&mut Draft, &str) -> Result<(), Reason>;

const fn flag(names: &'static [&'static str], arity: Arity, action: Action<Draft>) -> Flag<Draft> {
    Flag { names, arity, action }
}

const fn taken(names: &'static [&'static str], arity: Arity, take: Taking) -> Flag<Draft> {
    flag(names, arity, Taken(take))
}

const AT_START: &str = "settings are given as `--settings`";
const ELSEWHERE: &str = "a run works in this directory";

/// Every flag there is.
pub(super) const FLAGS: &[Flag<Draft>] = &[
    flag(&["--print", "-p"], Nothing, Idle),
    flag(&["--verbose"], Nothing, Idle),
    taken(&["--help", "-h"], Nothing, |draft, _| put(&mut draft.help, true)),
    taken(&["--version", "-v"], Nothing, |draft, _| put(&mut draft.version, true)),
    taken(&["--output-format"], Value, |draft, value| draft.output(value)),
    taken(&["--input-format"], Value, |draft, value| draft.input(value)),
    taken(&["--model"], Value, |draft, value| put(&mut draft.model, Some(value.to_owned()))),
    taken(&["--continue", "-c"], Nothing, |draft, _| {
        draft.flags.push("--continue".to_owned());
        put(&mut draft.resumes, true)
    }),
    taken(&["--resume", "-r"], Maybe, |draft, value| draft.resume(value)),
    taken(&["--session-id"], Value, |draft, value| put(&mut draft.session, Some(value.to_owned()))),
    taken(&["--fork-session"], Nothing, |draft, _| put(&mut draft.forks, true)),
    taken(&["--permission-mode"], Value, |draft, value| put(&mut draft.mode, Some(value.to_owned()))),
    taken(&["--dangerously-skip-permissions"], Nothing, |draft, _| put(&mut draft.bypass, true)),
    flag(&["--allow-dangerously-skip-permissions"], Nothing, Idle),
    taken(&["--allowedTools", "--allowed-tools"], Values, |draft, value| {
        add(&mut draft.allow, rules::split(value))
    }),
    taken(&["--disallowedTools", "--disallowed-tools"], Values, |draft, value| {
        add(&mut draft.deny, rules::split(value))
    }),
    taken(&["--tools"], Values, |draft, value| draft.base(value)),
    taken(&["--permission-prompt-tool"], Value, |draft, value| draft.prompt_tool(value)),
    taken(&["--add-dir"], Values, |draft, value| add(&mut draft.directories, [value.to_owned()])),
    taken(&["--max-turns"], Value, |draft, value| draft.pass("--max-turns", value)),
    taken(&["--max-budget-usd"], Value, |draft, value| draft.pass("--max-cost", value)),
    // It cannot take the place of ours, which the tools need; it goes behind it.
    taken(&["--system-prompt", "--append-system-prompt"], Value, |draft, value| match value {
        "" => Ok(()),
        value => draft.pass("--append-system-prompt", value),
    }),
    taken(&["--system-prompt-file", "--append-system-prompt-file"], Value, |draft, value| {
        add(&mut draft.texts, [value.to_owned()])
    }),
    taken(&["--json-schema"], Value, |draft, value| match serde_json::from_str::<serde_json::Value>(value) {
        Ok(_) => draft.pass("--append-system-prompt", &kept_schema(value)),
        Err(error) => Err(usage(format!("`--json-schema` should be JSON: {error}"))),
    }),
    taken(&["--mcp-config"], Values, |draft, value| add(&mut draft.servers, [value.to_owned()])),
    taken(&["--strict-mcp-config"], Nothing, |draft, _| {
        add(&mut draft.flags, ["--strict-mcp-config".to_owned()])
    }),
    taken(&["--settings"], Value, |draft, value| add(&mut draft.settings, [value.to_owned()])),
    flag(&["--setting-sources"], Value, Ignored),
    taken(&["--include-partial-messages"], Nothing, |draft, _| put(&mut draft.partial_messages, true)),
    flag(&["--include-hook-events"], Nothing, Ignored),
    taken(&["--replay-user-messages"], Nothing, |draft, _| put(&mut draft.echo_prompts, true)),
    flag(&["--session-mirror"], Nothing, Ignored),
    taken(&["--no-session-persistence"], Nothing, |draft, _| {
        add(&mut draft.flags, ["--ephemeral".to_owned()])
    }),
    flag(&["--fallback-model"], Value, Ignored),
    flag(&["--effort"], Value, Ignored),
    flag(&["--thinking"], Value, Ignored),
    flag(&["--thinking-display"], Value, Ignored),
    flag(&["--max-thinking-tokens"], Value, Ignored),
    flag(&["--task-budget"], Value, Ignored),
    flag(&["--betas"], Values, Ignored),
    flag(&["--agents"], Value, Ignored),
    flag(&["--plugin-dir"], Values, Ignored),
    flag(&["--file"], Values, Ignored),
    flag(&["--name", "-n"], Value, Ignored),
    flag(&["--debug", "-d"], Maybe, Ignored),
    flag(&["--debug-file"], Value, Ignored),
    flag(&["--mcp-debug"], Nothing, Ignored),
    flag(&["--ide"], Nothing, Ignored),
    flag(&["--chrome"], Nothing, Ignored),
    flag(&["--no-chrome"], Nothing, Idle),
    flag(&["--brief"], Nothing, Ignored),
    flag(&["--exclude-dynamic-system-prompt-sections"], Nothing, Ignored),
    flag(&["--debug-to-stderr"], Nothing, Ignored),
    flag(&["--channels"], Values, Ignored),
    flag(&["--plugin-dir-no-mcp"], Values, Ignored),
    flag(&["--project-config-root"], Value, Ignored),
    // Nothing is made before the first message, which comes behind it.
    flag(&["--await-initialize"], Nothing, Idle),
    flag(&["--disable-slash-commands"], Nothing, Idle),
    // Hooks stay: those here are the user's own, and may guard.
    taken(&["--bare"], Nothing, |draft, _| {
        add(&mut draft.flags, ["--without-instructions", "--strict-mcp-config"].map(str::to_owned))
    }),
    flag(&["--initialize-fields"], Value, Refused(AT_START)),
    flag(&["--managed-settings"], Value, Refused(AT_START)),
    flag(&["--managed-settings-in-initialize"], Nothing, Refused(AT_START)),
    flag(&["--permission-prompts"], Value, Refused("what no rule decides is refused, or put to `stdio`")),
    flag(&["--sdk-url"], Value, Refused("messages come on stdin")),
    flag(&["--agent"], Value, Refused("an agent may have fewer tools, and there are no agents")),
    flag(&["--worktree", "-w"], Maybe, Refused(ELSEWHERE)),
    flag(&["--tmux"], Nothing, Refused(ELSEWHERE)),
    flag(&["--remote", "--teleport"], Maybe, Refused(ELSEWHERE)),
    flag(&["--from-pr"], Maybe, Refused("sessions have no pull requests")),
    flag(&["--resume-session-at"], Value, Refused("a session goes on at its end")),
    flag(&["--resume-drops-turn"], Value, Refused("a session goes on at its end")),
];
