use super::*;

const LINE: &str =
    r#"{"id":"F001","layer":"host","fault":"a | b","inject":"","expect":"goes on","exit":"0"}"#;

fn table(faults: &str, notes: &str, source: &str) -> FaultTable {
    let fault_list = FaultList::parse(faults, notes).unwrap();
    FaultTable {
        fault_list,
        tests: test_scan::tests_in_source("crates/ibeam/tests/end_to_end/faults/host.rs", source),
    }
}

#[track_caller]
fn check(notes: &str, source: &str, expect: &[&str]) {
    let table = table(LINE, notes, source);
    let found = table.findings();
    assert_eq!(found.len(), expect.len(), "{found:?}");
    for (found, expect) in found.iter().zip(expect) {
        assert!(found.contains(expect), "{found}");
    }
}

#[track_caller]
fn found(path: &str, source: &str, expect: &[&str]) {
    let paths: Vec<String> =
        test_scan::tests_in_source(path, source).into_iter().map(|test| test.path).collect();
    assert_eq!(paths, expect);
}

#[test]
fn a_fault_needs_a_test_or_a_reason() {
    check("", "#[test]\nfn f001_it_goes_on() {}", &[]);
    check("[F001]\nuntested = \"no machine to break\"", "", &[]);
    check("", "", &["F001: no test covers it"]);
    check("", "fn f001_no_test() {}", &["F001: no test covers it"]);
    // An ignored test does not cover a fault.
    check("", "#[test]\n#[ignore = \"slow\"]\nfn f001_ignored() {}", &["F001: no test covers it"]);
}

#[test]
fn tests_and_notes_name_listed_faults_and_agree() {
    let test = "#[test]\nfn f001_it_goes_on() {}";
    check("", &format!("{test}\n#[test]\nfn f002_x() {{}}"), &["faults::host::f002_x: no fault F002"]);
    check("[F009]\nuntested = \"x\"", test, &["no fault F009"]);
    check("[F001]\nuntested = \"x\"", test, &["but there is a test"]);
    check("[F001]\nexit = \"74\"", test, &["needs `exit` and `why`"]);
    check("[F001]\nexit = \"0\"\nwhy = \"x\"", test, &["needs `exit` and `why`"]);
    check("[F001]\nexit = \"74\"\nwhy = \"x\"", test, &[]);
    let twice = table(&format!("{LINE}\n{LINE}"), "", test);
    assert_eq!(twice.findings(), ["corpus/faults.jsonl: F001 does not come after F001"]);
}

#[test]
fn a_test_is_named_as_the_compiler_names_it() {
    let test = "#[test]\nfn f010_a() {}";
    found("crates/ibeam/tests/end_to_end/faults/tool.rs", test, &["ibeam::end_to_end::faults::tool::f010_a"]);
    found("crates/ibeam-tools/src/write_test.rs", test, &["ibeam-tools::write::tests::f010_a"]);
    let inner = "#[cfg(test)]\nmod tests {\n    #[tokio::test]\n    async fn f010_a() {}\n}";
    found("crates/ibeam-core/src/run/limits.rs", inner, &["ibeam-core::run::limits::tests::f010_a"]);
    found("xtask/src/main.rs", "#[test]\nfn f01_a() {}\n#[test]\nfn f0100() {}\n#[test]\nfn first() {}", &[]);
}

#[test]
fn a_row_contains_the_notes() {
    let notes = "[F001]\nexit = \"74\"\nwhy = \"the rule\"\nstands_in = \"a drill\"";
    let page = render_page(&table(LINE, notes, "#[test]\nfn f001_a() {}"));
    let row = "| F001 | a \\| b | goes on<br>Here: the rule<br>In the test: a drill | \
               `ibeam::end_to_end::faults::host::f001_a` | 74 |\n";
    assert!(page.contains(row), "{page}");
}

#[test]
fn an_invalid_line_is_reported() {
    let error = FaultList::parse("{}", "").unwrap_err().to_string();
    assert!(error.starts_with("`corpus/faults.jsonl:1`: "), "{error}");
    let error = FaultList::parse(LINE, "[F001]\nexti = \"1\"").unwrap_err().to_string();
    assert!(error.contains("exti"), "{error}");
}
