//! What the model says to a client.

use ibeam_testkit::Answer;
use serde_json::json;

use super::known::Tells;

/// The file that the workspace has.
pub(super) const README: &str = "# Tide tables\n\nA small program that prints the tides of a given day.\n";

/// The answers to as many prompts as a client may give. Each part comes in several deltas, and some deltas end inside a
/// word, as those of real models do: a reader that takes each for a text of its own is found out by that.
pub(super) fn answers(tells: Tells) -> Vec<Answer> {
    match tells {
        Tells::Task => {
            let again = || Answer::new().text("As I said, ").text("it pri").text("nts the tides.");
            vec![
                Answer::new().text("I re").text("ad the file first. ").call(
                    "toolu_1",
                    "read",
                    &json!({ "path": "README.md" }),
                ),
                Answer::new().text("It is ").text("sho").text("rt. ").call(
                    "toolu_2",
                    "shell",
                    &json!({ "command": "wc -l README.md" }),
                ),
                Answer::new().text("A pro").text("gram that prints ").text("the tides of a day."),
                again(),
                again(),
            ]
        }
        Tells::Citation => {
            let finding = json!({
                "file": "README.md",
                "start": 3,
                "end": 3,
                "quote": "prints the tides of a given day",
                "fact": "It prints tides.",
            });
            let answer = json!({ "findings": [finding], "gaps": [] }).to_string();
            let (first, rest) = answer.split_at(answer.len() / 2);
            vec![Answer::new().text(first).text(rest)]
        }
    }
}
