//! The text before a conversation and the tools, as a session sends them: they are recorded once, and later changes are
//! appended as messages.
//!
//! Pure. Services serve what was sent before from their caches, and some bind the reasoning of a model to it. So a run
//! that resumes a session sends the recorded prompt, whatever its own settings are, and then says what has changed. A
//! compaction makes another conversation anyway: after it, the prompt is the current one.

use std::sync::Arc;

use ibeam_protocol::{PromptOwner, PromptPart, PromptRecord, RequestUpdate, ToolSpec};

use crate::history::History;
use crate::redact::Redactor;

/// The start of a message with changed instructions.
const CHANGED_INSTRUCTIONS: &str = "[The instructions of this session have changed. From here on the following holds, whatever was said before.]";
/// The start of a message with changed texts of a project or a repository.
const CHANGED_TEXTS: &str = "[The texts of the project have changed. The following are the current ones.]";
/// The part that names the tools that cannot be used.
const UNAVAILABLE_TOOLS: &str = "unavailable_tools";
/// The number of characters of a text that identify it.
const MAX_TITLE_CHARS: usize = 120;

/// The text before the conversation and the tools, as requests contain them.
#[derive(Clone, Debug)]
pub struct SessionPrompt {
    pub(crate) system: Arc<str>,
    /// Text before the first message, with no more authority than a user's text.
    pub(crate) preface: Option<Arc<str>>,
    /// The tools before the conversation.
    first_tools: Arc<[ToolSpec]>,
    /// All tools: the first ones, and those that were added later.
    all_tools: Arc<[ToolSpec]>,
    /// The level of reasoning before the conversation, if messages change it.
    first_effort: Option<String>,
    /// The level of reasoning that holds now.
    current_effort: Option<String>,
    /// The parts that the system prompt and the preface consist of.
    sent_parts: Vec<PromptPart>,
    /// The parts that hold now: with the changes that later messages have.
    current_parts: Vec<PromptPart>,
}

/// The messages of a change.
pub(crate) struct AppliedChange {
    pub(crate) update: RequestUpdate,
    /// The texts that others can write.
    pub(crate) content: Option<String>,
    pub(crate) instructions: Option<String>,
}

impl SessionPrompt {
    pub(crate) fn new(parts: Vec<PromptPart>, tools: Vec<ToolSpec>, effort: Option<String>) -> Self {
        let joined = |is_system: bool| -> String {
            let parts = parts.iter().filter(|part| (part.owner != PromptOwner::Repository) == is_system);
            parts.map(|part| part.text.as_str()).collect()
        };
        let preface = Some(joined(false)).filter(|preface| !preface.is_empty());
        let tools: Arc<[ToolSpec]> = tools.into();
        Self {
            system: joined(true).into(),
            preface: preface.map(Into::into),
            first_tools: Arc::clone(&tools),
            all_tools: tools,
            current_effort: effort.clone(),
            first_effort: effort,
            sent_parts: parts.clone(),
            current_parts: parts,
        }
    }

    /// Returns the parts of the system prompt and of the preface, as they are sent.
    pub fn sent_parts(&self) -> &[PromptPart] {
        &self.sent_parts
    }

    /// Returns the tools, as they are sent.
    pub fn sent_tools(&self) -> &[ToolSpec] {
        &self.all_tools
    }

    /// Returns the list of tools of a request: without those that its messages add, if they do.
    pub(crate) fn tool_list(&self, messages_add_tools: bool) -> Arc<[ToolSpec]> {
        Arc::clone(if messages_add_tools { &self.first_tools } else { &self.all_tools })
    }

    /// Returns the level of reasoning before the conversation.
    pub(crate) fn first_effort(&self) -> Option<&str> {
        self.first_effort.as_deref()
    }

    /// Forgets the changes: a compaction has removed their messages.
    pub(crate) fn forget_changes(&mut self) {
        self.current_parts.clone_from(&self.sent_parts);
        self.all_tools = Arc::clone(&self.first_tools);
        self.current_effort.clone_from(&self.first_effort);
    }

