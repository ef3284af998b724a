//! The command line of Claude Code, as people and its SDKs write it.
//!
//! Only runs that print: there is no interactive one here, and none of its sub-commands.

mod rules;
mod settings;

use std::ffi::OsString;

use ibeam_dialects::Dialect;
use ibeam_protocol::Reason;

use self::rules::{Said, Use};
use super::table::{Flag, Meaning, Takes, read, usage};
use super::{Input, Live, Shape, Translated, World, file, ours};
use crate::cli::Unparsed;
use Meaning::{Idle, Ignored, Refused, Taken};
use Takes::{Maybe, Nothing, Value, Values};

/// What `--version` says: the version whose forms are spoken.
pub(super) const VERSION: &str = "2.1.0";

/// The first words that are no prompt.
const COMMANDS: &[&str] =
    &["agents", "auth", "config", "doctor", "install", "mcp", "plugin", "setup-token", "update", "upgrade"];

/// What the flags say.
#[derive(Default)]
struct Draft {
    shape: Option<Shape>,
    messages: bool,
    version: bool,
    replays: bool,
    partial: bool,
    mode: Option<String>,
    bypass: bool,
    asks: bool,
    allow: Vec<String>,
    deny: Vec<String>,
    ask: Vec<String>,
    tools: Option<Vec<String>>,
    directories: Vec<String>,
    model: Option<String>,
    /// Given as they are, `--flag=value`.
    flags: Vec<String>,
    session: Option<String>,
    resumes: bool,
    forks: bool,
    /// Files whose text goes to the model.
    texts: Vec<String>,
    servers: Vec<String>,
    settings: Vec<String>,
    ignored: Vec<String>,
}

type Taking = fn(&mut Draft, &str) -> Result<(), Reason>;

const fn flag(names: &'static [&'static str], takes: Takes, means: Meaning<Draft>) -> Flag<Draft> {
    Flag { names, takes, means }
}

const fn taken(names: &'static [&'static str], takes: Takes, take: Taking) -> Flag<Draft> {
    flag(names, takes, Taken(take))
}

const ELSEWHERE: &str = "a run works in this directory";

/// Every flag there is.
const FLAGS: &[Flag<Draft>] = &[
    flag(&["--print", "-p"], Nothing, Idle),
    flag(&["--verbose"], Nothing, Idle),
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
    taken(&["--mcp-config"], Values, |draft, value| add(&mut draft.servers, [value.to_owned()])),
    taken(&["--strict-mcp-config"], Nothing, |draft, _| {
        add(&mut draft.flags, ["--strict-mcp-config".to_owned()])
    }),
    taken(&["--settings"], Value, |draft, value| add(&mut draft.settings, [value.to_owned()])),
    flag(&["--setting-sources"], Value, Ignored),
    taken(&["--include-partial-messages"], Nothing, |draft, _| put(&mut draft.partial, true)),
    flag(&["--include-hook-events"], Nothing, Ignored),
    taken(&["--replay-user-messages"], Nothing, |draft, _| put(&mut draft.replays, true)),
    flag(&["--session-mirror"], Nothing, Ignored),
    flag(&["--no-session-persistence"], Nothing, Ignored),
    flag(&["--fallback-model"], Value, Ignored),
    flag(&["--effort"], Value, Ignored),
    flag(&["--thinking"], Value, Ignored),
    flag(&["--thinking-display"], Value, Ignored),
    flag(&["--max-thinking-tokens"], Value, Ignored),
    flag(&["--task-budget"], Value, Ignored),
    flag(&["--betas"], Values, Ignored),
    flag(&["--json-schema"], Value, Ignored),
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
    flag(&["--disable-slash-commands"], Nothing, Idle),
    flag(
        &["--bare"],
        Nothing,
        Refused("instructions and servers of the project are read; leave them out there"),
    ),
    flag(&["--agent"], Value, Refused("an agent may have fewer tools, and there are no agents")),
    flag(&["--worktree", "-w"], Maybe, Refused(ELSEWHERE)),
    flag(&["--tmux"], Nothing, Refused(ELSEWHERE)),
    flag(&["--remote", "--teleport"], Maybe, Refused(ELSEWHERE)),
    flag(&["--from-pr"], Maybe, Refused("sessions have no pull requests")),
    flag(&["--resume-session-at"], Value, Refused("a session goes on at its end")),
    flag(&["--resume-drops-turn"], Value, Refused("a session goes on at its end")),
];

