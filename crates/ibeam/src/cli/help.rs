//! The text of `--help` in the language of the user: one screen about the program (`overview.rs`), all flags and all
//! commands in groups, one line each, and for each command its arguments, flags and examples.

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, Resettable};
use clap::{Arg, ArgAction, Command, CommandFactory, ValueEnum};
use ibeam_agent::similar_names::closest;
use ibeam_output::Catalogue;
use ibeam_protocol::sentence;

use super::command_flags::{runs_prompts, uses_flag};
use super::usage_error::CommandPath;
use super::{Cli, ParseExit, examples, topics};
use crate::cli_error::CliError;
use crate::command::{GROUPS, facts_on_path};
use crate::flags::{FailOnArg, Format};

/// English texts of help that belong to no flag and no command.
#[cfg(test)]
pub(super) const OWN_TEXTS: &[&str] = &[
    EXAMPLES,
    POSSIBLE_VALUES,
    PRINT_HELP,
    HELP_COMMAND,
    HELP_OF_GROUP,
    ALL_COMMANDS,
    ALL_FLAGS,
    TOPICS,
    COMMAND_HELP,
    super::overview::MORE,
    NOT_BUILT,
];
const EXAMPLES: &str = "Examples";
const POSSIBLE_VALUES: &str = "possible values";
const PRINT_HELP: &str = "Print help";
const HELP_COMMAND: &str = "Show the help of a command, or a page of the documentation";
const HELP_OF_GROUP: &str = "Show the help of a command";
const COMMAND_HELP: &str = "the arguments and flags of a command";

/// The lists that `ibeam help` prints, by their words.
pub(super) const LISTS: [(&str, &str); 3] =
    [("commands", ALL_COMMANDS), ("flags", ALL_FLAGS), ("topics", TOPICS)];
const ALL_COMMANDS: &str = "all commands";
const ALL_FLAGS: &str = "all flags";
const TOPICS: &str = "the pages of the documentation";

/// The mark of a command that needs a feature without which this program was built.
const NOT_BUILT: &str = "not in this build";

/// Returns the text about the feature that the command at `path` needs, if this program was built without it.
fn missing_feature(path: &str) -> Option<&'static str> {
    facts_on_path(path)
        .last()?
        .feature
        .as_ref()
        .filter(|feature| !feature.is_built)
        .map(|feature| feature.missing)
}

/// Returns the parser for `args`, in which help describes what a flag means for one command only.
pub(super) fn command(args: &[OsString]) -> Command {
    let is_named = |name: &str| args.iter().skip(1).any(|arg| *arg == *name);
    let command = Cli::command();
    if is_named("replay") {
        return command.mut_arg("output_format", |arg| arg.value_parser(listed_values::<Format>(|_| true)));
    }
    if is_named("convert") {
        return command.mut_arg("fail_on", |arg| {
            arg.value_parser(listed_values(|what: &FailOnArg| *what == FailOnArg::Loss))
        });
    }
    let path = CommandPath::find(args).path;
    let flag_help = facts_on_path(&path).last().map_or(&[][..], |facts| facts.flag_help);
    flag_help.iter().fold(command, |command, (id, text)| {
        // In place of all paragraphs of the help.
        command.mut_arg(id, |arg| arg.help(*text).long_help(Resettable::Reset))
    })
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
    let catalogue = ibeam_agent::environment::catalogue(super::requested_lang(args));
    let language = || Language::new(&catalogue);
    match *word {
        "commands" => return Some(ParseExit::Help(language().all_commands())),
        "flags" => return Some(ParseExit::Help(language().all_flags())),
        "topics" => {
            let line = |(name, title): (String, String)| format!("{name:<18}{title}\n");
            return Some(ParseExit::Help(topics::titles().into_iter().map(line).collect()));
        }
        _ => {}
    }
    if let Some(page) = topics::text(word) {
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
    let lists = LISTS.iter().map(|(list, _)| *list);
    let near = closest(word, names.iter().map(String::as_str).chain(commands).chain(lists));
    let word = (*word).to_owned();
    Some(ParseExit::Error(match near {
        Some(near) => CliError::MistypedTopic { word, near: near.to_owned() },
        None => CliError::UnknownTopic { word },
    }))
}

/// Returns the help for `args`.
pub(super) fn text(args: &[OsString]) -> String {
    let catalogue = ibeam_agent::environment::catalogue(super::requested_lang(args));
    let language = Language::new(&catalogue);
    let path = CommandPath::find(args).path;
    if path.is_empty() {
        return language.overview();
    }
    let command = language.localize(command(args), "");
    let command = match runs_prompts(&path) {
        true => with_flags_of(command, &path),
        false => with_flags_of(command, &path).mut_args(|arg| match arg.is_global_set() {
            true => arg.help_heading(catalogue.help("general")),
            false => arg,
        }),
    };
    render(command, path.split(' '))
}

/// Hides the flags of runs that the command at `path` does not take.
fn with_flags_of(command: Command, path: &str) -> Command {
    command.mut_args(|arg| {
        let is_hidden = arg.is_global_set() && !uses_flag(path, arg.get_id().as_str());
        if is_hidden { arg.hide(true) } else { arg }
    })
}

/// Returns the help of the command that `words` name below `command`.
pub(super) fn render<'a>(command: Command, words: impl Iterator<Item = &'a str>) -> String {
    match command.try_get_matches_from(std::iter::once("ibeam").chain(words).chain(["--help"])) {
        Err(error) => error.render().to_string(),
        Ok(_) => String::new(),
    }
}

