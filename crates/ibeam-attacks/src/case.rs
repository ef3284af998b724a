//! A case of a corpus: a line of JSON with its placeholders filled.
//!
//! An unknown field, effect or expectation is an error, so that the case is listed as skipped and never passes by
//! accident.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::canary::collect_strings;
use crate::effect::Effect;
use crate::hook::CaseHook;
use crate::name_answers::NameAnswers;
use crate::policy::{self, Policy};

/// Fields that this runner ignores: they are for human readers or for other runners.
const IGNORED_FIELDS: [&str; 7] =
    ["source", "note", "cat", "expect_note", "probe_unsandboxed", "ref_sandbox", "live"];
const FIELDS: [&str; 22] = [
    "id",
    "policy",
    "tool",
    "args",
    "expect",
    "breach",
    "ok",
    "setup",
    "setup_env",
    "needs",
    "requires",
    "known_limit",
    "steps",
    "repeat",
    "max_s",
    "env_fault",
    "raw_calls",
    "after",
    "answer",
    "cwd",
    "result",
    "resume",
];
/// The fields of a step before the relevant call, or of a call of a second run.
const STEP_FIELDS: [&str; 3] = ["tool", "args", "expect"];

/// The expected end of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExpectedOutcome {
    /// The call is not executed.
    Denied,
    /// The call may be executed, but has no forbidden effect.
    Contained,
    /// The call is executed, with its effects.
    Allowed,
}

/// One call that the model makes.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CaseStep {
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) args: Map<String, Value>,
    pub(crate) expect: Option<ExpectedOutcome>,
}

impl CaseStep {
    /// Starts a shell command in the background if it leaves processes running, so that they run during the repeated
    /// call.
    fn mark_background_if_forking(&mut self) {
        let command = self.args.get("command").and_then(Value::as_str);
        let leaves_running = command.is_some_and(|command| self.tool == "shell" && command.contains("& "));
        if let (true, Some(command)) = (leaves_running, command) {
            let command = format!("{command}\nwait");
            self.args.insert("command".to_owned(), command.into());
            self.args.insert("isBackground".to_owned(), true.into());
        }
    }
}

/// One or several words.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// A second run on the session: without a call, with one, or with several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Resume {
    WithoutCalls(bool),
    Call(CaseStep),
    Calls(Vec<CaseStep>),
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Case {
    #[serde(default)]
    pub(crate) policy: Policy,
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) args: Map<String, Value>,
    pub(crate) expect: ExpectedOutcome,
    /// The effects that are forbidden.
    #[serde(default)]
    breach: Vec<String>,
    /// The effects that are required if the call is allowed.
    #[serde(default)]
    ok: Vec<String>,
    /// Commands that the user runs before the run.
    #[serde(default)]
    pub(crate) setup: Vec<String>,
    /// Variables in the environment of the program.
    #[serde(default)]
    pub(crate) setup_env: BTreeMap<String, String>,
    /// Programs that must be installed.
    needs: Option<OneOrMany>,
    pub(crate) requires: Option<String>,
    /// Calls before the relevant call.
    #[serde(default)]
    pub(crate) steps: Vec<CaseStep>,
    /// The number of times that the relevant call is made.
    repeat: Option<usize>,
    /// The maximum duration of the run in seconds.
    pub(crate) max_s: Option<f64>,
    /// A description of a fault of the system, such as that it refuses user namespaces.
    pub(crate) env_fault: Option<String>,
    /// Calls of one answer as the model writes them, in place of the relevant call.
    #[serde(default)]
    pub(crate) raw_calls: Vec<Map<String, Value>>,
    /// Commands that the user runs after the run.
    #[serde(default)]
    pub(crate) after: Vec<String>,
    /// The final answer of the model, as streamed pieces.
    answer: Option<OneOrMany>,
    /// The directory in which the program starts, relative to the workspace.
    pub(crate) cwd: Option<String>,
    /// The expected result: its text, or some of its fields.
    pub(crate) result: Option<Value>,
    /// A second run on the session.
    resume: Option<Resume>,
}

