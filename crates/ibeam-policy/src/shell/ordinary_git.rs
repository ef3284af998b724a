//! Ordinary arguments of git: sub-commands that stay in the repository, and their options.
//!
//! These sub-commands run nothing except what the user has configured and the repository's hooks, which no tool may
//! change. Left out are options that name a program (`--ext-diff`, `--open-files-in-pager`, `-s STRATEGY`), write
//! another file (`--output`), open an editor for more than a message, read input, or open a connection. Source: the
//! manuals of git 2.47.

use ibeam_protocol::sentence::Argument;
use ibeam_protocol::{Sentence, sentence, sentence_text};

use super::ordinary_arguments::{Operands, ProgramOptions, argument_objection, program};
use super::word::Word;
use super::wrapper::Call;

/// Options of `git log`, `git diff` and similar sub-commands.
const LOG_OPTIONS: &str = "\
    oneline pretty? format= abbrev-commit no-abbrev-commit abbrev? no-abbrev graph no-graph decorate? \
    no-decorate decorate-refs= decorate-refs-exclude= source all branches? tags? remotes? glob= exclude= max-count= skip= \
    since= after= until= before= author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp \
    fixed-strings perl-regexp merges no-merges first-parent reverse date-order author-date-order topo-order date= \
    relative-date follow full-diff log-size simplify-by-decoration ancestry-path? full-history dense sparse \
    show-pulls cherry cherry-pick cherry-mark left-right left-only right-only boundary no-walk? do-walk walk-reflogs \
    merge diff-merges= no-diff-merges cc remerge-diff patch no-patch unified= raw patch-with-raw patch-with-stat stat? \
    compact-summary numstat shortstat dirstat? cumulative summary name-only name-status submodule? color? no-color \
    color-moved? no-color-moved word-diff? word-diff-regex= color-words? no-renames find-renames? find-copies? \
    find-copies-harder irreversible-delete rename-empty no-rename-empty minimal patience histogram diff-algorithm= \
    anchored= indent-heuristic no-indent-heuristic check full-index binary diff-filter= pickaxe-all pickaxe-regex \
    find-object= skip-to= rotate-to= relative? no-relative text ignore-cr-at-eol ignore-space-at-eol ignore-space-change \
    ignore-all-space ignore-blank-lines ignore-matching-lines= inter-hunk-context= function-context exit-code quiet \
    no-ext-diff no-textconv ignore-submodules? src-prefix= dst-prefix= no-prefix default-prefix line-prefix= \
    ita-invisible-in-index cached staged merge-base base ours theirs no-index count children parents notes? no-notes \
    show-notes? expand-tabs? no-expand-tabs encoding= left-only objects objects-edge disk-usage? timestamp \
    no-commit-header header numbered email summary group= root break-rewrites? stdin z reflog no-color-moved-ws \
    color-moved-ws= output-indicator-new= output-indicator-old= output-indicator-context= since-as-filter= clear-decorations";

/// Creates an entry for sub-commands, which have no harmful options that look like file names.
const fn git(
    names: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    long: &'static str,
) -> ProgramOptions {
    program(names, flags, valued, long).harmless()
}

