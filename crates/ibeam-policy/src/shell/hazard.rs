//! Which arguments are not ordinary: those that make a program run another one, write where it is not asked
//! to, or talk to the network.
//!
//! A list by program. `Shell(x)` covers ordinary arguments, `Shell(x:*)` any. A program that is not listed has
//! only ordinary arguments; its paths are still checked.

use super::programs::{GIT, GIT_OPTIONS, NEVER, PROGRAMS, RUNNERS};
use super::script;
use super::wrapper::{Call, SHELLS};

/// Why the arguments are not ordinary, as an end to "it …"; `None` when they are.
pub(crate) fn hazard(call: &Call) -> Option<&'static str> {
    let name = call.name();
    let name = name.as_str();
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
        "test" | "[" if call.texts().any(|arg| arg.contains(['$', '`'])) => {
            return Some("evaluates its arguments");
        }
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
    let stdin_script =
        SHELLS.contains(&name.as_str()) && call.args.iter().all(|arg| arg.text.starts_with('-'));
    stdin_script
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

/// The arguments of git without its global options, and whether those were ordinary.
pub(crate) fn git_arguments(call: &Call) -> (Vec<&str>, bool) {
    let mut args = call.texts();
    let mut ordinary = true;
    while let Some(arg) = args.next() {
        match arg {
            "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" | "--exec-path"
            | "--super-prefix" => {
                ordinary = false;
                if arg != "--exec-path" {
                    args.next();
                }
            }
            "-C" => {
                args.next();
            }
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" | "--no-replace-objects" => {}
            "--version" | "--help" => return (vec![arg], ordinary),
            option if option.starts_with('-') => ordinary = false,
            command => return (std::iter::once(command).chain(args).collect(), ordinary),
        }
    }
    (Vec::new(), ordinary)
}

fn git(call: &Call) -> Option<&'static str> {
    let (arguments, ordinary) = git_arguments(call);
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
    let script = call.args.first().is_some_and(|arg| !arg.text.starts_with(['-', '+']));
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
