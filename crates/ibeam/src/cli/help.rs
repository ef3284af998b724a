//! `--help` with its headings in the language of the person who asks.
//!
//! What flags do is said in English, as everywhere on the command line; the frame around it is translated.

use std::ffi::OsString;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, CommandFactory, ValueEnum};
use ibeam_output::Catalogue;

use super::{Cli, FailOnArg, Format};

/// Each command with the flags of runs that change what it does. The others are accepted there and not listed.
const FLAGS: &[(&str, &[&str])] = &[
    ("about", &["contract", "model"]),
    ("check", &["contract"]),
    ("completions", &[]),
    ("config", CONFIGURATION),
    ("convert", &["fail_on"]),
    ("create-chat", &["workspace"]),
    ("doctor", &["add_dir", "api_key", "endpoint", "model", "sandbox", "trust", "workspace"]),
    ("errors", &[]),
    ("login", &["api_key"]),
    ("logout", &[]),
    ("ls", &["workspace"]),
    ("mcp", &["approve_mcps", "mcp_config", "strict_mcp_config", "trust", "workspace"]),
    ("models", &["api_key", "endpoint", "header", "workspace"]),
    ("policy", POLICY),
    ("replay", &["contract", "output_format", "stream_partial_output", "verbose", "workspace"]),
    ("schema", &["contract"]),
    ("sessions", &[]),
    ("setup", &[]),
    ("shim", &[]),
    ("status", &["api_key", "endpoint", "model", "workspace"]),
    ("trust", &["trust", "workspace"]),
];

/// Flags that set a value of the configuration, which `config explain` shows.
const CONFIGURATION: &[&str] = &[
    "allow",
    "allow_net",
    "allow_socket",
    "approval",
    "ask",
    "background",
    "deny",
    "max_cost",
    "max_tokens",
    "max_tool_calls",
    "max_turns",
    "model",
    "sandbox",
    "timeout",
    "trust",
    "verbose",
    "workspace",
];

/// Flags on which the verdict of a rule depends.
const POLICY: &[&str] = &[
    "add_dir",
    "allow",
    "allow_net",
    "allow_socket",
    "approval",
    "approve_mcps",
    "ask",
    "deny",
    "force",
    "mcp_config",
    "mode",
    "plan",
    "print",
    "sandbox",
    "strict_mcp_config",
    "trust",
    "workspace",
];

/// Flags that every command takes note of.
const EVERYWHERE: &[&str] = &["error_file", "error_format", "help", "lang"];

/// Returns the parser with the values that the command in `args` takes shown: some flags take a value there alone.
pub(super) fn command(args: &[OsString]) -> Command {
    let is_named = |name: &str| args.iter().skip(1).any(|arg| *arg == *name);
    let command = Cli::command();
    if is_named("replay") {
        return command.mut_arg("output_format", |arg| arg.value_parser(shown::<Format>(|_| true)));
    }
    if is_named("convert") {
        return command
            .mut_arg("fail_on", |arg| arg.value_parser(shown(|what: &FailOnArg| *what == FailOnArg::Loss)));
    }
    command
}

/// The values that `is_shown` chooses, hidden ones too.
fn shown<V: ValueEnum>(is_shown: impl Fn(&V) -> bool) -> PossibleValuesParser {
    let chosen = V::value_variants().iter().filter(|value| is_shown(value));
    PossibleValuesParser::new(chosen.filter_map(ValueEnum::to_possible_value).map(|value| value.hide(false)))
}

/// The help that `args` ask for.
pub(super) fn text(args: &[OsString]) -> String {
    let catalogue = crate::environment::catalogue(super::requested_lang(args));
    let command = localised(command(args), &catalogue);
    let is_named = |name: &str| args.iter().skip(1).any(|arg| *arg == *name);
    let asked = FLAGS.iter().find(|(name, _)| is_named(name));
    let general = catalogue.help("general");
    let of_command = |arg: Arg, used: &[&str]| {
        let id = arg.get_id().as_str();
        let is_used = EVERYWHERE.contains(&id) || used.contains(&id);
        match (arg.is_global_set(), is_used) {
            (false, _) => arg,
            (true, true) => arg.help_heading(general.clone()),
            (true, false) => arg.hide(true),
        }
    };
    let command = match asked {
        None => command,
        Some((_, used)) => command.mut_args(|arg| of_command(arg, used)),
    };
    match command.try_get_matches_from(args) {
        Err(error) => error.render().to_string(),
        Ok(_) => String::new(),
    }
}

fn localised(command: Command, catalogue: &Catalogue) -> Command {
    let usage = catalogue.help("usage");
    let (arguments, options) = (catalogue.help("arguments"), catalogue.help("options"));
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    // clap's own flag would stand under a heading of its own.
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
        command = command.mut_subcommand(name, |sub| localised(sub, catalogue));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], expect: &str) {
        let args: Vec<OsString> = args.iter().map(Into::into).collect();
        let said = text(&args);
        assert!(said.contains(expect), "{said}");
    }

    #[test]
    fn a_command_lists_its_own_flags_and_few_of_runs() {
        for (command, _) in FLAGS {
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
        check(&["ibeam", "status", "--help"], "--api-key");
        check(&["ibeam", "convert", "-h"], "[possible values: loss]");
        check(&["ibeam", "replay", "-h"], "[possible values: text, json, stream-json, html]");
        check(&["ibeam", "-h"], "[possible values: text, json, stream-json]");
    }

    fn uses(command: &str, flag: &str) -> bool {
        FLAGS.iter().any(|(name, flags)| *name == command && flags.contains(&flag))
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
    fn every_command_but_that_of_a_run_has_its_flags() {
        let of_runs = ["acp", "resume"];
        let command = Cli::command();
        let mut names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        names.retain(|name| !of_runs.contains(name));
        names.sort_unstable();
        assert_eq!(names, FLAGS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let known: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        for (name, flags) in FLAGS {
            for flag in flags.iter().chain(EVERYWHERE).filter(|flag| **flag != "help") {
                assert!(known.iter().any(|known| known == flag), "{name}: {flag}");
            }
        }
    }

    #[test]
    fn headings_speak_the_language_asked_for() {
        check(&["ibeam", "--lang", "en", "--help"], "Usage: ibeam [OPTIONS]");
        check(&["ibeam", "--lang", "fr", "--help"], "Utilisation");
        check(&["ibeam", "--lang", "es", "--help"], "Opciones:");
        check(&["ibeam", "--lang", "ja", "setup", "--help"], "--from <SOURCE>");
        let said = text(&["ibeam", "--help"].map(OsString::from));
        assert_eq!(said.matches("\nOptions:\n").count(), 1, "one list of flags: {said}");
    }
}