/// Translates what follows `--dialect claude`.
pub(super) fn translate(args: &[OsString], world: &World<'_>) -> Result<Translated, Unparsed> {
    if let Some(word) = args.first().and_then(|arg| arg.to_str()).filter(|word| COMMANDS.contains(word)) {
        return Err(Unparsed::Wrong(usage(format!(
            "`claude {word}` has no counterpart; see `ibeam --help`"
        ))));
    }
    let mut draft = Draft::default();
    let rest = read(FLAGS, args, &mut draft).map_err(Unparsed::Wrong)?;
    if draft.version {
        return Err(Unparsed::Said(format!(
            "{VERSION} (Claude Code; ibeam {})\n",
            env!("CARGO_PKG_VERSION")
        )));
    }
    draft.ignored.extend(rest.ignored);
    draft.finish(rest.words, world).map_err(Unparsed::Wrong)
}

fn put<T>(place: &mut T, value: T) -> Result<(), Reason> {
    *place = value;
    Ok(())
}

fn add<T>(place: &mut Vec<T>, values: impl IntoIterator<Item = T>) -> Result<(), Reason> {
    place.extend(values);
    Ok(())
}

impl Draft {
    fn pass(&mut self, flag: &str, value: &str) -> Result<(), Reason> {
        add(&mut self.flags, [format!("{flag}={value}")])
    }

    fn output(&mut self, value: &str) -> Result<(), Reason> {
        self.shape = Some(match value {
            "text" => Shape::Answer,
            "json" => Shape::Last,
            "stream-json" => Shape::Lines,
            other => {
                return Err(usage(format!("`--output-format {other}` should be text, json or stream-json")));
            }
        });
        Ok(())
    }

    fn input(&mut self, value: &str) -> Result<(), Reason> {
        self.messages = match value {
            "text" => false,
            "stream-json" => true,
            other => return Err(usage(format!("`--input-format {other}` should be text or stream-json"))),
        };
        Ok(())
    }

    fn resume(&mut self, value: &str) -> Result<(), Reason> {
        if value.is_empty() {
            return Err(usage("`--resume` needs the id of a session; `--continue` takes the newest"));
        }
        self.resumes = true;
        self.pass("--resume", value)
    }

    fn base(&mut self, value: &str) -> Result<(), Reason> {
        self.tools = if value == "default" { None } else { Some(rules::split(value)) };
        Ok(())
    }

    fn prompt_tool(&mut self, value: &str) -> Result<(), Reason> {
        self.asks = value == "stdio";
        if !self.asks {
            // Nobody is asked then, and so what would be asked is refused.
            self.ignored.push("--permission-prompt-tool".to_owned());
        }
        Ok(())
    }

    fn finish(mut self, words: Vec<String>, world: &World<'_>) -> Result<Translated, Reason> {
        for settings in std::mem::take(&mut self.settings) {
            self.settings(&settings, world)?;
        }
        for path in std::mem::take(&mut self.texts) {
            self.pass("--append-system-prompt", &file(world, &path)?)?;
        }
        for servers in std::mem::take(&mut self.servers) {
            self.servers(&servers, world)?;
        }
        match (&self.session, self.resumes, self.forks) {
            (Some(_), _, true) => return Err(usage("`--session-id` cannot name a fork")),
            (Some(_), true, false) => {
                return Err(usage("`--session-id` needs `--fork-session` beside `--resume`"));
            }
            // An id that was not seen before begins a session.
            (Some(id), false, false) => self.flags.push(format!("--resume={id}")),
            (None, true, true) => self.flags.push("--fork".to_owned()),
            (None, _, _) => {}
        }
        if self.messages && !words.is_empty() {
            return Err(usage("`--input-format stream-json` takes the prompt from stdin"));
        }
        let shape = self.shape.unwrap_or(Shape::Answer);
        if self.messages && shape != Shape::Lines {
            return Err(usage("`--input-format stream-json` needs `--output-format stream-json`"));
        }
        self.permissions()?;
        let mut flags = std::mem::take(&mut self.flags);
        flags.extend(self.model.as_deref().and_then(model).map(|model| format!("--model={model}")));
        flags.extend(self.directories.iter().map(|directory| format!("--add-dir={directory}")));
        if words.is_empty() && !self.messages {
            flags.push("--stdin=read".to_owned());
        }
        let live = Live {
            dialect: Dialect::Claude,
            shape,
            input: if self.messages { Input::Messages } else { Input::Prompt },
            replays: self.replays,
            partial: self.partial && shape == Shape::Lines,
            asks: self.asks && self.messages,
            ignored: self.ignored,
        };
        Ok(Translated { args: ours(flags, words), live: Some(live) })
    }

