//! The text of `--help` in the language of the user: commands and flags in groups, one line each, and examples.

use std::ffi::OsString;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, CommandFactory, ValueEnum};
use ibeam_output::Catalogue;
use ibeam_protocol::sentence;

use super::groups::{GROUPS, title_of_flag};
use super::listed_flags::{COMMON_FLAGS, FLAGS_OF_ONE_RUN, FLEET_COMMANDS_WITHOUT_RUNS, LISTED_FLAGS};
use super::translations::Translations;
use super::{Cli, FailOnArg, Format, ParseExit, examples, topics};
use crate::cli_error::CliError;
use crate::similar_names::closest;

/// English texts of help that belong to no flag and no command.
#[cfg(test)]
pub(super) const OWN_TEXTS: &[&str] = &[
    EXAMPLES,
    POSSIBLE_VALUES,
    PRINT_HELP,
    HELP_COMMAND,
    HELP_OF_GROUP,
    TOPICS,
    ALL_COMMANDS,
    UNDO_FORCE,
    DELETE_FORCE,
    DOCTOR_SANDBOX,
    "aliases",
    NOT_BUILT,
    NEEDS_EMBEDDED,
    NEEDS_NATS,
];
const EXAMPLES: &str = "Examples";
const POSSIBLE_VALUES: &str = "possible values";
const PRINT_HELP: &str = "Print help";
const HELP_COMMAND: &str = "Show the help of a command, or a page of the documentation";
const HELP_OF_GROUP: &str = "Show the help of a command";
const UNDO_FORCE: &str = "Overwrite files that somebody else has changed since";
const DELETE_FORCE: &str = "Delete a fleet with tasks that have no result";
const DOCTOR_SANDBOX: &str = "List the layers of the sandbox on this machine";
const TOPICS: &str = "Pages of the documentation, for `ibeam help TOPIC`";
const ALL_COMMANDS: &str = "`ibeam COMMAND --help` lists the arguments and flags of a command";

/// The mark of a command that needs a feature without which this program was built.
const NOT_BUILT: &str = "not in this build";
const NEEDS_EMBEDDED: &str = "Not in this build: it needs the feature `embedded`, see `ibeam help models`";
const NEEDS_NATS: &str = "Not in this build: it needs the feature `nats`, see `ibeam help fleet-nats`";

/// Returns the text about the feature that the command at `path` needs, if this program was built without it.
fn missing_feature(path: &str) -> Option<&'static str> {
    match path {
        "setup" if !cfg!(feature = "embedded") => Some(NEEDS_EMBEDDED),
        "fleet cancel" | "fleet doctor" | "fleet events" | "fleet sync" | "fleet worker"
        | "fleet workers"
            if !cfg!(feature = "nats") =>
        {
            Some(NEEDS_NATS)
        }
        _ => None,
    }
}

/// Returns the parser for `args`, in which help describes what a flag means for one command only.
pub(super) fn command(args: &[OsString]) -> Command {
    let is_named = |name: &str| args.iter().skip(1).any(|arg| *arg == *name);
    let command = Cli::command();
    if is_named("replay") {
        return command.mut_arg("output_format", |arg| arg.value_parser(listed_values::<Format>(|_| true)));
    }
    if is_named("undo") {
        return command.mut_arg("force", |arg| arg.help(UNDO_FORCE));
    }
    if is_named("fleet") && is_named("delete") {
        return command.mut_arg("force", |arg| arg.help(DELETE_FORCE));
    }
    if is_named("doctor") {
        return command.mut_arg("sandbox", |arg| arg.help(DOCTOR_SANDBOX));
    }
    if is_named("convert") {
        return command.mut_arg("fail_on", |arg| {
            arg.value_parser(listed_values(|what: &FailOnArg| *what == FailOnArg::Loss))
        });
    }
    command
}

/// Returns the values that `is_listed` selects, including hidden ones.
fn listed_values<V: ValueEnum>(is_listed: impl Fn(&V) -> bool) -> PossibleValuesParser {
    let chosen = V::value_variants().iter().filter(|value| is_listed(value));
    PossibleValuesParser::new(chosen.filter_map(ValueEnum::to_possible_value).map(|value| value.hide(false)))
}