const GIT: &[ProgramOptions] = &[
    git(
        &[
            "log", "show", "diff", "whatchanged", "shortlog", "rev-list", "diff-tree", "diff-index", "diff-files",
            "range-diff", "cherry", "show-branch",
        ],
        "puabcdegiklmnqrstvwzBCDEFHMNPRTUW0123456789",
        "LGOS",
        LOG_OPTIONS,
    ),
    git(
        &["status"],
        "sbvzu",
        "",
        "short branch show-stash porcelain? long verbose untracked-files? ignore-submodules? ignored? null column? \
         no-column ahead-behind no-ahead-behind renames no-renames find-renames?",
    ),
    // Not `-O`, which opens a pager.
    git(
        &["grep"],
        "iIvwxcLlhHnrqzaEGFPpWo0123456789",
        "efmABC",
        "cached untracked no-exclude-standard exclude-standard recurse-submodules text ignore-case no-textconv max-depth= \
         recursive no-recursive word-regexp invert-match full-name extended-regexp basic-regexp perl-regexp fixed-strings \
         line-number column files-with-matches name-only files-without-match null only-matching count color? no-color break \
         heading show-function context= after-context= before-context= function-context max-count= threads= and or not \
         all-match quiet",
    ),
    git(
        &["ls-files", "ls-tree"],
        "cdmostiukzvfrlt",
        "xX",
        "cached deleted modified others ignored stage directory no-empty-directory unmerged killed resolve-undo exclude= \
         exclude-from= exclude-per-directory= exclude-standard error-unmatch full-name recurse-submodules abbrev? debug eol \
         sparse deduplicate format= name-only name-status object-only full-tree long",
    ),
    git(
        &["rev-parse", "describe", "name-rev", "merge-base", "for-each-ref", "show-ref", "cat-file", "count-objects", "version"],
        "qtpesvhaH",
        "",
        "verify quiet short? abbrev-ref? symbolic symbolic-full-name all branches? tags? remotes? glob= exclude= \
         disambiguate= absolute-git-dir git-dir git-common-dir is-inside-git-dir is-inside-work-tree is-bare-repository \
         is-shallow-repository show-toplevel show-cdup show-prefix show-superproject-working-tree show-object-format? \
         show-ref-format git-path path-format= revs-only no-revs flags no-flags default not since= after= until= \
         before= contains? always long first-parent candidates= match= exact-match dirty? broken? abbrev? debug \
         name-only refs= stdin undefined octopus independent is-ancestor fork-point count= shell sort= format= color? \
         points-at= merged? no-merged? no-contains? ignore-case head heads dereference hash? verify exists \
         batch? batch-check? batch-all-objects buffer follow-symlinks allow-unknown-type unordered use-mailmap \
         human-readable verbose build-options",
    ),
    git(
        &["blame", "annotate"],
        "blrtfnsewcpM C0123456789",
        "L",
        "root show-stats reverse porcelain line-porcelain incremental encoding= first-parent color-lines color-by-age \
         date= ignore-rev= ignore-revs-file= abbrev? show-name show-number show-email progress no-progress",
    ),
    // Not `--edit-description`.
    git(
        &["branch", "tag"],
        "dDmMcCrafqvlin",
        "u",
        "delete move copy list all remotes show-current verbose quiet abbrev? no-abbrev column? no-column sort= merged? \
         no-merged? contains? no-contains? points-at= format= color? no-color ignore-case force create-reflog track? \
         no-track set-upstream-to= unset-upstream annotate",
    ),
    git(
        &["tag"],
        "dflian",
        "mF",
        "delete list force annotate message= file= sort= column? no-column contains? no-contains? merged? no-merged? \
         points-at= format= color? ignore-case create-reflog cleanup=",
    )
    .with_message(),
    git(
        &["commit"],
        "aqvsn",
        "mFC",
        "all message= file= quiet verbose signoff no-signoff no-verify allow-empty allow-empty-message amend no-edit \
         author= date= reset-author reuse-message= fixup= squash= only include dry-run short branch porcelain long null \
         cleanup= status no-status untracked-files? no-gpg-sign trailer= no-post-rewrite",
    )
    .with_message(),
    // Not `-i`, `-p` and `-e`.
    git(
        &["add"],
        "nvfuAN",
        "",
        "dry-run verbose force update all no-all ignore-removal no-ignore-removal intent-to-add refresh ignore-errors \
         ignore-missing sparse renormalize chmod= pathspec-from-file= pathspec-file-nul",
    ),
    git(
        &["checkout", "switch", "restore", "reset"],
        "qfbBcCdltNWS",
        "s",
        "quiet force ours theirs create= force-create= detach track? no-track guess no-guess orphan= progress no-progress \
         merge conflict= ignore-skip-worktree-bits overlay no-overlay overwrite-ignore no-overwrite-ignore discard-changes \
         source= staged worktree ignore-unmerged recurse-submodules? no-recurse-submodules soft mixed hard keep \
         pathspec-from-file= pathspec-file-nul intent-to-add no-refresh refresh",
    ),
    git(
        &["rm", "mv"],
        "rfnqvk",
        "",
        "cached force dry-run quiet ignore-unmatch sparse verbose pathspec-from-file= pathspec-file-nul",
    ),
    git(
        &["stash"],
        "qkuaSp",
        "m",
        "quiet keep-index no-keep-index include-untracked no-include-untracked only-untracked all message= index stat? \
         staged pathspec-from-file= pathspec-file-nul patch no-patch",
    )
    .with_message(),
    // Not `-s` and `-X`, which name a program.
    git(
        &["merge", "cherry-pick", "revert"],
        "nqvx",
        "mF",
        "abort continue quit skip ff no-ff ff-only commit no-commit stat no-stat squash no-squash log? no-log \
         allow-unrelated-histories message= file= quiet verbose progress no-progress autostash no-autostash no-edit \
         no-verify no-gpg-sign no-signoff signoff cleanup= mainline= allow-empty allow-empty-message keep-redundant-commits",
    )
    .with_message(),
    git(
        &["reflog", "notes", "symbolic-ref", "check-ignore", "check-attr", "config"],
        "qvnzdlrfa",
        "mF",
        "quiet verbose all stdin non-matching no-index oneline pretty? format= max-count= date= abbrev-commit short \
         recurse no-recurse delete message= file= force ref= cached source? get get-all list show-origin show-scope \
         name-only null type= bool int path global local system worktree default= no-type includes no-includes list \
         get-regexp expire? stat? no-patch decorate? graph since= until=",
    )
    .with_message(),
    // `git remote -v update` connects.
    git(&["remote"], "v", "", "verbose").with_operands(Operands::AtMost(0)),
    // Not `-f`, `-i` and `-e`.
    git(&["clean"], "ndxXq", "", "dry-run quiet"),
    // Not `--apply`, `--no-check`, `--reject`, `--3way` and `--unsafe-paths`.
    git(
        &["apply"],
        "vqRz",
        "pC",
        "check stat numstat summary verbose quiet reverse recount unidiff-zero ignore-space-change ignore-whitespace \
         allow-empty include= exclude= directory= whitespace=",
    ),
    // It runs no more than `git status`, which looks into submodules too.
    git(&["submodule"], "", "", "cached recursive"),
    git(&["worktree"], "v", "", "verbose porcelain").with_operands(Operands::AtMost(1)),
];