    /// Applies a recorded change. Returns its messages.
    pub(crate) fn apply(
        &mut self,
        changed: &[PromptPart],
        removed: &[String],
        tools: &[ToolSpec],
        effort: Option<&String>,
    ) -> AppliedChange {
        // The first level is stated before the conversation.
        let changed_effort = effort.filter(|_| self.first_effort.is_some()).cloned();
        let applied = AppliedChange {
            update: RequestUpdate { tools: tools.to_vec(), effort: changed_effort },
            content: change_text(CHANGED_TEXTS, &self.current_parts, changed, removed, |owner| {
                owner != PromptOwner::User
            }),
            instructions: change_text(CHANGED_INSTRUCTIONS, &self.current_parts, changed, removed, |owner| {
                owner == PromptOwner::User
            }),
        };
        self.current_parts.retain(|part| !removed.contains(&part.name));
        for new in changed {
            match self.current_parts.iter_mut().find(|part| part.name == new.name) {
                Some(part) => part.clone_from(new),
                None => self.current_parts.push(new.clone()),
            }
        }
        if !tools.is_empty() {
            self.all_tools = self.all_tools.iter().chain(tools).cloned().collect();
        }
        if let Some(effort) = effort {
            self.first_effort.get_or_insert_with(|| effort.clone());
            self.current_effort = Some(effort.clone());
        }
        applied
    }

    /// Removes tools that the service has refused. That is final.
    pub(crate) fn omit_tools(&mut self, omitted: &[String]) {
        for tools in [&mut self.first_tools, &mut self.all_tools] {
            if tools.iter().any(|tool| omitted.iter().any(|name| *name == *tool.name)) {
                let kept = tools.iter().filter(|tool| omitted.iter().all(|name| *name != *tool.name));
                *tools = kept.cloned().collect();
            }
        }
    }

    /// Returns the difference to the prompt of a run; `None` if there is none.
    fn change(&self, current: &CurrentPrompt, effort: Option<&str>) -> Option<PromptRecord> {
        let mut wanted = current.parts.clone();
        wanted.extend(tool_parts(&self.all_tools, &current.tools));
        let is_known = |part: &PromptPart| self.current_parts.contains(part);
        let is_gone = |part: &&PromptPart| wanted.iter().all(|wanted| wanted.name != part.name);
        let removed: Vec<String> =
            self.current_parts.iter().filter(is_gone).map(|part| part.name.clone()).collect();
        let is_new = |tool: &&ToolSpec| self.all_tools.iter().all(|sent| sent.name != tool.name);
        let tools: Vec<ToolSpec> = current.tools.iter().filter(is_new).cloned().collect();
        wanted.retain(|part| !is_known(part));
        let effort = effort.filter(|effort| self.current_effort.as_deref() != Some(effort));
        if wanted.is_empty() && removed.is_empty() && tools.is_empty() && effort.is_none() {
            return None;
        }
        Some(PromptRecord::Change { parts: wanted, removed, tools, effort: effort.map(str::to_owned) })
    }

    fn is_equal(&self, current: &CurrentPrompt, effort: Option<&str>) -> bool {
        self.sent_parts == current.parts
            && *self.all_tools == *current.tools
            && (effort.is_none() || self.first_effort.as_deref() == effort)
    }
}

/// The text before the conversation and the tools according to the settings of a run, without secrets.
#[derive(Clone, Debug)]
pub struct CurrentPrompt {
    parts: Vec<PromptPart>,
    tools: Vec<ToolSpec>,
}

impl CurrentPrompt {
    /// Returns the prompt of a run with these parts and tools. Empty parts are left out.
    pub fn new(parts: Vec<PromptPart>, tools: Vec<ToolSpec>, redactor: &Redactor) -> Self {
        let parts = parts.into_iter().filter(|part| !part.text.is_empty()).collect();
        let mut complete = PromptRecord::Complete { parts, tools, effort: None };
        redactor.redact_value(&mut complete);
        match complete {
            PromptRecord::Complete { parts, tools, .. } | PromptRecord::Change { parts, tools, .. } => {
                Self { parts, tools }
            }
        }
    }

