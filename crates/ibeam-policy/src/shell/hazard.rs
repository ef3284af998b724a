//! Which arguments are not ordinary: those that make a program run another one, write where it is not asked
//! to, or talk to the network.
//!
//! A list by program. `Shell(x)` covers ordinary arguments, `Shell(x:*)` any. A program that is not listed has
//! only ordinary arguments; its paths are still checked.

use super::programs::{FREE, GIT, GIT_OPTIONS, NEVER, PROGRAMS, RUNNERS, SILENT};
use super::script;
use super::word::{Word, is_private};
use super::wrapper::{Call, SHELLS};

/// Why the arguments are not ordinary, as an end to "it …"; `None` when they are.
pub(crate) fn hazard(call: &Call) -> Option<&'static str> {
    let name = call.name();
    let name = name.as_str();
    if is_free(call) {
        return None;
    }
    if call.more {
        return Some("gets arguments that cannot be known");
    }
    if NEVER.contains(&name) {
        return Some("can run other programs, change the shell or open connections");
    }
    let operands = || call.texts().filter(|arg| !arg.starts_with('-'));
    match name {
        "git" => return git(call),
        "gh" | "glab" | "hub" => return forge(call),
        "sed" | "gsed" => return script::sed(call),
        "awk" | "gawk" | "mawk" | "nawk" => return script::awk(call),
        "uniq" | "xxd" if operands().count() > 1 => return Some("writes its second file"),
        "python" | "python3" if call.texts().any(|arg| arg.starts_with("-m") && arg.len() > 2) => {
            return Some("runs a module");
        }
        "test" | "[" if !tests_plainly(call) => return Some("evaluates its arguments"),
        "read" if !reads_plainly(call) => return Some("sets a variable that programs may heed"),
        "make" | "gmake" if call.texts().any(|arg| arg.contains('=')) => {
            return Some("sets a variable of make");
        }
        "curl" if operands().any(|arg| !is_web(arg)) => {
            return Some("has an address that is not http or https");
        }
        "rsync" if operands().any(|arg| arg.contains(':')) => {
            return Some("copies to or from another machine");
        }
        "less" | "more" if operands().any(|arg| arg.starts_with('+')) => {
            return Some("runs a command of the pager");
        }
        "tar"
            if operands()
                .next()
                .is_some_and(|arg| !call.texts().any(|a| a.starts_with('-')) && bundled(arg)) =>
        {
            return Some("extracts or runs a program");
        }
        _ if SHELLS.contains(&name) => return shell(call),
        "python" | "python3" | "perl" | "ruby" | "node" | "nodejs" | "php" | "lua"
            if operands().next().is_none() =>
        {
            let harmless = call.texts().all(|arg| matches!(arg, "--version" | "-V" | "-v" | "--help"));
            return (call.args.is_empty() || !harmless).then_some("runs code it is given");
        }
        _ => {}
    }
    let program = PROGRAMS.iter().find(|program| program.names.contains(&name))?;
    let found = call.args.iter().any(|arg| {
        // A pattern may become an option: `sort *` beside a file named `-o`.
        (arg.glob
            && arg.text.starts_with(['*', '?', '['])
            && !(program.letters.is_empty() && program.long.is_empty()))
            || program.words.contains(&arg.text.as_str())
            || is_option(&arg.text, program.letters, program.long)
    });
    found.then_some("can run other programs, write files or open connections with these arguments")
}

/// True when something of what a program gets is not known, and could matter.
pub(crate) fn takes_unknown(call: &Call) -> bool {
    (0..call.args.len()).any(|at| matters(call, at))
}

/// True when the argument at `at` is not known and its value could matter: name a file, or be an option.
pub(crate) fn matters(call: &Call, at: usize) -> bool {
    let Some(arg) = call.args.get(at).filter(|arg| !arg.is_known()) else { return false };
    let name = call.name();
    match name.as_str() {
        // A format may be an option too.
        "printf" => at == 0,
        // The message of a commit: one word, whatever it says.
        "git" => {
            let before =
                at.checked_sub(1).and_then(|at| call.args.get(at)).map_or("", |arg| arg.text.as_str());
            let message = matches!(before, "-m" | "--message") || arg.known().starts_with("--message=");
            !message || arg.splits
        }
        name => !SILENT.contains(&name) && !FREE.contains(&name),
    }
}