impl Case {
    /// Parses a line whose placeholders are filled.
    ///
    /// # Errors
    /// The part of the line that is unknown.
    pub(crate) fn parse(line: &Value) -> Result<Self, String> {
        check_fields(line, "field", &[&FIELDS[..], &IGNORED_FIELDS[..]].concat())?;
        check_fields(line.get("policy").unwrap_or(&Value::Null), "policy field", &policy::FIELDS)?;
        for step in line.get("steps").and_then(Value::as_array).into_iter().flatten() {
            check_fields(step, "field of a step", &STEP_FIELDS)?;
        }
        let resumed = line.get("resume").into_iter();
        for step in
            resumed.flat_map(|resume| resume.as_array().map_or(vec![resume], |all| all.iter().collect()))
        {
            check_fields(step, "field of a step", &STEP_FIELDS)?;
        }
        if line.get("result").is_some_and(|result| !result.is_string() && !result.is_object()) {
            return Err("the runner supports a `result` as a text or as fields".to_owned());
        }
        for (field, value) in line.as_object().into_iter().flatten().filter(|(name, _)| !is_ignored(name)) {
            if let Some(name) = unfilled_placeholder(value) {
                return Err(format!("the runner does not know the placeholder `{name}` in `{field}`"));
            }
        }
        let mut case: Self =
            serde_json::from_value(line.clone()).map_err(|error| format!("the case: {error}"))?;
        case.forbidden_effects()?;
        case.expected_effects()?;
        if case.repetitions() > 1 {
            case.steps.iter_mut().for_each(CaseStep::mark_background_if_forking);
        }
        if let Some(hook) = &case.policy.hook {
            CaseHook::parse(hook, "")?;
        }
        for answers in case.policy.resolve.values() {
            NameAnswers::parse(answers)?;
        }
        Ok(case)
    }

    /// Returns the effects that the case forbids.
    pub(crate) fn forbidden_effects(&self) -> Result<Vec<Effect>, String> {
        self.breach.iter().map(|effect| Effect::parse(effect)).collect()
    }

    /// Returns the effects that the case requires.
    pub(crate) fn expected_effects(&self) -> Result<Vec<Effect>, String> {
        self.ok.iter().map(|effect| Effect::parse(effect)).collect()
    }

    /// Whether the case forbids or requires `effect`.
    pub(crate) fn names_effect(&self, effect: &Effect) -> bool {
        let found = |effects: Result<Vec<Effect>, String>| effects.is_ok_and(|all| all.contains(effect));
        found(self.forbidden_effects()) || found(self.expected_effects())
    }

    /// Returns the programs that the case needs.
    pub(crate) fn needed_programs(&self) -> Vec<&str> {
        match &self.needs {
            None => Vec::new(),
            Some(OneOrMany::One(word)) => vec![word],
            Some(OneOrMany::Many(words)) => words.iter().map(String::as_str).collect(),
        }
    }

    /// Returns the final answer of the model, as streamed pieces.
    pub(crate) fn answer_pieces(&self) -> Vec<&str> {
        match &self.answer {
            None => vec!["done"],
            Some(OneOrMany::One(word)) => vec![word],
            Some(OneOrMany::Many(words)) => words.iter().map(String::as_str).collect(),
        }
    }

    /// Returns the calls of a second run on the session, or `None` if there is no such run.
    pub(crate) fn resumed_calls(&self) -> Option<&[CaseStep]> {
        match &self.resume {
            None | Some(Resume::WithoutCalls(false)) => None,
            Some(Resume::WithoutCalls(true)) => Some(&[]),
            Some(Resume::Call(step)) => Some(std::slice::from_ref(step)),
            Some(Resume::Calls(steps)) => Some(steps),
        }
    }

    /// Returns how often the call is made.
    pub(crate) fn repetitions(&self) -> usize {
        self.repeat.unwrap_or(1).max(1)
    }

    /// Whether the run has no call, so that only effects of the start and the end of the program count.
    pub(crate) fn is_startup(&self) -> bool {
        self.tool == "startup"
    }

    /// Returns the prompt of the user.
    pub(crate) fn prompt(&self) -> &str {
        self.args.get("prompt").and_then(Value::as_str).filter(|_| self.is_startup()).unwrap_or("do it")
    }

    /// Turns the expectation `Denied` into `Contained`, for a run without rules.
    pub(crate) fn relax_denied(&mut self) {
        if self.expect == ExpectedOutcome::Denied {
            self.expect = ExpectedOutcome::Contained;
        }
    }

    /// Returns the texts of the case that the program receives. Such a text in the output is not a leak.
    pub(crate) fn own_texts(&self) -> Vec<String> {
        let mut words = vec![self.prompt().to_owned()];
        let steps = self.steps.iter().chain(self.resumed_calls().unwrap_or_default());
        let args = steps.map(|step| &step.args).chain([&self.args]).chain(&self.raw_calls);
        args.flat_map(Map::values).for_each(|value| collect_strings(value, &mut words));
        words
    }

