use std::fs;

use super::*;
use crate::text_sources::AddedDirectory;

/// Writes files, as pairs of a path and a text, and returns the places.
fn places(files: &[(&str, &str)], is_trusted: bool) -> (tempfile::TempDir, TextSources) {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("project/inner")).unwrap();
    for (name, text) in files {
        fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
        fs::write(top.join(name), text).unwrap();
    }
    let sources = TextSources {
        workspace: top.join("project/inner"),
        root: top.join("project"),
        is_trusted,
        user_directories: vec![top.join("config"), top.join("home/.claude")],
        ..TextSources::default()
    };
    (directory, sources)
}

/// The commands of an added directory come after those of the workspace, and are trusted apart from it.
#[test]
fn the_commands_of_added_directories_have_a_trust_of_their_own() {
    let files = [
        ("project/.claude/commands/fix.md", "Fix $1."),
        ("added/.cursor/commands/fix.md", "Other."),
        ("added/.cursor/commands/ship.md", "Ship $1."),
    ];
    for is_trusted in [true, false] {
        let (_directory, sources) = places(&files, !is_trusted);
        let path = sources.root.parent().unwrap().join("added");
        let added_directories = vec![AddedDirectory { path, is_trusted }];
        let sources = TextSources { added_directories, ..sources };
        let (fix, ship) = (added(&sources, "/fix 7").unwrap(), added(&sources, "/ship it").unwrap());
        assert!(fix.contains("Fix 7.") && ship.contains("Ship it."), "{fix} {ship}");
        let is_content = |text: &str| text.contains("not words of the user");
        assert_eq!((is_content(&fix), is_content(&ship)), (is_trusted, !is_trusted), "{fix} {ship}");
    }
}

/// Returns the text that a prompt gets from a command.
fn added(sources: &TextSources, prompt: &str) -> Option<String> {
    let mut prompt = UserPrompt::from(vec![prompt.to_owned(), "piped".to_owned()]);
    let words = prompt.texts[0].clone();
    let notices = expand(sources, &Skills::load(sources), &Redactor::new([]), &mut prompt);
    assert!(notices.is_empty(), "{notices:?}");
    assert_eq!((prompt.texts[0].as_str(), prompt.texts.last().unwrap().as_str()), (words.as_str(), "piped"));
    (prompt.texts.len() == 3).then(|| prompt.texts[1].clone())
}

#[test]
fn a_command_is_a_file_of_ibeam_claude_code_or_cursor() {
    let files = [
        ("project/.ibeam/commands/own.md", "Own $1."),
        (
            "project/.claude/commands/fix.md",
            "---\nargument-hint: [issue]\nallowed-tools: Bash(*)\n---\nFix $ARGUMENTS.",
        ),
        ("project/.cursor/commands/tidy.md", "# Tidy\n\nTidy up."),
        ("project/inner/.claude/commands/front/end.md", "Inner."),
        ("config/commands/mine.md", "Mine."),
    ];
    let (_directory, sources) = places(&files, true);
    for (prompt, expect) in [
        ("/own x", "Own x."),
        ("  /fix issue 7 ", "Fix issue 7."),
        ("/tidy", "# Tidy\n\nTidy up."),
        ("/front:end", "Inner."),
        ("/end", "Inner."),
        ("/mine", "Mine."),
    ] {
        let text = added(&sources, prompt).unwrap();
        let (heading, text) = text.split_once(":\n\n").unwrap();
        assert!(heading.starts_with("The text of the command `/"), "{heading}");
        assert_eq!(text, expect, "{prompt}");
    }
}

#[test]
fn a_prompt_without_a_command_stays_as_it_is() {
    let (_directory, sources) = places(&[("project/.claude/commands/fix.md", "Fix.")], true);
    for prompt in ["/usr/bin is full", "/tmp", "/", "/ fix", "fix", "//fix", "/../fix", "/fix.", "see /fix"] {
        assert_eq!(added(&sources, prompt), None, "{prompt}");
    }
}

#[test]
fn a_command_of_an_untrusted_repository_is_marked_content() {
    let files =
        [("project/.claude/commands/fix.md", "Fix.\u{200b}"), ("home/.claude/commands/mine.md", "Mine.")];
    let (_directory, sources) = places(&files, false);
    let text = added(&sources, "/fix").unwrap();
    assert!(text.contains("not words of the user") && text.contains("Fix.<U+200B>"), "{text}");
    assert!(!added(&sources, "/mine").unwrap().contains("content of the repository"));
}

#[test]
fn a_skill_is_a_command_after_the_files() {
    let files = [
        ("project/.agents/skills/review/SKILL.md", "---\nname: review\ndescription: d\n---\nReview $1."),
        ("project/.agents/skills/fix/SKILL.md", "---\ndescription: d\n---\nskill"),
        ("project/.agents/skills/model/SKILL.md", "---\ndescription: d\nuser-invocable: false\n---\nx"),
        ("project/.cursor/commands/fix.md", "command"),
    ];
    let (_directory, sources) = places(&files, true);
    assert!(added(&sources, "/review main").unwrap().ends_with("Review main."));
    assert!(added(&sources, "/fix").unwrap().ends_with("command"));
    assert_eq!(added(&sources, "/model"), None);
    let names: Vec<String> =
        available(&sources, &Skills::load(&sources)).into_iter().map(|command| command.name).collect();
    assert_eq!(names, ["fix", "review"]);
}

#[test]
fn the_list_describes_each_command_once() {
    let files = [
        ("config/commands/fix.md", "---\ndescription: mine\nargument-hint: [a] [b]\n---\nx"),
        ("project/.claude/commands/fix.md", "other"),
        ("project/.cursor/commands/tidy.md", "\n# Tidy up\n\ntext"),
    ];
    let (_directory, sources) = places(&files, true);
    let commands = available(&sources, &Skills::default());
    let about: Vec<_> = commands
        .iter()
        .map(|command| {
            (command.name.as_str(), command.description.as_str(), command.argument_hint.as_deref())
        })
        .collect();
    assert_eq!(about, [("fix", "mine", Some("[a] [b]")), ("tidy", "Tidy up", None)]);
}

#[test]
fn a_line_of_a_header_that_is_not_valid_is_named_and_the_command_is_used() {
    let (_directory, sources) = places(&[("project/.claude/commands/fix.md", "---\na: \"b\n---\nx")], true);
    let mut prompt = UserPrompt::from(vec!["/fix".to_owned()]);
    let notices = expand(&sources, &Skills::default(), &Redactor::new([]), &mut prompt);
    assert!(matches!(notices.as_slice(), [Notice::TextFileIgnored { .. }]), "{notices:?}");
    assert!(prompt.texts.len() == 2 && prompt.texts[1].ends_with("\n\nx"), "{prompt:?}");
}
