//! A case of a corpus: a line of JSON, its place-holders filled, its words understood.
//!
//! Refuses what it does not know (a field, an effect, an expectation), so that such a case is listed as not run and
//! never passes by accident.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::effect::Effect;
use super::resolve::Answers;

/// Fields that say something to people, or of other runners.
const FOR_PEOPLE: [&str; 7] =
    ["source", "note", "cat", "expect_note", "probe_unsandboxed", "ref_sandbox", "live"];
const FIELDS: [&str; 17] = [
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
];
const POLICY_FIELDS: [&str; 16] = [
    "allow",
    "deny",
    "ask",
    "sandbox",
    "force",
    "trust",
    "mode",
    "env",
    "hook",
    "raw",
    "chmod",
    "resolve",
    "insecure_loopback_ok",
    "mcp_tools",
    "approved_mcp_hash",
    "setup_env",
];
const STEP_FIELDS: [&str; 3] = ["tool", "args", "expect"];

/// What a case is to end in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Expect {
    /// Not executed.
    Denied,
    /// Perhaps executed, and nothing forbidden came of it.
    Contained,
    /// Executed, with its effects.
    Allowed,
}

/// Whether commands run in the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Sandbox {
    /// As it is without a flag.
    #[default]
    On,
    Off,
}

/// What the user, or the person at the keyboard, has said.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Policy {
    pub(super) allow: Vec<String>,
    pub(super) deny: Vec<String>,
    pub(super) ask: Vec<String>,
    pub(super) sandbox: Sandbox,
    pub(super) force: bool,
    pub(super) trust: Option<bool>,
    pub(super) mode: Option<String>,
    /// The environment the program is started in.
    pub(super) env: BTreeMap<String, String>,
    pub(super) hook: Option<String>,
    /// The user's policy file, word for word.
    pub(super) raw: Option<String>,
    /// The mode of the user's policy file, in octal.
    pub(super) chmod: Option<String>,
    /// What names lead to.
    pub(super) resolve: BTreeMap<String, String>,
    pub(super) insecure_loopback_ok: bool,
    /// Tools of an MCP server of the user's.
    pub(super) mcp_tools: Vec<String>,
    pub(super) approved_mcp_hash: Option<String>,
    /// The keys of the program itself.
    pub(super) setup_env: BTreeMap<String, String>,
}

/// One call that the model makes.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Step {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) args: Map<String, Value>,
    pub(super) expect: Option<Expect>,
}

/// One or several words.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

/// The case.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Case {
    #[serde(default)]
    pub(super) policy: Policy,
    pub(super) tool: String,
    #[serde(default)]
    pub(super) args: Map<String, Value>,
    pub(super) expect: Expect,
    #[serde(default)]
    breach: Vec<String>,
    #[serde(default)]
    ok: Vec<String>,
    #[serde(default)]
    pub(super) setup: Vec<String>,
    #[serde(default)]
    pub(super) setup_env: BTreeMap<String, String>,
    needs: Option<Words>,
    pub(super) requires: Option<String>,
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    repeat: Option<usize>,
    pub(super) max_s: Option<f64>,
    pub(super) env_fault: Option<String>,
    #[serde(default)]
    pub(super) raw_calls: Vec<Map<String, Value>>,
}

impl Case {
    /// Understands a line whose place-holders are filled.
    ///
    /// # Errors
    /// What of it is not known.
    pub(super) fn parse(line: &Value) -> Result<Self, String> {
        known(line, "field", &[&FIELDS[..], &FOR_PEOPLE[..]].concat())?;
        known(line.get("policy").unwrap_or(&Value::Null), "policy field", &POLICY_FIELDS)?;
        for step in line.get("steps").and_then(Value::as_array).into_iter().flatten() {
            known(step, "field of a step", &STEP_FIELDS)?;
        }
        let case: Self =
            serde_json::from_value(line.clone()).map_err(|error| format!("the case: {error}"))?;
        case.breaches()?;
        case.oks()?;
        for answers in case.policy.resolve.values() {
            Answers::parse(answers)?;
        }
        Ok(case)
    }

    /// What must not come of it.
    pub(super) fn breaches(&self) -> Result<Vec<Effect>, String> {
        self.breach.iter().map(|effect| Effect::parse(effect)).collect()
    }

