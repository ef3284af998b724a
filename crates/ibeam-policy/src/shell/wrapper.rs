//! Programs that only run another program: `env`, `timeout`, `xargs`, `sh -c` … The rules apply to the program that
//! finally runs.

use super::redirect::Redirect;
use super::walk;
use super::word::{self, Word, is_invisible};
use super::{Unanalyzable, hazard};

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) program: Word,
    pub(crate) args: Vec<Word>,
    /// Whether unknown arguments will be added, as `xargs` does.
    pub(crate) has_unknown_arguments: bool,
}

impl Call {
    /// Returns the last component of the program's path in lower case.
    pub(crate) fn name(&self) -> String {
        let name = self.program.text.rsplit('/').next().unwrap_or_default();
        name.to_lowercase()
    }

    /// Returns the texts of the arguments.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(|arg| arg.text.as_str())
    }
}

/// One command of a text, with wrappers expanded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandStep {
    /// The program that is named, followed by what it runs through wrappers; the last one finally runs. Empty for a
    /// bare redirection or assignment.
    pub(crate) call_chain: Vec<Call>,
    /// Files that the command reads from or writes to.
    pub(crate) redirects: Vec<Redirect>,
    /// Variables that the command sets and that programs may read.
    pub(crate) assigned_variables: Vec<String>,
    /// Whether the command is `export` with assignments only, in a text that runs no program which could read them.
    pub(crate) is_unread_export: bool,
    /// Whether the command calls a function of the text, whose body is among the other steps.
    pub(crate) calls_function: bool,
    /// Whether the command may run again after later steps.
    pub(crate) may_repeat: bool,
}

/// The commands of a text, with wrappers expanded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandSteps {
    pub(crate) steps: Vec<CommandStep>,
    /// Whether some steps are in functions and run later than their position.
    pub(crate) defines_functions: bool,
}

/// Maximum nesting depth of wrappers.
const MAX_DEPTH: u32 = 8;

/// The syntax of a wrapper: options with a value in the next word, and plain words before the command.
struct Wrapper {
    names: &'static [&'static str],
    /// Letters of short options without a value.
    flags: &'static str,
    /// Letters of short options with a value.
    valued: &'static str,
    /// Long options; those with a value end in `=`.
    long: &'static [&'static str],
    /// Number of words between options and command.
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

/// Whether `name` is a wrapper.
pub(crate) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.names.contains(&name))
}

pub(crate) const SHELLS: &[&str] =
    &["sh", "bash", "dash", "ash", "rbash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh"];

/// Shells whose `-c` text is parsed as a command; the others have different grammars.
const PARSED_SHELLS: &[&str] = &["sh", "bash", "dash", "ash"];

/// Returns every command that `text` runs with `bash -c`.
///
/// # Errors
/// The first part that cannot be analyzed.
pub(crate) fn parse_steps(text: &str) -> Result<CommandSteps, Unanalyzable> {
    let mut expanded = CommandSteps::default();
    expand_text(text, false, 0, &[], &mut expanded)?;
    Ok(expanded)
}

/// Returns every command that a call runs if `program` is the file behind the name of its program, below `wrappers`.
///
/// # Errors
/// The first part that cannot be analyzed.
pub(crate) fn steps_of_program(
    program: &str,
    call: &Call,
    wrappers: &[Call],
) -> Result<CommandSteps, Unanalyzable> {
    let mut expanded = CommandSteps::default();
    let words = [std::slice::from_ref(&Word::literal(program)), call.args.as_slice()].concat();
    expand_words(&words, call.has_unknown_arguments, 1, wrappers, &mut expanded)?;
    Ok(expanded)
}

/// Adds the steps of `text`, each below `wrappers`. `posix` means that the shell may not be bash.
fn expand_text(
    text: &str,
    posix: bool,
    depth: u32,
    wrappers: &[Call],
    expanded: &mut CommandSteps,
) -> Result<(), Unanalyzable> {
    if depth > MAX_DEPTH {
        return Err(TOO_DEEP);
    }
    let script = walk::parse_script(text, posix)?;
    expanded.defines_functions |= script.defines_functions;
    // A shell within the text reads what is exported before it.
    let runs_programs = depth > 0
        || script.defines_functions
        || script.commands.iter().any(walk::SimpleCommand::may_run_program);
    for simple in script.commands {
        let first = expanded.steps.len();
        if simple.calls_function {
            let program = simple.words.first().cloned().unwrap_or_default();
            let call_chain = vec![Call {
                program,
                args: simple.words.get(1..).unwrap_or_default().to_vec(),
                has_unknown_arguments: false,
            }];
            expanded.steps.push(CommandStep { call_chain, calls_function: true, ..CommandStep::default() });
        } else {
            expand_words(&simple.words, false, depth, wrappers, expanded)?;
        }
        if expanded.steps.len() == first {
            expanded.steps.push(CommandStep::default());
        }
        for step in expanded.steps.iter_mut().skip(first) {
            step.may_repeat |= simple.may_repeat;
        }
        if let Some(step) = expanded.steps.get_mut(first) {
            step.redirects.extend(simple.redirects);
            step.assigned_variables.extend(simple.assigned_variables);
            step.is_unread_export = simple.is_export && !runs_programs;
        }
    }
    Ok(())
}