/// Returns the result of a line with `help TOPIC`, which is an error if the word is neither a topic nor a command; `None`
/// if the line requests the help of a command.
pub(super) fn topic(args: &[OsString]) -> Option<ParseExit> {
    let command = Cli::command();
    let is_command = |word: &&str| *word == "help" || command.find_subcommand(word).is_some();
    let mut words = args.iter().skip(1).filter_map(|arg| arg.to_str()).skip_while(|word| !is_command(word));
    if words.next() != Some("help") {
        return None;
    }
    let takes_value = |flag: &str| {
        let mut flags = command.get_arguments().filter(|arg| arg.get_action().takes_values());
        flags.any(|arg| arg.get_long().is_some() && arg.get_long() == flag.strip_prefix("--"))
    };
    let mut is_value = false;
    let is_word = |word: &&str| {
        let is_word = !is_value && !word.starts_with('-');
        is_value = takes_value(word);
        is_word
    };
    let words: Vec<&str> = words.filter(is_word).collect();
    let asks_for_help = || args.iter().any(|arg| arg == "--help" || arg == "-h");
    let word = match words.as_slice() {
        // The help about help is that of the program.
        ["help"] => return Some(ParseExit::Help(text(&["ibeam".into(), "--help".into()]))),
        [word] => word,
        [] if asks_for_help() => return Some(ParseExit::Help(text(&["ibeam".into(), "--help".into()]))),
        _ => return None,
    };
    if *word == "topics" {
        let line = |(name, title): (String, String)| format!("{name:<18}{title}\n");
        return Some(ParseExit::Help(topics::titles().into_iter().map(line).collect()));
    }
    if let Some(page) = topics::text(word) {
        let catalogue = crate::environment::catalogue(super::requested_lang(args));
        // In English, this is the text of the page alone.
        let note = match catalogue.locale_code() {
            "en" => String::new(),
            _ => format!("({})\n\n", catalogue.sentence(&sentence!("this page is in English"))),
        };
        return Some(ParseExit::Page(note + &page));
    }
    if is_command(word) {
        return None;
    }
    let names = topics::names();
    let commands = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name);
    let near = closest(word, names.iter().map(String::as_str).chain(commands));
    let word = (*word).to_owned();
    Some(ParseExit::Error(match near {
        Some(near) => CliError::MistypedTopic { word, near: near.to_owned() },
        None => CliError::UnknownTopic { word },
    }))
}

/// Whether the help of a command of the first level lists a flag of runs.
pub(crate) fn lists_flag(command: &str, flag: &Arg) -> bool {
    let id = flag.get_id().as_str();
    match LISTED_FLAGS.iter().find(|(name, _)| *name == command) {
        Some((_, used)) => COMMON_FLAGS.contains(&id) || used.contains(&id),
        None => command != "acp" || !FLAGS_OF_ONE_RUN.contains(&id),
    }
}

/// Returns the help for `args`.
pub(super) fn text(args: &[OsString]) -> String {
    let catalogue = crate::environment::catalogue(super::requested_lang(args));
    let translations = Translations::new(catalogue.locale_code());
    // `ibeam sessions help` and `ibeam sessions help help` print what `ibeam sessions --help` prints.
    let before = args.iter().rposition(|arg| arg != "help").map_or(0, |last| last + 1);
    let args = match args.split_at_checked(before) {
        Some((before, [_, ..])) => [before, &["--help".into()]].concat(),
        Some((_, [])) | None => args.to_vec(),
    };
    let is_named = |name: &str| args.iter().skip(1).any(|arg| *arg == *name);
    let explains_by_command = is_named("help");
    let language = Language { catalogue: &catalogue, translations: &translations, explains_by_command };
    let command = language.localize(command(&args), "");
    // A server runs prompts, so it has the flags of runs.
    let serves_runs = is_named("mcp") && is_named("serve") || is_named("acp");
    let starts_no_run =
        FLEET_COMMANDS_WITHOUT_RUNS.iter().find(|(name, _)| is_named("fleet") && is_named(name));
    let listed = LISTED_FLAGS.iter().find(|(name, _)| is_named(name) && !serves_runs);
    let general = catalogue.help("general");
    let is_listed = |name: &str, arg: &Arg| match starts_no_run {
        Some((_, own)) => [COMMON_FLAGS, own].iter().any(|flags| flags.contains(&arg.get_id().as_str())),
        None => lists_flag(name, arg),
    };
    let of_command = |name: &str, arg: Arg| match (arg.is_global_set(), is_listed(name, &arg)) {
        (false, _) => arg,
        (true, true) => arg.help_heading(general.clone()),
        (true, false) => arg.hide(true),
    };
    let command = match listed {
        None if serves_runs => command.mut_args(|arg| {
            let is_hidden = FLAGS_OF_ONE_RUN.contains(&arg.get_id().as_str());
            if is_hidden { arg.hide(true) } else { arg }
        }),
        None => command,
        Some((name, _)) => command.mut_args(|arg| of_command(name, arg)),
    };
    match command.try_get_matches_from(args) {
        Err(error) => error.render().to_string(),
        Ok(_) => String::new(),
    }
}

