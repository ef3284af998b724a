//! Commands that publish: that by their words change something on a service outside this machine, such as `git push`.
//!
//! The sandbox keeps the effects of other commands in the workspace, where undo takes them back. What was published stays
//! published. So where a person can answer, such a command is asked about in the sandbox too. Only words count: a script
//! or a program under another name that publishes is not recognised.

use ibeam_protocol::sentence_text;

use super::ordinary_git;
use super::program_lists::{CODE_RUNNERS, never_ordinary};
use super::wrapper::Call;

/// Why a command that publishes needs a person, as the end of a sentence "it …".
pub(crate) const PUBLISHES: &str =
    sentence_text!("publishes or changes something on a service, which `ibeam undo` does not take back");

/// Programs, and their sub-commands that publish, separated by `;`. A sub-command is a sequence of words; `a/b` is one of
/// both. A word with a dash is an option anywhere, `*` any words before the next one.
const PUBLISHING: &[(&[&str], &str)] = &[
    // version control
    (
        &["git"],
        "push; send-pack; http-push; send-email; imap-send; lfs push; subtree push; svn dcommit; p4 submit; flow publish",
    ),
    (&["jj", "sl"], "git push; push; submit"),
    (&["hg", "bzr", "brz", "fossil", "darcs"], "push; email; send; sync"),
    (&["svn", "cvs"], "commit/ci/import"),
    (&["p4"], "submit"),
    (&["gt"], "submit; ss; stack submit"),
    (
        &["gh", "glab", "hub", "tea"],
        "pr/mr/pulls create/new/merge/close/comment/note/edit/update/ready/reopen/revert/review/approve/revoke/\
         update-branch/rebase/lock/unlock; \
         issue/issues create/new/close/comment/note/delete/edit/update/develop/lock/unlock/pin/unpin/reopen/transfer; \
         release/releases create/new/delete/delete-asset/edit/upload; \
         repo create/new/delete/edit/fork/rename/archive/unarchive/sync/transfer/publish; \
         workflow run/enable/disable; run cancel/delete/rerun; ci run/retry/trigger/cancel/delete; \
         gist/snippet create/new/delete/edit/rename; secret/variable/label set/create/delete/remove/edit/clone/update; \
         ssh-key/gpg-key/deploy-key add/delete; cache/codespace/project/schedule create/delete/edit/run; \
         pull-request; push; merge; fork; create; \
         api -X/--method/-f/--field/-F/--raw-field/--input/--form",
    ),
    // registries of packages and images
    (
        &["npm", "pnpm", "yarn", "bun"],
        "publish/unpublish/deprecate/undeprecate/star/unstar; npm publish; dist-tag/tag add/rm/set/remove; \
         owner/author/access/team/token/org/hook add/rm/set/grant/revoke/create/destroy/update; \
         dlx/exec/x lerna/changeset/semantic-release",
    ),
    (&["lerna", "changeset", "rush", "vsce", "ovsx", "jsr"], "publish; unpublish"),
    (&["deno"], "publish; deploy"),
    (&["cargo"], "publish/yank/owner/release/smart-release; ws/workspaces publish"),
    (
        &["docker", "podman", "nerdctl", "buildah", "finch"],
        "push; image/manifest/compose/plugin push; stack/app deploy; build/bake --push; buildx build/bake --push; \
         buildx imagetools create",
    ),
    (&["docker-compose", "podman-compose", "oras"], "push"),
    (&["crane", "skopeo", "regctl"], "push/copy/sync/delete/tag/append/mutate/rebase; image copy/delete/mod"),
    (&["helm"], "install/upgrade/uninstall/delete/rollback/push"),
    (&["twine", "anaconda"], "upload/register"),
    (&["uv", "poetry", "hatch", "flit", "pdm", "rye", "maturin", "pixi"], "publish/upload"),
    (&["python", "python3"], "setup.py * upload/register"),
    (&["gem"], "push/yank/owner"),
    (&["mvn", "mvnw", "mvnd"], "* deploy/release:perform/deploy:deploy/deploy:deploy-file"),
    (
        &["gradle", "gradlew", "sbt"],
        "* publish/upload/uploadArchives/publishPlugins/publishToSonatype/publishSigned",
    ),
    (&["dotnet", "nuget"], "nuget push/delete; push/delete"),
    (&["mix"], "hex.publish"),
    (&["lein", "clojure"], "deploy"),
    (&["cabal", "stack"], "upload"),
    (&["dart", "flutter", "luarocks", "opam", "pod", "conan"], "pub publish; upload; publish; trunk push"),
    (&["goreleaser"], "release"),
    // clusters, clouds and hosts
    (
        &["kubectl", "oc", "k3s"],
        "apply/create/delete/replace/patch/edit/scale/autoscale/drain/cordon/uncordon/taint/label/annotate/set/expose/run; \
         rollout restart/undo/pause/resume; kubectl apply/create/delete/replace/patch/scale",
    ),
    (
        &["terraform", "tofu", "terragrunt", "cdktf"],
        "apply/destroy/import/taint/untaint/deploy; run-all apply/destroy; state rm/mv/push",
    ),
    (&["pulumi"], "up/update/destroy/import/refresh/cancel"),
    (
        &["cdk", "sam", "serverless", "sls", "copilot", "eb", "amplify", "zappa", "chalice"],
        "deploy/destroy/remove/delete/publish",
    ),
    (
        &[
            "vercel", "netlify", "wrangler", "firebase", "fly", "flyctl", "railway", "render", "eas",
            "surge", "cf", "gcloud",
        ],
        "deploy/promote/rollback/redeploy/publish/launch/submit/update/up/push; \
         pages/app/run/functions/versions/builds deploy/submit/replace",
    ),
    (
        &["heroku"],
        "container:release/container:push/releases:rollback/config:set/ps:scale/apps:create/apps:destroy",
    ),
    (&["supabase"], "db push; functions deploy"),
    (
        &["aws"],
        "s3 rm/rb/mb/mv/sync; cloudformation deploy/create-stack/update-stack/delete-stack; \
         lambda create-function/update-function-code/delete-function; ecs update-service; ecr delete-repository",
    ),
];

