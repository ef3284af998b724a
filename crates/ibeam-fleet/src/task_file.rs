//! A file of tasks, a JSON object on each line. It is validated as a whole before anything runs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use crate::data_error::data_error;
use crate::task::{GitSource, Task, WorkspaceSource};
use crate::task_origin::resolve_results;
use crate::workspace::{has_committed, lacks_commit};
use ibeam_git::Git;
use ibeam_protocol::{Sentence, json_fault, sentence};

/// The number of characters of the longest id.
const MAX_ID_CHARS: usize = 100;

/// The tasks of a file, and the lines that are not valid.
#[derive(Debug, Default)]
pub struct TaskFile {
    /// The valid tasks, in the order of the file. Paths are absolute.
    pub tasks: Vec<Task>,
    /// The other lines, in the order of the file.
    pub invalid: Vec<InvalidTask>,
    /// The file, which may have variables of tasks.
    pub source: Option<PathBuf>,
    /// The files and directories that only the checks of all its tasks see, also of those that were not selected.
    pub check_sources: BTreeSet<PathBuf>,
    /// Whether tasks of the file were left out.
    pub is_selection: bool,
}

/// A line that is not a valid task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidTask {
    /// The number of the line, from 1.
    pub line: u64,
    pub detail: Sentence,
}

impl TaskFile {
    /// Reads the tasks in `text`. Relative paths start at `base`.
    ///
    /// A task that needs an invalid task is invalid too.
    pub fn parse(text: &str, base: &Path) -> Self {
        Self::parse_with(text, base, KnownSources::default())
    }

    /// Like [`Self::parse`], and checks with the program `git` that local repositories have the commits.
    pub fn parse_and_check_commits(text: &str, base: &Path, git: &Git) -> Self {
        Self::parse_with(text, base, KnownSources { git: Some(git.clone()), ..KnownSources::default() })
    }

    /// Whether the file is committed in the repository of a workspace: then runs find it in the objects of their clone.
    pub fn is_committed(&self, git: &Git) -> bool {
        let Some(source) = &self.source else { return false };
        // Most tasks have the same workspace, and to find its repository asks the file system.
        let paths: HashSet<PathBuf> =
            self.tasks.iter().filter_map(|task| local_path(&task.workspace)).collect();
        let tops: BTreeSet<PathBuf> = paths.iter().filter_map(|path| top_of(path)).collect();
        tops.iter().any(|top| source.strip_prefix(top).is_ok_and(|file| has_committed(git, top, file)))
    }

    fn parse_with(text: &str, base: &Path, mut known: KnownSources) -> Self {
        let mut invalid: BTreeMap<u64, Sentence> = BTreeMap::new();
        let mut tasks: Vec<(u64, Task)> = Vec::new();
        let mut lines_of_ids: HashMap<String, u64> = HashMap::new();
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            match parse_line(text, base, &mut known) {
                Ok(task) => match lines_of_ids.get(&task.id) {
                    Some(first) => {
                        let detail = sentence!(
                            "the id `{id}` is already that of line {line}",
                            id = task.id,
                            line = first
                        );
                        invalid.insert(line, detail);
                    }
                    None => {
                        lines_of_ids.insert(task.id.clone(), line);
                        tasks.push((line, task));
                    }
                },
                Err(detail) => {
                    invalid.insert(line, detail);
                }
            }
        }
        remove_missing_needs(&mut tasks, &mut invalid);
        remove_cycles(&mut tasks, &mut invalid);
        resolve_results(&mut tasks, &mut invalid, check_outside_of_workspace);
        tasks.retain(|(line, _)| !invalid.contains_key(line));
        remove_missing_needs(&mut tasks, &mut invalid);
        let tasks: Vec<Task> = tasks.into_iter().map(|(_, task)| task).collect();
        Self {
            check_sources: tasks.iter().flat_map(Task::check_sources).map(Path::to_owned).collect(),
            tasks,
            invalid: invalid.into_iter().map(|(line, detail)| InvalidTask { line, detail }).collect(),
            source: None,
            is_selection: false,
        }
    }
}

