//! Ordinary arguments of programs that run code of their working directory: build scripts, tests, tasks.
//!
//! Allowing one of them allows the code of the workspace, which the model may change. Left out are options that reach
//! beyond the workspace: installing for the user, publishing, other programs, configuration from elsewhere.

use super::ordinary_arguments::{Operands, ProgramOptions, program};

const CARGO: &[&str] = &[
    "build",
    "b",
    "check",
    "c",
    "test",
    "t",
    "run",
    "r",
    "bench",
    "doc",
    "d",
    "clippy",
    "fmt",
    "clean",
    "tree",
    "metadata",
    "new",
    "init",
    "add",
    "remove",
    "rm",
    "update",
    "fetch",
    "vendor",
    "fix",
    "generate-lockfile",
    "pkgid",
    "locate-project",
    "version",
    "verify-project",
    "help",
    "nextest",
    "rustc",
    "rustdoc",
    "package",
    "info",
];

const SCRIPTS: &[&str] = &[
    "test",
    "t",
    "tst",
    "run",
    "run-script",
    "start",
    "stop",
    "restart",
    "ci",
    "install",
    "i",
    "add",
    "uninstall",
    "remove",
    "rm",
    "update",
    "up",
    "upgrade",
    "outdated",
    "ls",
    "list",
    "audit",
    "why",
    "explain",
    "view",
    "info",
    "prune",
    "dedupe",
    "rebuild",
    "fund",
    "pack",
    "version",
    "help",
    "build",
    "lint",
    "dev",
    "format",
    "typecheck",
    "check",
    "help",
];

const GO: &[&str] = &[
    "build", "test", "vet", "fmt", "list", "version", "run", "generate", "doc", "mod", "clean", "work",
    "help",
];