/// The language of a help.
struct Language<'a> {
    catalogue: &'a Catalogue,
    translations: &'a Translations,
    /// Whether the help is that of `ibeam help COMMAND`, and not of a flag.
    explains_by_command: bool,
}

impl Language<'_> {
    /// Translates the help of the command at `path` and of its sub-commands, and adds groups and examples.
    fn localize(&self, command: Command, path: &str) -> Command {
        let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        // clap would put its own `--help` under another heading, and print several lines for each flag.
        let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help(PRINT_HELP);
        let usage = self.catalogue.help("usage");
        let groups = if path.is_empty() { self.command_groups(&command) } else { String::new() };
        let template =
            format!("{{about-with-newline}}\n{usage}: {{usage}}\n\n{groups}{{all-args}}{{after-help}}");
        let mut after = self.examples(path);
        if let Some(text) = command.get_after_help() {
            after = format!("{after}\n{}\n", self.translations.lines(&text.to_string()));
        }
        if path.is_empty() {
            let topics = topics::names().join(", ");
            let intro = self.translations.get(TOPICS);
            after = format!("{after}\n{intro}:\n  {topics}\n\n{}\n", self.translations.get(ALL_COMMANDS));
        }
        if let Some(text) = missing_feature(path) {
            after = format!("{}\n\n{after}", self.translations.get(text));
        }
        let about = self.about(&command, path);
        let mut order = 0..;
        let mut command = command
            .about(about)
            .disable_help_flag(true)
            .arg(help)
            .help_template(template)
            .after_help(after.trim_end().to_owned())
            .subcommand_help_heading(self.catalogue.help("commands"))
            .mut_args(|arg| {
                let arg = self.localize_arg(arg, path.is_empty());
                // Without an order, arguments under a heading are sorted by their identifiers.
                if arg.is_positional() { arg.display_order(order.next().unwrap_or_default()) } else { arg }
            });
        let is_group = !path.is_empty() && !names.is_empty();
        if is_group && !self.explains_by_command {
            // In place of that of clap, whose text is not translated.
            let help = Command::new("help").about(self.translations.get(HELP_OF_GROUP));
            command = command.disable_help_subcommand(true).subcommand(help.display_order(usize::MAX));
        }
        for name in names {
            let below = format!("{path} {name}");
            let is_top = path.is_empty();
            // The groups list the commands of the first level.
            command = command.mut_subcommand(name, |sub| {
                let hidden = is_top || sub.is_hide_set();
                self.localize(sub, below.trim()).hide(hidden)
            });
        }
        command
    }

    /// Translates the help of an argument, and puts it under the heading of its group or kind.
    fn localize_arg(&self, arg: Arg, is_root: bool) -> Arg {
        let mut help = self.translations.get(&arg.get_help().map(ToString::to_string).unwrap_or_default());
        let values = arg.get_possible_values();
        let names: Vec<&str> =
            values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
        if !names.is_empty() && arg.get_action().takes_values() {
            help = format!("{help} [{}: {}]", self.translations.get(POSSIBLE_VALUES), names.join(", "));
        }
        let options = self.catalogue.help("options");
        let group = title_of_flag(arg.get_id().as_str()).filter(|_| is_root || arg.is_global_set());
        let heading = match group {
            _ if arg.is_positional() => self.catalogue.help("arguments"),
            Some(title) => format!("{options} ({})", self.translations.get(title)),
            None => options,
        };
        let takes_values = arg.get_action().takes_values();
        // `--setup` installs the embedded model.
        let is_built = arg.get_id() != "setup" || cfg!(feature = "embedded");
        let arg = if is_built { arg } else { arg.hide(true) };
        arg.help(help).help_heading(heading).hide_possible_values(takes_values)
    }

    /// Returns the commands of the first level in groups.
    fn command_groups(&self, command: &Command) -> String {
        let mut text = String::new();
        for group in &GROUPS {
            let title = self.translations.get(group.title);
            text.push_str(&format!("{} ({title}):\n", self.catalogue.help("commands")));
            for name in group.commands {
                let found = command.find_subcommand(name);
                let about = match found {
                    Some(command) => self.about(command, name),
                    None => self.translations.get(HELP_COMMAND),
                };
                let aliases: Vec<&str> = found.into_iter().flat_map(Command::get_visible_aliases).collect();
                let aliases = match aliases.as_slice() {
                    [] => String::new(),
                    names => format!(" [{}: {}]", self.translations.get("aliases"), names.join(", ")),
                };
                text.push_str(&format!("  {name:<12} {about}{aliases}\n"));
            }
            text.push('\n');
        }
        text
    }

    /// Returns the description of the command at `path`, with a mark if this program cannot execute it.
    fn about(&self, command: &Command, path: &str) -> String {
        let about = self.translations.get(&command.get_about().map(ToString::to_string).unwrap_or_default());
        match missing_feature(path) {
            Some(_) => format!("{about} ({})", self.translations.get(NOT_BUILT)),
            None => about,
        }
    }

    /// Returns the examples of the command at `path` with their heading.
    fn examples(&self, path: &str) -> String {
        let lines: String =
            examples::of_command(path).iter().map(|example| format!("  {example}\n")).collect();
        if lines.is_empty() { lines } else { format!("{}:\n{lines}", self.translations.get(EXAMPLES)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], expect: &str) {
        let args: Vec<OsString> = args.iter().map(Into::into).collect();
        let help = text(&args);
        assert!(help.contains(expect), "{help}");
    }

    #[test]
    fn arguments_are_listed_in_their_order() {
        let help = text(&["ibeam", "sessions", "export", "--help"].map(OsString::from));
        let [session, file] = ["\n  <SESSION>", "\n  [FILE]"].map(|argument| help.find(argument));
        assert!(session.is_some() && session < file, "{help}");
    }

    #[test]
    fn the_help_of_a_command_lists_its_flags_and_few_flags_of_runs() {
        for (command, _) in LISTED_FLAGS {
            for args in [["ibeam", command, "--help"], ["ibeam", "--help", command]] {
                let help = text(&args.map(OsString::from));
                let flags = ["--max-tool-calls", "--api-key", "--allow "].map(|flag| help.contains(flag));
                let expect = ["max_tool_calls", "api_key", "allow"].map(|flag| uses(command, flag));
                assert_eq!((flags, help.contains("--lang")), (expect, true), "{help}");
            }
        }
        check(&["ibeam", "replay", "--help"], "--stream-partial-output");
        check(&["ibeam", "schema", "--help"], "--contract");
        check(&["ibeam", "--help"], "--max-turns");
        check(&["ibeam", "resume", "--help"], "--max-turns");
        check(&["ibeam", "policy", "test", "--help"], "--allow ");
        for server in [&["acp"][..], &["mcp", "serve"]] {
            let args = [&["ibeam"], server, &["--help"]].concat();
            let help = text(&args.iter().map(OsString::from).collect::<Vec<_>>());
            for (flag, is_listed) in
                [("--max-turns", true), ("--model", true), ("--resume", false), ("--file", false)]
            {
                assert_eq!(help.contains(flag), is_listed, "{server:?} {flag}: {help}");
            }
        }
        check(&["ibeam", "status", "--help"], "--api-key");
        for (name, _) in FLEET_COMMANDS_WITHOUT_RUNS {
            let help = text(&["ibeam", "fleet", name, "--help"].map(OsString::from));
            assert!(!help.contains("--max-turns") && help.contains("--lang"), "{help}");
        }
        check(&["ibeam", "fleet", "run", "--help"], "--max-turns");
        check(&["ibeam", "convert", "-h"], "[possible values: loss]");
        check(&["ibeam", "replay", "-h"], "[possible values: text, json, stream-json, html, otlp, atif]");
        check(&["ibeam", "-h"], "[possible values: text, json, stream-json, atif]");
    }

    #[test]
    fn a_command_whose_feature_is_not_built_in_is_marked() {
        let help = |words: &[&str]| {
            let args: Vec<OsString> =
                ["ibeam"].iter().chain(words).chain(&["--help"]).map(Into::into).collect();
            text(&args)
        };
        for (is_built, list, command) in [
            (cfg!(feature = "embedded"), &[][..], &["setup"][..]),
            (cfg!(feature = "nats"), &["fleet"], &["fleet", "cancel"]),
        ] {
            assert_eq!(help(list).contains("(not in this build)"), !is_built, "{list:?}");
            assert_eq!(help(command).contains("Not in this build: it needs"), !is_built, "{command:?}");
        }
        assert_eq!(help(&[]).contains("--setup"), cfg!(feature = "embedded"));
        assert!(!help(&["models"]).contains("not in this build"));
    }

    fn uses(command: &str, flag: &str) -> bool {
        LISTED_FLAGS.iter().any(|(name, flags)| *name == command && flags.contains(&flag))
    }

    #[test]
    fn the_help_of_a_command_begins_with_its_own_options_and_is_short() {
        let help = text(&["ibeam", "sessions", "check", "--help"].map(OsString::from));
        let own = help.find("--repair").unwrap();
        assert!(help.find("General options:").is_some_and(|general| own < general), "{help}");
        let help = text(&["ibeam", "logout", "--help"].map(OsString::from));
        assert!(help.lines().count() < 20, "{help}");
        let help = text(&["ibeam", "logout", "-h"].map(OsString::from));
        assert!(help.contains("Examples:\n  ibeam logout"), "{help}");
    }

    #[test]
    fn every_command_that_is_not_a_run_has_a_row_of_flags() {
        let of_runs = ["acp", "resume"];
        let command = Cli::command();
        let mut names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        names.retain(|name| !of_runs.contains(name));
        names.sort_unstable();
        assert_eq!(names, LISTED_FLAGS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let known: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        for (name, flags) in LISTED_FLAGS {
            for flag in
                flags.iter().chain(COMMON_FLAGS).chain(FLAGS_OF_ONE_RUN).filter(|flag| **flag != "help")
            {
                assert!(known.iter().any(|known| known == flag), "{name}: {flag}");
            }
        }
    }

    #[test]
    fn headings_are_in_the_requested_language() {
        check(&["ibeam", "--lang", "en", "--help"], "Usage: ibeam [OPTIONS]");
        check(&["ibeam", "--lang", "fr", "--help"], "Utilisation");
        check(&["ibeam", "--lang", "es", "--help"], "Opciones (");
        check(&["ibeam", "--lang", "ja", "setup", "--help"], "--from <SOURCE>");
        check(&["ibeam", "--help"], "\nOptions (models):\n");
        check(&["ibeam", "--help"], "\nCommands (sessions):\n");
        let help = text(&["ibeam", "--help"].map(OsString::from));
        assert!(!help.contains("\nOptions:\n"), "every flag is in a group: {help}");
    }

    #[test]
    fn the_help_of_a_group_lists_its_help_in_the_language() {
        for name in ["sessions", "mcp", "fleet", "hooks", "policy"] {
            check(&["ibeam", "--lang", "es", name, "--help"], "  Mostrar la ayuda de un comando");
            check(&["ibeam", "--lang", "es", name, "help"], "  Mostrar la ayuda de un comando");
            check(&["ibeam", "--lang", "es", name, "help", "help"], "  Mostrar la ayuda de un comando");
        }
        check(&["ibeam", "--lang", "es", "sessions", "help", "rm"], "Uso: ibeam sessions rm ");
        check(&["ibeam", "--lang", "es", "help", "sessions", "rm"], "Uso: ibeam sessions rm ");
    }

    #[test]
    fn a_topic_is_a_page_and_another_word_names_the_nearest() {
        let topic = |words: &[&str]| {
            let args: Vec<OsString> = ["ibeam", "help"].iter().chain(words).map(Into::into).collect();
            topic(&args)
        };
        assert!(matches!(topic(&["hooks", "--lang", "ja"]), Some(ParseExit::Page(_))));
        assert!(matches!(topic(&["exit-codes"]), Some(ParseExit::Page(page)) if page.contains("| 40 |")));
        let Some(ParseExit::Help(list)) = topic(&["topics"]) else { panic!("no list of topics") };
        assert!(list.lines().any(|line| line == "sandbox           Security: The sandbox"), "{list}");
        assert!(list.lines().all(|line| line.contains("  ")), "a gap before the title: {list}");
        assert!(topic(&["login"]).is_none() && topic(&["trust", "show"]).is_none() && topic(&[]).is_none());
        let args = ["ibeam", "complete", "--", "help", "exit"].map(OsString::from);
        assert!(super::topic(&args).is_none());
        let Some(ParseExit::Error(error)) = topic(&["exit-code"]) else { panic!("an unknown topic") };
        assert!(format!("{error:?}").contains("\"exit-codes\""), "{error:?}");
    }

    /// Examples name `example.com`, because users choose their registry.
    #[test]
    fn neither_help_nor_documentation_names_the_host_of_a_package_registry() {
        // Written in pieces, so that this file does not contain the host names either.
        let hosts = [
            ["crates", "io"],
            ["npmjs", "com"],
            ["npmjs", "org"],
            ["pypi", "org"],
            ["pythonhosted", "org"],
            ["rubygems", "org"],
        ]
        .map(|parts| parts.join("."));
        let mut texts = Vec::new();
        add_help(&Cli::command(), &["ibeam".into()], &mut texts);
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for page in std::fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path()) {
            if page.extension().is_some_and(|extension| extension == "md") {
                texts.push((page.display().to_string(), std::fs::read_to_string(&page).unwrap()));
            }
        }
        for (name, text) in &texts {
            let found = hosts.iter().find(|host| text.contains(host.as_str()));
            assert_eq!(found, None, "{name}");
        }
        assert!(texts.len() > 40, "{}", texts.len());
    }

    /// Writes the man pages into the directory that `cargo xtask man` names, or else into a temporary one.
    #[test]
    fn every_command_has_a_man_page() {
        let scratch = tempfile::tempdir().unwrap();
        let requested = std::env::var_os("IBEAM_MAN_DIR").map(std::path::PathBuf::from);
        let directory = requested.unwrap_or_else(|| scratch.path().to_owned());
        std::fs::create_dir_all(&directory).unwrap();
        let names: Vec<String> =
            Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let command = names.iter().fold(super::super::full_command(&[]), |command, name| {
            command.mut_subcommand(name, |command| with_listed_flags(command, name))
        });
        clap_mangen::generate_to(command, &directory).unwrap();
        let mut names = Vec::new();
        add_man_pages(&Cli::command(), "ibeam", &mut names);
        assert!(names.len() > 40, "{names:?}");
        for name in names {
            let page = std::fs::read_to_string(directory.join(format!("{name}.1"))).unwrap();
            assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}: {page}");
        }
        let page = std::fs::read_to_string(directory.join("ibeam-login.1")).unwrap();
        assert!(page.contains("no\\-check") && !page.contains("max\\-turns"), "{page}");
    }

    /// Hides the flags of runs that the help of a command of the first level does not list.
    fn with_listed_flags(command: Command, top: &str) -> Command {
        let is_hidden = |arg: &Arg| arg.is_global_set() && !lists_flag(top, arg);
        let names: Vec<String> =
            command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let command = command.mut_args(|arg| if is_hidden(&arg) { arg.hide(true) } else { arg });
        names.iter().fold(command, |command, name| {
            command.mut_subcommand(name, |command| with_listed_flags(command, top))
        })
    }

    /// Adds the names of the man pages of a command and of those below it.
    fn add_man_pages(command: &Command, name: &str, names: &mut Vec<String>) {
        names.push(name.to_owned());
        for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            add_man_pages(subcommand, &format!("{name}-{}", subcommand.get_name()), names);
        }
    }

    /// Adds the help of a command and of those below it.
    fn add_help(command: &Command, path: &[OsString], texts: &mut Vec<(String, String)>) {
        let args: Vec<OsString> = path.iter().cloned().chain(["--help".into()]).collect();
        texts.push((format!("{args:?}"), text(&args)));
        for subcommand in command.get_subcommands() {
            let path: Vec<OsString> = path.iter().cloned().chain([subcommand.get_name().into()]).collect();
            add_help(subcommand, &path, texts);
        }
    }
}