    /// Whether two of the raw calls have the same id.
    pub(crate) fn calls_share_an_id(&self) -> bool {
        let ids: Vec<&Value> = self.raw_calls.iter().filter_map(|call| call.get("id")).collect();
        ids.iter().enumerate().any(|(at, id)| ids.iter().skip(at + 1).any(|other| other == id))
    }
}

/// Whether this runner ignores a field.
fn is_ignored(field: &str) -> bool {
    IGNORED_FIELDS.contains(&field)
}

/// Returns the name of a placeholder `{{NAME}}` that was not filled.
fn unfilled_placeholder(value: &Value) -> Option<String> {
    let mut texts = Vec::new();
    collect_strings(value, &mut texts);
    let name_of = |text: &str| {
        let names = text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(name, _)| name);
        let mut names = names.filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
        names.find(|name| !name.is_empty()).map(str::to_owned)
    };
    texts.iter().find_map(|text| name_of(text))
}

/// Checks that an object has only these fields. `what` names a field in the error.
fn check_fields(object: &Value, what: &str, fields: &[&str]) -> Result<(), String> {
    let mut names = object.as_object().into_iter().flat_map(Map::keys);
    match names.find(|name| !fields.contains(&name.as_str())) {
        Some(name) => Err(format!("the runner does not know the {what} `{name}`")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line() -> Value {
        json!({
            "id": "AT-1", "source": "s", "policy": {"allow": ["Shell(ls)"], "sandbox": "off", "force": true},
            "tool": "shell", "args": {"command": "ls"}, "expect": "denied", "breach": ["conn"],
        })
    }

    #[track_caller]
    fn check_unknown(field: &str, value: Value, detail: &str) {
        let mut line = line();
        let (path, name) = field.rsplit_once('/').unwrap_or(("", field));
        line.pointer_mut(path).unwrap()[name] = value;
        assert!(Case::parse(&line).unwrap_err().contains(detail), "{:?}", Case::parse(&line));
    }

    #[test]
    fn unknown_parts_of_a_case_are_reported() {
        check_unknown("colour", json!(1), "field `colour`");
        check_unknown("/policy/colour", json!(1), "policy field `colour`");
        check_unknown("steps", json!([{"tool": "shell", "colour": 1}]), "field of a step `colour`");
        check_unknown("expect", json!("perhaps"), "perhaps");
        check_unknown("breach", json!(["smoke"]), "smoke");
        check_unknown("breach", json!(["exists:{{MOON}}/x"]), "placeholder `MOON`");
        check_unknown("setup", json!(["touch '{{MOON}}'; awk '{{print}}'"]), "placeholder `MOON`");
        check_unknown("ok", json!(["smoke"]), "smoke");
        check_unknown("result", json!(7), "`result`");
        check_unknown("resume", json!({"tool": "shell", "colour": 1}), "field of a step `colour`");
        check_unknown("resume", json!([{"tool": "shell", "colour": 1}]), "field of a step `colour`");
        check_unknown("after", json!(["git -C {{MOON}} status"]), "placeholder `MOON`");
        check_unknown("/policy/sandbox", json!("half"), "half");
        check_unknown("/policy/hook", json!("preToolUse sings"), "sings");
        check_unknown("/policy/resolve", json!({"a.test": "wherever"}), "wherever");
    }

    #[test]
    fn a_second_run_has_no_call_or_some() {
        let resumed = |value: Value| {
            let mut line = line();
            line["resume"] = value;
            Case::parse(&line).unwrap().resumed_calls().map(<[CaseStep]>::len)
        };
        assert_eq!(Case::parse(&line()).unwrap().resumed_calls().map(<[CaseStep]>::len), None);
        assert_eq!(resumed(json!(false)), None);
        assert_eq!(resumed(json!(true)), Some(0));
        assert_eq!(resumed(json!({"tool": "ls"})), Some(1));
        assert_eq!(resumed(json!([{"tool": "ls"}, {"tool": "ls"}])), Some(2));
    }

    #[test]
    fn a_case_needs_one_program_or_several() {
        let mut line = line();
        line["needs"] = json!("curl");
        assert_eq!(Case::parse(&line).unwrap().needed_programs(), ["curl"]);
        line["needs"] = json!(["curl", "make"]);
        assert_eq!(Case::parse(&line).unwrap().needed_programs(), ["curl", "make"]);
    }
}