/// Adds the steps of one command, each below `wrappers`. `has_unknown_arguments` means that a wrapper adds arguments.
fn expand_words(
    words: &[Word],
    has_unknown_arguments: bool,
    depth: u32,
    wrappers: &[Call],
    expanded: &mut CommandSteps,
) -> Result<(), Unanalyzable> {
    if depth > MAX_DEPTH {
        return Err(TOO_DEEP);
    }
    let Some((program, args)) = words.split_first() else { return Ok(()) };
    if program.has_glob || program.has_tilde || program.is_process_substitution || !program.is_known() {
        return Err(Unanalyzable("a program's name that the shell expands"));
    }
    // After the keyword `time` the shell treats assignments and keywords as such; the grammar treats both as arguments.
    let keyword = walk::RESERVED.contains(&program.text.as_str()) && program.text != "!";
    if (keyword && !program.quoted) || program.text.contains('=') {
        return Err(Unanalyzable("an assignment or a keyword in place of a program's name"));
    }
    if program.text.chars().any(|c| c.is_control() || c.is_whitespace() || is_invisible(c)) {
        return Err(Unanalyzable("a program's name with an invisible character"));
    }
    let mut call = Call { program: program.clone(), args: args.to_vec(), has_unknown_arguments };
    call.has_unknown_arguments |= hazard::has_relevant_unknown(&call);
    let name = call.name();
    let name = name.as_str();
    let below = |call: &Call| [wrappers, std::slice::from_ref(call)].concat();
    let before = expanded.steps.len();
    if SHELLS.contains(&name) {
        if let Some(text) = shell_command_text(args)? {
            if !PARSED_SHELLS.contains(&name) {
                return Err(Unanalyzable("a text for a shell with another grammar"));
            }
            expand_text(text, name != "bash", depth + 1, &below(&call), expanded)?;
        }
    } else if name == "find" {
        let (rest, commands) = split_find_exec(args);
        if !commands.is_empty() {
            for command in commands {
                expand_words(command, true, depth + 1, &below(&call), expanded)?;
            }
            // The rest is a separate command.
            let call_chain = [wrappers, &[Call { args: rest, ..call }]].concat();
            expanded.steps.insert(before, CommandStep { call_chain, ..CommandStep::default() });
            return Ok(());
        }
    } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name)) {
        let inner = wrapped_command(wrapper, name, args)?;
        let has_unknown_arguments = has_unknown_arguments || name == "xargs";
        expand_words(inner, has_unknown_arguments, depth + 1, &below(&call), expanded)?;
    }
    if expanded.steps.len() == before {
        expanded.steps.push(CommandStep { call_chain: below(&call), ..CommandStep::default() });
    }
    Ok(())
}

const TOO_DEEP: Unanalyzable = Unanalyzable("too many commands in commands");

/// Splits the arguments of `find` into the commands of `-exec` and similar options, and the rest.
fn split_find_exec(args: &[Word]) -> (Vec<Word>, Vec<&[Word]>) {
    let (mut rest, mut commands, mut from) = (Vec::new(), Vec::new(), 0);
    while let Some(arg) = args.get(from) {
        let tail = args.get(from + 1..).unwrap_or_default();
        let runs = matches!(arg.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
        let end = tail.iter().enumerate().position(|(at, word)| {
            let braces = at > 0 && tail.get(at - 1).is_some_and(|word| word.text == "{}");
            word.text == ";" || (word.text == "+" && braces)
        });
        match end.filter(|_| runs) {
            Some(length) => {
                commands.push(tail.get(..length).unwrap_or_default());
                from += length + 2;
            }
            None => {
                rest.push(arg.clone());
                from += 1;
            }
        }
    }
    (rest, commands)
}

/// Returns the text of `sh -c TEXT`; `None` for other uses of a shell.
fn shell_command_text(args: &[Word]) -> Result<Option<&str>, Unanalyzable> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg.may_be_option() || arg.has_glob {
            return Err(Unanalyzable("a shell with options that are not known"));
        }
        let Some(letters) = arg.text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Ok(None);
        };
        if !letters.chars().all(|letter| "ceux".contains(letter)) {
            return Ok(None);
        }
        if letters.contains('c') {
            // Further words become `$0`, `$1` …, which the text cannot use without an expansion.
            let text = args.next().ok_or(Unanalyzable("a shell without its command"))?;
            let known = text.is_known() && !text.has_glob && !text.has_tilde && !text.is_process_substitution;
            return known
                .then_some(Some(text.text.as_str()))
                .ok_or(Unanalyzable("a shell with a text that is not known"));
        }
    }
    Ok(None)
}

const UNKNOWN_BEFORE_PROGRAM: Unanalyzable = Unanalyzable("a word that is not known before a program's name");

/// Skips the first word, which must be a single word.
fn skip_word(words: &[Word]) -> Result<&[Word], Unanalyzable> {
    let (word, rest) = words.split_first().ok_or(UNKNOWN_BEFORE_PROGRAM)?;
    if word.may_split || word.has_glob { Err(UNKNOWN_BEFORE_PROGRAM) } else { Ok(rest) }
}

/// Returns the words of the command that a wrapper runs; empty if it runs nothing.
fn wrapped_command<'a>(wrapper: &Wrapper, name: &str, args: &'a [Word]) -> Result<&'a [Word], Unanalyzable> {
    const UNKNOWN: Unanalyzable = Unanalyzable("an option of a wrapper that is not known");
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        if arg.has_glob || arg.is_process_substitution || !arg.is_known() {
            return Err(UNKNOWN_BEFORE_PROGRAM);
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
                rest = skip_word(rest)?;
            }
        }
    }
    for _ in 0..wrapper.leading {
        rest = skip_word(rest)?;
    }
    if name == "env" {
        while let Some((assignment, after)) = rest.split_first() {
            let Some((variable, _)) = assignment.text.split_once('=') else { break };
            if !assignment.is_known() || !word::is_display_variable(variable) {
                return Err(Unanalyzable("an assignment"));
            }
            rest = after;
        }
    }
    Ok(rest)
}
