use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::text_sources::AddedDirectory;

/// Writes skills, as pairs of a path and a text, and returns the places.
fn places(files: &[(&str, &str)]) -> (tempfile::TempDir, TextSources) {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("project")).unwrap();
    for (name, text) in files {
        fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
        fs::write(top.join(name), text).unwrap();
    }
    let sources = TextSources {
        workspace: top.join("project"),
        root: top.join("project"),
        user_directories: vec![top.join("config"), top.join("home/.agents")],
        ..TextSources::default()
    };
    (directory, sources)
}

const REVIEW: &str = "---\nname: review\ndescription: >\n  Reviews\n  changes.\nlicense: MIT\nmetadata:\n  \
                      author: me\nallowed-tools: Bash(rm:*)\n---\nRead the diff.\n";

#[test]
fn skills_are_found_in_the_folders_of_all_programs_and_of_the_user() {
    let skill = |name: &str| format!("---\nname: {name}\ndescription: about {name}\n---\ntext");
    let names = [".ibeam", ".agents", ".claude", ".cursor", ".codex"];
    let mut files: Vec<(String, String)> = names
        .iter()
        .map(|name| (format!("project/{name}/skills/x/SKILL.md"), skill(name.trim_start_matches('.'))))
        .collect();
    files.push(("home/.agents/skills/mine/SKILL.md".to_owned(), skill("mine")));
    files.push(("config/skills/hidden/SKILL.md".to_owned(), skill("hidden")));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (_directory, sources) = places(&files);
    let skills = Skills::load(&sources);
    let found: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(found, ["mine", "ibeam", "agents", "claude", "cursor", "codex"]);
    assert!(skills.list_text(TextOwner::User, true).unwrap().ends_with("\n- mine: about mine\n"));
    let project = skills.list_text(TextOwner::Project, false).unwrap();
    assert!(project.contains("- claude: about claude\n") && !project.contains("mine"), "{project}");
}

#[test]
fn the_header_of_a_skill_names_and_describes_it() {
    let files = [
        ("project/.claude/skills/review/SKILL.md", REVIEW),
        ("project/.claude/skills/folder-name/SKILL.md", "---\ndescription: d\n---\nx"),
        (
            "project/.claude/skills/quiet/SKILL.md",
            "---\ndescription: q\ndisable-model-invocation: true\n---\nx",
        ),
    ];
    let (_directory, sources) = places(&files);
    let skills = Skills::load(&sources);
    assert_eq!(skills.named("review").unwrap().description, "Reviews changes.");
    assert!(skills.named("folder-name").unwrap().is_offered);
    let list = skills.list_text(TextOwner::Project, false).unwrap();
    assert!(skills.named("quiet").is_some() && !list.contains("quiet"), "{list}");
    assert!(skills.notices().is_empty());
}

#[test]
fn an_invalid_skill_is_named_with_the_reason() {
    for (text, expect) in [
        ("---\nname: x\n---\n", "it has neither a `description`"),
        ("---\nname: a b\ndescription: d\n---\n", "`name: a b` should have letters"),
    ] {
        let (_directory, sources) = places(&[("project/.agents/skills/x/SKILL.md", text)]);
        let skills = Skills::load(&sources);
        let [Notice::TextFileIgnored { path, detail }] = skills.notices() else { panic!("{skills:?}") };
        assert!(path.ends_with("x/SKILL.md") && detail.starts_with(expect), "{detail}");
    }
}

#[test]
fn a_line_of_a_header_that_is_not_valid_is_named_and_the_skill_is_used() {
    let text = "---\ndescription: \"d\nuser-invocable: \"no\n---\n# Title\n\nShips it.\nMore.\n";
    let (_directory, sources) = places(&[("project/.agents/skills/ship/SKILL.md", text)]);
    let skills = Skills::load(&sources);
    let skill = skills.named("ship").unwrap();
    assert_eq!(
        (skill.description.as_str(), skill.is_offered, skill.is_invocable),
        ("Ships it.", true, false)
    );
    let [Notice::TextFileIgnored { path, detail }, Notice::TextFileIgnored { .. }] = skills.notices() else {
        panic!("{skills:?}")
    };
    assert!(
        path.ends_with("ship/SKILL.md: line 2 of its header") && detail == "a quote has no end",
        "{path} {detail}"
    );
}

