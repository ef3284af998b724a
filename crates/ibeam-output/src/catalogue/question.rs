//! The question that a person answers before a call: what exactly would run, and why it needs approval.

use ibeam_protocol::escape_invisible;

use super::Catalogue;
use super::message::Message;

/// A call that needs the approval of a person.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalQuestion<'a> {
    /// The command, or the tool and what it would touch; any text.
    pub subject: &'a str,
    /// The rule that requires approval: a token, `hook: NAME`, or the name of a built-in rule.
    pub rule: &'a str,
    /// The reason of the rule.
    pub reason: &'a str,
}

impl Catalogue {
    /// Returns why a call needs approval. `reason` is the reason of `rule`.
    pub fn question_cause(&self, rule: &str, reason: &str) -> String {
        let message = match rule.strip_prefix("hook: ") {
            Some(hook) => Message::new("ask-hook").text("hook", hook).text("detail", reason),
            None if rule.contains('(') => Message::new("ask-rule").text("rule", rule),
            None if rule == "outside" => Message::new("ask-outside"),
            None if rule == "publishing" => Message::new("ask-publishing"),
            None => Message::new("ask-no-rule"),
        };
        self.render(&message, None)
    }

    /// Returns the lines of a question. The last line has no line end, so the answer follows on the same line.
    ///
    /// The subject cannot imitate a part of the question: invisible characters become visible escapes, and each of several
    /// lines is marked.
    pub fn question(&self, question: &ApprovalQuestion<'_>) -> String {
        let ApprovalQuestion { subject, rule, reason } = question;
        let cause = self.question_cause(rule, reason);
        let subject = escape_invisible(subject);
        if !subject.contains('\n') {
            return format!(
                "{cause}\n{} ",
                self.render(&Message::new("ask-allow").unescaped_text("what", &subject), None)
            );
        }
        let lines: String = subject.split('\n').map(|line| format!("  | {line}\n")).collect();
        format!("{cause}\n{lines}{} ", self.render(&Message::new("ask-allow-this"), None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Locale;

    #[track_caller]
    fn check(what: &str, rule: &str, expect: &str) {
        let question = ApprovalQuestion { subject: what, rule, reason: "it\nmust not" };
        assert_eq!(Catalogue::new(Locale::En).question(&question), expect);
    }

    #[test]
    fn the_question_shows_the_exact_command_and_its_rule() {
        let no_rule = "asked because no rule covers it\n";
        check("echo \"a\\n\" \t'b' ", "default", &format!("{no_rule}allow `echo \"a\\n\" \t'b' `? "));
        check("ls \u{202e}\u{200b}", "default", &format!("{no_rule}allow `ls <U+202E><U+200B>`? "));
        check("a\nb", "default", &format!("{no_rule}  | a\n  | b\nallow this? "));
        check("ls", "outside", "asked because it reaches outside the workspace\nallow `ls`? ");
        let publishes = "asked because it publishes or changes something on a service, which `ibeam undo` does not take back";
        check("git push", "publishing", &format!("{publishes}\nallow `git push`? "));
        check("ls", "Shell(ls)", "asked because of the rule `Shell(ls)`\nallow `ls`? ");
        check("ls", "hook: ./ask.sh", "asked by the hook `./ask.sh`: it\\nmust not\nallow `ls`? ");
    }

    #[test]
    fn the_question_exists_in_every_language() {
        for locale in Locale::ALL {
            for rule in ["default", "outside", "publishing", "Shell(x)", "hook: x"] {
                for what in ["one", "two\nlines"] {
                    let question = Catalogue::new(locale).question(&ApprovalQuestion {
                        subject: what,
                        rule,
                        reason: "detail",
                    });
                    assert!(
                        question.ends_with(' ') && question.contains('?') && !question.contains("ask-"),
                        "{locale:?}: {question}"
                    );
                }
            }
        }
    }
}
