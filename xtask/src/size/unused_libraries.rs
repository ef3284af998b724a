//! A check that the shortest run uses no library that it does not need.
//!
//! Reads callgrind's record of an unoptimised build, which has the name of every function.

use std::fs;
use std::path::Path;

use ibeam_testkit::{Ibeam, ModelServer, Workspace, build_program};

use super::measured_run::{SizeError, run_successfully, shortest_answer, shortest_run};
use crate::callgrind::{TIMEOUT, function_names};

/// Libraries that the shortest run must not use: the engine, grammars of commands and pages, regular expressions,
/// certificates, encodings and compression, HTTP/2, texts in other languages.
const UNUSED: [&str; 18] = [
    "aho_corasick",
    "brotli_decompressor",
    "candle_core",
    "chardetng",
    "encoding_rs",
    "fluent_bundle",
    "fluent_syntax",
    "globset",
    "h2",
    "html5ever",
    "ibeam_local",
    "regex_automata",
    "ring",
    "rustls_native_certs",
    "tokenizers",
    "toml_edit",
    "tree_sitter",
    "webpki",
];

/// A library that every run uses. Its functions show that the record has function names.
const USED: &str = "ibeam_core";

/// Answers a prompt with one text and checks that no function of the unused libraries ran.
pub(super) fn check(root: &Path) -> Result<(), SizeError> {
    let program = build_program(root)?;
    let workspace = Workspace::new();
    let record = workspace.outside().join("callgrind");
    let server = ModelServer::start([shortest_answer()]);
    let run: Ibeam = shortest_run(&program, &workspace, &server);
    let option = format!("--callgrind-out-file={}", record.display());
    run_successfully("a run", run.through(["valgrind", "--tool=callgrind", &option]).timeout(TIMEOUT))?;
    let record = fs::read_to_string(&record)?;
    let names = function_names(&record);
    // A record without names would pass every check.
    if !names.iter().any(|name| is_function_of(name, USED)) {
        return Err(SizeError::NoFunctionNames);
    }
    let used = used_libraries(&names);
    if used.is_empty() { Ok(()) } else { Err(SizeError::UnusedLibraries(used.join("; "))) }
}

/// Returns the first function of each unused library that ran.
fn used_libraries(names: &[&str]) -> Vec<String> {
    let of = |library: &&str| {
        names.iter().find(|name| is_function_of(name, library)).map(|name| (*name).to_owned())
    };
    UNUSED.iter().filter_map(of).collect()
}

/// Whether the function belongs to the library's own code. Generic code of other libraries for its types does not
/// count.
fn is_function_of(name: &str, library: &str) -> bool {
    let path = name.trim_start_matches('<');
    path.strip_prefix(library).is_some_and(|rest| rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::used_libraries;
    use crate::callgrind::function_names;

    #[track_caller]
    fn check_libraries(record: &str, expect: &[&str]) {
        assert_eq!(used_libraries(&function_names(record)), expect, "{record}");
    }

    #[test]
    fn a_used_library_is_reported_with_its_first_function() {
        check_libraries(
            "fn=(12) <regex_automata::meta::Regex>::new\n+3 4\nfn=(12)\n",
            &["<regex_automata::meta::Regex>::new"],
        );
        check_libraries("cfn=(7) tree_sitter::Parser::new\ncalls=1 0\n", &["tree_sitter::Parser::new"]);
        check_libraries("fn=(1) h2::a\nfn=(2) h2::b\n", &["h2::a"]);
        check_libraries(
            "fn=(1) core::ptr::drop_in_place<regex_automata::meta::Regex>\ncfi=(3) h2::x\nfn=(4) h2o::a\n",
            &[],
        );
    }
}
