//! Directories outside of the workspace that commands may write: those of `sandbox.writable`, and the caches of build
//! tools in `sandbox.caches`.
//!
//! Rejects directories with credentials, start-up files or files of this program: such an entry ends the run before it
//! starts. A later build outside of the sandbox may execute files of a cache, so nothing is granted by default, and the
//! configuration of a project cannot grant anything.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use ibeam_config::Setting;
use ibeam_policy::{PathPolicy, is_read_only_name};
use ibeam_protocol::{Reason, sentence};
use ibeam_sandbox::Confinement;

use crate::app::AppContext;
use crate::environment::variable;

struct ToolCache {
    tool: &'static str,
    parts: &'static [CachePart],
}

/// Directories of a cache below a base directory, which a variable may set.
struct CachePart {
    /// Variables, each with the path of the base directory below the value. The first variable that is set to an
    /// absolute path counts.
    variables: &'static [(&'static str, &'static str)],
    /// The path of the base directory below the home directory, if no variable is set.
    default: &'static str,
    /// The directories; an empty name is the base directory itself.
    directories: &'static [&'static str],
    /// Files that the tool locks.
    files: &'static [&'static str],
}

/// Returns a part without files.
const fn cache_part(
    variables: &'static [(&'static str, &'static str)],
    default: &'static str,
    directories: &'static [&'static str],
) -> CachePart {
    CachePart { variables, default, directories, files: &[] }
}

/// The caches that docs/configuration.md lists, without programs, configuration and credentials of the tools.
const CACHES: [ToolCache; 5] = [
    ToolCache {
        tool: "cargo",
        parts: &[CachePart {
            files: &[".package-cache", ".package-cache-mutate"],
            ..cache_part(&[("CARGO_HOME", "")], ".cargo", &["registry", "git"])
        }],
    },
    ToolCache {
        tool: "npm",
        parts: &[cache_part(
            &[("npm_config_cache", ""), ("NPM_CONFIG_CACHE", "")],
            ".npm",
            &["_cacache", "_logs"],
        )],
    },
    ToolCache {
        tool: "pip",
        parts: &[cache_part(&[("PIP_CACHE_DIR", ""), ("XDG_CACHE_HOME", "pip")], ".cache/pip", &[""])],
    },
    ToolCache {
        tool: "go",
        parts: &[
            cache_part(&[("GOMODCACHE", ""), ("GOPATH", "pkg/mod")], "go/pkg/mod", &[""]),
            cache_part(&[("GOPATH", "pkg/sumdb")], "go/pkg/sumdb", &[""]),
            cache_part(&[("GOCACHE", ""), ("XDG_CACHE_HOME", "go-build")], ".cache/go-build", &[""]),
        ],
    },
    ToolCache {
        tool: "gradle",
        parts: &[cache_part(
            &[("GRADLE_USER_HOME", "")],
            ".gradle",
            &["caches", "daemon", "native", "notifications", "workers", ".tmp"],
        )],
    },
];

/// Adds the directories to those that commands may write. Creates missing ones of caches.
///
/// # Errors
/// The errors of [`check`].
pub(super) fn add(
    app: &AppContext,
    path_policy: &PathPolicy,
    confinement: &mut Confinement,
) -> Result<(), Reason> {
    let granted = find(app, path_policy, confinement, Missing::Create)?;
    for path in &granted {
        let names = path.read_dir().into_iter().flatten().flatten();
        let kept = names.filter(|entry| is_read_only_name(&entry.file_name().to_string_lossy()));
        confinement.read_only.extend(kept.map(|entry| entry.path()));
    }
    confinement.writable.extend(granted);
    Ok(())
}

/// Checks the settings, and creates nothing.
///
/// # Errors
/// `BadConfig` with the origin of an entry that names no tool, or a directory that is never granted.
pub(super) fn check(
    app: &AppContext,
    path_policy: &PathPolicy,
    confinement: &Confinement,
) -> Result<(), Reason> {
    find(app, path_policy, confinement, Missing::Ignore).map(|_| ())
}

/// The treatment of missing directories of caches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Create,
    Ignore,
}

/// Returns the directories of the configuration that exist.
fn find(
    app: &AppContext,
    path_policy: &PathPolicy,
    confinement: &Confinement,
    missing: Missing,
) -> Result<Vec<PathBuf>, Reason> {
    let mut granted = Vec::new();
    for Setting { value: entry, origin } in &app.base.settings.sandbox.writable {
        let path = match entry.strip_prefix('~') {
            Some("" | "/") => app.dirs.home.clone(),
            Some(below) if below.starts_with('/') => app.dirs.home.join(below.trim_start_matches('/')),
            Some(_) | None => app.workspace.join(entry),
        };
        // A path that does not exist is ignored.
        let Ok(path) = path.canonicalize() else {
            if CACHES.iter().any(|cache| cache.tool == entry) {
                let detail = format!(
                    "`{entry}` is not a directory here; for the cache of `{entry}`, add it to `sandbox.caches`"
                );
                return Err(origin.invalid(detail).into());
            }
            continue;
        };
        check_may_be_granted(&path, app, path_policy, confinement)
            .map_err(|why| origin.invalid(format!("`{entry}` cannot be writable for commands: {why}")))?;
        granted.push(path);
    }
    for Setting { value: tool, origin } in &app.base.settings.sandbox.caches {
        let Some(cache) = CACHES.iter().find(|cache| cache.tool == tool) else {
            let known = CACHES.map(|cache| cache.tool).join(", ");
            let detail = sentence!("unknown cache `{name}`; use one of: {names}", name = tool, names = known);
            return Err(origin.invalid(detail).into());
        };
        for path in cache.parts.iter().flat_map(|part| part.paths(&app.dirs.home, &variable, missing)) {
            let Ok(path) = path.canonicalize() else { continue };
            check_may_be_granted(&path, app, path_policy, confinement).map_err(|why| {
                let path = path.display();
                origin
                    .invalid(format!("the cache of `{tool}`, {path}, cannot be writable for commands: {why}"))
            })?;
            granted.push(path);
        }
    }
    Ok(granted)
}

