//! The environment of commands: listed variables, and never a secret.
//!
//! The list names what passes, because any variable may hold a token. Variables that people add by name pass; a secret
//! only if its full name is given. Variables that make bash itself run or load something never pass, because then the
//! text that policy checked would not be all that runs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ibeam_files::search_path::{DEFAULT_DIRECTORIES, directories_outside, is_outside};

/// Names that pass; `*` at the end matches any rest.
const ALLOWED_NAMES: &[&str] = &[
    // user and directories
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_DIRS",
    // language, time, terminal
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LOCALE_ARCHIVE",
    "TZ",
    "TZDIR",
    "TERM",
    "TERMINFO",
    "TERMINFO_DIRS",
    "COLUMNS",
    "LINES",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "MANPATH",
    // builds that depend on where they run
    "CI",
    "CONTINUOUS_INTEGRATION",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "BUILDKITE",
    "TF_BUILD",
    "SOURCE_DATE_EPOCH",
    // network
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "NIX_SSL_CERT_FILE",
    "GIT_SSL_CAINFO",
    // author of commits
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    "EMAIL",
    // C and C++
    "CC",
    "CXX",
    "AR",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "PKG_CONFIG_*",
    "CMAKE_PREFIX_PATH",
    "CMAKE_GENERATOR",
    "CMAKE_BUILD_*",
    "OPENSSL_*",
    "LIBCLANG_PATH",
    "LLVM_*",
    "SDKROOT",
    "MACOSX_DEPLOYMENT_TARGET",
    "DEVELOPER_DIR",
    "CUDA_*",
    "OMP_NUM_THREADS",
    // Rust
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CARGO_INCREMENTAL",
    "CARGO_TERM_*",
    "CARGO_NET_*",
    "CARGO_PROFILE_*",
    "CARGO_BUILD_*",
    "RUSTUP_*",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUST_*",
    "PROTOC",
    // Go
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOPROXY",
    "GOPRIVATE",
    "GONOPROXY",
    "GONOSUMDB",
    "GOSUMDB",
    "GOTOOLCHAIN",
    "GOOS",
    "GOARCH",
    "GOAMD64",
    "GOARM",
    "GOMAXPROCS",
    "CGO_ENABLED",
    // Java and its like
    "JAVA_HOME",
    "JDK_HOME",
    "MAVEN_HOME",
    "M2_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "ANDROID_*",
    "SDKMAN_DIR",
    "KOTLIN_HOME",
    // JavaScript
    "NVM_DIR",
    "NVM_BIN",
    "NODE_ENV",
    "PNPM_HOME",
    "YARN_CACHE_FOLDER",
    "VOLTA_HOME",
    "FNM_*",
    "BUN_INSTALL",
    "DENO_DIR",
    "COREPACK_HOME",
    "NPM_CONFIG_CACHE",
    "NPM_CONFIG_PREFIX",
    "NPM_CONFIG_REGISTRY",
    "npm_config_cache",
    "npm_config_prefix",
    "npm_config_registry",
    "PLAYWRIGHT_BROWSERS_PATH",
    // Python
    "PYENV_*",
    "VIRTUAL_ENV",
    "CONDA_*",
    "MAMBA_*",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PIP_CACHE_DIR",
    "PIP_INDEX_URL",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIPX_*",
    "UV_*",
    "POETRY_*",
    // Ruby, PHP, .NET, Elixir, Haskell, OCaml
    "GEM_HOME",
    "GEM_PATH",
    "RBENV_*",
    "BUNDLE_PATH",
    "BUNDLE_WITHOUT",
    "COMPOSER_HOME",
    "DOTNET_*",
    "NUGET_PACKAGES",
    "MIX_ENV",
    "MIX_HOME",
    "HEX_HOME",
    "GHCUP_*",
    "STACK_ROOT",
    "CABAL_DIR",
    "OPAMROOT",
    "OPAM_SWITCH_PREFIX",
    // version and package managers
    "ASDF_*",
    "MISE_*",
    "HOMEBREW_*",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_STORE",
    "NIX_CC",
    "NIX_CFLAGS_*",
    "NIX_LDFLAGS*",
    "IN_NIX_SHELL",
];

/// Variables that name programs or files for bash, or for the loader of every program, to run. They never pass.
const NEVER_PASSED: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "BASH_FUNC_*",
    "BASHOPTS",
    "SHELLOPTS",
    "PS4",
    "IFS",
    "PROMPT_COMMAND",
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_*",
];