/// Parses a line and makes its paths absolute.
///
/// # Errors
/// The reason for which the line is not a valid task.
fn parse_line(text: &str, base: &Path, known: &mut KnownSources) -> Result<Task, Sentence> {
    let mut task: Task = serde_json::from_str(text).map_err(|error| {
        // serde_json appends the position; the line is always 1.
        let message = error.to_string();
        match message.rsplit_once(" at line ") {
            Some(_) => {
                let found = if error.is_data() { data_error::<Task>(text) } else { None };
                let reason = found.unwrap_or_else(|| json_fault(&error));
                sentence!("{reason} (column {column})", reason, column = error.column())
            }
            None => message.into(),
        }
    })?;
    check_id(&task.id)?;
    if task.prompt.trim().is_empty() {
        return Err(sentence!("`{field}` is empty", field = "prompt"));
    }
    let has_nul = |text: &str| text.contains('\0');
    if has_nul(&task.prompt) || task.model.as_deref().is_some_and(has_nul) {
        return Err(sentence!("a text has a NUL character"));
    }
    if task.model.as_deref().is_some_and(|model| model.trim().is_empty()) {
        return Err(sentence!("`model` is empty; name one or leave it out"));
    }
    if task.check.as_deref().is_some_and(|check| check.trim().is_empty() || has_nul(check)) {
        return Err(should_be("check", sentence!("a command")));
    }
    for (name, value) in &task.env {
        if name.is_empty() || name.contains(['=', '\0']) || has_nul(value) {
            return Err(sentence!("`env` has an invalid variable `{name}`", name = name.escape_debug()));
        }
    }
    let limits = &task.limits;
    let zero = [
        ("max_turns", limits.max_turns == Some(0)),
        ("max_tokens", limits.max_tokens == Some(0)),
        ("max_cost_usd", limits.max_cost_micros == Some(0)),
        ("max_tool_calls", limits.max_tool_calls == Some(0)),
        ("timeout_s", limits.timeout_s == Some(0)),
        ("check_timeout_s", limits.check_timeout_s == Some(0)),
    ];
    if let Some((name, _)) = zero.into_iter().find(|(_, is_zero)| *is_zero) {
        return Err(should_be(&format!("limits.{name}"), sentence!("above 0")));
    }
    check_workspace(&mut task.workspace, base, known)?;
    if let WorkspaceSource::Result(source) = &task.workspace
        && !task.needs.contains(&source.from)
    {
        task.needs.push(source.from.clone());
    }
    for file in &mut task.files {
        let path = base.join(&*file);
        if !path.is_file() {
            return Err(sentence!("`files`: no file at `{path}`", path = path.display()));
        }
        *file = path;
    }
    check_check_sources(&mut task, base)?;
    Ok(task)
}

/// Checks that what only the check sees exists, is not in the workspace, and has a place there, and makes paths absolute.
fn check_check_sources(task: &mut Task, base: &Path) -> Result<(), Sentence> {
    if task.check.is_none() && task.check_sources().next().is_some() {
        return Err("`check_files` and `check_dir` need `check`".into());
    }
    for (place, file) in &mut task.check_files {
        let is_inside = place.components().all(|part| matches!(part, Component::Normal(_)));
        if place.as_os_str().is_empty() || !is_inside {
            let place = place.display();
            let detail = format!("`check_files`: `{place}` should be a path in the workspace, without `..`");
            return Err(detail.into());
        }
        *file = base.join(&*file);
        if !file.is_file() {
            return Err(format!("`check_files`: no file at `{}`", file.display()).into());
        }
    }
    if let Some(directory) = &mut task.check_dir {
        *directory = base.join(&*directory);
        if !directory.is_dir() {
            return Err(format!("`check_dir`: no directory at `{}`", directory.display()).into());
        }
    }
    check_outside_of_workspace(task)
}

