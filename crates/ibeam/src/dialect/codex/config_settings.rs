//! `--config KEY=VALUE` of Codex: the value is TOML, or else plain text.
//!
//! An unknown key is ignored with a notice. It is refused where its value may restrict the run, or change the provider or
//! the configuration.

use ibeam_protocol::{Reason, sentence};
use toml_edit::Value;

use super::{CodexDraft, literal, set, usage_error};

/// Keys, or their first parts up to a dot, that are ignored with a notice. They do not restrict the run.
const IGNORED_KEYS: &[&str] = &[
    "analytics",
    // There are no apps here that could be restricted.
    "apps",
    "check_for_update_on_startup",
    "features",
    "file_opener",
    "hide_agent_reasoning",
    "history",
    "include_apply_patch_tool",
    "mcp_servers",
    "model_auto_compact_token_limit",
    "model_context_window",
    "model_max_output_tokens",
    "model_reasoning_summary",
    "model_supports_reasoning_summaries",
    "model_verbosity",
    "notice",
    "notify",
    "otel",
    "personality",
    "plan_mode_reasoning_effort",
    "project_doc_fallback_filenames",
    "project_doc_max_bytes",
    "review_model",
    "service_tier",
    "shell_environment_policy.experimental_use_profile",
    "shell_environment_policy.ignore_default_excludes",
    "shell_environment_policy.set",
    "show_raw_agent_reasoning",
    "suppress_unstable_features_warning",
    "tool_output_token_limit",
    "tools",
    "tui",
    "web_search",
];

/// Words in the names of keys that may restrict the run, or change the provider or the configuration, with the values
/// under which such a key does not. A key is ignored only if its value is one of these for each word in its name.
const WORDS_WITH_HARMLESS_VALUES: &[(&[&str], &[&str])] = &[
    (&["allow", "allowed", "network", "permission", "permissions", "trust"], &["true"]),
    (
        &[
            "block",
            "blocked",
            "denied",
            "deny",
            "disable",
            "disabled",
            "enforce",
            "exclude",
            "excluded",
            "forbid",
            "forbidden",
            "forced",
            "restrict",
            "restricted",
        ],
        &["false", "[]", "{}", ""],
    ),
    (&["execpolicy", "hooks", "requirements", "rules"], &["[]", "{}"]),
    // Nobody is asked in `codex exec`, and no other model reviews calls for the user.
    (&["approval", "approvals"], &["user"]),
    (&["guardian"], &["false"]),
    (&["provider"], &["openai"]),
    (&["proxy", "profile", "profiles"], &[""]),
    (&["domains", "exec", "policy", "providers", "sandbox"], &[]),
];

/// Restrictions that are always in force: commands have a private `/tmp` and no other directory outside of the given
/// ones.
const ALWAYS_IN_FORCE: &[&str] = &[
    "sandbox_workspace_write.exclude_slash_tmp",
    "sandbox_workspace_write.exclude_tmpdir_env_var",
    "allow_login_shell",
    "disable_response_storage",
];

impl CodexDraft {
    /// Applies one setting.
    ///
    /// # Errors
    /// `Usage` for an invalid setting, and for one that must not be left out.
    pub(super) fn apply_setting(&mut self, given: &str) -> Result<(), Reason> {
        let (key, value) = given
            .split_once('=')
            .ok_or_else(|| usage_error(sentence!("`--config {given}` should be KEY=VALUE", given)))?;
        let (key, value) = (key.trim(), value.trim());
        let text = toml_text(value);
        match key {
            "model" => set(&mut self.model, Some(text)),
            "model_reasoning_effort" => self.forward("--effort", &text),
            "sandbox_mode" => set(&mut self.configured_sandbox, Some(text)),
            "approval_policy" => set(&mut self.configured_approval, Some(text)),
            "openai_base_url" => set(&mut self.endpoint, Some(text)),
            "developer_instructions" | "instructions" | "experimental_instructions" => {
                self.forward("--append-system-prompt", &literal(&text))
            }
            "experimental_instructions_file" | "model_instructions_file" => {
                set(&mut self.instructions_file, Some(text))
            }
            "sandbox_workspace_write.writable_roots" => toml_texts(value)
                .ok_or_else(|| {
                    usage_error(sentence!("`--config {key}` should be a list of directories", key))
                })?
                .iter()
                .try_for_each(|directory| self.forward("--add-dir", directory)),
            "shell_environment_policy.inherit" if text == "all" => Ok(()),
            "sandbox_workspace_write.network_access" | "tools.web_search" if value == "false" => Ok(()),
            "web_search" if text == "disabled" => Ok(()),
            // Only a setting of one feature shows which feature is removed.
            "features" => Err(usage_error(sentence!("`--config features` should be `features.NAME=…`"))),
            "sandbox_workspace_write.network_access" => ignore_key(self, key),
            key if ALWAYS_IN_FORCE.contains(&key) => Ok(()),
            key if value == "false" && key.starts_with("features.") => {
                let feature = key.split_once('.').map_or("", |(_, feature)| feature);
                self.disable(feature, || format!("--config {key}"))
            }
            key if IGNORED_KEYS.iter().any(|ignored| is_below(key, ignored)) => ignore_key(self, key),
            // The setting cannot make a workspace trusted: ibeam has its own list of trusted workspaces.
            key if key.starts_with("projects.") && key.ends_with(".trust_level") && text == "trusted" => {
                ignore_key(self, key)
            }
            key if may_restrict(key, &text) => Err(usage_error(sentence!(
                "`--config {key}` is not known here, and could restrict the run or change where it connects",
                key
            ))),
            key => ignore_key(self, key),
        }
    }
}

/// Whether leaving out a key with this value may allow more or change where the run connects. The name of the key tells
/// what it is about, and the value decides.
fn may_restrict(key: &str, value: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(['.', '_', '-']).collect();
    let is_harmful = |(names, values): &(&[&str], &[&str])| {
        names.iter().any(|name| words.contains(name)) && !values.contains(&value)
    };
    lower.ends_with("base_url") || WORDS_WITH_HARMLESS_VALUES.iter().any(is_harmful)
}

fn ignore_key(draft: &mut CodexDraft, key: &str) -> Result<(), Reason> {
    draft.ignored_arguments.push(format!("--config {key}"));
    Ok(())
}

/// Whether `key` is `name` or a key in the table `name`.
fn is_below(key: &str, name: &str) -> bool {
    key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the text of a TOML string; any other value unchanged.
fn toml_text(value: &str) -> String {
    match value.parse::<Value>() {
        Ok(Value::String(text)) => text.into_value(),
        Ok(_) | Err(_) => value.to_owned(),
    }
}

/// Returns the texts of a list; `None` for anything else.
fn toml_texts(value: &str) -> Option<Vec<String>> {
    match value.parse::<Value>() {
        Ok(Value::Array(entries)) => entries.iter().map(|entry| entry.as_str().map(str::to_owned)).collect(),
        Ok(_) | Err(_) => None,
    }
}
