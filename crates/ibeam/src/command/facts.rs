//! Facts about a sub-command for the parser, help and completions, besides its arguments.

/// The facts about a command, and about those below it.
pub(crate) struct CommandFacts {
    pub(crate) name: &'static str,
    /// The flags of runs that it uses; `None` if they are those of the command above it.
    pub(crate) flags: Option<FlagSet>,
    /// The ids of flags that it accepts, although its help does not list them.
    pub(crate) ignored_flags: &'static [&'static str],
    /// The ids of flags that mean something else here, each with its help.
    pub(crate) flag_help: &'static [(&'static str, &'static str)],
    /// Complete command lines.
    pub(crate) examples: &'static [&'static str],
    pub(crate) feature: Option<NeededFeature>,
    pub(crate) below: &'static [Self],
}

/// A feature that this program may have been built without.
pub(crate) struct NeededFeature {
    pub(crate) is_built: bool,
    /// The text of help in a program without it.
    pub(crate) missing: &'static str,
}

/// The flags of runs that a command uses besides those that every command uses: groups, by the names of the structs in
/// `flags.rs`, and single flags, by their ids. A new flag of a group belongs to all commands that use the group.
#[derive(Clone, Copy)]
pub(crate) enum FlagSet {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// The flags about one run, which a server of runs does not use.
pub(crate) const SINGLE_RUN_GROUPS: &[&str] = &["OutputFlags", "PromptFlags", "SessionFlags", "TrafficFlags"];

/// The flags that clients of the Cursor CLI pass with each of its commands.
pub(crate) const CURSOR_FLAGS: &[&str] = &[
    "add_dir",
    "api_key",
    "approve_mcps",
    "endpoint",
    "force",
    "header",
    "mode",
    "model",
    "output_format",
    "plan",
    "print",
    "sandbox",
    "stream_partial_output",
    "trust",
];

impl CommandFacts {
    /// Returns the facts about a command that needs nothing, with the flags of the command above it.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self {
            name,
            flags: None,
            ignored_flags: &[],
            flag_help: &[],
            examples: &[],
            feature: None,
            below: &[],
        }
    }

    pub(crate) const fn uses(self, flags: &'static [&'static str]) -> Self {
        Self { flags: Some(FlagSet::Only(flags)), ..self }
    }

    pub(crate) const fn uses_all_but(self, flags: &'static [&'static str]) -> Self {
        Self { flags: Some(FlagSet::AllBut(flags)), ..self }
    }

    pub(crate) const fn ignores(self, flags: &'static [&'static str]) -> Self {
        Self { ignored_flags: flags, ..self }
    }

    pub(crate) const fn with_flag_help(self, flag_help: &'static [(&'static str, &'static str)]) -> Self {
        Self { flag_help, ..self }
    }

    pub(crate) const fn with_examples(self, examples: &'static [&'static str]) -> Self {
        Self { examples, ..self }
    }

    pub(crate) const fn needs(self, feature: NeededFeature) -> Self {
        Self { feature: Some(feature), ..self }
    }

    pub(crate) const fn above(self, below: &'static [Self]) -> Self {
        Self { below, ..self }
    }
}

/// A group of commands in help.
pub(crate) struct CommandGroup {
    /// The title; `sentences.txt` translates it.
    pub(crate) title: &'static str,
    pub(crate) commands: &'static [CommandFacts],
}
