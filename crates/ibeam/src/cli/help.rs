//! The text of `--help`, with headings in the language of the user.
//!
//! The descriptions of flags and commands are in English; only the headings are translated.

use std::ffi::OsString;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, CommandFactory, ValueEnum};
use ibeam_output::Catalogue;

use super::commands::{COMMON_FLAGS, LISTED_FLAGS};
use super::{Cli, FailOnArg, Format};

/// Returns the parser for `args`, in which help lists the values that a flag has for one command only.
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
    command
}

/// Returns the values that `is_listed` selects, including hidden ones.
fn listed_values<V: ValueEnum>(is_listed: impl Fn(&V) -> bool) -> PossibleValuesParser {
    let chosen = V::value_variants().iter().filter(|value| is_listed(value));
    PossibleValuesParser::new(chosen.filter_map(ValueEnum::to_possible_value).map(|value| value.hide(false)))
}

/// Returns the help for `args`.
pub(super) fn text(args: &[OsString]) -> String {
    let catalogue = crate::environment::catalogue(super::requested_lang(args));
    let command = localize(command(args), &catalogue);
    let is_named = |name: &str| args.iter().skip(1).any(|arg| *arg == *name);
    // The server runs prompts, so it has all flags of runs.
    let serves_runs = is_named("mcp") && is_named("serve");
    let listed = LISTED_FLAGS.iter().find(|(name, _)| is_named(name) && !serves_runs);
    let general = catalogue.help("general");
    let of_command = |arg: Arg, used: &[&str]| {
        let id = arg.get_id().as_str();
        let is_used = COMMON_FLAGS.contains(&id) || used.contains(&id);
        match (arg.is_global_set(), is_used) {
            (false, _) => arg,
            (true, true) => arg.help_heading(general.clone()),
            (true, false) => arg.hide(true),
        }
    };
    let command = match listed {
        None => command,
        Some((_, used)) => command.mut_args(|arg| of_command(arg, used)),
    };
    match command.try_get_matches_from(args) {
        Err(error) => error.render().to_string(),
        Ok(_) => String::new(),
    }
}

/// Translates the headings of the help of `command` and of its sub-commands.
fn localize(command: Command, catalogue: &Catalogue) -> Command {
    let usage = catalogue.help("usage");
    let (arguments, options) = (catalogue.help("arguments"), catalogue.help("options"));
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    // clap would put its own `--help` under another heading.
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).help("Print help");
    let mut command = command
        .disable_help_flag(true)
        .arg(help)
        .help_template(format!("{{about-with-newline}}\n{usage}: {{usage}}\n\n{{all-args}}{{after-help}}"))
        .subcommand_help_heading(catalogue.help("commands"))
        .mut_args(|arg| {
            let heading = if arg.is_positional() { arguments.clone() } else { options.clone() };
            arg.help_heading(heading)
        });
    for name in names {
        command = command.mut_subcommand(name, |sub| localize(sub, catalogue));
    }
    command
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
        check(&["ibeam", "mcp", "serve", "--help"], "--max-turns");
        check(&["ibeam", "status", "--help"], "--api-key");
        check(&["ibeam", "convert", "-h"], "[possible values: loss]");
        check(&["ibeam", "replay", "-h"], "[possible values: text, json, stream-json, html, otlp, atif]");
        check(&["ibeam", "-h"], "[possible values: text, json, stream-json]");
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
        assert!(help.lines().count() < 40, "{help}");
        let help = text(&["ibeam", "logout", "-h"].map(OsString::from));
        assert!(help.lines().count() < 16, "{help}");
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
            for flag in flags.iter().chain(COMMON_FLAGS).filter(|flag| **flag != "help") {
                assert!(known.iter().any(|known| known == flag), "{name}: {flag}");
            }
        }
    }

    #[test]
    fn headings_are_in_the_requested_language() {
        check(&["ibeam", "--lang", "en", "--help"], "Usage: ibeam [OPTIONS]");
        check(&["ibeam", "--lang", "fr", "--help"], "Utilisation");
        check(&["ibeam", "--lang", "es", "--help"], "Opciones:");
        check(&["ibeam", "--lang", "ja", "setup", "--help"], "--from <SOURCE>");
        let help = text(&["ibeam", "--help"].map(OsString::from));
        assert_eq!(help.matches("\nOptions:\n").count(), 1, "one list of flags: {help}");
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
