//! Programs that only run another one: `env`, `timeout`, `xargs`, `sh -c` … What runs in the end is what counts.

use super::words::{self, Opaque, Redirect, Word};

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) program: Word,
    pub(crate) args: Vec<Word>,
    /// More arguments will be added that cannot be known, as `xargs` does.
    pub(crate) more: bool,
}

impl Call {
    /// The last name of the program's path, case folded.
    pub(crate) fn name(&self) -> String {
        let name = self.program.text.rsplit('/').next().unwrap_or_default();
        name.to_lowercase()
    }

    /// The arguments' texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(|arg| arg.text.as_str())
    }
}

/// One command of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// The program named first and, through wrappers, what it runs; the last one is what runs in the end.
    /// Empty for a bare redirection.
    pub(crate) layers: Vec<Call>,
    /// Files it is connected to.
    pub(crate) redirects: Vec<Redirect>,
}

/// How deep wrappers may nest.
const DEPTH: u32 = 8;

/// How a wrapper is called: options that take a value in the next word, and plain words before the command.
struct Wrapper {
    names: &'static [&'static str],
    /// Letters of short options without a value.
    flags: &'static str,
    /// Letters of short options with a value.
    valued: &'static str,
    /// Long options: with a value where they end in `=`.
    long: &'static [&'static str],
    /// Words between options and command.
    leading: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["!", "builtin", "nohup", "busybox", "toybox"],
        flags: "",
        valued: "",
        long: &[],
        leading: 0,
    },
    Wrapper { names: &["time"], flags: "p", valued: "", long: &[], leading: 0 },
    Wrapper { names: &["command"], flags: "p", valued: "", long: &[], leading: 0 },
    Wrapper { names: &["exec"], flags: "c", valued: "", long: &[], leading: 0 },
    Wrapper {
        names: &["env"],
        flags: "i0v",
        valued: "u",
        long: &["ignore-environment", "null", "unset="],
        leading: 0,
    },
    Wrapper {
        names: &["timeout"],
        flags: "v",
        valued: "ks",
        long: &["foreground", "preserve-status", "verbose", "kill-after=", "signal="],
        leading: 1,
    },
    Wrapper { names: &["nice"], flags: "", valued: "n", long: &["adjustment="], leading: 0 },
    Wrapper { names: &["ionice"], flags: "t", valued: "cn", long: &[], leading: 0 },
    Wrapper { names: &["setsid"], flags: "cfw", valued: "", long: &["ctty", "fork", "wait"], leading: 0 },
    Wrapper {
        names: &["stdbuf"],
        flags: "",
        valued: "ioe",
        long: &["input=", "output=", "error="],
        leading: 0,
    },
    Wrapper {
        names: &["xargs"],
        flags: "0rtx",
        valued: "nPLsdEI",
        long: &["null", "no-run-if-empty", "verbose", "max-args=", "max-procs=", "delimiter="],
        leading: 0,
    },
];

/// Shells whose `-c` text is read as a command.
pub(crate) const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh"];

/// Every command that `text` runs, wrappers opened.
///
/// # Errors
/// The first thing that is not understood.
pub(crate) fn steps(text: &str) -> Result<Vec<Step>, Opaque> {
    open_text(text, 0)
}

fn open_text(text: &str, depth: u32) -> Result<Vec<Step>, Opaque> {
    if depth > DEPTH {
        return Err(Opaque("too many commands in commands"));
    }
    let mut steps = Vec::new();
    for simple in words::parse(text)? {
        let mut opened = open_words(&simple.words, false, depth)?;
        match opened.first_mut() {
            Some(first) => first.redirects.extend(simple.redirects),
            None => opened.push(Step { layers: Vec::new(), redirects: simple.redirects }),
        }
        steps.extend(opened);
    }
    Ok(steps)
}

fn open_words(words: &[Word], more: bool, depth: u32) -> Result<Vec<Step>, Opaque> {
    if depth > DEPTH {
        return Err(Opaque("too many commands in commands"));
    }
    let Some((program, args)) = words.split_first() else { return Ok(Vec::new()) };
    if program.glob || program.tilde {
        return Err(Opaque("a program's name that the shell expands"));
    }
    let call = Call { program: program.clone(), args: args.to_vec(), more };
    let name = call.name();
    let inner = if SHELLS.contains(&name.as_str()) {
        match shell_text(args)? {
            Some(text) => open_text(text, depth + 1)?,
            None => Vec::new(),
        }
    } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name.as_str())) {
        open_words(command(wrapper, &name, args)?, more || name == "xargs", depth + 1)?
    } else {
        Vec::new()
    };
    if inner.is_empty() {
        return Ok(vec![Step { layers: vec![call], redirects: Vec::new() }]);
    }
    let wrap = |mut step: Step| {
        step.layers.insert(0, call.clone());
        step
    };
    Ok(inner.into_iter().map(wrap).collect())
}

/// The text of `sh -c TEXT`; `None` for other uses of a shell.
fn shell_text(args: &[Word]) -> Result<Option<&str>, Opaque> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let Some(letters) = arg.text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Ok(None);
        };
        if !letters.chars().all(|letter| "ceux".contains(letter)) {
            return Ok(None);
        }
        if letters.contains('c') {
            // Further words become `$0`, `$1` …, which the text cannot use without an expansion.
            return args
                .next()
                .map(|text| Some(text.text.as_str()))
                .ok_or(Opaque("a shell without its command"));
        }
    }
    Ok(None)
}

/// The words of the command that a wrapper runs; none where it runs nothing.
fn command<'a>(wrapper: &Wrapper, name: &str, args: &'a [Word]) -> Result<&'a [Word], Opaque> {
    const UNKNOWN: Opaque = Opaque("an option of a wrapper that is not known");
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        if arg.glob {
            return Err(Opaque("a pattern before a program's name"));
        }
        if arg.text == "--" {
            rest = after;
            break;
        }
        if let Some(long) = arg.text.strip_prefix("--") {
            let known = wrapper.long.iter().any(|known| match known.strip_suffix('=') {
                Some(valued) => long.split_once('=').is_some_and(|(option, _)| option == valued),
                None => *known == long,
            });
            if !known {
                return Err(UNKNOWN);
            }
            rest = after;
            continue;
        }
        let Some(letters) = arg.text.strip_prefix('-').filter(|letters| !letters.is_empty()) else { break };
        rest = after;
        if name == "command" && letters.contains(['v', 'V']) {
            return Ok(&[]);
        }
        if name == "nice" && letters.chars().all(|c| c.is_ascii_digit()) {
            continue;
        }
        let value = letters.trim_start_matches(|c| wrapper.flags.contains(c));
        let mut value = value.chars();
        if let Some(letter) = value.next() {
            if !wrapper.valued.contains(letter) {
                return Err(UNKNOWN);
            }
            if value.as_str().is_empty() {
                rest = rest.split_first().map(|(_, after)| after).ok_or(UNKNOWN)?;
            }
        }
    }
    for _ in 0..wrapper.leading {
        rest = rest.split_first().map(|(_, after)| after).ok_or(UNKNOWN)?;
    }
    if name == "env" {
        while let Some((assignment, after)) = rest.split_first() {
            let Some((variable, _)) = assignment.text.split_once('=') else { break };
            if !words::is_inert(variable) {
                return Err(Opaque("an assignment"));
            }
            rest = after;
        }
    }
    Ok(rest)
}