/// First arguments with which these commands neither change nor connect anything. All others are not ordinary. An option
/// that prevents a change comes first, because after another option it may be the value of that.
const LISTING: &[(&str, &[&str])] = &[
    ("apply", &["--check", "--stat", "--numstat", "--summary"]),
    (
        "clean",
        &[
            "-n",
            "--dry-run",
            "-nd",
            "-dn",
            "-nx",
            "-xn",
            "-nX",
            "-Xn",
            "-ndx",
            "-dxn",
            "-xdn",
            "-ndX",
            "-dXn",
            "-Xdn",
        ],
    ),
    ("submodule", &["status"]),
    ("config", &["--get", "--get-all", "--list", "-l", "get", "list"]),
    ("worktree", &["list"]),
    ("remote", &["-v", "--verbose"]),
    ("reflog", &["show", "exists", "list"]),
    ("notes", &["list", "show", "add", "append", "copy", "remove", "get-ref"]),
];

/// Effects of other sub-commands, as the end of a sentence "it …".
const EFFECTS: &[(&[&str], &str)] = &[
    (
        &[
            "pull",
            "fetch",
            "clone",
            "ls-remote",
            "remote",
            "submodule",
            "archive",
            "fetch-pack",
            "upload-pack",
        ],
        sentence_text!("uses the sub-command `{command}`, which can connect to other repositories"),
    ),
    (
        &["rebase", "bisect", "filter-branch", "am", "difftool", "mergetool"],
        sentence_text!("uses the sub-command `{command}`, which can run commands and change commits"),
    ),
    (
        &["clean", "gc", "prune", "reflog", "rm", "worktree", "notes"],
        sentence_text!("uses the sub-command `{command}`, which can delete what nothing else keeps"),
    ),
    (&["apply"], sentence_text!("uses the sub-command `{command}`, which changes files")),
    (
        &["config", "init"],
        sentence_text!("uses the sub-command `{command}`, which decides which programs git runs"),
    ),
];

