//! Commands: what a text given to `bash -c` runs, as far as that can be told without running it.
//!
//! Understands simple commands joined by `&&`, `||`, `;`, `|` and newlines. Everything else (expansions,
//! substitutions, compound commands, here-documents) is opaque: never covered by an allow rule, and denied
//! where any deny rule exists.

pub(crate) mod coverage;
mod hazard;
mod programs;
mod script;
mod words;
mod wrapper;