impl CachePart {
    /// Returns the paths of this part. A path that does not exist and cannot be created is ignored later.
    fn paths(
        &self,
        home: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
        missing: Missing,
    ) -> Vec<PathBuf> {
        let named = self.variables.iter().find_map(|(name, below)| {
            let base = variable(name).map(PathBuf::from).filter(|path| path.is_absolute())?;
            Some(if below.is_empty() { base } else { base.join(below) })
        });
        let base = named.unwrap_or_else(|| home.join(self.default));
        let mut paths = Vec::new();
        for name in self.directories {
            let path = if name.is_empty() { base.clone() } else { base.join(name) };
            if missing == Missing::Create {
                let _ = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            }
            paths.push(path);
        }
        for name in self.files {
            let path = base.join(name);
            if missing == Missing::Create {
                let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            }
            paths.push(path);
        }
        paths
    }
}

/// Checks that a resolved path may be granted.
///
/// # Errors
/// The reason why the path is never granted.
fn check_may_be_granted(
    path: &Path,
    app: &AppContext,
    path_policy: &PathPolicy,
    confinement: &Confinement,
) -> Result<(), String> {
    let home = app.dirs.home.canonicalize().unwrap_or_else(|_| app.dirs.home.clone());
    if home.starts_with(path) {
        return Err("the home directory lies in it".to_owned());
    }
    let touches = |other: &Path| other.starts_with(path) || path.starts_with(other);
    let configuration = app.dirs.user_config.parent().unwrap_or(&app.dirs.user_config);
    if [&app.dirs.data, &app.dirs.cache, configuration].into_iter().any(|own: &Path| touches(own)) {
        return Err("it is a directory of this program, or holds one".to_owned());
    }
    let hidden = confinement.hidden.iter().chain(&confinement.hidden_when_created);
    if let Some(hidden) = hidden.into_iter().find(|hidden| touches(hidden)) {
        return Err(format!("credentials or denied files may be at {}", hidden.display()));
    }
    if !path_policy.exempts(path) {
        return Err("it is a protected place; a `Write(…)` rule may open it".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ibeam_testkit::Workspace;

    use super::*;

    fn paths(tool: &str, home: &Path, variables: &[(&str, &str)]) -> Vec<PathBuf> {
        let variable = |name: &str| {
            variables.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned())
        };
        let cache = CACHES.iter().find(|cache| cache.tool == tool).unwrap();
        cache.parts.iter().flat_map(|part| part.paths(home, &variable, Missing::Create)).collect()
    }

    #[test]
    fn variables_set_the_directories_of_caches() {
        let workspace = Workspace::new();
        let (home, other) = (workspace.home(), workspace.outside().join("other"));
        let elsewhere = other.to_str().unwrap();
        let check = |tool, variables: &[(&str, &str)], expected: &[PathBuf]| {
            let found = paths(tool, home, variables);
            assert_eq!(found, expected, "{tool}");
            assert!(found.iter().all(|path| path.exists()), "{tool}");
        };
        let cargo = ["registry", "git", ".package-cache", ".package-cache-mutate"];
        check("cargo", &[], &cargo.map(|name| home.join(".cargo").join(name)));
        check("cargo", &[("CARGO_HOME", elsewhere)], &cargo.map(|name| other.join(name)));
        check("cargo", &[("CARGO_HOME", "relative")], &cargo.map(|name| home.join(".cargo").join(name)));
        check("npm", &[], &["_cacache", "_logs"].map(|name| home.join(".npm").join(name)));
        check("npm", &[("npm_config_cache", elsewhere)], &["_cacache", "_logs"].map(|name| other.join(name)));
        check("pip", &[], &[home.join(".cache/pip")]);
        check("pip", &[("XDG_CACHE_HOME", elsewhere)], &[other.join("pip")]);
        check("pip", &[("PIP_CACHE_DIR", elsewhere), ("XDG_CACHE_HOME", "/x")], std::slice::from_ref(&other));
        let go = |names: [&str; 3]| names.map(|name| other.join(name));
        check(
            "go",
            &[("GOPATH", elsewhere), ("GOCACHE", elsewhere)],
            &go(["pkg/mod", "pkg/sumdb", ""]).map(|path| path.components().collect()),
        );
        check("go", &[], &["go/pkg/mod", "go/pkg/sumdb", ".cache/go-build"].map(|name| home.join(name)));
        assert_eq!(paths("gradle", home, &[]).len(), 6);
    }

    /// The table of the documentation has the same caches as `CACHES`.
    #[test]
    fn every_cache_is_in_the_documentation() {
        let page = include_str!("../../../../docs/configuration.md");
        for cache in &CACHES {
            let start = format!("| `{}` |", cache.tool);
            let row = page
                .lines()
                .find(|line| line.starts_with(&start))
                .unwrap_or_else(|| panic!("no row {start}"));
            for part in cache.parts {
                for name in part.directories.iter().chain(part.files).chain([&part.default]) {
                    assert!(name.is_empty() || row.contains(name), "`{name}`: {row}");
                }
                for (name, _) in part.variables {
                    assert!(row.contains(&format!("`{name}`")), "`{name}`: {row}");
                }
            }
        }
    }
}
