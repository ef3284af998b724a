//! Compares bash with the analysis: every program that bash starts must be among those that the analysis reports, if it
//! reports any.
//!
//! Texts come from a small generator and from mutations of the corpus. Bash runs them with an empty PATH, so that every
//! program ends in a handler that records its name; without slashes, so that no other file can be named; as an ordinary
//! user if this is root; with limits, in an empty directory. `IBEAM_DIFFERENTIAL_CASES` sets the number of cases
//! (4000), `IBEAM_DIFFERENTIAL_SEED` the seed.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ibeam_policy::{Access, Policy, Verdict};
use ibeam_protocol::PermissionMode;

/// Records the name of every program that bash does not find in PATH, which is all of them.
const HANDLER: &str = "() { printf '%s\\n' \"$1\" >> \"$IBEAM_NOTES\"; }";
const LIMITED: &str = "[ $EUID = 65534 ] && ulimit -u 400; ulimit -t 1 -f 2000 -c 0 -v 1000000; exec \"$BASH\" --norc --noprofile -c \"$0\"";

/// A small random number generator, deterministic on all machines.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.roll(choices.len())]
    }
}

fn program(dice: &mut Dice) -> String {
    match dice.roll(14) {
        0 => format!("'{}'", dice.pick(&["pa", "pb"])),
        1 => format!("\"{}\"", dice.pick(&["pa", "pb"])),
        2 => "\\pa".to_owned(),
        3 => "p''b".to_owned(),
        4 => dice
            .pick(&[
                "$x",
                "${x:-pd}",
                "pa$x",
                "$(echo pe)",
                "`echo pe`",
                "~",
                "p?",
                "{pa,pb}",
                "$'pa'",
                "$\"pb\"",
            ])
            .to_owned(),
        5 => dice
            .pick(&[
                "echo", "printf", "command", "eval", "time", "!", "builtin", "exec", "coproc", "true", ":",
            ])
            .to_owned(),
        _ => dice.pick(&["pa", "pb", "pc", "pd", "pe"]).to_owned(),
    }
}

fn word(dice: &mut Dice, depth: usize) -> String {
    let below = depth.saturating_sub(1);
    match dice.roll(if depth == 0 { 14 } else { 24 }) {
        0 => "'a b; pz'".to_owned(),
        1 => "\"a $x\"".to_owned(),
        2 => dice.pick(&["a\\ b", "\\;", "\\$(pz)", "\\'", "\\\"", "\\\\", "a#b", "#"]).to_owned(),
        3 => dice
            .pick(&[
                "*", "?", "[a-z]", "{a,b}", "{1..3}", "~", "}", "{", "!", "[", "]", "]]", "=", "a=b", "if",
                "done", "(", ")",
            ])
            .to_owned(),
        4 => dice
            .pick(&[
                "$x", "${x}", "${x:-y}", "${#x}", "${x%a}", "$1", "$@", "$$", "$", "$?", "${x[1]}", "${!x}",
                "${x@P}", "$((1+2))", "$((x))", "$[1]",
            ])
            .to_owned(),
        5 => dice
            .pick(&[
                "$'a\\'b'",
                "$'a\\\\'",
                "$\"a\"",
                "$'\\x41'",
                "a$",
                "\"$\"",
                "\"a\\\"b\"",
                "\"\\$(pz)\"",
                "'it'\\''s'",
                "é",
                "日本",
                "\u{a0}",
                "a\u{200b}",
            ])
            .to_owned(),
        6 => dice.pick(&["\\\n", "a\\\nb", "\n", "\t"]).to_owned(),
        14 => format!("$({})", list(dice, below)),
        15 => format!("\"$({})\"", list(dice, below)),
        16 => format!("`{}`", list(dice, below)),
        17 => format!("${{x:-$({})}}", list(dice, below)),
        18 => format!("<({})", list(dice, below)),
        19 => format!("\"a `{}` b\"", list(dice, below)),
        20 => format!("{}{}", word(dice, below), word(dice, below)),
        21 => format!("\"${{x:-{}}}\"", word(dice, below)),
        22 => format!("$(( $({}) ))", list(dice, below)),
        _ => dice.pick(&["a", "b", "-c", "x", "1", "-v", "--", "2"]).to_owned(),
    }
}

fn redirect(dice: &mut Dice, depth: usize) -> String {
    let operator = dice.pick(&[
        ">", ">>", "<", "2>", ">|", "&>", ">&", "2>&1", "<<<", "<>", "1<>", "{fd}>", "<&-", "&>>", "3>&1",
    ]);
    if operator.ends_with(['1', '-']) {
        operator.to_owned()
    } else {
        format!("{operator}{}{}", dice.pick(&["", " "]), word(dice, depth))
    }
}

