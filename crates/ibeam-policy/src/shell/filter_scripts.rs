//! Scripts of sed, awk and jq in commands. Ordinary scripts only print and change text.

use ibeam_protocol::sentence_text;

use super::wrapper::Call;

/// Returns why the arguments of sed are not ordinary.
pub(crate) fn sed_objection(call: &Call) -> Option<&'static str> {
    let mut scripts = Vec::new();
    let mut operands = Vec::new();
    let mut args = call.texts();
    while let Some(arg) = args.next() {
        match arg {
            "-n" | "-E" | "-r" | "-z" | "-u" | "-l" | "-nE" | "-En" | "-nr" | "-rn" | "--quiet"
            | "--silent" | "--regexp-extended" | "--version" | "--posix" | "--sandbox" => {}
            "-e" | "-ne" | "-Ee" | "-nEe" => scripts.push(args.next()?),
            option if option.starts_with('-') && option.len() > 1 => {
                return Some(sentence_text!("edits files in place or reads its script from a file"));
            }
            operand => operands.push(operand),
        }
    }
    if scripts.is_empty() {
        scripts.extend(operands.first());
    }
    let plain = scripts.iter().all(|script| check_sed_script(script).is_some());
    (!plain).then_some(sentence_text!("has a script that can write files or run commands"))
}

/// Returns `Some` if the script only prints, deletes and substitutes.
fn check_sed_script(script: &str) -> Option<()> {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        rest = skip_address(rest)?;
        let mut chars = rest.chars();
        let Some(command) = chars.next() else { return Some(()) };
        let after = chars.as_str();
        rest = match command {
            'p' | 'd' | 'q' | 'Q' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'D' | 'P' | 'l' => {
                after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
            }
            's' | 'y' => {
                let delimiter = after.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
                let pattern = after.get(1..)?;
                let replacement = skip_delimited(pattern, delimiter)?;
                let flags = skip_delimited(replacement, delimiter)?;
                flags.trim_start_matches([
                    'g', 'p', 'i', 'I', 'm', 'M', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
                ])
            }
            '{' => rest,
            _ => return None,
        };
        if !(rest.is_empty() || rest.starts_with([' ', ';', '\n', '{', '}'])) {
            return None;
        }
    }
}

/// Skips `1,$`, `/re/`, `2~3`, `!` and similar addresses.
fn skip_address(script: &str) -> Option<&str> {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| {
            c.is_ascii_digit() || matches!(c, '$' | ',' | '~' | '+' | '!' | ' ')
        });
        match rest.strip_prefix('/') {
            Some(pattern) => rest = skip_delimited(pattern, '/')?.trim_start_matches(['I', 'M']),
            None => return Some(rest),
        }
    }
}

/// Returns the text after the next unescaped `delimiter`. Brackets are refused, because implementations differ.
fn skip_delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut escaped = false;
    let mut bracket = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == delimiter => return if bracket { None } else { text.get(at + c.len_utf8()..) },
            '[' => bracket = true,
            ']' => bracket = false,
            _ => {}
        }
    }
    None
}

/// Returns why the arguments of awk are not ordinary.
pub(crate) fn awk_objection(call: &Call) -> Option<&'static str> {
    let mut args = call.texts();
    let mut program = None;
    while let Some(arg) = args.next() {
        match arg {
            "-F" | "-v" => {
                args.next();
            }
            "--version" => return None,
            option if option.starts_with("-F") || option.starts_with("-v") => {}
            option if option.starts_with('-') => {
                return Some(sentence_text!("reads its program from elsewhere"));
            }
            text => {
                program = Some(text);
                break;
            }
        }
    }
    let program = program?.replace("||", " ").replace(">=", " ");
    let has_awk_name = |text: &str| AWK_NAMES.iter().any(|word| text.contains(word));
    // `-v` and operands set variables too.
    (call.texts().any(has_awk_name) || program.contains(['|', '>', '@', '`']))
        .then_some(sentence_text!("has a program that can open files or run commands"))
}

/// Functions and variables of POSIX awk, gawk and mawk with which a program can run commands or open files, or that
/// contain such names.
const AWK_NAMES: &[&str] = &[
    "system",
    "getline",
    "close",
    "fflush",
    "extension",
    "bindtextdomain",
    "ARGV",
    "ARGC",
    "ARGIND",
    "ENVIRON",
    "PROCINFO",
    "SYMTAB",
    "FUNCTAB",
];

/// Returns why the arguments of jq are not ordinary: a program that reads modules or the environment.
pub(crate) fn jq_objection(call: &Call) -> Option<&'static str> {
    const NAMES: &[&str] =
        &["import", "include", "modulemeta", "get_search_list", "env", "input_line_number"];
    let reads = |text: &str| text.contains("$ENV") || NAMES.iter().any(|name| contains_word(text, name));
    call.texts()
        .any(reads)
        .then_some(sentence_text!("has a program that can read modules or the environment"))
}

/// Whether `name` occurs in `text` as a separate word, ignoring case.
pub(crate) fn contains_word(text: &str, name: &str) -> bool {
    possible_program_names(text).iter().any(|word| word == name)
}

/// Returns the words of `text` that could be names of programs, in lower case.
pub(crate) fn possible_program_names(text: &str) -> Vec<String> {
    let separates_names = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.'));
    text.to_lowercase().split(separates_names).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