    /// What may be done: never more than they say.
    fn permissions(&mut self) -> Result<(), Reason> {
        let mode = if self.bypass { "bypassPermissions" } else { self.mode.as_deref().unwrap_or("default") };
        let (flags, edits): (&[&str], bool) = match mode {
            "default" | "manual" => (&["--approval=strict"], false),
            "dontAsk" => {
                self.asks = false;
                (&["--approval=strict"], false)
            }
            "acceptEdits" => (&["--approval=strict"], true),
            "plan" => (&["--mode=plan", "--approval=strict"], false),
            "bypassPermissions" => (&["--force"], false),
            // Something decides in place of a person: here the sandbox.
            "auto" => (&[], false),
            other => return Err(usage(format!("there is no permission mode `{other}`"))),
        };
        let mut given: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        if edits {
            self.allow.push("Edit".to_owned());
        }
        for rule in &self.allow {
            match rules::tokens(rule, Use::Allow) {
                Said::Tokens(tokens) => given.extend(tokens.iter().map(|token| format!("--allow={token}"))),
                Said::Nothing => {}
                Said::Unclear => self.ignored.push(format!("--allowedTools {rule}")),
            }
        }
        if self.allow.iter().any(|rule| ["Edit", "MultiEdit", "Write"].contains(&rule.as_str())) {
            let plain = |directory: &&String| {
                !directory.contains(['*', '?', '[', '{', '\\']) && !directory.contains("..")
            };
            let directories = self.directories.iter().filter(plain);
            given.extend(directories.map(|directory| format!("--allow=Write({directory}/**)")));
        }
        for (rules, flag) in [(&self.deny, "--deny"), (&self.ask, "--ask")] {
            for rule in rules {
                match rules::tokens(rule, Use::Forbid) {
                    Said::Tokens(tokens) => {
                        given.extend(tokens.iter().map(|token| format!("{flag}={token}")))
                    }
                    Said::Nothing => {}
                    Said::Unclear => {
                        return Err(usage(format!("the rule `{rule}` cannot be kept here as it stands")));
                    }
                }
            }
        }
        let mut without: Vec<&str> = self.deny.iter().flat_map(|rule| rules::tools(rule)).copied().collect();
        if let Some(base) = &self.tools {
            let offered: Vec<&str> = base.iter().flat_map(|name| rules::tools(name)).copied().collect();
            without.extend(rules::all_tools().filter(|tool| !offered.contains(tool)));
        }
        without.sort_unstable();
        without.dedup();
        given.extend(without.into_iter().map(|tool| format!("--without={tool}")));
        self.flags.extend(given);
        Ok(())
    }
}

/// Their short names mean the newest that we know of.
fn model(name: &str) -> Option<String> {
    let plain = name.split_once('[').map_or(name, |(plain, _)| plain);
    match plain {
        "default" | "" => None,
        "opusplan" => model("opus"),
        "haiku" | "opus" | "sonnet" => {
            Some(ibeam_providers::newest_model("anthropic", plain).unwrap_or(plain).to_owned())
        }
        name => Some(name.to_owned()),
    }
}

#[cfg(test)]
#[path = "claude_test.rs"]
mod tests;
