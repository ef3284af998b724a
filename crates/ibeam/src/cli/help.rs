//! `--help` with its headings in the language of the person who asks.
//!
//! What flags do is said in English, as everywhere on the command line; the frame around it is translated.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, CommandFactory};
use ibeam_output::Catalogue;

use super::Cli;

/// The commands of [`super::Offline`], with the flags of runs that say something there.
const OFFLINE: &[(&str, &[&str])] = &[
    ("check", &["contract"]),
    ("completions", &[]),
    ("convert", &[]),
    ("errors", &[]),
    ("replay", &["contract", "output_format", "stream_partial_output", "verbose", "workspace"]),
    ("schema", &["contract"]),
    ("shim", &[]),
];

/// Flags that say something everywhere.
const EVERYWHERE: &[&str] = &["error_file", "error_format", "help", "lang"];

/// The help that `args` ask for.
pub(super) fn text(args: &[OsString]) -> String {
    let mut args_of_lang = args.iter().skip_while(|arg| *arg != "--lang").skip(1);
    let lang = args_of_lang.next().and_then(|lang| lang.to_str());
    let catalogue = crate::environment::catalogue(lang);
    let asked = args.iter().skip(1).find_map(|arg| OFFLINE.iter().find(|(name, _)| *arg == **name));
    let command = match asked {
        None => Cli::command(),
        Some((_, said)) => Cli::command().mut_args(|arg| {
            let id = arg.get_id().as_str();
            let says = EVERYWHERE.contains(&id) || said.contains(&id);
            if arg.is_global_set() && !says { arg.hide(true) } else { arg }
        }),
    };
    match localised(command, &catalogue).try_get_matches_from(args) {
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
    use clap::Subcommand;

    use super::*;

    #[track_caller]
    fn check(args: &[&str], expect: &str) {
        let args: Vec<OsString> = args.iter().map(Into::into).collect();
        let said = text(&args);
        assert!(said.contains(expect), "{said}");
    }

    #[test]
    fn a_command_that_makes_no_run_tells_of_no_flags_of_runs() {
        for (command, _) in OFFLINE {
            for args in [["ibeam", command, "--help"], ["ibeam", "--help", command]] {
                let said = text(&args.map(OsString::from));
                let flags = ["--max-turns", "--api-key", "--allow "].map(|flag| said.contains(flag));
                assert_eq!((flags, said.contains("--lang")), ([false; 3], true), "{said}");
            }
        }
        check(&["ibeam", "replay", "--help"], "--stream-partial-output");
        check(&["ibeam", "schema", "--help"], "--contract");
        check(&["ibeam", "--help"], "--max-turns");
        check(&["ibeam", "policy", "test", "--help"], "--allow ");
        check(&["ibeam", "status", "--help"], "--api-key");
    }

    #[test]
    fn every_offline_command_is_told_so() {
        let commands = super::super::Offline::augment_subcommands(Command::new("ibeam"));
        let mut names: Vec<&str> = commands.get_subcommands().map(Command::get_name).collect();
        names.sort_unstable();
        assert_eq!(names, OFFLINE.iter().map(|(name, _)| *name).collect::<Vec<_>>());
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