#[test]
fn a_project_replaces_no_skill_of_the_user_and_reads_nothing_outside() {
    let (_directory, sources) = places(&[
        ("home/.agents/skills/review/SKILL.md", "---\ndescription: mine\n---\nx"),
        ("project/.agents/skills/review/SKILL.md", "---\ndescription: other\n---\nx"),
        ("outside/skill/SKILL.md", "---\nname: outside\ndescription: d\n---\nx"),
    ]);
    symlink("../../../outside/skill", sources.workspace.join(".agents/skills/link")).unwrap();
    symlink("review", sources.workspace.join(".agents/skills/inner")).unwrap();
    let skills = Skills::load(&sources);
    assert_eq!(skills.named("review").unwrap().description, "mine");
    assert!(skills.named("outside").is_none() && skills.named("inner").is_some(), "{skills:?}");
}

/// The skills of an added directory come after those of the workspace, and are trusted apart from it.
#[test]
fn the_skills_of_added_directories_have_a_trust_of_their_own() {
    let (_directory, sources) = places(&[
        ("project/.agents/skills/review/SKILL.md", REVIEW),
        ("added/.claude/skills/review/SKILL.md", "---\ndescription: other\n---\nx"),
        ("added/.claude/skills/ship/SKILL.md", "---\ndescription: Ships it.\n---\nSHIP-TEXT"),
    ]);
    let top = sources.workspace.parent().unwrap().to_owned();
    for is_trusted in [true, false] {
        let added = AddedDirectory { path: top.join("added"), is_trusted };
        let sources =
            TextSources { is_trusted: !is_trusted, added_directories: vec![added], ..sources.clone() };
        let skills = Skills::load(&sources);
        assert_eq!(skills.named("review").unwrap().description, "Reviews changes.");
        let (of_added, of_workspace) = (
            skills.list_text(TextOwner::Project, is_trusted).unwrap(),
            skills.list_text(TextOwner::Project, !is_trusted).unwrap(),
        );
        assert!(of_added.contains("- ship: Ships it.") && !of_added.contains("review"), "{of_added}");
        assert!(of_workspace.contains("- review") && !of_workspace.contains("ship"), "{of_workspace}");
        let text = skill_text(&sources, skills.named("ship").unwrap(), str::to_owned).unwrap();
        assert!(text.contains("SHIP-TEXT"), "{text}");
        assert_eq!(text.contains("content of the repository"), !is_trusted, "{text}");
    }
}

#[test]
fn the_text_of_a_skill_names_its_folder_and_its_other_files() {
    let (_directory, sources) = places(&[
        ("project/.agents/skills/review/SKILL.md", REVIEW),
        ("project/.agents/skills/review/scripts/check.sh", "true"),
    ]);
    let skills = Skills::load(&sources);
    let skill = skills.named("review").unwrap();
    let text = skill_text(&sources, skill, str::to_owned).unwrap();
    assert!(text.contains("content of the repository") && text.contains("Read the diff."), "{text}");
    assert!(text.contains("- scripts/check.sh\n") && !text.contains("allowed-tools"), "{text}");
    let trusted = TextSources { is_trusted: true, ..sources };
    let text = skill_text(&trusted, skill, str::to_owned).unwrap();
    assert!(text.starts_with("Instructions of the skill `review` in `"), "{text}");
}

#[test]
fn the_list_of_skills_is_bounded() {
    let long = "x".repeat(2000);
    let files: Vec<(String, String)> = (0..40)
        .map(|at| {
            (format!("project/.agents/skills/s{at}/SKILL.md"), format!("---\ndescription: {long}\n---\nx"))
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (_directory, sources) = places(&files);
    let skills = Skills::load(&sources);
    assert!(skills.list_text(TextOwner::Project, false).unwrap().len() < MAX_LIST_BYTES + 500);
    assert!(matches!(skills.notices(), [Notice::TextsCut { .. }]));
}