/// Checks that what only the check sees is not in the workspace.
fn check_outside_of_workspace(task: &Task) -> Result<(), Sentence> {
    if task.check_sources().next().is_none() {
        return Ok(());
    }
    let Some(top) = local_path(&task.workspace).and_then(|path| top_of(&path)) else { return Ok(()) };
    for source in task.check_sources() {
        let real = source
            .canonicalize()
            .map_err(|error| Sentence::from(format!("`{}`: {error}", source.display())))?;
        if real.starts_with(&top) || top.starts_with(&real) {
            let (source, top) = (source.display(), top.display());
            let detail = format!("`{source}` is for the check alone, but the run gets a copy of `{top}`");
            return Err(detail.into());
        }
        if source.to_str().is_none_or(|source| source.contains('\n')) {
            return Err(format!("`{}` should be UTF-8 without a line feed", source.display()).into());
        }
    }
    Ok(())
}

/// Returns the directory of this machine from which a workspace is made.
fn local_path(workspace: &WorkspaceSource) -> Option<PathBuf> {
    let path = match workspace.start() {
        WorkspaceSource::Path(path) => path.clone(),
        WorkspaceSource::Git(source) => ibeam_git::local_path(&source.git)?,
        WorkspaceSource::Result(_) => return None,
    };
    // The start of a result is known once all tasks are.
    Some(path).filter(|path| !path.as_os_str().is_empty())
}

/// Returns the directory of which the run of a task gets a copy, with links resolved: that of the whole repository.
fn top_of(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let top = path.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&path);
    Some(top.to_owned())
}

/// The sources of workspaces that were checked. Many tasks have the same.
#[derive(Default)]
struct KnownSources {
    /// Directories that exist.
    paths: HashSet<PathBuf>,
    /// Whether local repositories lack these commits.
    commits: HashMap<(String, String), bool>,
    /// `None` if commits are not checked.
    git: Option<Git>,
}

impl KnownSources {
    /// Whether a local repository lacks the commit, as far as this is checked.
    fn lacks_commit(&mut self, source: &GitSource) -> bool {
        let Some(git) = &self.git else { return false };
        let GitSource { git: repository, reference } = source;
        let key = (repository.clone(), reference.clone());
        *self.commits.entry(key).or_insert_with(|| lacks_commit(git, Path::new(repository), reference))
    }
}

fn should_be(text: &str, what: Sentence) -> Sentence {
    sentence!("`{text}` should be {what}", text, what)
}

/// Checks that an id can be the name of a directory and a word on a command line.
fn check_id(id: &str) -> Result<(), Sentence> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !id.is_empty()
        && id.len() <= MAX_ID_CHARS
        && id.chars().all(is_allowed)
        && !id.starts_with(['-', '.'])
    {
        true => Ok(()),
        false => Err(sentence!(
            "`id` should have at most {count} letters, digits, `-`, `_` and `.`, not `{id}`",
            count = MAX_ID_CHARS,
            id = id.escape_debug()
        )),
    }
}