/// The language of a help.
pub(super) struct Language<'a> {
    pub(super) catalogue: &'a Catalogue,
}

impl<'a> Language<'a> {
    fn new(catalogue: &'a Catalogue) -> Self {
        Self { catalogue }
    }

    /// Returns the page of `ibeam help flags`.
    fn all_flags(&self) -> String {
        let command = self.localize(Cli::command(), "");
        let command = command
            .help_template("{all-args}{after-help}")
            .mut_args(|arg| if arg.is_positional() { arg.hide(true) } else { arg });
        render(command, std::iter::empty())
    }

    /// Returns the page of `ibeam help commands`.
    fn all_commands(&self) -> String {
        let more = self.list_lines().pop().unwrap_or_default();
        self.command_groups(&Cli::command()) + more.trim_start()
    }

    /// Returns a line for each place with more help: the lists, then the help of each command.
    pub(super) fn list_lines(&self) -> Vec<String> {
        let lists = LISTS.iter().map(|(list, about)| (format!("ibeam help {list}"), *about));
        let all = lists.chain([("ibeam COMMAND --help".to_owned(), COMMAND_HELP)]);
        all.map(|(line, about)| format!("  {line:<22}{}\n", self.translate(about))).collect()
    }

    /// Translates the help of the command at `path` and of its sub-commands, and adds groups and examples.
    pub(super) fn localize(&self, command: Command, path: &str) -> Command {
        let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        // clap would put its own `--help` under another heading, and print several lines for each flag.
        let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help(PRINT_HELP);
        let help = help.help_heading("setup");
        let usage = self.catalogue.help("usage");
        let template = format!("{{about-with-newline}}\n{usage}: {{usage}}\n\n{{all-args}}{{after-help}}");
        let mut after = self.examples(path);
        if let Some(text) = command.get_after_help() {
            after = format!("{after}\n{}\n", self.lines(&text.to_string()));
        }
        if let Some(text) = missing_feature(path) {
            after = format!("{}\n\n{after}", self.translate(text));
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
        if is_group {
            // In place of that of clap, whose text is not translated.
            let help = Command::new("help").about(self.translate(HELP_OF_GROUP));
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
        let text = arg.get_long_help().or_else(|| arg.get_help());
        let mut help = self.paragraphs(&text.map(ToString::to_string).unwrap_or_default());
        let values = arg.get_possible_values();
        let names: Vec<&str> =
            values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
        if !names.is_empty() && arg.get_action().takes_values() {
            help = format!("{help} [{}: {}]", self.translate(POSSIBLE_VALUES), names.join(", "));
        }
        let options = self.catalogue.help("options");
        let group = arg.get_help_heading().filter(|_| is_root || arg.is_global_set());
        let heading = match group {
            _ if arg.is_positional() => self.catalogue.help("arguments"),
            Some(title) => format!("{options} ({})", self.translate(title)),
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
        for group in GROUPS {
            let title = self.translate(group.title);
            text.push_str(&format!("{} ({title}):\n", self.catalogue.help("commands")));
            let commands = group.commands.iter().filter_map(|facts| command.find_subcommand(facts.name));
            for command in commands.filter(|command| !command.is_hide_set()) {
                let name = command.get_name();
                text.push_str(&format!("  {name:<12} {}\n", self.about(command, name)));
            }
            text.push('\n');
        }
        // clap adds this command itself.
        let about = self.translate(HELP_COMMAND);
        text.insert_str(text.trim_end().len(), &format!("\n  {:<12} {about}", "help"));
        text
    }

    /// Returns the description of the command at `path`, with a mark if this program cannot execute it.
    fn about(&self, command: &Command, path: &str) -> String {
        let text = command.get_long_about().or_else(|| command.get_about());
        let about = self.paragraphs(&text.map(ToString::to_string).unwrap_or_default());
        match missing_feature(path) {
            Some(_) => format!("{about} ({})", self.translate(NOT_BUILT)),
            None => about,
        }
    }

    /// Returns the examples of the command at `path` with their heading.
    fn examples(&self, path: &str) -> String {
        let lines: String =
            examples::of_command(path).iter().map(|example| format!("  {example}\n")).collect();
        if lines.is_empty() { lines } else { format!("{}:\n{lines}", self.translate(EXAMPLES)) }
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
    fn the_help_of_a_command_lists_the_flags_that_it_takes() {
        let flags = [("--max-tool-calls", "max_tool_calls"), ("--api-key", "api_key"), ("--allow ", "allow")];
        let command = Cli::command();
        for name in command.get_subcommands().map(Command::get_name) {
            for args in [["ibeam", name, "--help"], ["ibeam", "--help", name]] {
                let help = text(&args.map(OsString::from));
                for (flag, id) in flags {
                    assert_eq!(help.contains(flag), uses_flag(name, id), "{flag}: {help}");
                }
                assert!(help.contains("--lang"), "{help}");
            }
        }
        check(&["ibeam", "replay", "--help"], "--stream-partial-output");
        check(&["ibeam", "schema", "--help"], "--contract");
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
        check(&["ibeam", "fleet", "run", "--help"], "--max-turns");
        check(&["ibeam", "undo", "--help"], "Overwrite files that somebody else has changed since\n");
        check(&["ibeam", "convert", "-h"], "[possible values: loss]");
        check(&["ibeam", "replay", "-h"], "[possible values: text, json, stream-json, html, otlp, atif]");
    }

    /// Returns the page of `ibeam help WORD`.
    fn list(words: &[&str]) -> String {
        let args: Vec<OsString> = ["ibeam", "help"].iter().chain(words).map(Into::into).collect();
        match topic(&args) {
            Some(ParseExit::Help(text)) => text,
            _ => panic!("{words:?}"),
        }
    }

    #[test]
    fn the_list_of_flags_has_each_flag_of_a_run_with_its_whole_text() {
        let flags = list(&["flags"]);
        for arg in Cli::command().get_arguments().filter(|arg| !arg.is_hide_set()) {
            let Some(long) = arg.get_long().filter(|long| *long != "setup") else { continue };
            assert!(flags.contains(&format!("--{long}")), "{long}: {flags}");
        }
        for expected in [
            "\nOptions (models):\n",
            "[possible values: text, json, stream-json, atif]",
            "several with commas",
            "Examples:\n  ibeam \"Explain this project\"",
        ] {
            assert!(flags.contains(expected), "{flags}");
        }
        assert!(!flags.contains("\nOptions:\n"), "every flag is in a group: {flags}");
        assert!(list(&["flags", "--lang", "es"]).contains("Opciones ("));
    }

    #[test]
    fn the_list_of_commands_has_each_visible_command() {
        let commands = list(&["commands"]);
        for name in Cli::command().get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name) {
            assert!(commands.contains(&format!("\n  {name} ")), "{name}: {commands}");
        }
        assert!(commands.contains("\nCommands (sessions):\n"), "{commands}");
        assert!(
            commands.ends_with("ibeam COMMAND --help  the arguments and flags of a command\n"),
            "{commands}"
        );
    }

    #[test]
    fn a_command_whose_feature_is_not_built_in_is_marked() {
        let help = |words: &[&str]| {
            let args: Vec<OsString> =
                ["ibeam"].iter().chain(words).chain(&["--help"]).map(Into::into).collect();
            text(&args)
        };
        for (is_built, list, command) in [
            (cfg!(feature = "embedded"), list(&["commands"]), &["setup"][..]),
            (cfg!(feature = "nats"), help(&["fleet"]), &["fleet", "cancel"]),
        ] {
            assert_eq!(list.contains("(not in this build)"), !is_built, "{list}");
            assert_eq!(help(command).contains("Not in this build: it needs"), !is_built, "{command:?}");
        }
        assert_eq!(list(&["flags"]).contains("--setup"), cfg!(feature = "embedded"));
        assert!(!help(&["models"]).contains("not in this build"));
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
    fn headings_are_in_the_requested_language() {
        check(&["ibeam", "--lang", "en", "--help"], "Usage: ibeam [OPTIONS]");
        check(&["ibeam", "--lang", "fr", "--help"], "Utilisation");
        check(&["ibeam", "--lang", "ja", "setup", "--help"], "--from <SOURCE>");
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
            command.mut_subcommand(name, |command| with_taken_flags(command, name))
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

    /// Hides the flags of runs that a command and those below it do not take.
    fn with_taken_flags(command: Command, path: &str) -> Command {
        let names: Vec<String> =
            command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        names.iter().fold(with_flags_of(command, path), |command, name| {
            command.mut_subcommand(name, |command| with_taken_flags(command, &format!("{path} {name}")))
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
