//! Data that only the stream of Claude Code contains: the id of the model, the permission mode, the tokens
//! of each answer, and the sums of all runs of the process.
//!
//! The facts come from the events of a run. An event is observed before its lines are completed and after the lines of
//! earlier events, so a line never contains the facts of a later answer.

use std::collections::BTreeMap;

use ibeam_dialects::{CLAUDE_CODE_CONTEXT_WINDOW, CLAUDE_CODE_MAX_OUTPUT};
use ibeam_protocol::{Event, EventKind, ModelTotals, Notice, Reason, RunFinished, RunOutcome, Usage};
use serde_json::{Value, json};

use crate::dialect::control_protocol::value_at;
use ibeam_agent::session_observer::ModelLimits;
use ibeam_agent::slash_commands::{CommandSource, SlashCommand};

/// The facts of the current run, and sums of all runs of this process.
#[derive(Debug, Default)]
pub(crate) struct RunFacts {
    /// The permission mode by its name in Claude Code.
    mode: String,
    /// The id of the model that answers.
    model: String,
    /// The names of the slash commands, of the skills among them, and of the sub-agents.
    slash_commands: Vec<String>,
    skills: Vec<String>,
    agents: Vec<String>,
    /// The limits of the models, by their ids.
    limits: BTreeMap<String, ModelLimits>,
    /// The tokens of the last complete answer.
    answer_usage: Usage,
    /// Whether the last answer is complete. If so, further text belongs to the next answer.
    is_answer_complete: bool,
    /// The end of the run, once the run has ended.
    run_end: Option<RunEnd>,
    /// The sums of the process, by the id of the model.
    model_uses: BTreeMap<String, ModelUse>,
    /// The time that model requests have taken in this process.
    api_ms: u64,
}

/// The totals of a run that has ended.
#[derive(Clone, Copy, Debug)]
struct RunEnd {
    usage: Usage,
    duration_ms: u64,
    /// The subtype of the result, where it is more exact than the class of the failure.
    subtype: Option<&'static str>,
}

/// The use of one model by all runs of this process.
#[derive(Clone, Copy, Debug, Default)]
struct ModelUse {
    usage: Usage,
    cost_micros: u64,
}

impl RunFacts {
    /// Returns the facts before the first run, under the permission mode `mode`.
    pub(crate) fn new(mode: &str) -> Self {
        Self { mode: mode.to_owned(), ..Self::default() }
    }

    /// Sets the limits of the model with the id `model`.
    pub(crate) fn set_limits(&mut self, model: &str, limits: ModelLimits) {
        self.limits.insert(model.to_owned(), limits);
    }

    /// Sets the slash commands and the sub-agents. The prompts of MCP servers have the names of Claude Code.
    pub(crate) fn set_commands(&mut self, commands: &[SlashCommand], agents: &[String]) {
        let name = |command: &SlashCommand| match (&command.source, command.name.split_once(':')) {
            (CommandSource::Server(server), Some((_, prompt))) => format!("mcp__{server}__{prompt}"),
            (CommandSource::Server(_) | CommandSource::File(_) | CommandSource::Skill(_), _) => {
                command.name.clone()
            }
        };
        self.slash_commands = commands.iter().map(name).collect();
        let skills = commands.iter().filter(|command| matches!(command.source, CommandSource::Skill(_)));
        self.skills = skills.map(|command| command.name.clone()).collect();
        self.agents = agents.to_vec();
    }

    /// Records the facts of an event. Must be called before the lines of the event are written.
    pub(crate) fn observe(&mut self, event: &Event) {
        if let EventKind::RunStarted(head) = &event.kind {
            self.model.clone_from(&head.model.id);
            (self.answer_usage, self.is_answer_complete, self.run_end) = (Usage::default(), false, None);
        } else if let EventKind::ModelRequestFinished { answer, .. } = &event.kind {
            (self.answer_usage, self.is_answer_complete) = (answer.usage.unwrap_or_default(), true);
        } else if let EventKind::TextDelta { .. } = &event.kind
            && self.is_answer_complete
        {
            (self.answer_usage, self.is_answer_complete) = (Usage::default(), false);
        } else if let EventKind::Notice(Notice::ModelFallback { to, .. }) = &event.kind {
            model_id_of(to).clone_into(&mut self.model);
        } else if let EventKind::RunFinished(run) = &event.kind {
            self.add_run(run);
        }
    }

    fn add_run(&mut self, run: &RunFinished) {
        let usage = run.totals.usage.unwrap_or_default();
        self.run_end = Some(RunEnd { usage, duration_ms: run.duration_ms, subtype: exact_subtype(run) });
        self.api_ms = self.api_ms.saturating_add(run.totals.api_ms);
        run.totals.models.iter().for_each(|totals| self.add_model(totals));
    }

    /// Adds the requests of a run to one model. A model that never answered is left out, as Claude Code does.
    fn add_model(&mut self, totals: &ModelTotals) {
        if totals.requests == 0 && totals.usage.is_none() {
            return;
        }
        let used = self.model_uses.entry(model_id_of(&totals.model).to_owned()).or_default();
        used.usage = used.usage.plus(totals.usage.unwrap_or_default());
        used.cost_micros = used.cost_micros.saturating_add(totals.cost_micros.unwrap_or_default());
    }

