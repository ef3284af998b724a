//! The built-ins of bash and their harmless uses.
//!
//! A built-in that takes the name of a variable evaluates a subscript in it (`wait -p 'a[$(x)]'`), and some evaluate or
//! run text. The table lists harmless uses. Every other use of a built-in may run anything. Source: the section "Shell
//! Builtin Commands" of the manual of bash 5.2.

use super::word::{Word, is_shell_local};
use super::wrapper::Call;

/// The operands of a built-in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BuiltinOperands {
    /// Any operands: they are data.
    Any,
    /// No operand.
    None,
    /// At most one number.
    Number,
    /// At most one exit status: a number, or an unknown value, which is not evaluated.
    Status,
    /// Ids of processes and jobs.
    Jobs,
    /// Names of variables, without a subscript.
    Names,
}

/// Harmless uses of a built-in.
struct Builtin {
    names: &'static [&'static str],
    /// Letters of harmless options; `*` means that all options are harmless.
    flags: &'static str,
    operands: BuiltinOperands,
    /// Whether the built-in only affects the control flow of the shell.
    needs_no_rule: bool,
}

const fn builtin(
    names: &'static [&'static str],
    flags: &'static str,
    operands: BuiltinOperands,
    needs_no_rule: bool,
) -> Builtin {
    Builtin { names, flags, operands, needs_no_rule }
}

const BUILTINS: &[Builtin] = &[
    builtin(&[":", "true", "false"], "*", BuiltinOperands::Any, true),
    builtin(&["break", "continue", "shift"], "", BuiltinOperands::Number, true),
    builtin(&["exit", "return"], "", BuiltinOperands::Status, true),
    // `-p` assigns to its argument, including a subscript.
    builtin(&["wait"], "nf", BuiltinOperands::Jobs, true),
    builtin(&["cd"], "LPe@", BuiltinOperands::Any, false),
    builtin(&["pwd"], "LP", BuiltinOperands::None, false),
    builtin(&["echo"], "*", BuiltinOperands::Any, false),
    builtin(&["kill"], "*", BuiltinOperands::Any, false),
    builtin(&["type"], "aftpP", BuiltinOperands::Any, false),
    builtin(&["help"], "dms", BuiltinOperands::Any, false),
    // `-x` runs a command.
    builtin(&["jobs"], "lnprs", BuiltinOperands::Jobs, false),
    builtin(&["bg", "fg"], "", BuiltinOperands::Jobs, false),
    builtin(&["disown"], "ahr", BuiltinOperands::Jobs, false),
    builtin(&["caller"], "", BuiltinOperands::Number, false),
    builtin(&["dirs"], "clpv", BuiltinOperands::None, false),
    builtin(&["times", "suspend"], "", BuiltinOperands::None, false),
    builtin(&["logout"], "", BuiltinOperands::Number, false),
    builtin(&["umask"], "pS", BuiltinOperands::Any, false),
    builtin(&["ulimit"], "*", BuiltinOperands::Any, false),
    // Not `-n` and `-i`, because references and integers are evaluated at every use.
    builtin(&["local", "readonly"], "raAluxgpf", BuiltinOperands::Names, false),
    builtin(&["unset"], "vf", BuiltinOperands::Names, false),
    builtin(&["unalias"], "a", BuiltinOperands::Any, false),
];

/// Other built-ins of bash. `printf`, `read`, `set` and `test` have their own rules, and of wrappers the program that
/// they run is checked. The words of all others do not show whether a use is harmless.
const OTHER_BUILTINS: &[&str] = &[
    "printf",
    "read",
    "set",
    "test",
    "[",
    "builtin",
    "command",
    "exec",
    ".",
    "alias",
    "bind",
    "compgen",
    "complete",
    "compopt",
    "declare",
    "enable",
    "eval",
    "export",
    "fc",
    "getopts",
    "hash",
    "history",
    "let",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "shopt",
    "source",
    "trap",
    "typeset",
    "coproc",
    "select",
];

/// Whether `name` is a built-in of bash.
pub(crate) fn is_builtin(name: &str) -> bool {
    OTHER_BUILTINS.contains(&name) || find_builtin(name).is_some()
}

/// Whether a built-in with these arguments needs no rule.
pub(crate) fn needs_no_rule(call: &Call) -> bool {
    let name = call.program.text.as_str();
    match name {
        "set" => is_plain_set(call),
        "read" => is_plain_read(call),
        name => find_builtin(name).is_some_and(|builtin| builtin.needs_no_rule && builtin.covers(call)),
    }
}

