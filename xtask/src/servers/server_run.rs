//! A run of the program with a server of others, and its verdict.

use std::path::Path;
use std::time::Duration;

use ibeam_testkit::{Ibeam, ProgramOutput, Workspace};
use serde_json::Value;

use crate::suite::SuiteResult;

/// The maximum time of a run. A model on the CPU first reads a prompt of 1,500 tokens.
const RUN_TIMEOUT: Duration = Duration::from_secs(400);
/// The variable with the key of the configured provider.
const KEY_VARIABLE: &str = "SERVER_KEY";

/// The content of the README in the workspace, which a scripted model reads.
pub(super) const README: &str = "# Tide tables\n";

/// One run: where its requests go, and the expected result.
pub(super) struct ServerRun<'a> {
    /// The name in the output, for example `litellm, openai: a tool loop`.
    pub(super) label: String,
    /// The API, as in `wire` of a provider's configuration.
    pub(super) wire: &'a str,
    pub(super) base_url: String,
    pub(super) key: &'a str,
    pub(super) model: String,
    pub(super) prompt: &'a str,
    pub(super) expected: Expected<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Expected<'a> {
    /// Exit code 0 and a text that contains this one, in any case of letters.
    Text { text: &'a str, usage: ExpectedUsage },
    /// The result of `Text`, after a call that read the README.
    TextAfterRead { text: &'a str, usage: ExpectedUsage },
    /// This exit code.
    Failure(i32),
}

/// The expected numbers of tokens.
#[derive(Clone, Copy)]
pub(super) enum ExpectedUsage {
    /// Input, from the cache or not, and output.
    Exact(u64, u64),
    /// More than 0 in both classes.
    Reported,
    /// The server reports 0 over this API.
    Unreported,
}

/// The program under test, and the results so far.
pub(super) struct ServerTests<'a> {
    pub(super) program: &'a Path,
    pub(super) result: &'a mut SuiteResult,
}

impl ServerTests<'_> {
    /// Runs the program, and prints and counts the verdict. The output of the program is checked against the contract too.
    pub(super) fn run(&mut self, run: &ServerRun<'_>) {
        let config = format!(
            "[retry]\nattempts = 1\n\n[providers.server]\nwire = \"{}\"\nbase_url = \"{}\"\nkey_variable = \"{KEY_VARIABLE}\"\n",
            run.wire, run.base_url
        );
        let workspace = Workspace::new().user_config(&config).file("README.md", README);
        let model = format!("server/{}", run.model);
        let args = ["-p", "--output-format", "stream-json", "--sandbox", "disabled", "--model", &model];
        let ibeam = Ibeam::new(self.program, &workspace).args(args).args([run.prompt]);
        let output = ibeam.env(KEY_VARIABLE, run.key).timeout(RUN_TIMEOUT).run();
        self.count(&run.label, violations(&output, run.expected), Some(&output));
    }

    /// Prints and counts a verdict from the violations of expectations.
    pub(super) fn count(&mut self, label: &str, violations: Vec<String>, output: Option<&ProgramOutput>) {
        let is_passed = violations.is_empty();
        let details = if is_passed { String::new() } else { format!(": {}", violations.join("; ")) };
        self.result.add(label, is_passed, &details);
        if let (false, Some(output)) = (is_passed, output) {
            println!("{output}");
        }
    }
}

/// Returns the differences between an output and the expected result.
fn violations(output: &ProgramOutput, expected: Expected<'_>) -> Vec<String> {
    let mut violations = Vec::new();
    let mut check = |holds: bool, expected: String| {
        if !holds {
            violations.push(format!("expected {expected}"));
        }
    };
    let (text, usage, reads) = match expected {
        Expected::Failure(code) => {
            check(output.code == Some(code), format!("exit code {code}"));
            return violations;
        }
        Expected::Text { text, usage } => (text, usage, false),
        Expected::TextAfterRead { text, usage } => (text, usage, true),
    };
    check(output.code == Some(0), "exit code 0".to_owned());
    let lines: Vec<Value> =
        output.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let last = lines.last().cloned().unwrap_or_default();
    let result = last.get("result").and_then(Value::as_str).unwrap_or_default();
    check(result.to_lowercase().contains(&text.to_lowercase()), format!("the text `{text}`"));
    if reads {
        let content = |line: &Value| {
            let content = line.pointer("/tool_call/readToolCall/result/success/content")?;
            Some(content.as_str()? == README)
        };
        check(lines.iter().filter_map(content).any(|is_equal| is_equal), "a call that reads".to_owned());
    }
    let tokens = |name: &str| last.pointer(&format!("/usage/{name}")).and_then(Value::as_u64);
    let input = tokens("inputTokens").zip(tokens("cacheReadTokens")).map(|(input, cached)| input + cached);
    let counted = (input.unwrap_or_default(), tokens("outputTokens").unwrap_or_default());
    let holds = match usage {
        ExpectedUsage::Exact(input, output) => counted == (input, output),
        ExpectedUsage::Reported => counted.0 > 0 && counted.1 > 0,
        ExpectedUsage::Unreported => counted == (0, 0),
    };
    let expected = match usage {
        ExpectedUsage::Exact(input, output) => format!("a usage of {input} and {output}, not {counted:?}"),
        ExpectedUsage::Reported => format!("a usage above 0, not {counted:?}"),
        ExpectedUsage::Unreported => {
            format!("no usage, since the server has reported none so far, not {counted:?}")
        }
    };
    check(holds, expected);
    violations
}