    /// Adds the facts to a line of the stream.
    pub(crate) fn complete(&self, line: &mut Value) {
        match value_at(line, "/type").as_str().unwrap_or_default() {
            "system" => {
                set(line, "/permissionMode", self.mode.as_str().into());
                rename_mcp_tools(line);
                set(line, "/slash_commands", self.slash_commands.as_slice().into());
                set(line, "/skills", self.skills.as_slice().into());
                set(line, "/agents", self.agents.as_slice().into());
                self.set_model(line, "/model");
            }
            "assistant" => {
                self.set_model(line, "/message/model");
                set(line, "/message/usage", usage_json(self.answer_usage));
            }
            "stream_event" => {
                self.set_model(line, "/event/message/model");
                if *value_at(line, "/event/type") == "message_delta" {
                    set(line, "/event/usage", usage_json(self.answer_usage));
                }
            }
            "result" => self.complete_result(line),
            _ => {}
        }
    }

    fn complete_result(&self, line: &mut Value) {
        if let Some(RunEnd { usage, duration_ms, subtype }) = self.run_end {
            set(line, "/usage", usage_json(usage));
            set(line, "/duration_ms", duration_ms.into());
            if let Some(subtype) = subtype {
                set(line, "/subtype", subtype.into());
            }
        }
        let cost = self.model_uses.values().fold(0_u64, |sum, used| sum.saturating_add(used.cost_micros));
        set(line, "/total_cost_usd", dollars(cost));
        if self.limits.get(&self.model).is_some_and(|limits| limits.lacks_price)
            && let Some(line) = line.as_object_mut()
        {
            line.insert("ibeam".to_owned(), json!({ "budget_enforced": false }));
        }
        set(line, "/duration_api_ms", self.api_ms.into());
        let limits = |model| self.limits.get(model).copied().unwrap_or_default();
        let used = self.model_uses.iter().map(|(model, used)| (model.clone(), used.report(limits(model))));
        set(line, "/modelUsage", Value::Object(used.collect()));
    }

    fn set_model(&self, line: &mut Value, pointer: &str) {
        if !self.model.is_empty() {
            set(line, pointer, self.model.as_str().into());
        }
    }
}

/// Returns the subtype of a failure whose class in contract 1 has several.
fn exact_subtype(run: &RunFinished) -> Option<&'static str> {
    let RunOutcome::Failed(failure) = &run.outcome else { return None };
    if matches!(failure.reason, Reason::AnswerMismatch { .. }) {
        Some("error_max_structured_output_retries")
    } else if matches!(failure.reason, Reason::CostLimit { .. }) {
        Some("error_max_budget_usd")
    } else {
        None
    }
}

impl ModelUse {
    fn report(&self, limits: ModelLimits) -> Value {
        json!({
            "inputTokens": self.usage.input,
            "outputTokens": self.usage.output,
            "cacheReadInputTokens": self.usage.cache_read,
            "cacheCreationInputTokens": self.usage.cache_write,
            "webSearchRequests": 0,
            "costUSD": dollars(self.cost_micros),
            "contextWindow": limits.context_window.unwrap_or(CLAUDE_CODE_CONTEXT_WINDOW),
            "maxOutputTokens": limits.max_output_tokens.unwrap_or(CLAUDE_CODE_MAX_OUTPUT),
        })
    }
}

/// Returns the id in `PROVIDER/ID`, the name of a model in the stream of Claude Code.
fn model_id_of(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, id)| id)
}

/// Returns token counts in the format of Claude Code.
fn usage_json(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}

/// Converts millionths of a dollar into dollars; the integer 0 for no cost.
fn dollars(micros: u64) -> Value {
    match micros {
        0 => 0.into(),
        micros => json!(micros as f64 / 1e6),
    }
}

/// Renames tools of MCP servers in the list of tools from `mcp_SERVER_TOOL` to `mcp__SERVER__TOOL`, as in their calls.
fn rename_mcp_tools(line: &mut Value) {
    let servers = value_at(line, "/mcp_servers").as_array().cloned().unwrap_or_default();
    let servers: Vec<&str> = servers.iter().filter_map(|server| value_at(server, "/name").as_str()).collect();
    let named = |tool: &str| {
        let rest = tool.strip_prefix("mcp_")?;
        let mut pairs = servers.iter().filter_map(|server| {
            Some((server, rest.strip_prefix(server)?.strip_prefix('_').filter(|tool| !tool.is_empty())?))
        });
        pairs.next().map(|(server, tool)| format!("mcp__{server}__{tool}"))
    };
    let Some(Value::Array(tools)) = line.pointer_mut("/tools") else { return };
    for tool in tools {
        if let Some(name) = tool.as_str().and_then(named) {
            *tool = name.into();
        }
    }
}

/// Replaces the value at `pointer`, if it exists.
fn set(line: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = line.pointer_mut(pointer) {
        *place = value;
    }
}