/// Returns the arguments of git without its global options, and whether those were ordinary.
pub(crate) fn arguments(call: &Call) -> (Vec<&Word>, bool) {
    let mut args = call.args.iter();
    let mut ordinary = true;
    while let Some(arg) = args.next() {
        match arg.text.as_str() {
            "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" | "--exec-path"
            | "--super-prefix" => {
                ordinary = false;
                if arg.text != "--exec-path" {
                    args.next();
                }
            }
            "-C" => {
                args.next();
            }
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" | "--no-replace-objects" => {}
            "--version" | "--help" => return (vec![arg], ordinary),
            _ if !arg.is_known() => return (std::iter::once(arg).chain(args).collect(), false),
            option if option.starts_with('-') => ordinary = false,
            _ => return (std::iter::once(arg).chain(args).collect(), ordinary),
        }
    }
    (Vec::new(), ordinary)
}

/// Returns why the arguments of git are not ordinary.
pub(crate) fn objection(call: &Call) -> Option<Sentence> {
    let (arguments, ordinary) = arguments(call);
    if !ordinary {
        return Some(sentence!("has global options that can run programs"));
    }
    let (command, rest) = arguments.split_first()?;
    let command = command.text.as_str();
    if matches!(command, "--version" | "--help") {
        return None;
    }
    let programs = GIT.iter().filter(|program| program.names.contains(&command));
    let first = rest.first().map(|word| word.text.as_str());
    let listed = LISTING.iter().find(|(name, _)| *name == command);
    let known = match (listed, first) {
        (None, _) => programs.clone().count() > 0,
        // Without arguments these sub-commands only list, and so does `reflog` with an option.
        (Some(_), None) => !matches!(command, "config" | "clean" | "apply"),
        (Some((name, words)), Some(first)) => {
            words.contains(&first) || (*name == "reflog" && first.starts_with('-'))
        }
    };
    if !known {
        let known = EFFECTS.iter().find(|(names, _)| names.contains(&command));
        return Some(known.map_or_else(
            || {
                sentence!(
                    "uses the sub-command `{command}`, which is not one of those whose effects are known",
                    command
                )
            },
            |(_, template)| {
                Sentence::from_template(template, vec![("command", Argument::Text(command.to_owned()))])
            },
        ));
    }
    // `git log -p` shows a patch, but `git stash -p` is interactive and runs an editor.
    let words: Vec<(&str, bool)> = rest.iter().map(|word| (word.text.as_str(), word.has_glob)).collect();
    let shows = first == Some("show") || first == Some("list");
    if command == "stash" && !shows && words.iter().any(|(text, _)| matches!(*text, "-p" | "--patch")) {
        return Some(argument_objection("--patch"));
    }
    if command == "stash" && shows {
        return GIT.first().and_then(|showing| showing.objection_to(&words));
    }
    let mut objections = programs.map(|program| program.objection_to(&words));
    if objections.clone().any(|objection| objection.is_none()) { None } else { objections.next().flatten() }
}