/// Variables that name programs for other programs to run. They pass only by their full name.
const PASSED_BY_FULL_NAME: &[&str] = &[
    "RUSTUP_*_TOKEN",
    "CARGO_BUILD_RUSTC*",
    "CARGO_BUILD_RUSTDOC",
    "CARGO_NET_GIT_FETCH_WITH_CLI",
    "UV_ENV_FILE",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "DOTNET_STARTUP_HOOKS",
    "CONDA_EXE",
];

/// Words in a name that mark the value as a secret.
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "KEYS",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "AUTH",
    "COOKIE",
    "PAT",
    "JWT",
];

/// Parts of a name, at any position, that mark the value as a secret.
const SECRET_PARTS: &[&str] = &["TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "APIKEY", "API_KEY", "PRIVATE"];

/// Returns the variables of `environment` that commands get.
///
/// `more` are names, or prefixes that end in `*`, that people add. `keys` are variables with API keys of models, which
/// never pass. Entries of `PATH` that are relative or in one of the `roots` are removed, and so are variables that state
/// such an entry as active.
pub(super) fn filter_environment(
    environment: Vec<(OsString, OsString)>,
    more: &[String],
    keys: &[String],
    roots: &[&Path],
) -> Vec<(OsString, OsString)> {
    let is_passed = |(name, value): &(OsString, OsString)| {
        // bash drops a name that is not text anyway.
        let Some(name) = name.to_str() else { return false };
        if matches_any(NEVER_PASSED, name) || name.ends_with("_API_KEY") || keys.iter().any(|key| key == name)
        {
            return false;
        }
        let is_named = more.iter().any(|more| more == name);
        let is_listed =
            matches_any(ALLOWED_NAMES, name) || more.iter().any(|more| matches_pattern(more, name));
        is_named
            || (is_listed
                && !matches_any(PASSED_BY_FULL_NAME, name)
                && !is_secret(name)
                && !has_password(value))
    };
    let is_removed_from_path = |(name, value): &(OsString, OsString)| {
        let directory = Path::new(value);
        let is_of_path = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().any(|of_path| name == of_path);
        is_of_path && directory.is_absolute() && !is_outside(directory, roots)
    };
    let passed = environment.into_iter().filter(is_passed).filter(|variable| !is_removed_from_path(variable));
    let mut passed: Vec<_> = passed.collect();
    // Without a `PATH`, bash would search the working directory too.
    if !passed.iter().any(|(name, _)| name == "PATH") {
        passed.push(("PATH".into(), OsString::new()));
    }
    for (name, value) in &mut passed {
        if name == "PATH" {
            *value = trusted_path(value, roots);
        }
    }
    passed
}

/// Settings of git for every command, which override its configuration files: a repository that lies in a work tree
/// like any other file is used only if its directory is named.
const GIT_SETTINGS: &[(&str, &str)] = &[("safe.bareRepository", "explicit")];

/// Adds [`GIT_SETTINGS`] to the git settings in the environment.
pub(super) fn add_git_settings(environment: &mut Vec<(OsString, OsString)>) {
    const COUNT: &str = "GIT_CONFIG_COUNT";
    let count = environment
        .iter()
        .find(|(name, _)| name == COUNT)
        .and_then(|(_, count)| count.to_str()?.parse().ok());
    let first: usize = count.unwrap_or(0);
    let last = first.saturating_add(GIT_SETTINGS.len());
    let added = (first..last).zip(GIT_SETTINGS).flat_map(|(at, (key, value))| {
        [(format!("GIT_CONFIG_KEY_{at}"), *key), (format!("GIT_CONFIG_VALUE_{at}"), *value)]
    });
    for (name, value) in added.chain([(COUNT.to_owned(), last.to_string().as_str())]) {
        environment.retain(|(known, _)| known != name.as_str());
        environment.push((name.into(), value.into()));
    }
}

/// Settings of package managers that fail at once without a network. They would repeat each request for a minute or more.
const OFFLINE_SETTINGS: &[(&str, &str)] = &[
    ("BUNDLE_RETRY", "0"),
    ("CARGO_NET_RETRY", "0"),
    ("PIP_RETRIES", "0"),
    ("UV_HTTP_RETRIES", "0"),
    ("YARN_HTTP_RETRY", "0"),
    ("npm_config_fetch_retries", "0"),
    ("pnpm_config_fetch_retries", "0"),
];

/// Adds those of [`OFFLINE_SETTINGS`] that the environment does not have, for commands without a network.
pub(super) fn add_offline_settings(environment: &mut Vec<(OsString, OsString)>) {
    for (name, value) in OFFLINE_SETTINGS {
        if !environment.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            environment.push((name.into(), value.into()));
        }
    }
}

