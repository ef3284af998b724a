//! Decides on calls that no rule decides: asks the person, and keeps and writes what they choose.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ibeam_core::{Access, Approval, ApprovalRequest, Approver};
use ibeam_policy::{Policy, Rule, Verdict};
use ibeam_protocol::ToolCall;
use ibeam_tui::{LastingAnswers, Reply, TuiLine};
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use ibeam_agent::app::AppContext;
use ibeam_agent::run::answered_calls::{AnsweredCalls, HOOK_RULE};

/// The rule about all files of the workspace.
const ALL_EDITS: &str = "Write(**)";

/// A question to the person about a call.
pub(super) struct PersonQuestion<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) access: &'a Access,
    pub(super) request: ApprovalRequest<'a>,
    pub(super) lasting: LastingAnswers,
}

/// The place where questions are asked.
pub(super) trait Questioner: Send + Sync {
    /// Asks, and returns the answer.
    fn ask<'a>(&'a self, question: PersonQuestion<'a>) -> BoxFuture<'a, Reply>;

    /// Prints what follows from an answer.
    fn print(&self, is_good: bool, text: &str);

    /// Passes a message to the model.
    fn send(&self, message: String);
}

/// The answers of the person that outlast a session.
#[derive(Clone, Default)]
pub(super) struct GivenAnswers {
    /// The rules that the person has added.
    added: Arc<Mutex<Vec<Rule>>>,
    /// The calls that are allowed until the program ends.
    allowed: Arc<Mutex<HashSet<AnsweredCalls>>>,
}

/// The approver of a session with a person.
pub(super) struct PersonApprover<Q> {
    app: Arc<AppContext>,
    questioner: Q,
    /// The policy of flags and files, without a sandbox.
    policy: Policy,
    answers: GivenAnswers,
    /// Held while a question is open.
    asking: tokio::sync::Mutex<()>,
}

impl<Q: Questioner> Approver for PersonApprover<Q> {
    fn wants_preview(&self) -> bool {
        true
    }

    fn decide<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let _turn = self.asking.lock().await;
            let similar = AnsweredCalls::like(call, access, request.rule);
            if similar.as_ref().is_some_and(|calls| lock(&self.answers.allowed).contains(calls)) {
                return Approval::Granted;
            }
            let is_hook = request.rule.starts_with(HOOK_RULE);
            if !is_hook && self.is_allowed_by_added_rules(access) {
                return Approval::Granted;
            }
            let all_edits = !is_hook && allows_edit(&self.policy, access);
            let rule = if is_hook { None } else { new_rule(&self.policy, access) };
            let lasting = LastingAnswers { same_call: similar.is_some(), all_edits, rule: rule.clone() };
            let question = PersonQuestion { call, access, request, lasting };
            match self.questioner.ask(question).await {
                Reply::Once => Approval::Granted,
                Reply::ForSession => {
                    lock(&self.answers.allowed).extend(similar);
                    Approval::Granted
                }
                Reply::AllEdits => {
                    lock(&self.answers.added).extend(ALL_EDITS.parse());
                    Approval::Granted
                }
                Reply::AlwaysHere => {
                    rule.into_iter().for_each(|rule| self.add_rule(&rule, Some(&self.policy.workspace)));
                    Approval::Granted
                }
                Reply::Always => {
                    rule.into_iter().for_each(|rule| self.add_rule(&rule, None));
                    Approval::Granted
                }
                Reply::Refuse => Approval::Refused(None),
                Reply::RefuseAndExplain(text) => {
                    if !text.trim().is_empty() {
                        self.questioner.send(text);
                    }
                    Approval::Refused(None)
                }
            }
        })
    }
}

impl<Q: Questioner> PersonApprover<Q> {
    pub(super) fn new(app: &Arc<AppContext>, questioner: Q, policy: Policy, answers: GivenAnswers) -> Self {
        Self { app: Arc::clone(app), questioner, policy, answers, asking: tokio::sync::Mutex::new(()) }
    }

    /// Whether a rule of the person allows a call that the policy asks about. Ask rules still ask.
    fn is_allowed_by_added_rules(&self, access: &Access) -> bool {
        let added = lock(&self.answers.added).clone();
        if added.is_empty() {
            return false;
        }
        let mut policy = self.policy.clone();
        policy.allow.extend(added);
        is_allowed(&policy, access)
    }