/// Checks that a workspace exists, as far as this machine knows, and makes its path absolute.
fn check_workspace(
    workspace: &mut WorkspaceSource,
    base: &Path,
    known: &mut KnownSources,
) -> Result<(), Sentence> {
    match workspace {
        WorkspaceSource::Result(source) => {
            if source.start.is_some() || !source.earlier.is_empty() {
                return Err(sentence!("`workspace`: `from` alone names a result"));
            }
        }
        WorkspaceSource::Path(path) => {
            let joined = base.join(&*path);
            if known.paths.insert(joined.clone()) && !joined.is_dir() {
                known.paths.remove(&joined);
                return Err(sentence!("`workspace`: no directory at `{path}`", path = joined.display()));
            }
            *path = joined;
        }
        WorkspaceSource::Git(source) => {
            let is_word = |text: &str| {
                !text.is_empty() && !text.starts_with('-') && !text.contains(|c: char| c.is_control())
            };
            if !is_word(&source.git) || !is_word(&source.reference) {
                return Err(sentence!("`workspace`: `git` and `ref` should name a repository and a commit"));
            }
            // `host:path` and `scheme://` are remote; git decides in the same way.
            let is_remote = source.git.split_once(':').is_some_and(|(host, _)| !host.contains('/'));
            if !is_remote {
                let joined = base.join(&source.git);
                if !joined.is_dir() {
                    return Err(sentence!("`workspace`: no repository at `{path}`", path = joined.display()));
                }
                let text = joined.to_str();
                source.git = text.ok_or_else(|| sentence!("`workspace`: the path is not UTF-8"))?.to_owned();
                if known.lacks_commit(source) {
                    let GitSource { git, reference } = source;
                    return Err(sentence!(
                        "`workspace`: `{reference}` is not a commit of `{git}`",
                        reference,
                        git
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Removes tasks that need a task that does not exist, until all needed tasks exist.
fn remove_missing_needs(tasks: &mut Vec<(u64, Task)>, invalid: &mut BTreeMap<u64, Sentence>) {
    loop {
        let ids: HashSet<String> = tasks.iter().map(|(_, task)| task.id.clone()).collect();
        let before = tasks.len();
        tasks.retain(|(line, task)| match task.needs.iter().find(|need| !ids.contains(*need)) {
            None => true,
            Some(need) => {
                let detail = sentence!("`needs` names `{need}`, which is not a valid task of the file", need);
                invalid.insert(*line, detail);
                false
            }
        });
        if tasks.len() == before {
            return;
        }
    }
}

/// Removes tasks that need themselves, directly or through others, and those that need one of them.
fn remove_cycles(tasks: &mut Vec<(u64, Task)>, invalid: &mut BTreeMap<u64, Sentence>) {
    let mut open: BTreeSet<usize> = (0..tasks.len()).filter(|at| needs_any(tasks, *at)).collect();
    let mut done: HashSet<String> =
        tasks.iter().filter(|(_, task)| task.needs.is_empty()).map(|(_, task)| task.id.clone()).collect();
    loop {
        let ready: Vec<usize> = open
            .iter()
            .copied()
            .filter(|at| {
                let task = tasks.get(*at).map(|(_, task)| task);
                task.is_some_and(|task| task.needs.iter().all(|need| done.contains(need)))
            })
            .collect();
        if ready.is_empty() {
            break;
        }
        for at in ready {
            open.remove(&at);
            done.extend(tasks.get(at).map(|(_, task)| task.id.clone()));
        }
    }
    tasks.retain(|(line, task)| {
        let is_done = done.contains(&task.id);
        if !is_done {
            let needs = task.needs.join("`, `");
            let detail =
                sentence!("`needs` has a cycle: `{id}` waits for `{needs}` forever", id = task.id, needs);
            invalid.insert(*line, detail);
        }
        is_done
    });
}

fn needs_any(tasks: &[(u64, Task)], at: usize) -> bool {
    tasks.get(at).is_some_and(|(_, task)| !task.needs.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], valid: &[&str], invalid: &[(u64, &str)]) {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("ws")).unwrap();
        let file = TaskFile::parse(&lines.join("\n"), home.path());
        let ids: Vec<&str> = file.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, valid, "{:?}", file.invalid);
        assert_eq!(file.invalid.len(), invalid.len(), "{:?}", file.invalid);
        for (found, (line, part)) in file.invalid.iter().zip(invalid) {
            assert!(found.line == *line && found.detail.contains(part), "{found:?} should have {part:?}");
        }
    }

    const A: &str = r#"{"id":"a","prompt":"p","workspace":"ws"}"#;

    #[test]
    fn a_valid_line_is_a_task_and_empty_lines_are_skipped() {
        check(
            &[
                A,
                "",
                r#"{"id":"b","prompt":"p","workspace":{"git":"ws","ref":"main"},"model":"m","mode":"ask","limits":{"max_cost_usd":0.5},"env":{"A":"b"},"check":"true","needs":["a"]}"#,
            ],
            &["a", "b"],
            &[],
        );
    }

    #[test]
    fn a_broken_line_is_named() {
        check(&[A, r#"{"id":"b","#], &["a"], &[(2, "ends too early")]);
        check(&[r#"{"id":"b","prompt":"p"}"#], &[], &[(1, "missing field `workspace`")]);
        check(&[r#"{"id":"b","prompt":"p","workspace":"ws","x":1}"#], &[], &[(1, "unknown field `x`")]);
        check(&[r#"{"id":"b","prompt":"p","workspace":7}"#], &[], &[(1, "should be a path, or an object")]);
        check(&[r#"{"id":"../b","prompt":"p","workspace":"ws"}"#], &[], &[(1, "letters")]);
        check(&[r#"{"id":"b","prompt":" ","workspace":"ws"}"#], &[], &[(1, "`prompt` is empty")]);
        check(
            &[r#"{"id":"b","prompt":"p","workspace":"ws","mode":"x"}"#],
            &[],
            &[(1, "unknown variant `x`")],
        );
        check(
            &[r#"{"id":"b","prompt":"p","workspace":"ws","limits":{"max_turns":0}}"#],
            &[],
            &[(1, "`limits.max_turns`")],
        );
    }

    #[test]
    fn an_unknown_workspace_and_a_duplicate_id_are_named() {
        let gone = r#"{"id":"b","prompt":"p","workspace":"gone"}"#;
        check(&[A, gone, gone, A], &["a"], &[(2, "no directory"), (3, "no directory"), (4, "line 1")]);
    }

    #[test]
    fn an_unknown_commit_of_a_local_repository_is_named() {
        let home = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments);
            assert!(command.current_dir(home.path()).status().unwrap().success(), "{arguments:?}");
        };
        git(&["init", "--quiet", "-b", "main", "ws"]);
        git(&["-C", "ws", "commit", "--quiet", "--allow-empty", "-m", "one"]);
        let task = |id: &str, reference: &str| {
            format!(r#"{{"id":"{id}","prompt":"p","workspace":{{"git":"ws","ref":"{reference}"}}}}"#)
        };
        let text = [task("a", "main"), task("b", "gone"), task("c", "HEAD")].join("\n");
        let file = TaskFile::parse_and_check_commits(
            &text,
            home.path(),
            &Git::from_system(home.path().join("views")),
        );
        let ids: Vec<&str> = file.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!((ids.as_slice(), file.invalid.len()), (["a", "c"].as_slice(), 1), "{:?}", file.invalid);
        assert!(file.invalid[0].line == 2 && file.invalid[0].detail.contains("`gone` is not a commit of"));
    }

    #[test]
    fn a_task_file_that_the_clones_of_its_tasks_have_is_found() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let git = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments);
            assert!(command.current_dir(&home).status().unwrap().success(), "{arguments:?}");
        };
        git(&["init", "--quiet", "."]);
        std::fs::create_dir(home.join("ws")).unwrap();
        std::fs::write(home.join("ws/tasks.jsonl"), A).unwrap();
        git(&["commit", "--quiet", "--allow-empty", "-m", "one"]);
        let program = Git::from_system(home.join("views"));
        let file = TaskFile { source: Some(home.join("ws/tasks.jsonl")), ..TaskFile::parse(A, &home) };
        assert!(!file.is_committed(&program));
        git(&["add", "ws/tasks.jsonl"]);
        git(&["commit", "--quiet", "-m", "two"]);
        assert!(file.is_committed(&program));
        assert!(!TaskFile { source: Some(home.join("other")), ..file }.is_committed(&program));
    }

    #[test]
    fn tasks_that_wait_forever_are_named() {
        let task = |id: &str, need: &str| {
            format!(r#"{{"id":"{id}","prompt":"p","workspace":"ws","needs":["{need}"]}}"#)
        };
        let (b, c, d, e) = (task("b", "c"), task("c", "b"), task("d", "b"), task("e", "a"));
        check(&[A, &b, &c, &d, &e], &["a", "e"], &[(2, "cycle"), (3, "cycle"), (4, "cycle")]);
        check(&[&task("b", "x"), &task("c", "b")], &[], &[(1, "`x`"), (2, "`b`")]);
        check(&[&task("b", "b")], &[], &[(1, "cycle")]);
    }

    #[test]
    fn a_task_is_stored_as_it_was_read() {
        let home = tempfile::tempdir().unwrap();
        let line = r#"{"id":"a","prompt":"p","workspace":"/","limits":{"max_cost_usd":0.25,"timeout_s":9}}"#;
        let task = TaskFile::parse(line, home.path()).tasks.remove(0);
        let stored = serde_json::to_string(&task).unwrap();
        assert_eq!(serde_json::from_str::<Task>(&stored).unwrap(), task);
        assert_eq!(task.limits.max_cost_micros, Some(250_000));
    }
}