/// Returns the bash that `PATH` finds, else one in a usual directory; never one in a root.
pub(super) fn find_bash(environment: &[(OsString, OsString)], roots: &[&Path]) -> Option<PathBuf> {
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    // Looks for the file first: to follow the links of a path takes a system call for each part of it.
    std::env::split_paths(path.unwrap_or_default())
        .chain(DEFAULT_DIRECTORIES.map(PathBuf::from))
        .map(|directory| (directory.join("bash"), directory))
        .find(|(bash, directory)| bash.is_file() && is_outside(directory, roots) && is_outside(bash, roots))
        .map(|(bash, _)| bash)
}

/// Returns `PATH` without directories that the workspace could have added.
fn trusted_path(path: &OsStr, roots: &[&Path]) -> OsString {
    match std::env::join_paths(directories_outside(path, roots)) {
        Ok(path) if !path.is_empty() => path,
        Ok(_) | Err(_) => DEFAULT_DIRECTORIES.join(":").into(),
    }
}

fn matches_any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| matches_pattern(pattern, name))
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    // Almost every pattern differs from the name in its first byte. A pattern that begins with `*` matches no name.
    if pattern.bytes().next() != name.bytes().next() {
        return false;
    }
    match pattern.split_once('*') {
        // `*` alone would match every name.
        Some(("", _)) => false,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => pattern == name,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || name.split('_').any(|word| SECRET_WORDS.contains(&word))
}