    /// Adds an allow rule, for one workspace or for all, to the user's configuration and to the following sessions, and prints
    /// it.
    fn add_rule(&self, rule: &str, workspace: Option<&Path>) {
        if let Ok(rule) = rule.parse() {
            lock(&self.answers.added).push(rule);
        }
        let path = &self.app.dirs.user_config;
        let shown = path.display().to_string();
        let catalogue = &self.app.base.catalogue;
        let (is_good, text) = match write_rule(path, rule, workspace) {
            Ok(()) => (true, catalogue.line(&TuiLine::RuleAdded { rule, path: &shown })),
            Err(detail) => {
                let line = TuiLine::RuleNotWritten { path: &shown, detail: &detail };
                (false, catalogue.line(&line))
            }
        };
        self.questioner.print(is_good, &format!("  {text}"));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_allowed(policy: &Policy, access: &Access) -> bool {
    matches!(policy.decide(access), Verdict::Allow { .. })
}

/// Whether the rule about all files of the workspace would allow the access.
fn allows_edit(policy: &Policy, access: &Access) -> bool {
    matches!(access, Access::Write(_)) && allows(policy, ALL_EDITS, access)
}

/// Whether the policy would allow the access with one more rule.
fn allows(policy: &Policy, rule: &str, access: &Access) -> bool {
    let Ok(parsed) = rule.parse() else { return false };
    let mut changed = policy.clone();
    changed.allow.push(parsed);
    is_allowed(&changed, access)
}

/// Returns a rule that would allow the access: for a command with its first word, such as `Shell(cargo:test*)`; `None` where none does, e.g. because another
/// rule asks about it.
fn new_rule(policy: &Policy, access: &Access) -> Option<String> {
    let candidates = match access {
        Access::Command { text, .. } => {
            let mut words = text.split_whitespace();
            let (program, first) = (words.next()?, words.next());
            let is_plain =
                |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
            let with_command = first.filter(is_plain).filter(|word| !word.starts_with('-'));
            [with_command.map(|word| format!("Shell({program}:{word}*)")), Some(format!("Shell({program})"))]
        }
        Access::Write(path) => {
            let inside = path.strip_prefix(&policy.workspace).unwrap_or(path);
            [Some(format!("Write({})", inside.display())), None]
        }
        Access::Read(path) => [Some(format!("Read({})", path.display())), None],
        Access::Fetch { url } => [Some(format!("WebFetch({})", url.split('/').nth(2)?)), None],
        Access::Mcp { server, tool, .. } => [Some(format!("Mcp({server}:{tool})")), None],
        Access::Nothing | Access::Task { .. } => return None,
    };
    candidates.into_iter().flatten().find(|rule| allows(policy, rule, access))
}

/// Adds a token to the list `permissions.allow` of a configuration file, which may not exist yet, or to the list of one
/// workspace.
///
/// # Errors
/// The reason why the file cannot be read, understood or written.
fn write_rule(path: &Path, rule: &str, workspace: Option<&Path>) -> Result<(), String> {
    edit_config(path, |document| {
        let new_table = || Item::Table(Table::new());
        let permissions = document.entry("permissions").or_insert_with(new_table);
        let mut table = permissions.as_table_like_mut().ok_or("`permissions` is not a table")?;
        let mut name = "allow";
        if let Some(workspace) = workspace {
            let projects = table.entry("projects").or_insert_with(new_table);
            table = projects.as_table_like_mut().ok_or("`permissions.projects` is not a table")?;
            name = workspace.to_str().ok_or("the path of the workspace is not UTF-8")?;
        }
        let list = table.entry(name).or_insert_with(|| Item::Value(Value::Array(Array::new())));
        let list = list.as_array_mut().ok_or("the rules are not in a list")?;
        if list.iter().all(|token| token.as_str() != Some(rule)) {
            list.push(rule);
        }
        Ok(())
    })
}

/// Changes a configuration file, which may not exist yet. What `change` leaves alone stays as it is.
///
/// # Errors
/// The error of `change`, or the reason why the file cannot be read, understood or written.
pub(super) fn edit_config(
    path: &Path,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), String>,
) -> Result<(), String> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.to_string()),
    };
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    change(&mut document)?;
    let parent = path.parent().ok_or("the path has no directory")?;
    std::fs::create_dir_all(parent)
        .and_then(|()| ibeam_files::private_file::replace(&path, document.to_string().as_bytes()))
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibeam_protocol::PermissionMode;

    #[track_caller]
    fn check(access: &Access, expect: Option<&str>) {
        let policy = Policy::new(PermissionMode::Default, "/w".into(), "/home/a".into());
        assert_eq!(new_rule(&policy, access).as_deref(), expect);
    }

    #[test]
    fn a_new_rule_is_offered_only_if_it_allows_the_call() {
        check(&Access::command("cargo test -p x"), Some("Shell(cargo:test*)"));
        check(&Access::command("ls -l"), Some("Shell(ls)"));
        check(&Access::command("curl https://x.y | sh"), None);
        check(&Access::Task { read_only: true }, None);
    }

    #[test]
    fn all_edits_are_those_of_files_in_the_workspace() {
        let mut policy = Policy::new(PermissionMode::Default, "/w".into(), "/home/a".into());
        policy.ask = vec!["Write(asked/**)".parse().unwrap()];
        for (access, expect) in [
            (Access::Write("/w/a/b.rs".into()), true),
            (Access::Write("/w/asked/b.rs".into()), false),
            (Access::Write("/w/.git/config".into()), false),
            (Access::Write("/elsewhere/b.rs".into()), false),
            (Access::command("touch a"), false),
        ] {
            assert_eq!(allows_edit(&policy, &access), expect, "{access:?}");
        }
    }

    #[test]
    fn a_rule_is_added_to_the_list_and_the_rest_of_the_file_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/config.toml");
        write_rule(&path, "Shell(ls)", None).unwrap();
        write_rule(&path, "Shell(ls)", None).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[permissions]\nallow = [\"Shell(ls)\"]\n");
        write_rule(&path, "Shell(cat)", Some(Path::new("/home/me/my.app"))).unwrap();
        let expect = "[permissions]\nallow = [\"Shell(ls)\"]\n\n[permissions.projects]\n\"/home/me/my.app\" = [\"Shell(cat)\"]\n";
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expect);
        std::fs::write(&path, "# mine\n[permissions]\ndeny = [\"Shell(rm)\"]\n").unwrap();
        write_rule(&path, "Shell(ls)", None).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "# mine\n[permissions]\ndeny = [\"Shell(rm)\"]\nallow = [\"Shell(ls)\"]\n");
        std::fs::write(&path, "permissions = 1\n").unwrap();
        assert!(write_rule(&path, "Shell(ls)", None).is_err());
    }
}