fn simple(dice: &mut Dice, depth: usize) -> String {
    let mut text = String::new();
    if dice.roll(8) == 0 {
        text = format!("{}={} ", dice.pick(&["x", "y", "LC_ALL", "a[1]", "x+"]), word(dice, depth));
    }
    text += &program(dice);
    for _ in 0..dice.roll(4) {
        text += dice.pick(&[" ", " ", " ", "  ", "\t"]);
        text += &if dice.roll(6) == 0 { redirect(dice, depth) } else { word(dice, depth) };
    }
    text
}

fn command(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return simple(dice, 0);
    }
    let below = depth - 1;
    let (a, b) = (list(dice, below), list(dice, below));
    match dice.roll(26) {
        0 => format!("({a})"),
        1 => format!("{{ {a}; }}"),
        2 => format!("if {a}; then {b}; fi"),
        3 => format!("if {a}\nthen\n{b}\nelse {a}\nfi"),
        4 => format!("for x in {} {}; do {a}; done", word(dice, below), word(dice, below)),
        5 => format!("for x in a b\ndo {a}\ndone"),
        6 => format!("while {a}; do {b}; break; done"),
        7 => format!("case {} in a|b) {a};; *) {b};; esac", word(dice, below)),
        8 => format!("case x in\n  {}) {a} ;;\n  x) {b}\nesac", word(dice, below)),
        9 => format!("f() {{ {a}; }}; f {}", word(dice, below)),
        10 => format!("pa() {{ {a}; }}; pa"),
        11 => format!(
            "[ {} {} {} ] && {a}",
            word(dice, below),
            dice.pick(&["=", "-eq", ">", "-a", "!="]),
            word(dice, below)
        ),
        12 => format!(
            "[[ {} {} {} ]] && {a}",
            word(dice, below),
            dice.pick(&["=", "-eq", ">", "&&", "=~", "=="]),
            word(dice, below)
        ),
        13 => format!("(({})); {a}", dice.pick(&["1+1", "x++", "x", "a[1]", "x=1,y=2"])),
        14 => format!(
            "{} <<{}\n{}\n{}",
            simple(dice, 0),
            dice.pick(&["E", "'E'", "\"E\"", "-E", "\\E", "E'F'"]),
            here(dice, below),
            dice.pick(&["E", "\tE", "E ", "EF"])
        ),
        15 => format!(
            "{} <<E {} {}\n{}\nE\n{b}",
            simple(dice, 0),
            dice.pick(&["|", "&&", "||", ";", "", "a >b"]),
            simple(dice, 0),
            here(dice, below)
        ),
        16 => format!("! {a}"),
        17 => format!("time {a}"),
        18 => format!("{a} {}", redirect(dice, below)),
        19 => format!("{{{a}}}"),
        20 => format!("function g {{ {a}; }}; g"),
        21 => format!("x={}; {a}", word(dice, below)),
        _ => simple(dice, depth),
    }
}

fn here(dice: &mut Dice, depth: usize) -> String {
    match dice.roll(6) {
        0 => format!("$({})", list(dice, depth)),
        1 => "a 'b \"c".to_owned(),
        2 => "$x ${x} \\$(pz) `pz`".to_owned(),
        3 => "E\npz".to_owned(),
        4 => "\\\nE".to_owned(),
        _ => "plain; pz".to_owned(),
    }
}

fn list(dice: &mut Dice, depth: usize) -> String {
    let mut text = command(dice, depth);
    for _ in 0..dice.roll(3) {
        text += dice
            .pick(&["; ", " && ", " || ", " | ", "\n", " & ", "&&", ";", " |& ", ";;", " # c\n", "&", "|"]);
        text += &command(dice, depth.saturating_sub(1));
    }
    text
}

/// Changes a text in a few positions.
fn mutate(dice: &mut Dice, text: &str, other: &str) -> String {
    let mut text: Vec<char> = text.chars().collect();
    let other: Vec<char> = other.chars().collect();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(text.len() + 1);
        match dice.roll(4) {
            0 if at < text.len() => drop(text.remove(at)),
            1 => {
                let from = dice.roll(other.len() + 1);
                let to = (from + dice.roll(12)).min(other.len());
                text.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                let piece = dice.pick(&[
                    "'", "\"", "$", "(", ")", "`", "{", "}", ";", "&", "|", "<", ">", "\n", " ", "\\", "#",
                    "!", "*", "[", "]", "=", "$(pa)", "; pb", "\npc", "&& pd", "\\\n", "${x}", "<<E\n",
                    "\nE\n",
                ]);
                text.splice(at..at, piece.chars());
            }
        }
    }
    text.into_iter().collect()
}

/// Whether a text only affects the directory in which it runs, and ends.
fn is_harmless(text: &str) -> bool {
    let words = [
        "kill",
        "ulimit",
        "enable",
        "suspend",
        "IBEAM",
        "command_not",
        "BASH",
        "-p",
        "exec -",
        "set ",
        "fc",
        "history",
        "umask",
        "hash",
    ];
    !text.contains(['/', '\0']) && !words.iter().any(|word| text.contains(word))
}