    /// Removes tools that are not offered.
    pub(crate) fn remove_tools(&mut self, is_removed: impl Fn(&str) -> bool) {
        self.tools.retain(|tool| !is_removed(&tool.name));
    }

    /// Returns the names of the tools of the next request: those that were sent, and those that are new.
    pub(crate) fn offered_tools(&self, history: &History) -> Vec<String> {
        let sent = history.prompt().map(SessionPrompt::sent_tools).unwrap_or_default();
        let is_new = |tool: &&ToolSpec| sent.iter().all(|sent| sent.name != tool.name);
        sent.iter().chain(self.tools.iter().filter(is_new)).map(|tool| tool.name.to_string()).collect()
    }

    /// Returns what is to be recorded before the next request of the session; `None` if it is sent as before. `effort` is the
    /// level of reasoning to ask for, if messages can change it.
    pub fn record(&self, history: &History, effort: Option<&str>) -> Option<PromptRecord> {
        match history.prompt() {
            Some(prompt) if !history.may_renew_prompt() => prompt.change(self, effort),
            Some(prompt) if prompt.is_equal(self, effort) => None,
            Some(_) | None => {
                let (parts, tools) = (self.parts.clone(), self.tools.clone());
                Some(PromptRecord::Complete { parts, tools, effort: effort.map(str::to_owned) })
            }
        }
    }
}

/// Returns the parts about tools that a run does not have as they were sent.
fn tool_parts(sent: &[ToolSpec], current: &[ToolSpec]) -> Vec<PromptPart> {
    let find = |tool: &ToolSpec| current.iter().find(|current| current.name == tool.name);
    let mut parts: Vec<PromptPart> = sent
        .iter()
        .filter_map(|tool| find(tool).filter(|current| *current != tool))
        .map(|tool| PromptPart {
            name: format!("tool {}", tool.name),
            // Servers write the descriptions of their tools.
            owner: PromptOwner::Project,
            text: format!(
                "The tool `{}` is now described like this: {}\nIts parameters: {}",
                tool.name, tool.description, tool.parameters
            ),
        })
        .collect();
    let missing = sent.iter().filter(|tool| find(tool).is_none());
    let missing: Vec<String> = missing.map(|tool| format!("`{}`", tool.name)).collect();
    if !missing.is_empty() {
        parts.push(PromptPart {
            name: UNAVAILABLE_TOOLS.to_owned(),
            owner: PromptOwner::User,
            text: format!("These tools cannot be used now, and calls to them fail: {}.", missing.join(", ")),
        });
    }
    parts
}

/// Returns the message about the changes of some owners; `None` if there are none.
///
/// Journals store the changes and not the message: another text here would change what sessions have sent.
fn change_text(
    introduction: &str,
    before: &[PromptPart],
    changed: &[PromptPart],
    removed: &[String],
    is_about: impl Fn(PromptOwner) -> bool,
) -> Option<String> {
    let find = |name: &str| before.iter().find(|part| part.name == name);
    let mut text = introduction.to_owned();
    for part in changed.iter().filter(|part| is_about(part.owner)) {
        if let Some(earlier) = find(&part.name) {
            text.push_str(&format!("\n\nIn place of the text that begins with {:?}:", title(&earlier.text)));
        }
        text.push_str("\n\n");
        text.push_str(part.text.trim());
    }
    for part in removed.iter().filter_map(|name| find(name)).filter(|part| is_about(part.owner)) {
        let title = title(&part.text);
        text.push_str(&format!(
            "\n\nNo longer in force, so do not follow it: the text that begins with {title:?}."
        ));
    }
    (text.len() > introduction.len()).then_some(text)
}

/// Returns the beginning of a text on one line: its heading and its first line.
fn title(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start_matches('#').trim()).filter(|line| !line.is_empty());
    let title = lines.take(2).collect::<Vec<_>>().join(": ");
    match title.char_indices().nth(MAX_TITLE_CHARS) {
        None => title,
        Some((end, _)) => format!("{}…", title.get(..end).unwrap_or_default()),
    }
}