/// True for built-ins for which no rule is needed.
pub(crate) fn is_free(call: &Call) -> bool {
    let name = call.program.text.as_str();
    match name {
        "set" => {
            let mut args = call.texts();
            let letters = |arg: &str| arg.chars().all(|c| "euxfCo".contains(c));
            let mut plain = !call.more && !call.args.is_empty();
            while let Some(arg) = args.next() {
                let option =
                    arg.strip_prefix(['-', '+']).filter(|option| !option.is_empty() && letters(option));
                plain &= option.is_some();
                if option.is_some_and(|option| option.contains('o')) {
                    let named = ["pipefail", "errexit", "nounset", "xtrace", "noglob", "noclobber"];
                    plain &= args.next().is_some_and(|name| named.contains(&name));
                }
            }
            plain
        }
        "read" => reads_plainly(call),
        name => FREE.contains(&name),
    }
}

/// `read` into variables that mean nothing to any program.
fn reads_plainly(call: &Call) -> bool {
    call.args.iter().all(|arg| {
        let option = matches!(arg.text.as_str(), "-r" | "-s" | "-rs" | "-sr");
        arg.is_known() && !arg.glob && (option || is_private(&arg.text))
    })
}

/// `test` without `-v`, which evaluates a subscript, also where it could come from an expansion.
fn tests_plainly(call: &Call) -> bool {
    let operator = |text: &str| {
        !matches!(text, "-v" | "-R") && (text.starts_with('-') || matches!(text, "=" | "==" | "!="))
    };
    let mut args = call.args.as_slice();
    if let [rest @ .., last] = args
        && last.text == "]"
    {
        args = rest;
    }
    let literal = args.iter().all(|arg| {
        !arg.is_known() || !(arg.text.contains(['$', '`']) || matches!(arg.text.as_str(), "-v" | "-R"))
    });
    let unknown = args.iter().filter(|arg| !arg.is_known());
    let known = |at: usize| args.get(at).filter(|arg| arg.is_known()).map(|arg| arg.text.as_str());
    literal
        && (unknown.clone().count() == 0
            || (unknown.clone().all(|arg| !arg.splits)
                && match args.len() {
                    1 => true,
                    2 => known(0).is_some_and(operator),
                    3 => known(1).is_some_and(operator),
                    _ => false,
                }))
}

/// True when a program runs what its arguments name, so that a denied program may hide among them.
pub(crate) fn runs_its_arguments(call: &Call) -> bool {
    let name = call.name();
    NEVER.contains(&name.as_str())
        || RUNNERS.contains(&name.as_str())
        || SHELLS.contains(&name.as_str())
        || name.starts_with("ld-linux")
        || name.starts_with("ld-musl")
        || hazard(call).is_some()
}

