use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::credentials_from_environment;

#[track_caller]
fn check(variables: &[(&str, &str)], expect: &[&str]) {
    let lookup = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| OsString::from(value))
    };
    let named = credentials_from_environment(lookup, Path::new("/home/ann"), Path::new("/home/ann/work"));
    let expect: Vec<PathBuf> = expect.iter().map(PathBuf::from).collect();
    assert_eq!(named, expect, "{variables:?}");
}

#[track_caller]
fn holds(variable: (&str, &str), expect: &str) {
    let lookup = |name: &str| (name == variable.0).then(|| OsString::from(variable.1));
    let named = credentials_from_environment(lookup, Path::new("/home/ann"), Path::new("/home/ann/work"));
    assert!(named.contains(&PathBuf::from(expect)), "{variable:?}: {named:?}");
}

#[test]
fn files_that_a_variable_names_are_credentials() {
    check(&[], &[]);
    check(&[("GOOGLE_APPLICATION_CREDENTIALS", "/srv/keys/g.json")], &["/srv/keys/g.json"]);
    check(&[("KUBECONFIG", "/srv/a:/srv/b::~/c")], &["/home/ann/c", "/srv/a", "/srv/b"]);
    check(&[("AWS_SHARED_CREDENTIALS_FILE", "../aws"), ("AWS_CONFIG_FILE", "")], &["/home/ann/aws"]);
    check(&[("DBT_PROFILES_DIR", "/srv/dbt")], &["/srv/dbt/profiles.yml"]);
}

#[test]
fn a_directory_in_place_of_the_usual_one_holds_the_same_credentials() {
    check(&[("CARGO_HOME", "/srv/cargo")], &["/srv/cargo/credentials", "/srv/cargo/credentials.toml"]);
    check(&[("CARGO_HOME", "/home/ann/.cargo")], &[]);
    holds(("XDG_CONFIG_HOME", "/srv/config"), "/srv/config/gh");
    holds(("XDG_DATA_HOME", "/srv/data"), "/srv/data/keyrings");
    holds(("DOCKER_CONFIG", "/srv/docker"), "/srv/docker/config.json");
    holds(("CLAUDE_CONFIG_DIR", "/srv/claude"), "/srv/claude/.credentials.json");
    holds(("CLAUDE_CONFIG_DIR", "/srv/claude"), "/srv/claude/.claude.json");
    holds(("GNUPGHOME", "/srv/gnupg"), "/srv/gnupg");
}

#[test]
fn what_cannot_be_a_credential_is_left_out() {
    for value in ["/dev/null", "/", "/etc", "/home/ann", "/home", "/home/ann/work", ".", "/proc/self/fd/3"] {
        check(&[("PIP_CONFIG_FILE", value)], &[]);
        check(&[("HISTFILE", value)], &[]);
    }
}
