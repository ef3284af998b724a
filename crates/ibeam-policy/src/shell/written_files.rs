//! The arguments with which programs write files. Programs that usually only read have options that write: `sed -i`,
//! `sort -o`, `find -delete`.

use super::program_lists::WRITERS;
use super::wrapper::Call;

/// Programs with options whose value is a file that they write: letters of short options, and long ones. The names of
/// `find` are long options with one dash.
const OUTPUT_OPTIONS: &[(&[&str], &str, &[&str])] = &[
    (&["sort"], "o", &["--output"]),
    (&["tree"], "o", &[]),
    (&["curl"], "oDc", &["--output", "--dump-header", "--cookie-jar"]),
    (&["wget"], "Oo", &["--output-document", "--output-file"]),
    (&["find"], "", &["-fprint", "-fprint0", "-fprintf", "-fls"]),
];
/// Commands of git that change the files of the work tree that they are given.
const GIT_COMMANDS: &[&str] = &["checkout", "restore", "rm", "mv", "clean"];

/// Whether a program writes, moves or removes the file that the argument at `at` names.
pub(crate) fn writes_argument(call: &Call, at: usize) -> bool {
    let name = call.name();
    let name = name.as_str();
    let Some(argument) = call.args.get(at).map(|word| word.text.as_str()) else { return false };
    let is_operand = |text: &str| !text.starts_with('-') || text == "-";
    let operands_before = || call.texts().take(at).filter(|text| is_operand(text)).count();
    if WRITERS.contains(&name) || is_output_value(call, name, at) {
        return true;
    }
    match name {
        "dd" => argument.starts_with("of="),
        "sed" | "gsed" => {
            let has = |wanted: SedOption| call.texts().any(|text| sed_option(text) == Some(wanted));
            let has_in_place = has(SedOption::InPlace) || call.texts().any(|text| text.starts_with("--i"));
            let before = at.checked_sub(1).and_then(|at| call.texts().nth(at)).and_then(sed_option);
            let has_script = has(SedOption::Script) || has(SedOption::ScriptFollows);
            has_in_place
                && is_operand(argument)
                && before != Some(SedOption::ScriptFollows)
                && (has_script || operands_before() > 0)
        }
        "awk" | "gawk" => {
            let is_in_place = call.texts().any(|text| text.contains("inplace"));
            is_in_place && is_operand(argument) && operands_before() > 0
        }
        "uniq" | "xxd" => is_operand(argument) && operands_before() > 0,
        "find" => {
            let starts = call.texts().take_while(|text| !text.starts_with(['-', '(', '!'])).count();
            at < starts && call.texts().any(|text| text == "-delete")
        }
        _ => false,
    }
}

/// The meaning of an option of sed for the files that it writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SedOption {
    InPlace,
    /// The option has a script, or the name of its file.
    Script,
    /// The next word is that.
    ScriptFollows,
}

fn sed_option(text: &str) -> Option<SedOption> {
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let script = if value.is_some() { SedOption::Script } else { SedOption::ScriptFollows };
        return ["expression", "file"].contains(&name).then_some(script);
    }
    let letters = text.strip_prefix('-')?;
    let (at, letter) = letters.char_indices().find(|(_, letter)| "ief".contains(*letter))?;
    Some(match letter {
        'i' => SedOption::InPlace,
        _ if at + 1 == letters.len() => SedOption::ScriptFollows,
        _ => SedOption::Script,
    })
}

/// Whether git changes the file of the work tree that an argument names. The index alone is not the file.
pub(crate) fn is_changed_by_git(call: &Call) -> bool {
    call.name() == "git"
        && call.texts().any(|text| GIT_COMMANDS.contains(&text))
        && !call.texts().any(|text| matches!(text, "--cached" | "--staged"))
}

/// Whether the argument at `at` is or has the value of an option for a written file.
fn is_output_value(call: &Call, name: &str, at: usize) -> bool {
    let Some((_, letters, long)) = OUTPUT_OPTIONS.iter().find(|(names, ..)| names.contains(&name)) else {
        return false;
    };
    let letter_of = |text: &str| {
        let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        cluster.find(|letter| letters.contains(letter)).map(|place| place + 1 == cluster.len())
    };
    let text = |at: usize| call.args.get(at).map(|word| word.text.as_str());
    let follows = at
        .checked_sub(1)
        .and_then(text)
        .is_some_and(|before| long.contains(&before) || letter_of(before) == Some(true));
    let contains = text(at).is_some_and(|text| {
        letter_of(text) == Some(false)
            || text.split_once('=').is_some_and(|(option, _)| long.contains(&option))
    });
    follows || contains
}

#[cfg(test)]
mod tests {
    use super::super::wrapper;
    use super::*;

    /// Returns the arguments that a command writes.
    fn written(text: &str) -> Vec<String> {
        let steps = wrapper::parse_steps(text).unwrap().steps;
        let call = steps.first().and_then(|step| step.call_chain.last()).unwrap();
        let is_written = |at: &usize| writes_argument(call, *at);
        (0..call.args.len()).filter(is_written).map(|at| call.args[at].text.clone()).collect()
    }

    #[test]
    fn written_files_are_found_among_the_arguments() {
        for (text, expect) in [
            ("touch a b", vec!["a", "b"]),
            ("sed -i s/a/b/ f g", vec!["f", "g"]),
            ("sed -nEi.bak -e s/a/b/ f", vec!["f"]),
            ("sed --in-place s/a/b/ f", vec!["f"]),
            ("sed -i -es/a/b/ f", vec!["f"]),
            ("sed -i -ne s/a/b/ f", vec!["f"]),
            ("sed -i.before s/a/b/ f", vec!["f"]),
            ("sed --expression=s/a/b/ --in-place=.bak f", vec!["f"]),
            ("sed -n s/a/b/p f", vec![]),
            ("sort -uo f g", vec!["f"]),
            ("sort -uof g", vec!["-uof"]),
            ("sort --output=f g", vec!["--output=f"]),
            ("sort -u f", vec![]),
            ("uniq f g", vec!["g"]),
            ("xxd -r f g", vec!["g"]),
            ("awk -i inplace 1 f", vec!["1", "f"]),
            ("awk 1 f", vec![]),
            ("curl -sSo f https://example.com/.git/x", vec!["f"]),
            ("curl -s https://example.com/", vec![]),
            ("wget -O f https://example.com/", vec!["f"]),
            ("dd if=f of=g", vec!["of=g"]),
            ("find f g -name .git -prune -o -delete", vec!["f", "g"]),
            ("find . -name h -fprint f", vec!["f"]),
            ("find f -name g", vec![]),
        ] {
            assert_eq!(written(text), expect, "{text}");
        }
    }
}
