//! `policy list`: the rules in force.

use ibeam_config::Settings;
use ibeam_output::{PolicyLine, escape_to_one_line};
use ibeam_policy::RuleList;
use ibeam_protocol::Reason;
use serde_json::json;

use super::Report;
use crate::app::AppContext;
use crate::run::policy_rules::{ActiveRule, rules};

/// Returns the rules and settings that decide on calls, each with its origin.
///
/// # Errors
/// `BadConfig` for an invalid rule.
pub fn rule_list(app: &AppContext) -> Result<Report, Reason> {
    let rules = rules(app)?;
    let shown = |set: &ActiveRule| escape_to_one_line(&set.rule.to_string());
    let width = rules.iter().map(|set| shown(set).chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for set in &rules {
        let (list, rule, origin) = (&set.list, shown(set), escape_to_one_line(&set.origin));
        text.push_str(&format!("{:5}  {rule:width$}  # {origin}\n", list_name(*list)));
    }
    if rules.is_empty() {
        text.push_str(&format!("{}\n", app.base.catalogue.line(&PolicyLine::NoRules)));
    }
    let mut settings = Vec::new();
    let Settings { approval, sandbox, .. } = &app.base.settings;
    for (key, value, origin) in [
        ("approval", Some(&approval.value), &approval.origin),
        ("sandbox.mode", sandbox.mode.value.as_ref(), &sandbox.mode.origin),
    ] {
        let Some(value) = value else { continue };
        let origin = origin.to_string();
        text.push_str(&format!("{key} = \"{value}\"  # {}\n", escape_to_one_line(&origin)));
        settings.push(json!({ "key": key, "value": value, "origin": origin }));
    }
    let rows = rules.iter().map(|ActiveRule { list, rule, origin }| {
        json!({ "list": list_name(*list), "rule": rule.to_string(), "origin": origin })
    });
    let json = json!({ "rules": rows.collect::<Vec<_>>(), "settings": settings });
    Ok(Report { text, json, warnings: Vec::new() })
}

/// Returns the name of the list in the configuration.
pub fn list_name(list: RuleList) -> &'static str {
    match list {
        RuleList::Deny => "deny",
        RuleList::Ask => "ask",
        RuleList::Allow => "allow",
        RuleList::BuiltIn => "built-in",
    }
}
