//! A case of a corpus: a line of JSON, its place-holders filled, its words understood.
//!
//! Refuses what it does not know (a field, an effect, an expectation), so that such a case is listed as not run and
//! never passes by accident.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::effect::Effect;
use crate::hook::Hook;
use crate::name_answers::NameAnswers;
use crate::policy::{self, Policy};

/// Fields that say something to people, or of other runners.
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
const STEP_FIELDS: [&str; 3] = ["tool", "args", "expect"];

/// What a case is to end in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Expect {
    /// Not executed.
    Denied,
    /// Perhaps executed, and nothing forbidden came of it.
    Contained,
    /// Executed, with its effects.
    Allowed,
}

/// One call that the model makes.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Step {
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) args: Map<String, Value>,
    pub(crate) expect: Option<Expect>,
}

impl Step {
    /// What a command leaves running is to run beside a call that is repeated: it stays in the background.
    fn run_in_background(&mut self) {
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
    Several(Vec<String>),
}

/// A second run on the session: without a call, or with some.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Resume {
    Plain(bool),
    Call(Step),
    Calls(Vec<Step>),
}

/// The case.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Case {
    #[serde(default)]
    pub(crate) policy: Policy,
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) args: Map<String, Value>,
    pub(crate) expect: Expect,
    #[serde(default)]
    breach: Vec<String>,
    #[serde(default)]
    ok: Vec<String>,
    #[serde(default)]
    pub(crate) setup: Vec<String>,
    #[serde(default)]
    pub(crate) setup_env: BTreeMap<String, String>,
    needs: Option<OneOrMany>,
    pub(crate) requires: Option<String>,
    #[serde(default)]
    pub(crate) steps: Vec<Step>,
    repeat: Option<usize>,
    pub(crate) max_s: Option<f64>,
    pub(crate) env_fault: Option<String>,
    #[serde(default)]
    pub(crate) raw_calls: Vec<Map<String, Value>>,
    /// Lines that the person runs after the run.
    #[serde(default)]
    pub(crate) after: Vec<String>,
    /// The last words of the model, in pieces as they are streamed.
    answer: Option<OneOrMany>,
    /// Where the program is started, from the workspace.
    pub(crate) cwd: Option<String>,
    /// What the result must be: its text, or fields of it.
    pub(crate) result: Option<Value>,
    resume: Option<Resume>,
}

impl Case {
    /// Understands a line whose place-holders are filled.
    ///
    /// # Errors
    /// What of it is not known.
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
            return Err("the runner knows a `result` as a text or as fields".to_owned());
        }
        for (field, value) in line.as_object().into_iter().flatten().filter(|(name, _)| !is_ignored(name)) {
            if let Some(place) = unfilled_placeholder(value) {
                return Err(format!("the runner does not know the place-holder `{place}` in `{field}`"));
            }
        }
        let mut case: Self =
            serde_json::from_value(line.clone()).map_err(|error| format!("the case: {error}"))?;
        case.forbidden_effects()?;
        case.expected_effects()?;
        if case.repetitions() > 1 {
            case.steps.iter_mut().for_each(Step::run_in_background);
        }
        if let Some(hook) = &case.policy.hook {
            Hook::parse(hook, "")?;
        }
        for answers in case.policy.resolve.values() {
            NameAnswers::parse(answers)?;
        }
        Ok(case)
    }

    /// What must not come of it.
    pub(crate) fn forbidden_effects(&self) -> Result<Vec<Effect>, String> {
        self.breach.iter().map(|effect| Effect::parse(effect)).collect()
    }

    /// What must come of it.
    pub(crate) fn expected_effects(&self) -> Result<Vec<Effect>, String> {
        self.ok.iter().map(|effect| Effect::parse(effect)).collect()
    }

    /// Whether it names this effect.
    pub(crate) fn names_effect(&self, effect: &Effect) -> bool {
        let found = |effects: Result<Vec<Effect>, String>| effects.is_ok_and(|all| all.contains(effect));
        found(self.forbidden_effects()) || found(self.expected_effects())
    }

    /// The programs without which it says nothing.
    pub(crate) fn needs(&self) -> Vec<&str> {
        match &self.needs {
            None => Vec::new(),
            Some(OneOrMany::One(word)) => vec![word],
            Some(OneOrMany::Several(words)) => words.iter().map(String::as_str).collect(),
        }
    }

    /// The last words of the model, piece by piece.
    pub(crate) fn answer(&self) -> Vec<&str> {
        match &self.answer {
            None => vec!["done"],
            Some(OneOrMany::One(word)) => vec![word],
            Some(OneOrMany::Several(words)) => words.iter().map(String::as_str).collect(),
        }
    }

    /// The calls of a second run on the session; `None` where there is no such run.
    pub(crate) fn resumed(&self) -> Option<&[Step]> {
        match &self.resume {
            None | Some(Resume::Plain(false)) => None,
            Some(Resume::Plain(true)) => Some(&[]),
            Some(Resume::Call(step)) => Some(std::slice::from_ref(step)),
            Some(Resume::Calls(steps)) => Some(steps),
        }
    }

    /// How often the call is made.
    pub(crate) fn repetitions(&self) -> usize {
        self.repeat.unwrap_or(1).max(1)
    }

    /// A run without a call: what happens before and around it is what counts.
    pub(crate) fn is_startup(&self) -> bool {
        self.tool == "startup"
    }

    /// What the person asks for.
    pub(crate) fn prompt(&self) -> &str {
        self.args.get("prompt").and_then(Value::as_str).filter(|_| self.is_startup()).unwrap_or("do it")
    }

    /// What was to be denied by a rule may now run, and do no harm.
    pub(crate) fn relax_denied(&mut self) {
        if self.expect == Expect::Denied {
            self.expect = Expect::Contained;
        }
    }

    /// Text of the case that the program is told, so that finding it again says nothing.
    pub(crate) fn own_texts(&self) -> Vec<String> {
        let mut words = vec![self.prompt().to_owned()];
        let steps = self.steps.iter().chain(self.resumed().unwrap_or_default());
        let args = steps.map(|step| &step.args).chain([&self.args]).chain(&self.raw_calls);
        args.flat_map(Map::values).for_each(|value| collect_strings(value, &mut words));
        words
    }

    /// Two of the calls that are sent as they are have the same id.
    pub(crate) fn calls_share_an_id(&self) -> bool {
        let ids: Vec<&Value> = self.raw_calls.iter().filter_map(|call| call.get("id")).collect();
        ids.iter().enumerate().any(|(at, id)| ids.iter().skip(at + 1).any(|other| other == id))
    }
}

