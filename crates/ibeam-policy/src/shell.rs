//! Analysis of commands: what a text for `bash -c` runs, as far as that is known without running it.
//!
//! A grammar parses the text (`grammar`). A walk over the tree lists the simple commands with their words and
//! redirections (`walk`, `word`). Wrappers are expanded (`wrapper`). The rules are then applied to each command
//! (`coverage`, `path_checks`). A text that bash may read differently is unanalyzable: allow rules never cover it, and
//! it is denied if there is a deny rule. A word with an unknown value is accepted where its value cannot matter, as in
//! `echo "$x"`.

mod arithmetic;
mod builtins;
pub(crate) mod coverage;
mod filter_scripts;
mod grammar;
pub(crate) mod hazard;
mod named_files;
mod ordinary_arguments;
mod ordinary_code;
mod ordinary_files;
mod ordinary_git;
mod path_checks;
mod program_lists;
mod publishing;
pub(crate) mod redirect;
mod variables;
mod walk;
mod word;
pub(crate) mod wrapper;
mod written_files;

/// Why a text cannot be analyzed, as a noun phrase for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unanalyzable(pub(crate) &'static str);