/// Returns the programs that the analysis reports; `None` if the text is unanalyzable.
fn reported_programs(text: &str) -> Option<BTreeSet<String>> {
    let mut policy = Policy::new(PermissionMode::Force, PathBuf::from("/w"), PathBuf::from("/h"));
    policy.deny = vec!["Shell(no-such-program)".parse().unwrap()];
    let explained = policy.explain(&Access::command(text));
    matches!(explained.verdict, Verdict::Allow { .. })
        .then(|| explained.parts.into_iter().flat_map(|part| part.programs).collect())
}

/// The programs needed to run bash.
struct Programs {
    bash: PathBuf,
    timeout: PathBuf,
    root: bool,
}

/// Returns the programs that bash starts.
fn started(programs: &Programs, text: &str) -> BTreeSet<String> {
    let room = tempfile::tempdir().unwrap();
    std::fs::set_permissions(room.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let (work, notes) = (room.path().join("work"), room.path().join("notes"));
    std::fs::create_dir(&work).unwrap();
    std::fs::set_permissions(&work, std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = Command::new(&programs.timeout);
    command.args(["-s", "KILL", "2"]).arg(&programs.bash).args([
        "--norc",
        "--noprofile",
        "-c",
        LIMITED,
        text,
    ]);
    command.env_clear().env("PATH", room.path().join("empty")).env("HOME", &work).env("IBEAM_NOTES", &notes);
    // Functions that call themselves, even twice and in the background, end soon.
    command.env("FUNCNEST", "4");
    command.env("BASH_FUNC_command_not_found_handle%%", HANDLER).current_dir(&work);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if programs.root {
        command.uid(65534).gid(65534);
    }
    let mut child = command.spawn().unwrap();
    child.wait().unwrap();
    // Background processes; `timeout` leads a process group.
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let notes = std::fs::read(&notes).unwrap_or_default();
    String::from_utf8_lossy(&notes).lines().filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn texts(cases: usize, seed: u64) -> Vec<String> {
    let mut dice = Dice(seed);
    let corpus: Vec<String> = include_str!("../../../../corpus/attacks.jsonl")
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<serde_json::Value>(line).ok()?["args"]["command"]
                .as_str()
                .map(|text| text.replace("{{OUT}}/", "").replace('/', "_"))
        })
        .filter(|text| text.len() < 500)
        .collect();
    let mut texts = corpus.clone();
    while texts.len() < cases {
        let depth = 1 + dice.roll(2);
        let made = list(&mut dice, depth);
        let listed = &corpus[dice.roll(corpus.len())];
        texts.push(match dice.roll(5) {
            0 => mutate(&mut dice, listed, &made),
            1 => mutate(&mut dice, &made, listed),
            _ => made,
        });
    }
    texts.retain(|text| is_harmless(text));
    texts
}

#[test]
fn bash_starts_only_programs_that_the_analysis_reports() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let cases = usize::try_from(number("IBEAM_DIFFERENTIAL_CASES").unwrap_or(4000)).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = |name| std::env::split_paths(&path).map(|path| path.join(name)).find(|path| path.is_file());
    let (Some(bash), Some(timeout)) = (find("bash"), find("timeout")) else {
        eprintln!("SKIP: bash or timeout is not installed");
        return;
    };
    let root =
        std::fs::read_to_string("/proc/self/status").is_ok_and(|status| status.contains("\nUid:\t0\t"));
    let programs = Programs { bash, timeout, root };
    let texts = texts(cases, number("IBEAM_DIFFERENTIAL_SEED").unwrap_or(0x5eed_1234_abcd));
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let share = texts.len().div_ceil(threads);
    let results: Vec<(usize, usize, Vec<String>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = texts
            .chunks(share)
            .map(|texts| {
                let programs = &programs;
                scope.spawn(move || {
                    let (mut known, mut ran, mut wrong) = (0, 0, Vec::new());
                    for text in texts {
                        let Some(reported) = reported_programs(text) else { continue };
                        known += 1;
                        let started = started(programs, text);
                        ran += usize::from(!started.is_empty());
                        let unreported: Vec<&String> = started.difference(&reported).collect();
                        if !unreported.is_empty() {
                            wrong.push(format!("{text:?} starts {unreported:?}, reported are {reported:?}"));
                        }
                    }
                    (known, ran, wrong)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let known: usize = results.iter().map(|(known, ..)| known).sum();
    let ran: usize = results.iter().map(|(_, ran, _)| ran).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|(.., wrong)| wrong).collect();
    eprintln!("{} texts, {known} of them understood, {ran} of these started something", texts.len());
    assert!(
        wrong.is_empty(),
        "{} texts start more than is reported_programs:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(known > texts.len() / 10 && ran > texts.len() / 20, "too little is understood to tell anything");
}