/// True for built-ins after which names no longer mean what they say.
pub(crate) fn is_dynamic(call: &Call) -> bool {
    let name = call.name();
    let stdin_script = SHELLS.contains(&name.as_str())
        && (call.args.iter().all(|arg| arg.text.starts_with('-')) || call.args.iter().any(|arg| arg.pipe));
    let unknown = |args: &[Word]| args.iter().any(Word::may_be_option);
    let runs = RUNNERS.contains(&name.as_str())
        || matches!(name.as_str(), "find" | "fd" | "fdfind" | "tar" | "awk" | "make");
    let command = name == "git" && call.args.first().is_some_and(Word::may_be_option);
    if is_free(call) {
        return false;
    }
    evaluates(call)
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

/// True for built-ins that are given the name of a variable, where a subscript would be evaluated.
fn evaluates(call: &Call) -> bool {
    let names =
        || call.args.iter().all(|arg| arg.is_known() && !arg.glob && !arg.text.contains(['[', '$', '`']));
    match call.name().as_str() {
        "printf" => call.args.first().is_some_and(|arg| !arg.is_known() || arg.text.starts_with("-v")),
        "test" | "[" => !tests_plainly(call),
        "read" => !reads_plainly(call) && !names(),
        "unset" | "let" | "getopts" | "local" | "readonly" | "wait" => !names(),
        _ => false,
    }
}

/// The arguments of git without its global options, and whether those were ordinary.
pub(crate) fn git_arguments(call: &Call) -> (Vec<&Word>, bool) {
    let mut args = call.args.iter();
    let mut ordinary = true;
    while let Some(arg) = args.next() {
        match arg.text.as_str() {
            "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" | "--exec-path"
            | "--super-prefix" => {
                ordinary = false;
                if arg.text != "--exec-path" {
                    args.next();
                }
            }
            "-C" => {
                args.next();
            }
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" | "--no-replace-objects" => {}
            "--version" | "--help" => return (vec![arg], ordinary),
            _ if !arg.is_known() => return (std::iter::once(arg).chain(args).collect(), false),
            option if option.starts_with('-') => ordinary = false,
            _ => return (std::iter::once(arg).chain(args).collect(), ordinary),
        }
    }
    (Vec::new(), ordinary)
}

fn git(call: &Call) -> Option<&'static str> {
    let (arguments, ordinary) = git_arguments(call);
    let arguments: Vec<&str> = arguments.into_iter().map(|word| word.text.as_str()).collect();
    if !ordinary {
        return Some("has global options that can run programs");
    }
    let (command, rest) = arguments.split_first()?;
    let listing = |words: &[&str]| rest.first().is_some_and(|first| words.contains(first));
    let known = match *command {
        "config" => listing(&["--get", "--get-all", "--list", "-l", "get", "list"]),
        "worktree" | "remote" => rest.is_empty() || listing(&["list", "-v", "--verbose"]),
        command => GIT.contains(&command),
    };
    if !known {
        return Some("uses a sub-command that can run programs, write elsewhere or open connections");
    }
    let letters = match *command {
        "grep" => "O",
        "add" | "commit" | "checkout" | "restore" | "reset" | "stash" => "pi",
        "merge" | "cherry-pick" | "revert" => "sX",
        _ => "",
    };
    let found = rest.iter().any(|arg| {
        // `git log -p` shows a patch; asking for one interactively is what runs an editor.
        let long: &[&str] = GIT_OPTIONS;
        let shows = matches!(*command, "log" | "diff" | "show" | "reflog" | "stash") && *arg == "--patch";
        !shows && is_option(arg, letters, long)
    });
    found.then_some("has options that can run programs or write files")
}

fn forge(call: &Call) -> Option<&'static str> {
    let mut words = call.texts().filter(|arg| !arg.starts_with('-'));
    let (topic, action) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let reads = matches!(topic, "pr" | "issue" | "run" | "release" | "repo" | "workflow")
        && matches!(action, "list" | "view" | "status" | "diff" | "checks");
    (!reads && !topic.is_empty()).then_some("changes something on the server")
}

fn shell(call: &Call) -> Option<&'static str> {
    // A script by its name; what follows are the script's own arguments.
    let script = call.args.first().is_some_and(|arg| !arg.text.starts_with(['-', '+']) && !arg.pipe);
    (!script).then_some("runs text it is given")
}

/// The old style of tar: `tar xf …`.
fn bundled(letters: &str) -> bool {
    letters.contains(['x', 'I', 'F', 'P', 'T', 'r', 'C']) && letters.chars().all(|c| c.is_ascii_alphabetic())
}

fn is_web(address: &str) -> bool {
    let lower = address.to_ascii_lowercase();
    match lower.split_once("://") {
        Some((scheme, _)) => matches!(scheme, "http" | "https"),
        None => true,
    }
}

/// True when `arg` is one of the options: a letter in a cluster, or a long option, perhaps abbreviated.
fn is_option(arg: &str, letters: &str, long: &[&str]) -> bool {
    match arg.strip_prefix("--") {
        Some("") => false,
        Some(option) => {
            let option = option.split('=').next().unwrap_or(option);
            let whole = |known: &&str| known.starts_with(option) || option.starts_with(&format!("{known}-"));
            !option.is_empty() && long.iter().any(whole)
        }
        None => arg.strip_prefix('-').is_some_and(|cluster| cluster.contains(|c| letters.contains(c))),
    }
}
