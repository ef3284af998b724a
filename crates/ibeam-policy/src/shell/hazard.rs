//! Finds arguments that are not ordinary: arguments that may do more than the purpose of the program.
//!
//! `Shell(x)` covers ordinary arguments, `Shell(x:*)` covers any. The tables of [`super::ordinary_files`] and similar
//! modules list the ordinary arguments of each program. A program without an entry has none, so `Shell(x)` covers only
//! `x` without arguments.

use ibeam_protocol::{Sentence, sentence};

use super::builtins::{self, is_plain_read, is_plain_test};
use super::filter_scripts;
use super::ordinary_arguments::{self, ProgramOptions, argument_objection};
use super::ordinary_code::CODE;
use super::ordinary_files::FILES;
use super::ordinary_git;
use super::program_lists::{CODE_RUNNERS, VALUE_INDEPENDENT, never_ordinary};
use super::word::Word;
use super::wrapper::{Call, SHELLS};

/// Returns why the arguments are not ordinary, as the end of a sentence "it …"; `None` if they are.
pub(crate) fn hazard(call: &Call) -> Option<Sentence> {
    if builtins::needs_no_rule(call) {
        return None;
    }
    known_hazard(call).or_else(|| {
        let name = call.name();
        let is_known = find_program(&name).is_some() || is_special_case(&name);
        if is_known || is_workspace_program(call) {
            return None;
        }
        // The effect of the program's arguments is unknown, but asking for the version is harmless.
        let first = call.texts().find(|text| !matches!(*text, "--version" | "--help"))?;
        Some(sentence!(
            "has the argument `{argument}`, and which arguments of `{program}` are ordinary is unknown",
            argument = first.chars().filter(|c| !c.is_control()).take(60).collect::<String>(),
            program = name
        ))
    })
}

/// Returns why the arguments of a program that some table knows are not ordinary.
fn known_hazard(call: &Call) -> Option<Sentence> {
    let name = call.name();
    let name = name.as_str();
    if call.has_unknown_arguments {
        return Some(sentence!("gets unknown arguments"));
    }
    let asks_version = call.args.len() == 1 && call.texts().all(|text| text == "--version");
    if let Some(why) = never_ordinary(name)
        && (!asks_version || builtins::is_builtin(name))
    {
        return Some(why.into());
    }
    if builtins::is_unlisted_use(call) {
        return Some(sentence!("has arguments that the shell may evaluate or run"));
    }
    match name {
        "git" => return ordinary_git::objection(call),
        "gh" | "glab" | "hub" => return forge_objection(call),
        "sed" | "gsed" => return filter_scripts::sed_objection(call).map(Sentence::from),
        "awk" | "gawk" | "mawk" | "nawk" => return filter_scripts::awk_objection(call).map(Sentence::from),
        "jq" if filter_scripts::jq_objection(call).is_some() => {
            return filter_scripts::jq_objection(call).map(Sentence::from);
        }
        "test" | "[" => return (!is_plain_test(call)).then(|| sentence!("evaluates its arguments")),
        "read" if !is_plain_read(call) => return Some(sentence!("sets a variable that programs may read")),
        "read" | "echo" | "true" | "false" | ":" | "kill" => return None,
        "printf" => {
            let first = call.texts().next().filter(|first| first.starts_with('-') && *first != "--");
            return first.map(argument_objection);
        }
        "python" | "python3" | "pypy3" | "perl" | "ruby" | "node" | "nodejs" | "deno" | "php" | "lua"
        | "luajit" => {
            let harmless = |arg: &str| matches!(arg, "--version" | "-V" | "-v" | "--help");
            let first = call.texts().find(|arg| !harmless(arg));
            return (first.is_some() || call.args.is_empty()).then(|| sentence!("runs code it is given"));
        }
        _ if SHELLS.contains(&name) => return shell_objection(call),
        _ => {}
    }
    let words: Vec<(&str, bool)> = call.args.iter().map(|arg| (arg.text.as_str(), arg.has_glob)).collect();
    let objection_if = |is_objectionable: &dyn Fn(&str) -> bool| {
        call.texts().find(|text| is_objectionable(text)).map(argument_objection)
    };
    let program = find_program(name)?;
    match (name, words.split_first()) {
        // `cargo +nightly test`.
        ("cargo", Some((first, rest))) if is_toolchain(first.0) => program.objection_to(rest),
        // `go run example.com/x@latest` runs fetched code.
        ("go", _) => objection_if(&|text| text.contains('@')).or_else(|| program.objection(call)),
        // `environ` is a column.
        ("ps", _) => objection_if(&|text| text.to_ascii_lowercase().contains("environ"))
            .or_else(|| program.objection(call)),
        ("curl", _) => {
            objection_if(&|text| text.starts_with('@') || (text.starts_with('-') && text.contains('@')))
                .or_else(|| program.objection(call))
        }
        // An archive name with a colon is on another machine. The old syntax has option letters without a dash.
        ("tar" | "bsdtar", Some(((letters, _), rest))) => {
            objection_if(&|text| text.contains(':')).or_else(|| match letters.starts_with('-') {
                true => program.objection_to(&words),
                false => {
                    let plain =
                        letters.chars().all(|c| program.flags.contains(c) || program.valued.contains(c));
                    if plain { program.objection_to(rest) } else { Some(argument_objection(letters)) }
                }
            })
        }
        _ => program.objection_to(&words),
    }
}