/// Programs that run what their arguments name, in addition to those that are never ordinary.
const RUNNERS: &[&str] = &[
    "npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "uv", "poetry", "pdm", "hatch",
    "rye", "pixi", "bundle", "nix", "mise", "eval",
];

/// Returns the pattern of a rule that covers the arguments of a call which publishes; `None` if it does not.
pub(crate) fn publishing_pattern(call: &Call) -> Option<String> {
    let name = call.name();
    let args: Vec<&str> = match name.as_str() {
        "git" => ordinary_git::arguments(call).0.into_iter().map(|word| word.text.as_str()).collect(),
        _ => call.texts().collect(),
    };
    publishing_arguments(&name, &args).or_else(|| {
        let runs_arguments = never_ordinary(&name).is_some()
            || [RUNNERS, CODE_RUNNERS].iter().any(|list| list.contains(&name.as_str()));
        (runs_arguments && may_publish(&args.join(" "))).then(|| "*".to_owned())
    })
}

/// Whether a text that cannot be analyzed has the words of a command that publishes.
pub(crate) fn may_publish(text: &str) -> bool {
    text.split(['\n', ';', '&', '|', '(', ')', '{', '}', '`']).any(|command| {
        let mut words = command.split([' ', '\t', '"', '\'', ',', '[', ']']).filter(|word| !word.is_empty());
        while let Some(program) = words.next() {
            let name = program.rsplit('/').next().unwrap_or_default().to_lowercase();
            if is_listed(&name) && publishing_arguments(&name, &words.clone().collect::<Vec<_>>()).is_some() {
                return true;
            }
        }
        false
    })
}

fn is_listed(name: &str) -> bool {
    PUBLISHING.iter().any(|(programs, _)| programs.contains(&name))
}

/// Returns the pattern of a rule that covers these arguments of a program, if they publish.
fn publishing_arguments(name: &str, args: &[&str]) -> Option<String> {
    let rows = PUBLISHING.iter().filter(|(programs, _)| programs.contains(&name));
    rows.flat_map(|(_, commands)| commands.split(';')).find_map(|command| {
        let end = sub_command_end(command, args)?;
        let (words, rest) = args.split_at_checked(end)?;
        if is_trial(rest) {
            return None;
        }
        // A rule compares the arguments from the first on.
        let is_plain = words.iter().all(|word| !word.starts_with(['-', '+']));
        Some(if is_plain { format!("{}*", words.join(" ")) } else { "*".to_owned() })
    })
}

/// Returns the position after the words of a sub-command of the table; `None` if the arguments are of another one.
fn sub_command_end(command: &str, args: &[&str]) -> Option<usize> {
    let (mut end, mut anywhere) = (0, false);
    for word in command.split_ascii_whitespace() {
        let alternatives = word.split('/');
        if word == "*" {
            anywhere = true;
        } else if word.starts_with('-') {
            if !args.iter().any(|arg| alternatives.clone().any(|option| is_option(arg, option))) {
                return None;
            }
        } else {
            // The word after an option may be its value or the sub-command.
            let mut may_be_value = false;
            let rest = args.get(end..)?.iter();
            let at = rest.enumerate().find_map(|(at, arg)| {
                let is_option = arg.starts_with(['-', '+']);
                let found = !is_option && alternatives.clone().any(|known| known == *arg);
                let ends = !is_option && !may_be_value && !anywhere;
                may_be_value = arg.starts_with('-') && !arg.contains('=');
                (found || ends).then_some(found.then_some(at))
            });
            end += at.flatten()? + 1;
        }
    }
    Some(end)
}

/// Whether an argument is an option of the table, with or without its value.
fn is_option(arg: &str, option: &str) -> bool {
    match arg.strip_prefix(option) {
        Some(value) => value.is_empty() || value.starts_with('=') || !option.starts_with("--"),
        None => false,
    }
}

/// Whether the arguments after a sub-command certainly ask for a trial or for help. A word after an option may be its
/// value, and a later word may cancel the trial.
fn is_trial(args: &[&str]) -> bool {
    const TRIALS: &[&str] = &["--dry-run", "--dry-run=client", "--dry-run=server", "--help"];
    let cancels = |arg: &&str| {
        let is_other = arg.starts_with("--dry-run") && !TRIALS.contains(arg);
        is_other || arg.starts_with("--no-d") || arg.contains('$') || matches!(*arg, "--" | "false" | "no")
    };
    let before = std::iter::once(&"").chain(args);
    let mut pairs = before.zip(args);
    let asks =
        pairs.any(|(before, arg)| TRIALS.contains(arg) && (!before.starts_with('-') || before.contains('=')));
    asks && !args.iter().any(cancels)
}