/// Every string in a value.
pub(crate) fn collect_strings(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| collect_strings(field, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_ignored(field: &str) -> bool {
    IGNORED_FIELDS.contains(&field)
}

/// A place-holder that nobody has filled: `{{NAME}}`.
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
    fn what_the_runner_does_not_know_is_said() {
        check_unknown("colour", json!(1), "field `colour`");
        check_unknown("/policy/colour", json!(1), "policy field `colour`");
        check_unknown("steps", json!([{"tool": "shell", "colour": 1}]), "field of a step `colour`");
        check_unknown("expect", json!("perhaps"), "perhaps");
        check_unknown("breach", json!(["smoke"]), "smoke");
        check_unknown("breach", json!(["exists:{{MOON}}/x"]), "place-holder `MOON`");
        check_unknown("setup", json!(["touch '{{MOON}}'; awk '{{print}}'"]), "place-holder `MOON`");
        check_unknown("ok", json!(["smoke"]), "smoke");
        check_unknown("result", json!(7), "`result`");
        check_unknown("resume", json!({"tool": "shell", "colour": 1}), "field of a step `colour`");
        check_unknown("resume", json!([{"tool": "shell", "colour": 1}]), "field of a step `colour`");
        check_unknown("after", json!(["git -C {{MOON}} status"]), "place-holder `MOON`");
        check_unknown("/policy/sandbox", json!("half"), "half");
        check_unknown("/policy/hook", json!("preToolUse sings"), "sings");
        check_unknown("/policy/resolve", json!({"a.test": "wherever"}), "wherever");
    }

    #[test]
    fn a_second_run_has_no_call_or_some() {
        let resumed = |value: Value| {
            let mut line = line();
            line["resume"] = value;
            Case::parse(&line).unwrap().resumed().map(<[Step]>::len)
        };
        assert_eq!(Case::parse(&line()).unwrap().resumed().map(<[Step]>::len), None);
        assert_eq!(resumed(json!(false)), None);
        assert_eq!(resumed(json!(true)), Some(0));
        assert_eq!(resumed(json!({"tool": "ls"})), Some(1));
        assert_eq!(resumed(json!([{"tool": "ls"}, {"tool": "ls"}])), Some(2));
    }

    #[test]
    fn one_need_or_several() {
        let mut line = line();
        line["needs"] = json!("curl");
        assert_eq!(Case::parse(&line).unwrap().needs(), ["curl"]);
        line["needs"] = json!(["curl", "make"]);
        assert_eq!(Case::parse(&line).unwrap().needs(), ["curl", "make"]);
    }
}