/// Returns the entry of a program in the tables.
fn find_program(name: &str) -> Option<&'static ProgramOptions> {
    FILES.iter().chain(CODE).find(|program| program.names.contains(&name))
}

/// Whether [`known_hazard`] has a special rule for a program.
fn is_special_case(name: &str) -> bool {
    const SPECIAL_CASES: &[&str] = &[
        "git", "gh", "glab", "hub", "sed", "gsed", "awk", "gawk", "mawk", "nawk", "test", "[", "read",
        "printf", "echo", "kill",
    ];
    SPECIAL_CASES.contains(&name)
        || never_ordinary(name).is_some()
        || CODE_RUNNERS.contains(&name)
        || SHELLS.contains(&name)
        || super::wrapper::is_wrapper(name)
        || builtins::is_builtin(name)
}

/// Whether some list or table contains a program, so that a function of that name would be misleading.
pub(crate) fn is_listed(name: &str) -> bool {
    super::program_lists::is_listed(name) || find_program(name).is_some() || is_special_case(name)
}

/// Whether a program runs, or may run, code of its working directory. True for all programs except those that only
/// process the files and texts they are given.
pub(crate) fn depends_on_directory(call: &Call) -> bool {
    let name = call.name();
    let only_files = FILES.iter().any(|program| program.names.contains(&name.as_str()));
    let is_text_program = matches!(
        name.as_str(),
        "sed"
            | "gsed"
            | "awk"
            | "gawk"
            | "mawk"
            | "nawk"
            | "test"
            | "["
            | "read"
            | "printf"
            | "echo"
            | "kill"
    );
    // `./ls` is a file of the directory, whatever its name is.
    let is_relative = call.program.text.contains('/') && !call.program.text.starts_with('/');
    is_relative
        || !(only_files || is_text_program || builtins::is_builtin(&name) || builtins::needs_no_rule(call))
}

/// Whether the table of programs that run code of their directory contains a program.
pub(crate) fn runs_code(name: &str) -> bool {
    CODE.iter().any(|program| program.runs_code && program.names.contains(&name))
}

/// Whether the program is given as a relative path: a file of the workspace, which the model may change anyway.
fn is_workspace_program(call: &Call) -> bool {
    let text = call.program.text.as_str();
    text.contains('/') && !text.starts_with('/') && !text.split('/').any(|name| name == "..")
}

/// Whether an argument of cargo selects a toolchain: `+stable`, `+nightly-2026-01-01`.
fn is_toolchain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    text.strip_prefix('+').is_some_and(|name| name.chars().all(plain))
}

/// Whether some argument is unknown and its value could matter.
pub(crate) fn has_relevant_unknown(call: &Call) -> bool {
    (0..call.args.len()).any(|at| is_relevant_unknown(call, at))
}