    /// What must come of it.
    pub(super) fn oks(&self) -> Result<Vec<Effect>, String> {
        self.ok.iter().map(|effect| Effect::parse(effect)).collect()
    }

    /// Whether it names this effect.
    pub(super) fn looks_for(&self, effect: &Effect) -> bool {
        let found = |effects: Result<Vec<Effect>, String>| effects.is_ok_and(|all| all.contains(effect));
        found(self.breaches()) || found(self.oks())
    }

    /// The programs without which it says nothing.
    pub(super) fn needs(&self) -> Vec<&str> {
        match &self.needs {
            None => Vec::new(),
            Some(Words::One(word)) => vec![word],
            Some(Words::Several(words)) => words.iter().map(String::as_str).collect(),
        }
    }

    /// How often the call is made.
    pub(super) fn times(&self) -> usize {
        self.repeat.unwrap_or(1).max(1)
    }

    /// A run without a call: what happens before and around it is what counts.
    pub(super) fn is_startup(&self) -> bool {
        self.tool == "startup"
    }

    /// What the person asks for.
    pub(super) fn prompt(&self) -> &str {
        self.args.get("prompt").and_then(Value::as_str).filter(|_| self.is_startup()).unwrap_or("do it")
    }

    /// Text of the case that the program is told, so that finding it again says nothing.
    pub(super) fn own_words(&self) -> Vec<String> {
        let mut words = vec![self.prompt().to_owned()];
        let args = self.steps.iter().map(|step| &step.args).chain([&self.args]).chain(&self.raw_calls);
        args.flat_map(Map::values).for_each(|value| collect(value, &mut words));
        words
    }

    /// A rule that is none, or a policy file that cannot be used: the program may refuse to start.
    pub(super) fn policy_is_broken(&self) -> bool {
        let policy = &self.policy;
        let tokens = policy.allow.iter().chain(&policy.deny).chain(&policy.ask);
        policy.raw.is_some() || policy.chmod.is_some() || tokens.into_iter().any(|token| !is_token(token))
    }

    /// A name whose address changes between two looks at it.
    pub(super) fn rebinds(&self) -> bool {
        self.policy.resolve.values().any(|said| Answers::parse(said).is_ok_and(|answers| answers.change()))
    }
}

/// Every string in a value.
pub(super) fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `Kind(words)` and nothing around it.
fn is_token(token: &str) -> bool {
    const KINDS: [&str; 5] = ["Shell", "Read", "Write", "WebFetch", "Mcp"];
    let inner = token.split_once('(').filter(|(kind, _)| KINDS.contains(kind)).map(|(_, rest)| rest);
    let inner = inner.and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| !inner.is_empty() && inner == inner.trim())
}

fn known(object: &Value, what: &str, fields: &[&str]) -> Result<(), String> {
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
    fn check_unknown(field: &str, value: Value, said: &str) {
        let mut line = line();
        let (path, name) = field.rsplit_once('/').unwrap_or(("", field));
        line.pointer_mut(path).unwrap()[name] = value;
        assert!(Case::parse(&line).unwrap_err().contains(said), "{:?}", Case::parse(&line));
    }

    #[test]
    fn what_the_runner_does_not_know_is_said() {
        check_unknown("colour", json!(1), "field `colour`");
        check_unknown("/policy/colour", json!(1), "policy field `colour`");
        check_unknown("steps", json!([{"tool": "shell", "colour": 1}]), "field of a step `colour`");
        check_unknown("expect", json!("perhaps"), "perhaps");
        check_unknown("breach", json!(["smoke"]), "smoke");
        check_unknown("ok", json!(["smoke"]), "smoke");
        check_unknown("/policy/sandbox", json!("half"), "half");
        check_unknown("/policy/resolve", json!({"a.test": "wherever"}), "wherever");
    }

    #[test]
    fn broken_rules_are_told_from_sound_ones() {
        for (token, broken) in [
            ("Shell(ls)", false),
            ("Shell(git:log*)", false),
            ("Read(~/.ssh/**)", false),
            ("Shel(touch)", true),
            ("Shell(touch", true),
            ("Shell()", true),
            (" Shell( touch ) ", true),
        ] {
            let mut line = line();
            line["policy"]["deny"] = json!([token]);
            assert_eq!(Case::parse(&line).unwrap().policy_is_broken(), broken, "{token}");
        }
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