/// Whether the value has a URL with a user and a password.
fn has_password(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', ',']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| !user.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::{OFFLINE_SETTINGS, add_git_settings, add_offline_settings, filter_environment, find_bash};

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    #[track_caller]
    fn check(more: &[&str], name: &str, value: &str, expect: bool) {
        let more: Vec<String> = more.iter().map(|more| (*more).to_owned()).collect();
        let passed = filter_environment(variables(&[(name, value)]), &more, &["MY_MODEL".to_owned()], &[]);
        let is_passed = passed.iter().any(|(passed, _)| passed == name);
        assert_eq!(is_passed, expect, "{name}={value} with {more:?}");
    }

    #[test]
    fn usual_variables_pass() {
        for name in [
            "HOME",
            "LC_ALL",
            "TZ",
            "CI",
            "CARGO_HOME",
            "GOPATH",
            "VIRTUAL_ENV",
            "GIT_AUTHOR_NAME",
            "RUST_LOG",
        ] {
            check(&[], name, "value", true);
        }
        check(&[], "HTTPS_PROXY", "http://proxy.example.org:3128", true);
    }

    #[test]
    fn a_setting_of_the_user_is_kept_without_a_network() {
        let mut environment = variables(&[("CARGO_NET_RETRY", "7"), ("NPM_CONFIG_FETCH_RETRIES", "1")]);
        add_offline_settings(&mut environment);
        assert_eq!(environment.len(), OFFLINE_SETTINGS.len());
        assert_eq!(
            environment[..2],
            variables(&[("CARGO_NET_RETRY", "7"), ("NPM_CONFIG_FETCH_RETRIES", "1")])
        );
        assert!(environment.contains(&("PIP_RETRIES".into(), "0".into())));
    }

    #[test]
    fn a_virtual_environment_of_the_workspace_is_not_stated_as_active() {
        let workspace = tempfile::tempdir().unwrap();
        let root = workspace.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".venv/bin")).unwrap();
        for (directory, passes) in [(root.join(".venv"), false), ("/usr".into(), true)] {
            let environment = vec![("VIRTUAL_ENV".into(), directory.clone().into_os_string())];
            let passed = filter_environment(environment, &[], &[], &[&root]);
            let is_passed = passed.iter().any(|(name, _)| name == "VIRTUAL_ENV");
            assert_eq!(is_passed, passes, "{}", directory.display());
        }
    }

    #[test]
    fn other_variables_pass_only_by_name() {
        for name in
            ["SOMETHING", "SSH_AUTH_SOCK", "DATABASE_URL", "NODE_OPTIONS", "PYTHONSTARTUP", "GIT_SSH_COMMAND"]
        {
            check(&[], name, "value", false);
            check(&[name], name, "value", true);
        }
        check(&["MY_*"], "MY_THING", "value", true);
        check(&["*"], "SOMETHING", "value", false);
    }

    #[test]
    fn secrets_pass_only_when_they_are_spelled_out() {
        for (name, value) in [
            ("GITHUB_TOKEN", "x"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("CARGO_NET_PASSWORD", "x"),
            ("UV_PUBLISH_TOKEN", "x"),
            ("NPM_CONFIG_REGISTRY", "https://me:secret@registry.example.org/"),
            ("GOPROXY", "https://proxy.example.org,https://token@b.example.org"),
            ("NIX_LDFLAGS_PAT", "x"),
        ] {
            check(&[], name, value, false);
            check(&["GITHUB_*", "AWS_*", "UV_*"], name, value, false);
            check(&[name], name, value, true);
        }
    }

    #[test]
    fn keys_of_models_and_variables_that_bash_executes_never_pass() {
        for name in [
            "MY_MODEL",
            "X_API_KEY",
            "BASH_ENV",
            "ENV",
            "LD_PRELOAD",
            "BASH_FUNC_ls%%",
            "PROMPT_COMMAND",
            "PS4",
        ] {
            check(&[name, "BASH_*", "LD_*", "MY_*"], name, "value", false);
        }
    }

    #[test]
    fn the_path_contains_no_directory_of_the_workspace() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap().join("ws");
        std::fs::create_dir_all(root.join("bin")).unwrap();
        std::fs::write(root.join("bin/bash"), "").unwrap();
        std::os::unix::fs::symlink(root.join("bin"), root.with_file_name("link")).unwrap();
        std::os::unix::fs::symlink(root.join("later"), root.with_file_name("later")).unwrap();
        let others = format!("/usr/bin:{}", directory.path().join("missing").display());
        let path = format!(
            "bin:.::{}:{}:{}:{others}",
            root.join("bin").display(),
            root.with_file_name("link").display(),
            root.with_file_name("later").display()
        );
        let roots: [&Path; 1] = [&root];
        let environment = filter_environment(variables(&[("PATH", &path)]), &[], &[], &roots);
        assert_eq!(environment, variables(&[("PATH", &others)]));
        let environment = variables(&[("PATH", &path)]);
        let bash = find_bash(&environment, &roots).unwrap();
        assert!(!bash.starts_with(directory.path()), "{bash:?}");
    }

    #[test]
    fn settings_of_git_are_added_to_existing_ones() {
        let mut none = Vec::new();
        add_git_settings(&mut none);
        let merged_settings = |at: usize, count: &str| {
            variables(&[
                (&format!("GIT_CONFIG_KEY_{at}"), "safe.bareRepository"),
                (&format!("GIT_CONFIG_VALUE_{at}"), "explicit"),
                ("GIT_CONFIG_COUNT", count),
            ])
        };
        assert_eq!(none, merged_settings(0, "1"));
        let given = variables(&[
            ("GIT_CONFIG_KEY_0", "core.pager"),
            ("GIT_CONFIG_VALUE_0", "cat"),
            ("GIT_CONFIG_COUNT", "1"),
        ]);
        let mut merged = given.clone();
        add_git_settings(&mut merged);
        assert_eq!(merged, [&given[..2], &merged_settings(1, "2")[..]].concat());
        // git refuses an invalid count; the settings here have a valid one.
        let mut odd = variables(&[("GIT_CONFIG_COUNT", "many")]);
        add_git_settings(&mut odd);
        assert_eq!(odd, merged_settings(0, "1"));
    }

    #[test]
    fn a_missing_path_and_one_of_refused_directories_become_the_default() {
        let root = Path::new("/w");
        for given in [&[][..], &[("PATH", "")], &[("PATH", ".")], &[("PATH", "/w/bin:.")]] {
            assert_eq!(
                filter_environment(variables(given), &[], &[], &[root]),
                variables(&[("PATH", "/usr/local/bin:/usr/bin:/bin")])
            );
        }
    }
}
