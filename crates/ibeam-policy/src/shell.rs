//! Commands: what a text given to `bash -c` runs, as far as that can be told without running it.
//!
//! A grammar reads the text (`grammar`), a walk over its tree lists the simple commands with their words and
//! redirections (`walk`, `word`), wrappers are opened (`wrapper`), and the rules are held against each
//! (`coverage`, `paths`). What is not sure to be read as bash reads it is opaque: never covered by an allow rule,
//! and denied where a deny rule exists. A word whose value is not known is no obstacle where no value of it could
//! matter, as for `echo "$x"`.

mod arithmetic;
mod builtins;
pub(crate) mod coverage;
mod filter_scripts;
mod grammar;
pub(crate) mod hazard;
mod loop_variables;
mod ordinary_arguments;
mod ordinary_code;
mod ordinary_files;
mod ordinary_git;
mod path_checks;
mod program_lists;
pub(crate) mod redirect;
mod walk;
mod word;
pub(crate) mod wrapper;

/// Why a text is not understood: a noun phrase for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unanalyzable(pub(crate) &'static str);

/// How people allow something, for messages.
const MANUAL: &str = "a person may allow it with";