/// Whether `name` is a built-in that only affects the control flow of the shell when it is used as the table lists.
pub(crate) fn is_flow_control(name: &str) -> bool {
    find_builtin(name).is_some_and(|builtin| builtin.needs_no_rule)
}

/// Whether a built-in of the table is used in a way that the table does not list.
pub(crate) fn is_unlisted_use(call: &Call) -> bool {
    find_builtin(call.program.text.as_str()).is_some_and(|builtin| !builtin.covers(call))
}

/// Whether a built-in evaluates, or may evaluate, its arguments.
pub(crate) fn evaluates(call: &Call) -> bool {
    let plain_names =
        || call.args.iter().all(|arg| arg.is_known() && !arg.has_glob && !arg.text.contains(['[', '$', '`']));
    match call.name().as_str() {
        "printf" => call.args.first().is_some_and(|arg| !arg.is_known() || arg.text.starts_with("-v")),
        "test" | "[" => !is_plain_test(call),
        "read" => !is_plain_read(call) && !plain_names(),
        "getopts" => !plain_names(),
        // The value of a variable is evaluated too, and so are the values of the variables in that value.
        "let" => true,
        _ => is_unlisted_use(call),
    }
}

fn find_builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.names.contains(&name))
}

impl Builtin {
    fn covers(&self, call: &Call) -> bool {
        if self.flags == "*" && self.operands == BuiltinOperands::Any {
            return true;
        }
        let mut args = call.args.as_slice();
        while let Some((first, rest)) = args.split_first() {
            let Some(letters) = first.text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                break;
            };
            if !first.is_known() || first.has_glob {
                return false;
            }
            args = rest;
            if letters == "-" {
                break;
            }
            if !letters.chars().all(|letter| self.flags.contains(letter)) {
                return false;
            }
        }
        let number = |word: &Word| {
            word.is_known() && !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let one = args.len() <= 1;
        // An operand that may be an option may be any option.
        let operand = |word: &Word| !word.may_be_option() && !word.has_glob;
        match self.operands {
            BuiltinOperands::Any => args.first().is_none_or(|word| !word.may_be_option()),
            BuiltinOperands::None => args.is_empty(),
            BuiltinOperands::Number => one && args.iter().all(number),
            BuiltinOperands::Status => one && args.iter().all(|word| number(word) || !word.is_known()),
            BuiltinOperands::Jobs => args.iter().all(|word| {
                let job = word.text.strip_prefix('%').unwrap_or(&word.text);
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '%');
                word.is_job_id() || (operand(word) && word.is_known() && job.chars().all(plain))
            }),
            BuiltinOperands::Names => args.iter().all(|word| {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                operand(word) && word.is_known() && word.text.chars().all(plain)
            }),
        }
    }
}

/// Whether this is `set` with options that only make the text end earlier, print more or expand less.
fn is_plain_set(call: &Call) -> bool {
    const NAMED: &[&str] = &["pipefail", "errexit", "nounset", "xtrace", "noglob", "noclobber"];
    let mut args = call.texts();
    let letters = |arg: &str| arg.chars().all(|c| "euxfCo".contains(c));
    let mut plain = !call.has_unknown_arguments && !call.args.is_empty();
    while let Some(arg) = args.next() {
        let option = arg.strip_prefix(['-', '+']).filter(|option| !option.is_empty() && letters(option));
        plain &= option.is_some();
        if option.is_some_and(|option| option.contains('o')) {
            plain &= args.next().is_some_and(|name| NAMED.contains(&name));
        }
    }
    plain
}

/// Whether this is `read` into variables that have no meaning for programs.
pub(crate) fn is_plain_read(call: &Call) -> bool {
    call.args.iter().all(|arg| {
        let option = matches!(arg.text.as_str(), "-r" | "-s" | "-rs" | "-sr");
        arg.is_known() && !arg.has_glob && (option || is_shell_local(&arg.text))
    })
}

/// Whether this is `test` without `-v`, which evaluates a subscript, including a `-v` that could come from an
/// expansion.
pub(crate) fn is_plain_test(call: &Call) -> bool {
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
            || (unknown.clone().all(|arg| !arg.may_split)
                && match args.len() {
                    1 => true,
                    2 => known(0).is_some_and(operator),
                    3 => known(1).is_some_and(operator),
                    _ => false,
                }))
}
