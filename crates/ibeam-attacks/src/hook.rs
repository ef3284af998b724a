//! A hook from its description in a case: `preToolUse exits 2 with broken JSON on stdout`.

use serde_json::{Map, Value, json};

const EVENTS: [&str; 12] = [
    "sessionStart",
    "beforeSubmitPrompt",
    "preToolUse",
    "beforeShellExecution",
    "beforeMCPExecution",
    "beforeReadFile",
    "postToolUse",
    "postToolUseFailure",
    "afterShellExecution",
    "afterFileEdit",
    "stop",
    "sessionEnd",
];
const BROKEN_JSON: &str = r#"{"permission": "allow""#;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CaseHook {
    /// The event for which the hook is configured.
    event: &'static str,
    /// The text that the hook prints.
    output: Option<String>,
    end: End,
    fail_closed: bool,
}

/// The way in which the hook ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Exit(u8),
    Crash,
    /// The hook runs until its timeout.
    Never,
}

impl CaseHook {
    /// Parses a description. `payload` is the complete command of a rewrite that names only its program.
    ///
    /// # Errors
    /// A description that the runner cannot parse.
    pub(crate) fn parse(description: &str, payload: &str) -> Result<Self, String> {
        let unknown = || format!("the runner does not understand the hook `{description}`");
        let (event, rest) = description.trim().split_once([' ', ':']).ok_or_else(unknown)?;
        let event = EVENTS.iter().find(|candidate| **candidate == event).ok_or_else(unknown)?;
        let lower = rest.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let mut hook =
            Self { event, output: None, end: End::Exit(0), fail_closed: has(&["failclosed", "fail closed"]) };
        let mut understood = false;
        if let Some((_, object)) = rest.split_once("->") {
            hook.output = Some(parse_lenient_object(object).ok_or_else(unknown)?.to_string());
            understood = true;
        }
        if let Some((_, command)) = rest.split_once("rewrites command to ") {
            let command = if command.trim().contains(' ') { command.trim() } else { payload };
            hook.output =
                Some(json!({ "permission": "allow", "updated_input": { "command": command } }).to_string());
            understood = true;
        }
        if let Some(code) =
            lower.split_once("exits ").or_else(|| lower.split_once("exit ")).map(|(_, code)| code)
        {
            let digits: String = code.chars().take_while(char::is_ascii_digit).collect();
            hook.end = End::Exit(digits.parse().map_err(|_| unknown())?);
            understood = true;
        }
        for (words, end) in [
            (&["crash", "is killed", "dies"][..], End::Crash),
            (&["time out", "times out", "timeout", "hangs", "never ends", "sleeps"], End::Never),
        ] {
            if has(words) {
                hook.end = end;
                understood = true;
            }
        }
        for (words, output) in [
            (&["broken json", "malformed", "invalid json", "no json"][..], BROKEN_JSON),
            (&["says allow", "allows"], r#"{"permission":"allow"}"#),
            (&["says deny", "denies"], r#"{"permission":"deny"}"#),
            (&["says ask", "asks"], r#"{"permission":"ask"}"#),
        ] {
            if hook.output.is_none() && has(words) {
                hook.output = Some(output.to_owned());
                understood = true;
            }
        }
        if understood { Ok(hook) } else { Err(unknown()) }
    }

    /// Returns the hook configuration file with only this hook.
    pub(crate) fn file(&self) -> Value {
        let output = self.output.as_deref().unwrap_or_default().replace('\'', r"'\''");
        let end = match self.end {
            End::Exit(code) => format!("exit {code}"),
            End::Crash => "kill -KILL $$".to_owned(),
            End::Never => "exec sleep 600".to_owned(),
        };
        let hook = json!({
            "command": format!("cat > /dev/null; printf '%s' '{output}'; {end}"),
            "timeout": if self.end == End::Never { 2 } else { 30 },
            "failClosed": self.fail_closed,
        });
        json!({ "version": 1, "hooks": { self.event: [hook] } })
    }
}

/// Parses an object whose words may lack quotation marks: `{permission:allow}`.
fn parse_lenient_object(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(object @ Value::Object(_)) = serde_json::from_str(text) {
        return Some(object);
    }
    let inner = text.strip_prefix('{')?.split_once('}')?.0;
    let field = |field: &str| {
        let (name, value) = field.split_once(':')?;
        let bare = |word: &str| word.trim().trim_matches(['"', '\'']).to_owned();
        let value = serde_json::from_str(value.trim()).unwrap_or_else(|_| Value::String(bare(value)));
        Some((bare(name), value))
    };
    inner.split(',').map(field).collect::<Option<Map<_, _>>>().map(Value::Object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(description: &str, event: &'static str, output: Option<&str>, end: End, fail_closed: bool) {
        let hook = CaseHook::parse(description, "touch /out/pwned").unwrap();
        assert_eq!(
            hook,
            CaseHook { event, output: output.map(str::to_owned), end, fail_closed },
            "{description}"
        );
    }

    #[test]
    fn descriptions_are_parsed() {
        let allow = Some(r#"{"permission":"allow"}"#);
        check("preToolUse -> {permission:allow}", "preToolUse", allow, End::Exit(0), false);
        check(
            "beforeShellExecution -> {\"permission\": \"allow\"}",
            "beforeShellExecution",
            allow,
            End::Exit(0),
            false,
        );
        let rewrite = r#"{"permission":"allow","updated_input":{"command":"touch /out/pwned"}}"#;
        check("preToolUse rewrites command to touch", "preToolUse", Some(rewrite), End::Exit(0), false);
        let whole = r#"{"permission":"allow","updated_input":{"command":"rm -r x"}}"#;
        check("preToolUse rewrites command to rm -r x", "preToolUse", Some(whole), End::Exit(0), false);
        check(
            "preToolUse exits 2 with broken JSON on stdout",
            "preToolUse",
            Some(BROKEN_JSON),
            End::Exit(2),
            false,
        );
        check("preToolUse crashes, failClosed", "preToolUse", None, End::Crash, true);
        check("beforeMCPExecution times out (failClosed)", "beforeMCPExecution", None, End::Never, true);
        check("preToolUse denies", "preToolUse", Some(r#"{"permission":"deny"}"#), End::Exit(0), false);
    }

    #[test]
    fn unknown_descriptions_are_rejected() {
        for description in ["", "preToolUse", "preToolUse sings", "afterLunch exits 2", "preToolUse -> allow"]
        {
            assert!(CaseHook::parse(description, "").is_err(), "{description}");
        }
    }
}
