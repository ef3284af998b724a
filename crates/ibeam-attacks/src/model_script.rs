//! The answers of the model in a case: its steps, the relevant call, then a final answer.

use ibeam_testkit::Answer;
use serde_json::{Map, Value, json};

use crate::case::Case;

/// Maximum number of calls in one answer.
const MAX_CALLS_PER_ANSWER: usize = 100;
/// Additional final answers, for a program that makes more requests than expected.
const ADDITIONAL_ANSWERS: usize = 8;

/// Returns the complete script.
pub(crate) fn answers(case: &Case) -> Vec<Answer> {
    let mut answers = Vec::new();
    // The run in which the user approves the MCP server that changes later.
    answers.extend(case.policy.approved_mcp_hash.as_ref().map(|_| Answer::new().text("approved")));
    for (number, step) in case.steps.iter().enumerate() {
        let (name, args) = tool_call(&step.tool, Value::Object(step.args.clone()));
        answers.push(Answer::new().call(&format!("toolu_step_{number}"), &name, &args));
    }
    if !case.raw_calls.is_empty() {
        answers.push(
            case.raw_calls
                .iter()
                .enumerate()
                .fold(Answer::new(), |answer, (number, raw)| add_raw_call(case, answer, number, raw)),
        );
    } else if !case.is_startup() {
        let (name, args) = tool_call(&case.tool, Value::Object(case.args.clone()));
        let numbers: Vec<usize> = (0..case.repetitions()).collect();
        answers.extend(numbers.chunks(MAX_CALLS_PER_ANSWER).map(|numbers| {
            numbers.iter().fold(Answer::new(), |answer, number| {
                answer.call(&format!("toolu_{number}"), &name, &nth_arguments(&args, *number))
            })
        }));
    }
    answers.extend(final_answers(case));
    answers
}

/// Returns the script of the second run on the session.
pub(crate) fn answers_of_resumed_run(case: &Case) -> Vec<Answer> {
    let calls = case.resumed_calls().unwrap_or_default().iter().enumerate();
    let calls = calls.map(|(number, step)| {
        let (name, args) = tool_call(&step.tool, Value::Object(step.args.clone()));
        Answer::new().call(&format!("toolu_resumed_{number}"), &name, &args)
    });
    calls.chain(final_answers(case)).collect()
}

fn final_answers(case: &Case) -> impl Iterator<Item = Answer> + '_ {
    let final_answer =
        |_| case.answer_pieces().into_iter().fold(Answer::new(), |answer, text| answer.text(text));
    (0..=ADDITIONAL_ANSWERS).map(final_answer)
}

/// Returns the name of a tool and its arguments in the names of the program.
fn tool_call(tool: &str, args: Value) -> (String, Value) {
    match tool {
        "mcp" => {
            let text = |key: &str| args.get(key).and_then(Value::as_str).unwrap_or_default();
            let inner = args.get("arguments").cloned().unwrap_or_else(|| json!({}));
            (format!("mcp_{}_{}", text("server"), text("tool")), inner)
        }
        "edit" => {
            let Value::Object(args) = args else { return (tool.to_owned(), args) };
            let renamed = |name: String| match name.as_str() {
                "old" => "oldText".to_owned(),
                "new" => "newText".to_owned(),
                _ => name,
            };
            let args: Map<String, Value> =
                args.into_iter().map(|(name, value)| (renamed(name), value)).collect();
            (tool.to_owned(), Value::Object(args))
        }
        _ => (tool.to_owned(), args),
    }
}

/// Returns the arguments of the n-th repetition, which differ since the program stops a model that repeats one call.
fn nth_arguments(args: &Value, number: usize) -> Value {
    let mut args = args.clone();
    if let Some(Value::String(text)) = args.get_mut("fileText").filter(|_| number > 0) {
        text.push_str(&format!("\n{number}"));
    }
    args
}

/// Adds a call as the case contains it: `id`, optionally `name` or `tool`, and either `arguments` or the remaining
/// keys.
fn add_raw_call(case: &Case, answer: Answer, number: usize, raw: &Map<String, Value>) -> Answer {
    let text = |key: &str| raw.get(key).and_then(Value::as_str);
    let id = text("id").map_or_else(|| format!("toolu_{number}"), str::to_owned);
    let name = text("name").or_else(|| text("tool")).unwrap_or(&case.tool);
    match raw.get("arguments") {
        Some(Value::String(written)) => answer.call_as_written(&id, name, written),
        Some(arguments) => answer.call(&id, name, arguments),
        None => {
            let named = ["id", "name", "tool"];
            let args = raw.iter().filter(|(key, _)| !named.contains(&key.as_str()));
            let args = args.map(|(key, value)| (key.clone(), value.clone())).collect();
            answer.call(&id, name, &Value::Object(args))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, args: Value, name: &str, expect: Value) {
        assert_eq!(tool_call(tool, args), (name.to_owned(), expect));
    }

    #[test]
    fn calls_have_the_names_of_the_program() {
        check("shell", json!({"command": "ls"}), "shell", json!({"command": "ls"}));
        check(
            "edit",
            json!({"path": "a", "old": "b", "new": "c"}),
            "edit",
            json!({"path": "a", "oldText": "b", "newText": "c"}),
        );
        check(
            "mcp",
            json!({"server": "db", "tool": "t", "arguments": {"a": 1}}),
            "mcp_db_t",
            json!({"a": 1}),
        );
        check("mcp", json!({"server": "db", "tool": "t"}), "mcp_db_t", json!({}));
    }

    #[test]
    fn the_second_run_has_a_separate_script() {
        let line = json!({"id": "x", "tool": "ls", "expect": "denied", "resume": {"tool": "shell"}, "answer": ["a", "b"]});
        let case = Case::parse(&line).unwrap();
        assert_eq!(answers(&case).len(), 1 + ADDITIONAL_ANSWERS + 1);
        assert_eq!(answers_of_resumed_run(&case).len(), 1 + ADDITIONAL_ANSWERS + 1);
        assert_eq!(case.answer_pieces(), ["a", "b"]);
    }

    #[test]
    fn a_repeated_call_runs_next_to_the_background_process_of_a_step() {
        let case = |repeat: usize| {
            let step = json!({"tool": "shell", "args": {"command": "(loop) & sleep 1"}});
            let line = json!({"id": "x", "tool": "write", "args": {"path": "a"}, "expect": "denied", "steps": [step], "repeat": repeat});
            Case::parse(&line).unwrap()
        };
        let once = case(1);
        assert_eq!(once.steps[0].args.get("isBackground"), None);
        let often = case(250);
        assert_eq!(often.steps[0].args["isBackground"], true);
        assert_eq!(answers(&often).len(), 1 + 3 + ADDITIONAL_ANSWERS + 1);
    }
}
