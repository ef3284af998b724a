//! The advice of an error of the command line: only what is close to what was typed, and never more rights.

use clap::Error;
use clap::error::{ContextKind, ContextValue};

use crate::similar_names::is_similar;

/// Flags that allow more. Whoever mistypes another flag must not be led to one of them.
const GRANTING: &[&str] =
    &["--yolo", "--force", "--trust", "--allow", "--approve-mcps", "--insecure", "--add-dir", "--sandbox"];

/// Returns the message of `error` in one line, without clap's prefix, usage block and advice on `--help`.
pub(super) fn message(mut error: Error) -> String {
    drop_poor_suggestions(&mut error);
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = text.find("\n\nUsage:").or_else(|| text.find("\n\nFor more")).unwrap_or(text.len());
    let text = text.get(..end).unwrap_or(text);
    let text = text.replace("\n\n  tip: ", "; ").replace("\n  tip: ", "; ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes the suggestions that are far from what was typed or allow more than it.
fn drop_poor_suggestions(error: &mut Error) {
    for (typed, suggested) in [
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ] {
        let Some(ContextValue::String(typed)) = error.get(typed).cloned() else { continue };
        let kept = match error.remove(suggested) {
            Some(ContextValue::String(one)) if is_good(&typed, &one) => ContextValue::String(one),
            Some(ContextValue::Strings(mut several)) => {
                several.retain(|one| is_good(&typed, one));
                if several.is_empty() {
                    continue;
                }
                ContextValue::Strings(several)
            }
            Some(_) | None => continue,
        };
        error.insert(suggested, kept);
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg).cloned() else { return };
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        // `'models --providers' exists`: the flag of a sub-command.
        tips.retain(|tip| {
            let tip = tip.to_string();
            let flag = tip.strip_suffix("' exists").and_then(|named| named.rsplit(' ').next());
            flag.is_none_or(|flag| is_good(&typed, flag))
        });
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
}

/// Whether `suggested` is worth a suggestion to a person who typed `typed`.
fn is_good(typed: &str, suggested: &str) -> bool {
    let bare = |word: &str| word.trim_start_matches('-').to_owned();
    let grants = GRANTING.iter().any(|flag| suggested.starts_with(flag));
    !grants && is_similar(&bare(typed), &bare(suggested))
}

#[cfg(test)]
mod tests {
    use ibeam_output::{Catalogue, Locale};

    use crate::cli::{ParseExit, parse};

    #[track_caller]
    fn check(args: &[&str], suggests: Option<&str>) {
        let args: Vec<_> = args.iter().map(Into::into).collect();
        let Err(ParseExit::Error(error)) = parse(&args) else { panic!("{args:?} is understood") };
        let detail = error.explain(&Catalogue::new(Locale::En)).message;
        assert_eq!(detail.contains("similar") || detail.contains("' exists"), suggests.is_some(), "{detail}");
        assert!(suggests.is_none_or(|flag| detail.contains(flag)), "{detail}");
    }

    #[test]
    fn no_flag_that_allows_more_is_suggested() {
        for flag in ["--color", "--yol", "--forc", "--trus", "--allo", "--approve-mcp"] {
            check(&[flag, "x"], None);
        }
    }

    #[test]
    fn a_near_flag_command_or_value_is_suggested() {
        check(&["--heartbeet", "x"], Some("--heartbeat"));
        check(&["--max-turn", "x"], Some("--max-turns"));
        check(&["--output", "x"], Some("--output-format"));
        check(&["sessions", "chek"], Some("check"));
        check(&["--output-format", "jsn", "x"], Some("json"));
    }

    #[test]
    fn a_far_one_is_not() {
        for flag in ["--temperature", "--mcp-debug", "--profile", "--no-color", "--settings"] {
            check(&[flag, "x"], None);
        }
        check(&["sessions", "clone"], None);
    }
}