pub(crate) const CODE: &[ProgramOptions] = &[
    // Not `--config`, `-Z`, `install`, `publish` and logging in.
    program(
        &["cargo"],
        "qvrhVie",
        "pFj",
        "package= features= all-features no-default-features release profile= target= target-dir= manifest-path= \
         workspace all exclude= lib bin= bins example= examples test= tests bench= benches all-targets doc jobs= \
         keep-going quiet verbose color= message-format= locked offline frozen no-run no-fail-fast no-deps open \
         document-private-items edition= fix allow-dirty allow-staged check depth= invert= edges= prefix= format= \
         no-dev-dependencies format-version= filter-platform= dry-run dev build optional rename= path= \
         vers= lib-only aggressive precise= recursive timings? ignore-rust-version list show-output no-capture nocapture",
    )
    .with_operands(Operands::First(CARGO))
    .running_code(),
    // Not `exec`, `dlx`, `config`, `publish` and logging in; not `--global`, `--registry`, `--script-shell`.
    program(
        &["npm", "pnpm", "yarn", "bun"],
        "sDEOdqrwPSBfhF",
        "",
        "silent if-present ignore-scripts save-dev save-exact save-optional save-prod save-peer no-save workspace= \
         workspaces include-workspace-root omit= include= production frozen-lockfile immutable prefer-offline offline \
         no-audit no-fund audit fund json depth= all long parseable loglevel= legacy-peer-deps force filter= recursive \
         parallel stream color no-color progress no-progress package-lock-only dry-run watch coverage",
    )
    .with_operands(Operands::FirstPlain(SCRIPTS))
    .running_code(),
    // Not `--eval`, `-E`, `-I`, `-f` and assignments.
    program(
        &["make", "gmake"],
        "BbdiknpqrRsSjtwl0123456789",
        "CoW",
        "always-make debug? environment-overrides ignore-errors jobs? keep-going load-average? just-print dry-run recon \
         print-data-base question no-builtin-rules no-builtin-variables silent quiet no-silent touch trace \
         print-directory no-print-directory directory= output-sync? warn-undefined-variables",
    )
    .with_operands(Operands::NoAssignments)
    .running_code(),
    program(&["ninja"], "nvdk0123456789", "Cjl", "quiet verbose").running_code(),
    // Not `-exec`, `-toolexec`, `-vettool`, `-overlay`, `-modfile`, `-o`; not `env`, `get`, `install`, `tool`.
    program(
        &["go"],
        "",
        "",
        "-v -race -run= -count= -short -timeout= -cover -covermode= -coverpkg= -bench= -benchmem -benchtime= -json \
         -failfast -parallel= -p= -tags= -mod= -n -x -a -m -u -cpu= -list= -skip= -shuffle= -trimpath -work -s -l -f= \
         -deps -test -e -all -cache -testcache -fullpath -fuzz= -fuzztime=",
    )
    .with_operands(Operands::FirstPlain(GO))
    .running_code(),
    // Not `-p`, `-c`, `-o`, `--rootdir`, `--basetemp` and options that write reports.
    program(
        &["pytest", "py.test"],
        "qvxslh",
        "kmnrW",
        "quiet verbose exitfirst maxfail= lf last-failed ff failed-first nf new-first sw stepwise tb= showlocals \
         no-showlocals collect-only co durations= no-header no-summary capture= color= strict-markers strict-config \
         markers fixtures import-mode= ignore= ignore-glob= deselect= cov? no-cov numprocesses= dist= timeout= pyargs \
         disable-warnings runxfail setup-show",
    )
    .running_code(),
    // Not `--rulesdir`, `--resolve-plugins-relative-to`, `-f`, `--parser`, `--plugin`, `-c` and `-o`.
    program(
        &["eslint"],
        "h",
        "",
        "fix fix-dry-run fix-type= ext= quiet max-warnings= cache no-cache no-inline-config \
         report-unused-disable-directives color no-color no-error-on-unmatched-pattern ignore-pattern= no-ignore",
    )
    .running_code(),
    program(
        &["prettier"],
        "clwuh",
        "",
        "check list-different write ignore-unknown no-config no-editorconfig log-level= no-error-on-unmatched-pattern \
         single-quote tab-width= print-width= prose-wrap=",
    )
    .running_code(),
    program(
        &["tsc"],
        "bwphv",
        "",
        "noEmit build watch project pretty listFiles showConfig skipLibCheck strict incremental force dry verbose clean",
    )
    .running_code(),
    program(
        &["jest", "vitest"],
        "buwh",
        "t",
        "bail ci coverage watch watchAll verbose runInBand maxWorkers= testNamePattern= testPathPattern= \
         updateSnapshot passWithNoTests onlyChanged findRelatedTests silent run",
    )
    .running_code(),
    program(
        &["ruff"],
        "qvseh",
        "",
        "fix unsafe-fixes diff check select= ignore= extend-select= extend-ignore= exclude= line-length= target-version= \
         output-format= statistics quiet verbose silent no-cache watch show-files show-settings preview exit-zero",
    )
    .with_operands(Operands::First(&["check", "format", "rule", "linter", "version", "help"]))
    .running_code(),
    program(
        &["black", "isort"],
        "qvlhtCS",
        "",
        "check diff color no-color quiet verbose line-length= target-version= skip-string-normalization \
         skip-magic-trailing-comma fast safe preview include= exclude= extend-exclude= profile= check-only",
    )
    .running_code(),
    program(
        &["mypy"],
        "vhpm",
        "",
        "strict ignore-missing-imports follow-imports= show-error-codes pretty no-error-summary exclude= \
         python-version= no-incremental namespace-packages explicit-package-bases check-untyped-defs",
    )
    .running_code(),
    program(&["rustfmt"], "lvqh", "", "check edition= color= files-with-diff verbose quiet").running_code(),
    program(&["gofmt"], "", "", "-l -d -s -w -e").running_code(),
    // Not indexes, targets and addresses.
    program(
        &["pip", "pip3"],
        "qvUreh",
        "",
        "upgrade requirement= editable= quiet verbose no-deps pre outdated uptodate format= not-required no-cache-dir \
         disable-pip-version-check no-input yes",
    )
    .with_operands(Operands::FirstPlain(&["install", "uninstall", "list", "show", "freeze", "check", "inspect", "help"]))
    .running_code(),
    program(&["uv"], "qvh", "", "frozen locked offline quiet verbose")
        .with_operands(Operands::First(&["sync", "lock", "tree", "version", "help"]))
        .running_code(),
    program(&["openssl"], "", "", "-a").with_operands(Operands::First(&["version"])),
];
