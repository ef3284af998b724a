//! The question that a person is asked before a call: what exactly would run, and why it is asked.

use ibeam_protocol::escape_invisible;

use super::Catalogue;
use super::message::Message;

/// A call that a person is to decide about.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalQuestion<'a> {
    /// The command, or the tool and what it would touch; any text.
    pub subject: &'a str,
    /// The rule that asks: a token, `hook: NAME`, or the name of a rule of ours.
    pub rule: &'a str,
    /// What it says of the call.
    pub reason: &'a str,
}

impl Catalogue {
    /// The lines of a question; the last is without its end, so that the answer stands behind it.
    ///
    /// Nothing of what is asked about can look like a part of the question: what is not seen is written out, and
    /// each line of several is marked.
    pub fn question(&self, question: &ApprovalQuestion<'_>) -> String {
        let ApprovalQuestion { subject: what, rule, reason } = question;
        let why = match rule.strip_prefix("hook: ") {
            Some(hook) => Message::new("ask-hook").text("hook", hook).text("detail", reason),
            None if rule.contains('(') => Message::new("ask-rule").text("rule", rule),
            None => Message::new("ask-no-rule"),
        };
        let why = self.render(&why, None);
        let what = escape_invisible(what);
        if !what.contains('\n') {
            return format!("{why}\n{} ", self.render(&Message::new("ask-allow").exact("what", &what), None));
        }
        let lines: String = what.split('\n').map(|line| format!("  | {line}\n")).collect();
        format!("{why}\n{lines}{} ", self.render(&Message::new("ask-allow-this"), None))
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
    fn a_person_sees_exactly_what_would_run_and_why_it_is_asked() {
        let no_rule = "asked because no rule covers it\n";
        check("echo \"a\\n\" \t'b' ", "default", &format!("{no_rule}allow `echo \"a\\n\" \t'b' `? [y/N] "));
        check("ls \u{202e}\u{200b}", "default", &format!("{no_rule}allow `ls <U+202E><U+200B>`? [y/N] "));
        check("a\nb", "default", &format!("{no_rule}  | a\n  | b\nallow this? [y/N] "));
        check("ls", "Shell(ls)", "asked because of the rule `Shell(ls)`\nallow `ls`? [y/N] ");
        check("ls", "hook: ./ask.sh", "asked by the hook `./ask.sh`: it\\nmust not\nallow `ls`? [y/N] ");
    }

    #[test]
    fn it_is_asked_in_every_language() {
        for locale in Locale::ALL {
            for rule in ["default", "Shell(x)", "hook: x"] {
                for what in ["one", "two\nlines"] {
                    let asked = Catalogue::new(locale).question(&ApprovalQuestion {
                        subject: what,
                        rule,
                        reason: "said",
                    });
                    assert!(asked.ends_with("[y/N] ") && !asked.contains("ask-"), "{locale:?}: {asked}");
                }
            }
        }
    }
}
