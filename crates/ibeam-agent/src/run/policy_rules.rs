//! The policy of a run, and the origin of each of its rules: the same for runs and for `ibeam policy`.

use std::path::PathBuf;

use ibeam_config::{PermissionSettings, Setting, home_from_user_database};
use ibeam_policy::{
    ApprovalMode, InvalidRule, LinkReader, Policy, Rule, RuleList, credentials_from_environment,
};
use ibeam_protocol::{PermissionMode, Reason};

use super::index_lock;
use crate::app::AppContext;
use crate::model::expand_home;

/// Reads the links of the file system.
const LINKS: LinkReader = LinkReader {
    read_link: |path| std::fs::read_link(path).ok(),
    list: |directory| {
        let entries = std::fs::read_dir(directory).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
    },
};

/// A rule, and the flag, or file and line, that set it.
#[derive(Clone, Debug)]
pub struct ActiveRule {
    pub list: RuleList,
    pub rule: Rule,
    pub origin: String,
}

/// Returns the policy of flags and files, without a sandbox.
///
/// # Errors
/// `NoInput` for a directory of `--add-dir`, `Usage` or `BadConfig` for an invalid token.
pub fn build_policy(app: &AppContext, mode: PermissionMode) -> Result<Policy, Reason> {
    let dirs = &app.dirs;
    let mut policy = Policy::new(mode, app.workspace.clone(), dirs.home.clone());
    policy.links = LINKS;
    policy.is_left_lock = index_lock::is_left_behind;
    policy.extra_dirs = app.base.options.added_directories().collect::<Result<_, _>>()?;
    // The directory of the user's configuration contains keys, hooks and the list of trusted workspaces. The data
    // directory contains sessions and markers of rules.
    policy.private_dirs = vec![dirs.data.clone(), dirs.config_directory().to_owned()];
    let roots: Vec<_> = std::iter::once(&policy.workspace).chain(&policy.extra_dirs).cloned().collect();
    policy.protected_paths = ibeam_tools::indirectly_protected_paths(&roots, &dirs.home);
    policy.private_dirs.extend(dirs.user_cursor.iter().cloned());
    // A run of a fleet sees its own workspace and nothing else of the fleet.
    policy.surrounding_dirs = std::env::var_os(ibeam_governor::DIRECTORY_VARIABLE)
        .and_then(|fleet| PathBuf::from(fleet).canonicalize().ok())
        .into_iter()
        .collect();
    policy.credential_files = named_credentials(app);
    // Where HOME names another directory, the user's keys are still in the real home directory.
    policy.other_home = home_from_user_database().filter(|home| *home != dirs.home);
    for ActiveRule { list, rule, .. } in rules(app)? {
        match list {
            RuleList::Deny => policy.deny.push(rule),
            RuleList::Ask => policy.ask.push(rule),
            RuleList::Allow => policy.allow.push(rule),
            RuleList::BuiltIn => {}
        }
    }
    policy.approval = match app.base.settings.approval.value.as_str() {
        "allowlist" => ApprovalMode::Allowlist,
        "strict" => ApprovalMode::Strict,
        _ => ApprovalMode::Sandboxed,
    };
    Ok(policy)
}

/// Returns the credentials whose path a variable or the configuration sets, as given and with links resolved.
fn named_credentials(app: &AppContext) -> Vec<PathBuf> {
    let (home, workspace) = (&app.dirs.home, &app.workspace);
    let mut named = credentials_from_environment(|name| std::env::var_os(name), home, workspace);
    named.extend(secret_files(app));
    // A worker protects the key that it connects with, and a driver the file with its tasks.
    named.extend(std::env::var_os(ibeam_governor::KEY_FILE_VARIABLE).map(PathBuf::from));
    let hidden = std::env::var(ibeam_governor::HIDDEN_FILES_VARIABLE).unwrap_or_default();
    named.extend(hidden.lines().map(PathBuf::from));
    let resolved = named.iter().filter_map(|path| path.canonicalize().ok()).collect::<Vec<_>>();
    named.extend(resolved);
    let copies: Vec<PathBuf> = match &app.worktree {
        Some(worktree) => named.iter().filter_map(|path| worktree.copy_of(path)).collect(),
        None => Vec::new(),
    };
    named.extend(copies);
    named.sort();
    named.dedup();
    named
}

/// Returns the files with secrets that the configuration and the files with MCP servers name.
fn secret_files(app: &AppContext) -> Vec<PathBuf> {
    let of_config = app.base.config.secret_files().into_iter().map(|path| expand_home(&app.dirs.home, path));
    let of_servers = crate::mcp::secret_files(app);
    let absolute = of_config.chain(of_servers).filter_map(|path| std::path::absolute(path).ok());
    absolute.filter(|path| !path.is_dir()).collect()
}

/// Returns every rule, by precedence of the list and then by the source of the rule (file or flag).
///
/// # Errors
/// `Usage` or `BadConfig` for an invalid token.
pub fn rules(app: &AppContext) -> Result<Vec<ActiveRule>, Reason> {
    let mut rules = Vec::new();
    let PermissionSettings { allow, ask, deny, projects } = &app.base.settings.permissions;
    let is_here = |directory: &str| {
        expand_home(&app.dirs.home, directory)
            .canonicalize()
            .is_ok_and(|directory| directory == app.workspace)
    };
    let here = projects.iter().filter(|(directory, _)| is_here(directory)).map(|(_, tokens)| tokens);
    let allowed = std::iter::once(allow).chain(here).map(|tokens| (RuleList::Allow, tokens));
    for (list, tokens) in [(RuleList::Deny, deny), (RuleList::Ask, ask)].into_iter().chain(allowed) {
        for Setting { value, origin } in tokens {
            let rule = value.parse().map_err(|error: InvalidRule| origin.invalid(error.to_string()))?;
            rules.push(ActiveRule { list, rule, origin: origin.to_string() });
        }
    }
    if app.base.options.approve_mcps
        && let Ok(rule) = "Mcp(*:*)".parse()
    {
        rules.push(ActiveRule { list: RuleList::Allow, rule, origin: "--approve-mcps".to_owned() });
    }
    Ok(rules)
}