/// Whether the argument at `at` is unknown and its value could matter: name a file, or be an option.
pub(crate) fn is_relevant_unknown(call: &Call, at: usize) -> bool {
    let Some(arg) = call.args.get(at).filter(|arg| !arg.is_known()) else { return false };
    let name = call.name();
    match name.as_str() {
        // A format may also be an option.
        "printf" => at == 0,
        // The message of a commit: one word with any content.
        "git" => {
            let before =
                at.checked_sub(1).and_then(|at| call.args.get(at)).map_or("", |arg| arg.text.as_str());
            let message =
                matches!(before, "-m" | "--message") || arg.known_prefix().starts_with("--message=");
            !message || arg.may_split
        }
        name => !VALUE_INDEPENDENT.contains(&name) && !builtins::is_flow_control(name),
    }
}

/// Whether a program runs what its arguments name, so that a denied program may be among them.
pub(crate) fn runs_its_arguments(call: &Call) -> bool {
    let name = call.name();
    never_ordinary(&name).is_some()
        || CODE_RUNNERS.contains(&name.as_str())
        || SHELLS.contains(&name.as_str())
        || name.starts_with("ld-linux")
        || name.starts_with("ld-musl")
        || known_hazard(call).is_some()
}

/// Whether it is unknown which programs run: the call may run a text that is not known, or a built-in may change what
/// later names mean.
pub(crate) fn is_dynamic(call: &Call) -> bool {
    let name = call.name();
    let stdin_script = SHELLS.contains(&name.as_str())
        && (call.args.iter().all(|arg| arg.text.starts_with('-'))
            || call.args.iter().any(|arg| arg.is_process_substitution));
    let unknown = |args: &[Word]| args.iter().any(Word::may_be_option);
    let runs = CODE_RUNNERS.contains(&name.as_str())
        || matches!(name.as_str(), "find" | "fd" | "fdfind" | "tar" | "awk" | "make");
    let command = name == "git" && call.args.first().is_some_and(Word::may_be_option);
    if builtins::needs_no_rule(call) {
        return false;
    }
    builtins::evaluates(call)
        || stdin_script
        || (runs && unknown(&call.args))
        || command
        || matches!(
            name.as_str(),
            "eval"
                | "source"
                | "."
                | "alias"
                | "trap"
                | "hash"
                | "enable"
                | "fc"
                | "mapfile"
                | "readarray"
                | "bind"
                | "compgen"
                | "complete"
                | "coproc"
                | "set"
                | "shopt"
                | "export"
                | "declare"
                | "typeset"
        )
}

/// Returns why the arguments of `gh`, `glab` or `hub` are not ordinary. Only sub-commands that read are ordinary.
fn forge_objection(call: &Call) -> Option<Sentence> {
    const READING: ProgramOptions = ordinary_arguments::program(
        &[],
        "c",
        "RLsAlSqtBHaj",
        "repo= limit= state= author= assignee= label= search= jq= template= base= head= json= comments log log-failed \
         name-only patch job= required workflow= branch= status= user= event= commit=",
    );
    let words: Vec<&str> = call.texts().filter(|arg| !arg.starts_with('-')).collect();
    let (topic, action) = (words.first().copied().unwrap_or(""), words.get(1).copied().unwrap_or(""));
    let reads = matches!(topic, "pr" | "issue" | "run" | "release" | "repo" | "workflow")
        && matches!(action, "list" | "view" | "status" | "diff" | "checks");
    if !reads && !topic.is_empty() {
        return Some(sentence!("has a sub-command that does more than list and show"));
    }
    READING.objection(call)
}

/// Returns why the arguments of a shell are not ordinary. Only a script file with its arguments is ordinary.
fn shell_objection(call: &Call) -> Option<Sentence> {
    // A script by its name; the following arguments belong to the script.
    let script = call
        .args
        .first()
        .is_some_and(|arg| !arg.text.starts_with(['-', '+']) && !arg.is_process_substitution);
    (!script).then(|| sentence!("runs text it is given"))
}
