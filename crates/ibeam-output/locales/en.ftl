# The English texts for people: the fallback for the other files, and their reference.
# Sentences after `error:`, `hint:` and `warning:` are lower case without a full stop, values in backticks.
# `detail` is the text of another program. It may be empty, and it comes last.
# A heading `NAME (PREFIX-): …` makes a type of the messages with that prefix, a variant for each with its arguments:
# `build/line_types.rs`. `# $ARGUMENT: FIELD` names the field from which an argument is made.

## Lines of `--output-format text`
action-read = Read file
    .failed = Failed to read file
    .refused = Not allowed to read file
action-edit = Edited file
    .failed = Failed to edit file
    .refused = Not allowed to edit file
action-create = Created new file
    .failed = Failed to write file
    .refused = Not allowed to write file
action-shell = Ran terminal command
    .failed = Terminal command failed
    .refused = Not allowed to run terminal command
action-background = Started background command
    .failed = Background command failed
    .refused = Not allowed to start background command
action-delete = Deleted file
    .failed = Failed to delete file
    .refused = Not allowed to delete file
action-search = Searched files
    .failed = Failed to search files
    .refused = Not allowed to search files
action-find = Found files
    .failed = Failed to find files
    .refused = Not allowed to find files
action-list = Listed directory
    .failed = Failed to list directory
    .refused = Not allowed to list directory
action-todos = Updated to-do list
    .failed = Failed to update to-do list
    .refused = Not allowed to update to-do list
action-fetch = Fetched web page
    .failed = Failed to fetch web page
    .refused = Not allowed to fetch web page
action-web-search = Searched the web
    .failed = Failed to search the web
    .refused = Not allowed to search the web
action-mcp = Called MCP tool
    .failed = MCP tool failed
    .refused = Not allowed to call MCP tool
action-task = Ran sub-agent
    .failed = Sub-agent failed
    .refused = Not allowed to run sub-agent
action-other = Called tool `{ $tool }`
    .failed = Tool `{ $tool }` failed
    .refused = Not allowed to call tool `{ $tool }`
action-with-detail = { $action }: { $detail }

## Failures: usage
reason-usage = { $detail }
cli-line-usage = { $detail }
    .hint = `ibeam help flags` lists the flags, `ibeam help commands` the commands
cli-command-usage = { $detail }
    .hint = `{ $command } --help` lists its arguments and flags
cli-mistyped-command = `{ $word }` is not a command; it is similar to `{ $near }`
    .hint = did you mean `ibeam { $near }`?
    .hint-prompt = to send it as a prompt: `ibeam -p { $word }`, or write more words
cli-conversation-command = `{ $word }` is not a command; in a conversation there is `{ $near }`
    .hint = `ibeam` starts a conversation; enter `{ $near }` there
    .hint-prompt = to send it as a prompt: `ibeam -p { $word }`, or write more than one word
cli-unknown-setting = the configuration has the unknown setting `{ $key }` (`{ $place }`)
    .hint = correct or delete it; `ibeam help configuration` lists the settings
cli-unknown-topic = `{ $word }` is neither a command nor a topic
    .hint = `ibeam help topics` lists the topics, `ibeam help commands` the commands
cli-mistyped-topic = `{ $word }` is neither a command nor a topic
    .hint = did you mean `ibeam help { $near }`?
    .hint-topics = `ibeam help topics` lists the topics, `ibeam help commands` the commands
cli-not-a-command = `{ $word }` is not a command
    .hint = `ibeam help flags` lists the flags, `ibeam help commands` the commands
    .hint-prompt = to send it as a prompt: `ibeam -p { $word }`, or write more than one word
cli-resume-in-prompt = `resume` after `-p` is a part of the prompt
    .hint = to continue the session: `ibeam resume { $session } -p PROMPT`
    .hint-prompt = to send it as a prompt, put `--` before it: `ibeam -p -- resume …`
reason-empty-prompt = the prompt is empty
    .hint = give it as an argument, `ibeam -p "…"`, or on stdin
reason-format-without-print = `--output-format` is valid only when printing
    .hint = add `--print`, or pipe stdin or stdout
reason-not-text = { $what } is not UTF-8 text without NUL characters
    .hint = convert it to UTF-8 first, for instance with `iconv`
reason-input-line = line { $line } of stdin is not a valid message: { $detail }
    .hint = `ibeam schema --format input` describes the lines; resume the session with the remaining ones
reason-invalid-json-schema = `{ $path }` is not a valid JSON Schema ({ $place }): { $detail }
    .hint = use a file with JSON Schema 2020-12 whose references stay within the file
reason-unsupported = this version does not support { $what }
    .hint = `ibeam help flags` lists what it supports

## Failures: keys, models, requests
reason-no-key = no API key for `{ $provider }`
    .hint = set `${ $variable }`, or run `ibeam login { $provider }`
    .hint-local = { $embedded ->
        [yes] `--model embedded` uses the embedded model, which needs no key
       *[no] `ibeam setup` installs a small model that needs no key
    }
reason-no-model = no key is set or stored, so no model can be used
    .hint = set a variable such as `$ANTHROPIC_API_KEY`, or run `ibeam login PROVIDER`; `ibeam models --providers` lists the providers
    .hint-server = a server on this machine needs no key: `--model ollama/NAME`
reason-key-unavailable = no API key for `{ $provider }` from `{ $setting }`: { $detail }
    .hint = `ibeam config explain` shows where `{ $setting }` is set
reason-key-refused = `{ $provider }` refused the API key: { $detail }
    .hint = `ibeam login { $provider }` stores another key; `ibeam status` shows which one is used
reason-key-refused-of-source = `{ $provider }` refused the API key of `{ $source }`: { $detail }
    .hint = change `{ $source }` or leave it out; it takes precedence over a key that `ibeam login { $provider }` stores
reason-unknown-provider = no provider is called `{ $provider }`
    .hint = `ibeam models --providers` lists the providers
reason-unknown-model = the model `{ $model }` is not known to provider `{ $provider }`
    .hint = `--model` names another; `ibeam models` lists what your key may use
reason-model-without-provider = no provider is known for the model `{ $model }`
    .hint = name it with `--model PROVIDER/NAME`; `ibeam models` lists the names
reason-no-default-model = `{ $provider }` has a key, but no default model
    .hint = name a model: `--model { $provider }/NAME`; `ibeam models` lists the names
reason-model-not-installed = the embedded model `{ $model }` is not set up
    .hint = `ibeam setup` downloads it (1.1 GB); a run with `--setup` does so first
    .hint-provider = to use a provider instead, run `ibeam login PROVIDER`
reason-no-key-and-no-model = no key is set, and the embedded model `{ $model }` is not set up
    .hint-provider = set a variable such as `$ANTHROPIC_API_KEY`, or run `ibeam login PROVIDER`; `ibeam models --providers` lists the providers
    .hint-server = a server on this machine needs no key: `--model ollama/NAME`
    .hint = `ibeam setup` downloads the embedded model (1.1 GB); a run with `--setup` does so first
cli-setup-failed = the embedded model could not be installed: { $detail }
    .hint = run `ibeam setup` again to continue, or choose a source: `ibeam setup --from registry|hub|FILE`
reason-local-model = cannot run the embedded model: { $detail }
    .hint = `ibeam doctor` shows what is missing; `ibeam setup` installs the model again
reason-no-local-engine = this program was built without the embedded model
    .hint = choose a provider with `ibeam login PROVIDER`, or build it with the feature `embedded`
reason-bad-request = `{ $provider }` rejected the request: { $detail }
    .hint = change what the message names, or choose another model with `--model PROVIDER/NAME`
reason-bad-request-reasoning = `{ $provider }` rejected the request: { $detail }
    .hint = leave out `--effort` and `--thinking-budget`, or choose another level
reason-bad-request-tools = `{ $provider }` rejected the request: { $detail }
    .hint = `--without TOOL` leaves out a tool; `ibeam mcp list-tools` lists those of servers
reason-bad-request-media = `{ $provider }` rejected the request: { $detail }
    .hint = leave out the image or document
reason-bad-request-output-limit = `{ $provider }` rejected the request: { $detail }
    .hint = set `limits.max_output_tokens` to a lower number
reason-context-too-long = the conversation is too long for the model of `{ $provider }`: { $detail }
    .hint = start a new session, or choose a model with more context with `--model`

## Failures: provider, network
reason-rate-limited = `{ $provider }` limits the rate of requests: { $detail }
    .hint = try again later, or choose another model with `--model`
reason-quota-exhausted = the credit or the quota at `{ $provider }` is exhausted: { $detail }
    .hint = check the billing of your account, or choose a model of another provider with `--model` or `--fallback-model`
reason-provider-failed = `{ $provider }` failed: { $detail }
    .hint = try again later, or choose another model with `--model`
reason-answer-truncated = the answer of `{ $provider }` ended before it was complete
    .hint = try again; a proxy on the way may be cutting long answers
reason-not-recorded = the recordings have no such request; the nearest is `{ $recording }`: { $difference }
    .hint = record the run again with `--record` into an empty directory
reason-unreachable = cannot reach `{ $address }`: { $detail }
    .hint = check the address, the network and `$HTTPS_PROXY`
reason-server-not-running = { $server } is not running at `{ $address }`: { $detail }
    .hint = start it, or name its address with `--endpoint URL`
reason-tls = no secure connection to `{ $address }`: { $detail }
    .hint = check the clock and the certificates of this system
reason-no-tls = the server at `{ $address }` does not speak TLS
    .hint = the address of a server without TLS begins with `http://`
reason-answer-too-slow = the answer of `{ $provider }` was not complete after { $seconds } s
    .hint = ask for smaller steps, or raise `timeouts.answer`
reason-stalled = `{ $provider }` sent nothing for { $seconds } s
    .hint = try again later, or choose another model with `--model`

## Failures: limits
reason-parked = the run is parked until `{ $path }` has an answer
    .hint = `ibeam -p --resume=ID --unpark --park-requests DIR` continues it once the answer is there
reason-fleet-driver-gone = the driver of the fleet is gone, and without it the limits of the fleet allow no request
    .hint = start the same `ibeam fleet run` or `ibeam fleet worker` again; it resumes the run
reason-turn-limit = { $limit ->
        [one] the run reached its limit of { $limit } model request
       *[other] the run reached its limit of { $limit } model requests
    }
    .hint = raise it with `--max-turns`
    .hint-resume = the session is kept; continue with `--continue`
reason-token-limit = the run used up its { $limit } tokens
    .hint = raise `--max-tokens`
    .hint-resume = the session is kept; continue with `--continue`
reason-cost-limit = the run used up its budget of ${ $limit }
    .hint = raise `--max-cost`
    .hint-resume = the session is kept; continue with `--continue`
reason-tool-call-limit = { $limit ->
        [one] the run used up its { $limit } tool call
       *[other] the run used up its { $limit } tool calls
    }
    .hint = raise `--max-tool-calls`
    .hint-resume = the session is kept; continue with `--continue`
reason-loop-guard = { $count ->
        [one] the model called `{ $tool }` { $count } time with the same arguments and the same result
       *[other] the model called `{ $tool }` { $count } times with the same arguments and the same result
    }
    .hint = rephrase the task, or choose another model with `--model`
reason-empty-answer = the model returned neither text nor a tool call, even when asked again
    .hint = rephrase the task, or choose another model with `--model`
reason-output-limit = the output limit cut the model's answer again and again
    .hint = ask for smaller steps, or choose another model with `--model`
reason-answer-paused = the service paused the answer { $count } times in a row and never completed it
    .hint = rephrase the task, or choose another model with `--model`
reason-invalid-arguments = the arguments of the calls of `{ $tool }` were not valid JSON in { $count } answers in a row
    .hint = ask for smaller steps, or choose another model with `--model`
reason-refused-with-message = the model declined to answer: { $message }
    .hint = rephrase the task, or choose another model with `--model`
reason-refused-in-category = the model declined to answer ({ $category }): { $message }
    .hint = rephrase the task, or choose another model with `--model`
reason-refused = the model declined to answer
    .hint = rephrase the task, or choose another model with `--model`
reason-prompt-refused = the hook `{ $hook }` refused the prompt: { $detail }
    .hint = rephrase the prompt; `ibeam help hooks` lists the files that configure hooks
reason-timed-out = the run took longer than { $seconds } s
    .hint = raise `--timeout`
    .hint-resume = the session is kept; continue with `--continue`
reason-denied = { $count ->
        [one] { $count } tool call was refused
       *[other] { $count } tool calls were refused
    }
    .hint = the warnings say why; `ibeam policy test` explains each decision
reason-tool-errors = { $count ->
        [one] { $count } tool call failed
       *[other] { $count } tool calls failed
    }
    .hint = `--output-format stream-json` shows each call with its result
reason-background-stopped = { $count ->
        [one] { $count } command was still running in the background at the end and was stopped
       *[other] { $count } commands were still running in the background at the end and were stopped
    }
    .hint = leave `--fail-on background` out, or let them end first with `--background wait`
reason-no-text = the run produced no text, only tool calls
    .hint = leave `--fail-on empty` out to accept that as a success
reason-answer-mismatch = { $repairs ->
        [one] the answer does not match the JSON Schema after one correction: { $detail }
       *[other] the answer does not match the JSON Schema after { $repairs } corrections: { $detail }
    }
    .hint = use a simpler schema, state the required form in the prompt, or use another model

## Failures: sessions, files, system
reason-session-damaged = the session `{ $session }` is damaged at line { $line }: { $detail }
    .hint = `ibeam sessions check { $session } --repair` keeps the intact part and moves the rest aside
    .hint-others = `ibeam sessions list` lists the other sessions
reason-unknown-session = there is no session `{ $session }`
    .hint = `ibeam sessions list` lists the sessions
reason-session-id-too-short = the beginning `{ $prefix }` of a session ID is too short; give at least { $minimum } characters
    .hint = `ibeam sessions list` lists the sessions
reason-ambiguous-session = several session IDs start with `{ $prefix }`: { $sessions }; give more characters
    .hint = `ibeam sessions list` lists the sessions
cli-unknown-run = `{ $source }` has no run { $run }; it has { $runs }
    .hint = leave `--run` out to see all of them
cli-no-session-or-file = `{ $name }` is neither a session nor a file
    .hint = `ibeam sessions list` lists the sessions; the beginning of an ID needs at least 4 characters
cli-not-in-quarantine = `{ $id }` is not in the quarantine
    .hint = `ibeam quarantine list` shows the names
cli-unknown-worktree = ibeam has made no worktree `{ $name }` for this repository
    .hint = `ibeam worktree list` lists them
cli-worktree-in-use = the worktree `{ $name }` is the one that you are in
    .hint = remove it from another directory, or name one with `--workspace`
cli-worktree-has-changes = the worktree `{ $name }` has changes that are nowhere else: uncommitted files: { $uncommitted }, unmerged commits: { $unmerged }
    .hint = commit and merge them; or remove it with `--force`: its branch stays, uncommitted changes are lost
cli-worktree-unreadable = whether the worktree `{ $name }` has changes is not known: { $detail }
    .hint = `--force` removes it in any case; its branch stays
cli-origin-unknown = the original path of `{ $id }` is unknown
    .hint = `--to PATH` moves it to another place
cli-nothing-to-undo = session `{ $session }` has nothing to undo
    .hint = checkpoints exist in git repositories, for turns that ran tools which may change files; `ibeam diff` shows what a session changed; `ibeam undo ID` takes another session, and `ibeam sessions list` lists them
cli-nothing-to-redo = session `{ $session }` has nothing to redo
    .hint = `ibeam undo --redo` takes back the last `ibeam undo` of a session
cli-already-undone = what session `{ $session }` changed is undone already
    .hint = `ibeam undo { $session } --redo` restores it
cli-session-held = session `{ $session }` is held by `{ $holder }`
    .hint = in that conversation, `/undo` and `/redo` do this; or end it first
cli-no-checkpoints = session `{ $session }` changed files, but has no checkpoints
    .hint = checkpoints need a git repository; `ibeam replay { $session }` shows the changes
cli-unknown-turn = session `{ $session }` has no turn { $turn }; it has { $turns }
    .hint = `ibeam replay SESSION` shows the turns
cli-no-repository = the workspace `{ $path }` is in no git repository of this user
    .hint = checkpoints need git; for another workspace use `--workspace DIR`
cli-files-changed-since = { $count ->
        [one] `{ $path }` has changed since; nothing was restored
       *[other] { $count } files have changed since, such as `{ $path }`; nothing was restored
    }
    .hint = `--force` overwrites them; `ibeam undo --redo` then brings them back
cli-files-changed-since-undo = { $count ->
        [one] `{ $path }` has changed since; nothing was restored
       *[other] { $count } files have changed since, such as `{ $path }`; nothing was restored
    }
    .hint = `--force` overwrites them; `--redo` then names the commit that has what was overwritten
cli-checkpoint-failed = cannot use the checkpoint: { $detail }
    .hint = `ibeam doctor` checks the installation; the checkpoints are in `checkpoints` of ibeam's data directory
cli-invalid-tasks = { $count ->
        [one] `{ $source }` line { $line } is not a valid task: { $detail }
       *[other] `{ $source }` has { $count } invalid tasks; the first is line { $line }: { $detail }
    }
    .hint = correct the file, or run the valid tasks with `--skip-invalid`; the format: `ibeam help fleet`
cli-no-tasks = the task file `{ $source }` has no tasks
    .hint = it has a JSON object on each line; the format: `ibeam help fleet`
cli-not-an-export = `{ $source }` is not an exported session
    .hint = `ibeam sessions export SESSION FILE` writes one
cli-damaged-export = the exported session in `{ $source }` is incomplete or was changed
    .hint = `ibeam sessions export SESSION FILE` writes it again
cli-invalid-hook-input = `{ $place }` is not a JSON object
    .hint = the object has the fields of the event that differ from the sample; `ibeam help hooks` has an example
cli-no-fleet = there is no fleet in `{ $directory }`
    .hint = `ibeam fleet run TASKS --dir { $directory }` starts one
cli-no-batch-fleet = no fleet was started with `--batch` in `{ $directory }`
    .hint = `ibeam fleet run TASKS --batch --dir DIR` starts one; `ibeam help batch` explains batches
cli-fleet-task-changed = the task `{ $task }` differs from the one in `{ $directory }`
    .hint = use another directory with `--dir`, or give the task another id
cli-fleet-in-use = another process runs the fleet in `{ $directory }`
    .hint = wait until it ends; `ibeam fleet status { $directory }` shows its state
cli-fleet-tasks-failed = { $failed } of { $total } tasks did not pass
    .hint = `ibeam fleet report { $directory }` lists the failures
cli-fleet-not-applied = { $failed } of { $total } changes were not applied
    .hint = the lines above name the reasons; nothing of these changes was applied in part
cli-fleet-unfinished = { $unfinished ->
        [one] one task is not finished: { $detail }
       *[other] { $unfinished } tasks are not finished: { $detail }
    }
    .hint = once the cause is removed, the same command resumes them
cli-fleet-budget-spent = { $unfinished ->
        [one] one task is not finished: the budget is spent
       *[other] { $unfinished } tasks are not finished: the budget is spent
    }
    .hint = `ibeam fleet run` with a larger `--budget-usd` or `--budget-tokens` resumes them
cli-fleet-waiting = { $waiting ->
        [one] one task waits for a batch
       *[other] { $waiting } tasks wait for batches
    }
    .hint = `ibeam fleet poll { $directory }` continues them when there are answers; with `--wait` it stays until the end
cli-stream-damaged = `{ $source }` is not a valid stream (line { $line }: { $detail })
    .hint = check that it is the right file and complete; `ibeam check FILE` lists what is wrong in a stream of ibeam
reason-retold = { $detail }
    .hint = the last line of the stream has its class and its exit code
reason-no-session-to-continue = there is no session in `{ $cwd }` yet
    .hint = `ibeam "PROMPT"` without `--continue` starts one
    .hint-all = `ibeam sessions list --all` lists the sessions of all directories
reason-session-elsewhere = the session `{ $session }` belongs to the workspace `{ $cwd }`
    .hint = resume it there, or name the workspace with `--workspace`
reason-no-plan = no run of the session `{ $session }` ended with a plan
    .hint = make one first: `ibeam -p --mode plan "TASK"`, then `--from-plan` with the id of its session
reason-invalid-trajectory = `{ $path }` is not a trajectory in the format ATIF: { $detail }
    .hint = the format is a JSON object with `schema_version`, `agent` and `steps`; `ibeam replay SESSION --output-format atif` writes one
reason-session-busy = the session `{ $session }` is held by `{ $holder }`
    .hint = wait for it to end, or continue in a new session with the same history: `--fork`
reason-session-leased = the session `{ $session }` is held by `{ $holder }`, whose lease is the file `{ $path }`
    .hint = if that process no longer runs, remove the file; or continue in a new session with the same history: `--fork`
reason-session-removed = the session of this run was removed while it worked: `{ $path }` does not exist any more
    .hint = what the run changed in the workspace stays; `--ephemeral` runs without a session
reason-input-too-large = the prompt on { $what } is longer than { $megabytes } MiB
    .hint = give the prompt the name of a file to read instead
reason-stdin-silent = stdin sent nothing and did not end within { $seconds } s
    .hint = give the prompt as an argument and close stdin with `</dev/null`
reason-workspace-gone = the workspace `{ $path }` was removed while the run worked in it
    .hint-resume = the session is kept; resume it with `--resume` in another directory
reason-worktree-setup = the set-up command `{ $command }` of the worktree failed (`{ $path }`): { $detail }
    .hint-network = it runs in the sandbox, like the commands of the model: `--allow-net HOST` grants it a host
    .hint-skip = the worktree stays, and the next run repeats the set-up; `--skip-worktree-setup` runs without it
reason-no-input = cannot read `{ $path }`: { $detail }
    .hint = check the path and its permissions
reason-cannot-create = cannot create `{ $path }`: { $detail }
    .hint = check that its directory exists, can be written and has free space
cli-file-exists = `{ $path }` already exists
    .hint = choose another name, or delete that file first
cli-name-taken = `{ $path }` already exists and was not made by this program; nothing was changed
    .hint = move it away, or choose another directory and put it before this one in PATH
reason-io = reading or writing failed at { $what }: { $detail }
    .hint = check the free space and the permissions
reason-output-closed = the reader of stdout went away
    .hint-resume = the session is kept; continue with `--continue`
reason-system = the system refused { $what }: { $detail }
    .hint = `ulimit -a` shows the limits on processes and open files
reason-no-sandbox = cannot set up the command sandbox: { $detail }
    .hint = `--sandbox disabled` runs without it; a command then runs only if a rule allows it (`--allow`, `--force`)
    .hint-doctor = `ibeam doctor --sandbox` shows what this system refuses
reason-untrusted = `{ $what }` comes from { $path }, and this workspace is not trusted
    .hint = check the file, then add `--trust`
reason-bad-config = the configuration in `{ $place }` is wrong: { $detail }
    .hint = `ibeam config explain` shows which file or variable sets each value
reason-bad-json-config = the configuration in `{ $place }` is wrong: { $detail }
    .hint = `ibeam help { $page }` describes this file
reason-unreadable-config = cannot read the configuration `{ $path }`: { $detail }
    .hint = check who may read it; `ibeam config path` lists the files of the configuration
reason-mcp-server-failed = the MCP server `{ $server }` did not start: { $detail }
    .hint = `ibeam mcp list` shows which file configures it; runs continue without a server unless it has `required = true`
reason-signalled = stopped by `{ $signal }`
    .hint-resume = the session is kept; continue with `--continue`
reason-internal = internal error: { $detail }
    .hint = this is a bug in ibeam; `ibeam about` prints what a report needs
failure-retry-after = { $message }; try again in { $time }
failure-near-name = did you mean `{ $near }`?
failure-request-id = the provider's ID of the failed request is `{ $id }`

## Table of failures
code-failed = the answer does not match the schema of --json-schema, even after corrections
code-usage = flags, an empty prompt, a format without print mode, or an invalid line of --input-format stream-json
code-denied = a hook refused the prompt; or a call was refused or failed, no text was given, or work was left running, and --fail-on makes that a failure
code-auth = no key, or the provider refused it
code-model = unknown model, or the embedded model is not set up
code-request = the provider rejected the request
code-context = the conversation is too long for the model, even after it was shortened
code-rate-limited = too many requests, after the retries, or an exhausted quota
code-provider = the provider failed, after the retries
code-network = no connection, or it broke
code-tls = no secure connection
code-stalled = nothing came for too long
code-limit = a limit of the run: requests, tokens, cost, tool calls, or the same call again and again
code-empty = the model gave neither text nor a call, even when asked again
code-refused = the model declined
code-timeout = the run took longer than --timeout
code-sandbox = the command sandbox cannot be set up
code-untrusted = what was asked for needs a trusted workspace
code-too-large = the prompt on stdin is too long, or never ends
code-data = a session is damaged, or a file has another format than expected
code-noinput = unknown session or file, the workspace is gone, or stdin never ended
code-internal = a bug in ibeam
code-os = the system refused a process, thread or file
code-cantcreat = a directory or file cannot be made
code-io = the disk is full, or the reader of stdout went away
code-busy = another process holds the session
code-config = the configuration is wrong
code-parked = the run waits for the answer to a request (--park-requests)
code-signal = a signal asked it to stop

## Warnings
notice-embedded-model = answering with the small embedded model `{ $model }`; choose another with `--model` or `ibeam login PROVIDER`
notice-embedded-model-with-key = { $message }; { $detail }
notice-effort-ignored = `--effort` and `--thinking-budget` have no effect: the model `{ $model }` has no setting for reasoning
notice-effort-changed = the model `{ $model }` does not accept the effort `{ $asked }`; `{ $used }` is used
notice-default-model-replaced = the service does not offer the default model `{ $from }`; `{ $to }` is used instead
unused-key = `${ $variable }` is set, but this version cannot use a key of { $service } directly: reach its models through OpenRouter (`ibeam login openrouter`), or, if it has a Chat Completions API, set `base_url` and `key_variable` in `[providers.NAME]`
notice-stdin-ignored = stdin sent nothing within { $seconds } s and was ignored; `--stdin ignore` skips the wait
notice-arguments-ignored = these arguments of `{ $dialect }` have no equivalent in ibeam and were ignored: { $arguments }
notice-budget-not-enforced = the limit of the cost is not enforced: the price of `{ $model }` is not known; set `models.prices."{ $model }" = "IN/OUT"` in dollars for a million tokens
notice-session-gaps = { $count ->
        [one] the journal of this session lacks, repeats or moves events in { $count } place: the conversation may be incomplete; `ibeam sessions check` reports on it
       *[other] the journal of this session lacks, repeats or moves events in { $count } places: the conversation may be incomplete; `ibeam sessions check` reports on it
    }
notice-session-lease-file = the file system of this session cannot lock files; `{ $path }` protects the session from a second writer while this run lasts
notice-session-unsynced = the run did not wait for the disk any longer; a resumed session may lack its last records
notice-calls-denied = { $count ->
        [one] { $count } tool call was refused
       *[other] { $count } tool calls were refused
    }
notice-unknown-stop-reason = the provider ended its answer for the unknown reason `{ $word }`; its calls are complete and were taken
notice-answer-cut = the output limit cut the answer; the model was asked to continue
notice-answer-interrupted = { $message }; the model was asked to continue its answer from there
notice-websocket-unavailable = `{ $provider }` cannot be used over WebSocket ({ $detail }); requests go over HTTP
notice-thinking-refused = `{ $provider }` refused the model's earlier reasoning; the request was repeated without it
notice-tools-refused = `{ $provider }` refused tools, which are left out of this session from here on: { $tools }
notice-tools-beyond-limit = `{ $provider }` accepts at most { $limit } tools; these are left out: { $tools }
notice-files-refused = `{ $provider }` refused files, which are left out of this session from here on: { $files }
notice-images-damaged = images are damaged or incomplete and are not sent: { $files }
notice-images-too-large = `{ $provider }` accepts images with at most { $limit } pixels on a side; these are not sent: { $files }
notice-files-beyond-limit = `{ $provider }` accepts at most { $limit } such files in a conversation; the oldest are no longer sent: { $files }
notice-model-fallback = `{ $from }` is unavailable ({ $message }); `{ $to }` takes over
notice-fallback-unusable = `{ $model }` cannot be used as a fallback model: { $message }
notice-answer-paused = the service paused the answer; it was sent back to be completed
notice-empty-answer = the answer was empty; the model was asked again
notice-answer-mismatch = the answer does not match the JSON Schema; the model was asked to correct it (correction { $attempt }): { $detail }
notice-repeated-call = { $count ->
        [one] the model has called `{ $tool }` { $count } time with the same arguments and the same result
       *[other] the model has called `{ $tool }` { $count } times with the same arguments and the same result
    }
notice-turns-near = { $percent } % of the model requests of this run are used; the model was asked to finish
notice-tokens-near = { $percent } % of the tokens of this run are used; the model was asked to finish
notice-cost-near = { $percent } % of the budget of this run is used; the model was asked to finish
notice-calls-near = { $percent } % of the tool calls of this run are used; the model was asked to finish
notice-time-near = { $percent } % of the time of this run is used; the model was asked to finish
notice-unknown-config-key = `{ $key }` in `{ $place }` is not a known setting and was ignored
notice-unknown-config-key-near = `{ $key }` in `{ $place }` is not a known setting and was ignored; did you mean `{ $near }`?
notice-untrusted-config-key = `{ $key }` in `{ $path }` was ignored: only a trusted workspace may set it (`--trust`)
notice-forbidden-config-key = `{ $key }` in `{ $path }` was ignored: a project may not set this value; the user's configuration may
notice-mcp-server-failed = the MCP server `{ $server }` did not start: { $detail }
notice-mcp-server-untrusted = the MCP server `{ $server }` of `{ $path }` was not started: only a trusted workspace may start programs (`--approve-mcps` or `--trust`)
notice-mcp-server-unsupported = the MCP server `{ $server }` uses the old transport `sse`, which is not supported; configure its URL for streamable HTTP
notice-hook-failed = the hook `{ $hook }` ({ $event }) failed, and the run continued without it: { $detail }
notice-subagents-untrusted = the sub-agents of `{ $path }` are not used: only those of a trusted workspace are (`--trust`)
notice-subagent-definition = the sub-agent definition `{ $path }`: { $detail }
notice-hooks-untrusted = the hooks of `{ $path }` were not run: only a trusted workspace may run programs (`--trust`)
notice-hooks-not-run = `{ $path }` has hooks that this version does not run: { $what }
notice-trust-changed = `{ $path }` has changed since this workspace was trusted: its files cannot widen or run anything until it is trusted again (`ibeam trust show`, `--trust`)
notice-trust-not-kept = what was trusted or approved counts for this run only, because `{ $path }` could not be written: { $detail }
notice-trust-unreadable = `{ $path }` cannot be used, so no workspace is trusted: { $detail }
notice-text-file-ignored = `{ $path }` is not used: { $detail }
notice-texts-cut = too long, so the model receives only a part: { $files } (`ibeam context` shows the sizes)
notice-rules-lost = `{ $path }` is empty or missing, but it held permission rules in the last run; they do not apply now
notice-git-objects-hidden = commands cannot read the objects of git, so most git commands fail: they contain `{ $path }`, which commands may not read (`--allow '{ $rule }'` shows them)
notice-checkpoint-skipped = the files were not saved before the first change, so this turn cannot be undone: { $detail }
notice-checkpoint-incomplete = { $count ->
        [one] the checkpoint does not contain `{ $path }`, which is too large or cannot be read
       *[other] the checkpoint does not contain { $count } files that are too large or cannot be read, such as `{ $path }`
    }
notice-worktree-used = this run works in the git worktree `{ $path }`, on the branch `{ $branch }`
notice-worktree-setup-untrusted = the set-up commands of `{ $path }` were not run: only a trusted workspace may run programs (`--trust`)
notice-mcp-tools-changed = tools of the MCP server `{ $server }` are not those that were approved and will not be called: { $tools } (`--approve-mcps` approves them)
notice-mcp-tools-left-out = tools of the MCP server `{ $server }` are not offered, because the server describes them wrongly: { $tools }
notice-background-awaited = { $count ->
        [one] waiting for { $count } background command to end
       *[other] waiting for { $count } background commands to end
    }
notice-network-denied = a command failed, probably because commands have no network here; `--allow-net example.com:443` lets them reach one host (replace the example by the host that is needed)
notice-write-denied = a command failed, probably because commands write only in the workspace here, and not to protected files; `--add-dir { $example }` (replace the example by the directory that is needed) or the setting `sandbox.writable` makes a directory writable, `--allow 'Write(.git/config)'` a protected file
notice-socket-denied = a command failed, probably because commands reach no service of this machine here; `--allow-socket /var/run/docker.sock` lets them connect to a socket (replace the example by the socket that is needed)
notice-home-workspace = the workspace `{ $path }` contains your home directory: protected names that commands create deeper in it are not looked for, and no checkpoints are saved (`session.cover_home = true` changes both; a workspace of its own is safer)
notice-protected-paths-restored = commands changed protected paths, which was undone: { $paths } (what they created is in the quarantine: `ibeam quarantine list`)
notice-protected-paths-appeared = protected paths appeared while a command ran, but the sandbox recorded no command that created them: { $paths } (they were left alone; check those that you did not create)
notice-background-ended = background command `{ $command }` ended with exit code { $exit_code }
notice-background-stopped = { $count ->
        [one] { $count } background command was still running and was stopped
       *[other] { $count } background commands were still running and were stopped
    }
compacted = the conversation was shortened, from about { $before } to { $after } tokens
retrying = { $message } (attempt { $attempt }); trying again in { $seconds } s
retrying-at-once = { $message } (attempt { $attempt }); trying again at once

## CheckLine (check-): the lines around the findings of `check`.
check-valid = `{ $file }` keeps contract { $contract } (events: { $events }, warnings: { $warnings })
check-invalid = `{ $file }` breaks contract { $contract } (events: { $events }, errors: { $errors }, warnings: { $warnings })
check-more-findings = further findings, not shown: { $count }

## ConvertLine (convert-): the lines about the losses of `convert`.
convert-lossy = `{ $file }` cannot be converted to { $to } without loss; lost: { $count }
convert-dropped = dropped: { $key } (times: { $count }, first in line { $line })
convert-changed = changed: { $key } (times: { $count }, first in line { $line })
convert-joined = joined: { $key } (times: { $count }, first in line { $line })
convert-more-losses = further losses, not shown: { $count }

## ShimLine (shim-): the lines of `shim`.
shim-created = made `{ $link }`, which starts `{ $program }`
shim-unchanged = `{ $link }` is there already
shim-in-path = `{ $directory }` is in PATH
shim-not-in-path = `{ $directory }` is not in PATH; clients find it there after `{ $command }`
shim-shadowed = in PATH, `{ $name }` is `{ $other }`, which comes before `{ $directory }`

## SessionLine (session-): the lines of `sessions`.
session-intact = session `{ $session }`: whole
session-incomplete = session `{ $session }`: incomplete
session-damaged = session `{ $session }`: damaged
session-repaired = session `{ $session }`: repaired
session-unrecoverable = session `{ $session }`: nothing could be kept
session-events = events: { $count }
session-files = files: { $count } ({ $bytes } bytes)
session-payloads = large payloads: { $count } ({ $bytes } bytes)
session-unreferenced-payloads = payloads that no record names: { $count } (harmless)
session-truncated-record = torn last record: { $bytes ->
        [one] one byte
       *[other] { $bytes } bytes
    } (the next run keeps it aside)
session-gaps = events missing, repeated or moved: { $count ->
        [one] one place
       *[other] { $count } places
    } (records that did not fit on a full disk, or a journal that was edited)
session-open-calls = calls without a result: { $count } (the next run tells the model)
session-damage = first damage: `{ $file }`, line { $line }: { $detail }
session-moved-aside = moved aside: `{ $path }`
session-title = session `{ $session }`: { $title }
session-directory = directory: { $path }
session-times = created: { $created }, last used: { $updated }
session-stored = size: { $size }
session-runs = runs: { $count }, model requests: { $requests }, calls: { $calls }
session-tokens = tokens read: { $read }, written: { $written }
# $cost: cost_micros
session-cost = cost: ${ $cost }
session-no-price = cost: unknown, because no price is known for { $models }; `models.NAME.prices` in the configuration sets one
session-changed-files = changed files: { $count }
session-confirm-removal = sessions to remove: { $count }. Remove them? [y/N]
session-removed = removed: { $session }
session-in-use = not removed, because { $holder } uses it: { $session }
session-nothing-to-remove = there is nothing to remove
session-none-here = no session of this directory is stored; `--all` lists those of other directories, `ibeam "PROMPT"` begins one
session-none = no session is stored; `ibeam "PROMPT"` begins one
session-no-match-here = no session of this directory contains `{ $words }`; `--all` searches those of other directories
session-no-match = no session contains `{ $words }`
session-renamed = renamed: { $session } → { $title }
session-exported = exported: { $session } → { $path }
session-checkpoints-left = the checkpoints in `{ $path }` were not removed: { $detail }
session-imported = imported: { $session } (events: { $count })

## UndoLine (undo-): the lines of `undo`.
undo-restores = restore: { $path }
undo-removes = remove: { $path }
undo-keeps = leave alone: { $path } (it was ignored or too large to be saved)
undo-changed-since = changed since: `{ $path }`
undo-overwritten = overwritten: `{ $path }`; `git --git-dir={ $directory } show { $commit }:{ $path }` prints what was there
undo-unchanged = the files are as they were already
undo-done = { $count ->
        [one] { $count } file; to take this back: { $command }
       *[other] { $count } files; to take this back: { $command }
    }
undo-redone = { $count ->
        [one] { $count } file; the undo is taken back
       *[other] { $count } files; the undo is taken back
    }

## ReplayLine (replay-): the warnings of `replay`.
replay-no-end = run { $run } has no end in the record: it was killed, or is still running
replay-failed = run { $run } failed: { $message }
replay-truncated-record = the last record is torn; { $bytes ->
        [one] one byte was left out
       *[other] { $bytes } bytes were left out
    }
replay-gaps = events missing, repeated or moved: { $count ->
        [one] one place
       *[other] { $count } places
    } (records that did not fit on a full disk, or a journal that was edited)

## CompareLine (compare-): the names and values of a comparison of two sessions or streams.
compare-session = session id
compare-model = model
compare-runs = runs
compare-last-run = last run
compare-duration = duration
compare-requests = model requests
compare-calls = calls
compare-failed-calls = failed or refused calls
compare-tokens-read = tokens read
compare-tokens-cached = tokens from the cache
compare-tokens-written = tokens written
compare-cost = cost
compare-changed-files = changed files
compare-completed = completed
compare-failed = failed
compare-refused = refused
compare-incomplete = no end
compare-equal = { $count ->
        [one] { $count } equal entry
       *[other] { $count } equal entries
    }

## PageLine (page-): the headings and notes of a page, and the texts of its viewer.
page-prompt = Prompt
page-withheld-prompt = Prompt, not sent to the model
page-answer = Answer
page-arguments = Arguments
page-result = Result
page-no-result = no result
# $seconds: duration_ms
page-completed = Completed in { $seconds } s
page-failed = Failed: { $message }
page-failed-run = failed
page-changed-files = Changed files
page-run = Run
page-request = Model request
page-request-count = { $count ->
        [one] model request
       *[other] model requests
    }
page-call-count = { $count ->
        [one] call
       *[other] calls
    }
page-failed-calls = { $count ->
       *[other] failed or refused
    }
page-tokens-read = { $count ->
        [one] token read
       *[other] tokens read
    }
page-tokens-cached = cached
page-tokens-written = { $count ->
       *[other] written
    }
page-time-line = Time line
page-model-time = waiting for the model:
page-tool-time = calls:
page-contents = Contents
page-search = Search
page-previous-match = Previous match
page-next-match = Next match
page-theme = Light or dark
page-keys = Keys
page-key-row = next entry, previous entry
page-key-prompt = next prompt, previous prompt
page-key-open = open or close the call
page-key-match = next match, previous match
page-skip-to-rows = Skip to the session
page-close = Close
page-needs-script = This session is too long to be shown without JavaScript.

## TraceLine (trace-): the warnings about an export of traces.
trace-not-written = cannot write the trace to `{ $path }`: { $detail }
trace-not-sent = cannot send the trace to `{ $url }`: { $detail }
trace-invalid-setting = no trace is sent: { $detail }

## ProgressLine (progress-): the lines about what a run waits for.
progress-start = starting
progress-model = waiting for the model
progress-thinking = the model is thinking
progress-text = the model is writing
progress-retry = waiting to repeat a failed request
progress-call = waiting for { $tool }: { $target }
progress-calls = { $count ->
        [one] waiting for one more call and { $tool }: { $target }
       *[other] waiting for { $count } more calls and { $tool }: { $target }
    }
progress-background = waiting for background commands
progress-end = finishing
progress-status = { $activity } ({ $time } s)
progress-status-with-tokens = { $activity } ({ $time } s, { $tokens } tokens)

## RunLine (run-): the lines after a run.
run-unfinished = the answer so far
run-changed-files = changed files
run-changed-files-without-commands = changed files, without what commands changed (`ibeam diff` shows all)
run-no-changed-files = 0 files changed
run-no-files-changed-by-file-tools = 0 files changed by the file tools; what commands and MCP tools changed is not counted
# $seconds: duration_ms
run-requests = model requests: { $requests }, calls: { $calls }, time: { $seconds } s
run-tokens = tokens read: { $read } (cached: { $cached }), written: { $written }
# $cost: cost_micros
run-cost = cost: ${ $cost }

ask-allow = allow `{ $what }`?
ask-allow-this = allow this?
ask-no-rule = asked because no rule covers it
ask-outside = asked because it reaches outside the workspace
ask-publishing = asked because it publishes or changes something on a service, which `ibeam undo` does not take back
ask-rule = asked because of the rule `{ $rule }`
ask-hook = asked by the hook `{ $hook }`: { $detail }

## PolicyLine (policy-): the lines of `policy test` and `policy list`.
policy-allowed = allowed by `{ $rule }`
policy-denied = denied by `{ $rule }`: { $reason }
policy-needs-approval = a person is asked because of `{ $rule }`: { $reason }
policy-unanalyzable = the command cannot be analysed, because it has { $what }
policy-runs-program = runs `{ $program }` through `{ $wrappers }`
policy-reads-file = reads `{ $path }`
policy-writes-file = writes `{ $path }`
policy-rule-applies = `{ $rule }` applies: { $why }
policy-rule-does-not-apply = `{ $rule }` does not apply: { $why }
policy-no-rules = no rule is set; `ibeam help configuration` says how to write one
policy-path-rule-limits = `Read` and `Write` rules cover files by their path; `ibeam help security` says where that ends for commands

## SubcommandLine (command-): a line that a sub-command prints about its effect.
command-logged-in = Logged in to { $provider }: the key is stored in { $path }
command-stream-on-terminal = this is the stream for programs; `--output-format text` prints text, and `ibeam` without `-p` starts a conversation
command-provider-question = provider (`ibeam models --providers` lists them) [{ $provider }]:
command-key-question = key for { $provider }:
command-key-accepted = { $provider } accepted the key
command-key-unverifiable = The key was not checked: { $provider } answers without a key too
command-key-unchecked = The key was not checked: { $message }
command-key-deleted = deleted the stored key for { $provider }
command-logout-question = delete which stored key? ({ $providers }; an empty line deletes none):
command-key-overridden = `{ $source }` is set and takes precedence over the stored key; unset it to use the stored key
command-key-remains = `{ $source }` is still set: `{ $provider }` has a key without a stored one
command-logged-out = { $count ->
        [0] there was no stored key to delete
        [one] deleted { $count } stored key
       *[other] deleted { $count } stored keys
    }
command-trust-removed = no longer trusted: { $path }
command-not-trusted = nothing to forget: `{ $path }` is not trusted
command-no-trusted-workspaces = nothing is trusted; `--trust` trusts a workspace
command-approved-tools = { $count ->
        [one] approved on { $since }, { $count } tool
       *[other] approved on { $since }, { $count } tools
    }
command-no-servers = no MCP servers are configured; `ibeam help mcp` explains how to add one
command-quarantine-empty = the quarantine is empty
command-quarantine-restored = restored: `{ $path }`
command-no-worktrees = ibeam has made no worktree for this repository; `--worktree=NAME` makes one
command-worktree-unchanged = no changes
command-worktree-changes = uncommitted files: { $uncommitted }, unmerged commits: { $unmerged }
command-worktree-unreadable = changes not known: { $detail }
command-worktree-removed = removed: `{ $path }`; the branch `{ $branch }` stays
command-detached-worktree-removed = removed: `{ $path }`
command-no-hooks = no hooks are configured; `ibeam help hooks` explains how to add one
command-report-written = wrote `{ $path }`; it contains parts of prompts and files, so read it before you publish it
command-report-of-machine-written = wrote `{ $path }`; it contains names of files and settings of this machine, but no prompts

## FleetLine (fleet-): the lines of `fleet run`.
fleet-started = { $task }: started
fleet-finished = { $task }: { $outcome } ({ $seconds } s)
fleet-retried = { $task }: will be run again in { $seconds } s
fleet-stopped = { $task }: { $state }: { $reason }
fleet-refused = { $task }: left to other workers: { $reason }
fleet-waiting = { $task }: waits for a batch
fleet-restored = { $task }: continues where another machine stopped
fleet-not-restored = { $task }: the snapshot of another machine cannot be used: { $detail }
fleet-not-stored = { $task }: other machines get no snapshot: { $detail }
fleet-not-published = { $task }: events are published later: { $detail }
fleet-not-traced = { $task }: warning: the trace cannot be written: { $detail }
fleet-submitted = batch { $batch }: { $requests ->
        [one] one request
       *[other] { $requests } requests
    } to { $model }
fleet-answered = batches have answered { $requests ->
        [one] one request
       *[other] { $requests } requests
    }
fleet-cancelled = the deadline has passed: batch { $batch } was cancelled
fleet-polled-again = the next poll tries again: { $detail }

## ContextLine (context-): the headings and lines of `context`.
context-bytes = bytes
context-tokens = tokens*
context-system = System prompt
context-tools = Tools
context-server-tools = Tools of MCP servers
context-repository = Content of the repository, which is not trusted
context-conversation = Conversation
context-prompt = Prompt
context-total = total (* estimated, at 3 bytes each)
context-free = left of the context window
context-window = Context window of `{ $model }`: { $tokens } tokens
context-servers = Not counted, because they are not started here (`--start-servers` starts them): the tools of { $servers }
context-commands = Commands for a prompt

## DiagnosisLine (diagnosis-): a line, a mark or the name of a check about the installation.
diagnosis-not-logged-in = Not logged in: no key is set or stored (`ibeam login PROVIDER`)
diagnosis-logged-in = Logged in as { $provider } (key from { $source })
diagnosis-model = Model: { $model } ({ $id }; { $origin })
diagnosis-no-model = Model: none ({ $detail })
diagnosis-about-contract = contract: { $version }
diagnosis-about-model = model: { $model }
diagnosis-about-no-model = model: none
diagnosis-about-engine = embedded engine: yes
diagnosis-about-no-engine = embedded engine: no
diagnosis-about-queues = queue client: yes
diagnosis-about-no-queues = queue client: no
diagnosis-about-platform = platform: { $os } { $arch }
diagnosis-about-licence = licence: MIT OR Apache-2.0
diagnosis-ok = ok
diagnosis-missing = missing
diagnosis-wrong = wrong
diagnosis-check-model = model
diagnosis-check-key = key
diagnosis-check-embedded = embedded model
diagnosis-check-sessions = sessions
diagnosis-check-cache = cache
diagnosis-check-configuration = configuration
diagnosis-check-sandbox = sandbox
diagnosis-key-found = { $provider }, from { $source }
diagnosis-key-not-needed = not needed: { $model } works without one
diagnosis-key-missing = no API key is set or stored; `ibeam login PROVIDER` stores one, a variable such as `$ANTHROPIC_API_KEY` gives one
diagnosis-embedded-missing = `ibeam setup` fetches it (1.1 GB)
diagnosis-not-writable = `{ $path }` cannot be written: make it writable, or name another directory with `$XDG_DATA_HOME` and `$XDG_CACHE_HOME`
diagnosis-bash-purpose = the shell tool runs commands with it
diagnosis-git-purpose = optional; commands of the model may want it
diagnosis-python-purpose = optional; `ibeam setup` fetches the embedded model with its pip

## EditorLine (editor-): a label or title in an editor.
editor-agent = Agent
editor-agent-about = Works on the task
editor-plan = Plan
editor-plan-about = Only reads, and ends with a plan
editor-ask = Ask
editor-ask-about = Only reads, and answers questions
editor-mode = Mode
editor-model = Model
editor-effort = Effort
editor-effort-default = Default
editor-effort-none = None
editor-effort-minimal = Minimal
editor-effort-low = Low
editor-effort-medium = Medium
editor-effort-high = High
editor-effort-xhigh = Very high
editor-effort-max = Maximum
editor-allow-once = Allow
editor-allow-always = Always allow in this session
editor-reject-once = Reject
editor-reject-always = Always reject in this session
editor-stored-keys = Stored keys
editor-stored-keys-about = Uses the keys that `ibeam login`, variables or the configuration provide
editor-login-about = Asks for the key of a provider in a terminal and stores it
editor-read = Read { $file }
editor-write = Write { $file }
editor-edit = Edit { $file }
editor-delete = Delete { $file }
editor-list = List { $file }
editor-search = Search for `{ $pattern }`
editor-find = Find `{ $pattern }`
editor-fetch = Fetch { $url }
editor-web-search = Search the web for `{ $query }`
editor-todos = Update the to-do list
editor-subagent = Sub-agent: { $task }
editor-attached = attached: { $name }
# $seconds: timeout_ms
editor-timed-out = Timed out after { $seconds } s
editor-ended-by = Ended by { $signal }
editor-exit-code = Exit code { $code }

## `--help`
help-usage = Usage
help-arguments = Arguments
help-options = Options
help-general = General options
help-commands = Commands

## TuiLine (tui-): a text of the screen and of line mode.
tui-welcome = ibeam · { $model } · { $directory }
tui-welcome-help = /help lists commands and keys, /model changes the model
tui-opening = opening the session · { $seconds } s
tui-working = working · { $seconds } s
tui-waiting = waiting for the model · { $seconds } s
tui-thinking = thinking · { $seconds } s
tui-keys-busy = Esc interrupts · Enter adds to this turn · Tab queues
tui-keys-question = ↑ ↓ or a number, Enter · Esc interrupts
tui-keys-explain = Enter sends · Esc refuses without a message
tui-keys-command = Esc interrupts · Enter queues
tui-keys-idle = \ Enter new line · / commands · @ files · ! shell · Shift-Tab mode · Esc Esc earlier prompts · Ctrl-R history · Ctrl-G editor
tui-keys-lines = \ at the end of a line: a new line · pasted lines are one message · / commands · ! shell · Ctrl-C ends a turn, Ctrl-D the program
tui-line-cut = the terminal cuts lines at 4,095 bytes: put long text into a file, and name it as @FILE
tui-press-again = press Ctrl-C again to exit
tui-press-again-busy = a turn is running: press Ctrl-D again to end it and the program
tui-steering = for this turn: { $text }
tui-queued = next: { $text }
tui-pasted = pasted { $count } lines
tui-search = search in history: { $text }
tui-search-no-match = no match in history: { $text } · Esc restores the input
tui-hidden-lines = { $count ->
        [one] … one more line
       *[other] … { $count } more lines
    }
tui-lines = { $count ->
    [one] { $count } line
   *[other] { $count } lines
}
tui-results = { $count ->
    [one] { $count } result
   *[other] { $count } results
}
tui-calls = { $count ->
    [one] { $count } call
   *[other] { $count } calls
}
tui-tokens = { $text } tokens
tui-tokens-and-cached = { $text } tokens and { $size } cached
tui-context-left = { $percent } % of the context left
tui-exit-code = exit code { $text }
tui-allow-this = Allow this?
tui-once = yes, once
tui-for-session = yes, until the program ends
tui-all-edits = yes, and all edits of files in the workspace until the program ends
tui-always-here = yes, always in this project: add the rule `{ $rule }`
tui-always = yes, always and in all projects: add the rule `{ $rule }`
tui-refuse = no
tui-refuse-and-explain = no, and tell the model why
tui-explain = Why not? Enter sends it to the model, Esc only refuses
tui-explain-in-line = Why not? The line goes to the model; an empty line only refuses.
tui-allowed-once = allowed once
tui-allowed-for-session = allowed until the program ends
tui-allowed-all-edits = all edits of files in the workspace are allowed until the program ends
tui-rule-added = allowed; `{ $rule }` was added to `{ $path }`
tui-rule-not-written = allowed until the program ends; cannot add the rule to `{ $path }`: { $detail }
tui-refused = refused
tui-status-session = session: { $id }
tui-status-model = model: { $name }
tui-status-mode = mode: { $mode }
tui-status-sandbox = sandbox: { $state }
tui-unknown-command = unknown command `{ $name }`; `/help` lists the commands
tui-unknown-command-near = unknown command `{ $name }`; did you mean `{ $nearest }`?
tui-unknown-choice = unknown: `{ $name }`; use one of: { $list }
tui-no-argument = `{ $name }` takes nothing after it, so nothing was done
tui-unknown-model-near = `{ $name }` is not a known model; did you mean `{ $nearest }`?
tui-unknown-model = `{ $name }` is not in the table of known models; `/model` lists those of your services
tui-interrupted = interrupted
tui-resume-with = To continue this conversation: { $command }
tui-attached = attached: { $names }
tui-not-attached = no such file, so nothing was attached: { $names }
tui-plan-question = What next?
tui-plan-continue = go on planning
tui-plan-carry-out = carry out the plan: mode agent
tui-rewind-question = Go back to before which prompt?
tui-rewind-what = What goes back?
tui-rewind-both = the conversation and the files
tui-rewind-conversation = only the conversation
tui-rewind-files = only the files
tui-effort = effort: { $level }
tui-compact-requested = the conversation is shortened before the next request to the model
tui-nothing-to-compact = nothing to compact yet: a summary would not be shorter than the conversation
tui-compacted = conversation shortened: about { $before } → { $after } tokens
tui-no-skills = no skills
tui-exported = written: { $path }
tui-earlier-turns = { $count ->
    [one] … { $count } earlier turn
   *[other] … { $count } earlier turns
}
tui-picker-here = Sessions of this directory
tui-picker-all = Sessions of all directories
tui-picker-empty = no session here; Tab shows those of all directories
tui-picker-keys = ↑ ↓ select · Enter resumes · Tab all directories · type to filter · Esc leaves
tui-pick-number = Number of the session to resume; an empty line resumes none:
tui-minutes = { $count } min
tui-hours = { $count } h
tui-days = { $count } d
tui-changes-title = Changes
tui-transcript-title = Transcript
tui-no-changes = no file was changed
tui-nothing-to-undo = nothing to undo: no turn of this session has changed files
tui-already-undone = all changes of this session are undone already; `/redo` takes the last undo back
tui-nothing-to-redo = nothing to redo: there is no undo to take back
tui-not-a-turn = `{ $name }` is not the number of a turn
tui-no-transcript = no conversation is stored yet
tui-view-keys = ↑ ↓ PgUp PgDn Home End scroll · / search · n N next, previous · q leaves
tui-view-search = search: { $text }
tui-view-no-match = not found: { $text }
tui-dialog-keys = ↑ ↓ or a number, Enter · Esc back · Ctrl-C leaves
tui-dialog-keys-leave = ↑ ↓ or a number, Enter · Esc, Ctrl-C leave
tui-dialog-text-keys = Enter confirms · Esc back · Ctrl-C leaves
tui-dialog-number = Number of your choice; an empty line goes back:
tui-dialog-number-leaves = Number of your choice; an empty line leaves:
tui-dialog-empty-line = an empty line goes back
tui-dialog-leave = leave
tui-trust-folder = `{ $directory }` has configuration of its own, which is not trusted:
tui-trust-changed = The configuration of `{ $directory }` has changed since you trusted it:
tui-trust-hook = hook { $event }: { $command }  ({ $file })
tui-trust-server = MCP server { $name }: { $target }  ({ $file })
tui-trust-setting = { $text }  ({ $file })
tui-trust-file = { $file }
tui-trust-agents = sub-agents: { $names }
tui-trust-rules = instructions for the model: { $names }
tui-trust-skills = skills: { $names }
tui-trust-more = … { $count } more; `ibeam trust show` lists all of them
tui-trust-meaning = If you trust it, its hooks and servers are started, its settings may allow commands, and its instructions count like yours. Otherwise none of this happens, and its instructions are marked as not written by you.
tui-trust-question = Do you trust this folder?
tui-trust-yes = trust it, until its configuration changes
tui-trust-no = continue without the folder's configuration
tui-trust-stored = trusted; `ibeam trust forget` removes the trust
tui-trust-declined = not trusted: its configuration has no effect; `ibeam --trust` trusts it later
tui-trust-not-stored = cannot store the trust, so the folder is not trusted: { $detail }
tui-first-model = model: { $model } ({ $id }; { $origin }). `/model NAME` or `--model NAME` changes it, `model = "NAME"` in `{ $path }` changes it permanently
tui-first-rules = Edits of files in this folder and commands in the sandbox are not asked about. `/undo` takes edits back, `/diff` shows them.
tui-without-undo = This folder is in no git repository, so `/undo` and `/diff` have nothing to compare with.
tui-setup-question = No model can answer yet. What do you want to use?
tui-setup-key = API key of a service
tui-setup-install = small model on this machine ({ $size } GB to download)
tui-setup-server = server of your own, such as Ollama
tui-setup-provider = Which service?
tui-setup-enter-key = API key of { $provider } (not shown):
tui-setup-key-is-word = a key is one word without spaces
tui-setup-checking = asking { $provider } whether the key is valid
tui-setup-fetching = downloading the model: { $percent } %, { $done } of { $total } GB
tui-setup-verifying = checking the model: { $percent } %
tui-setup-installed = the model is installed
tui-setup-cancelled = ended; a later download continues where this one ended
tui-setup-enter-url = Address of the server, such as http://127.0.0.1:11434/v1:
tui-setup-asking = asking { $url } for its models
tui-setup-server-failed = cannot use `{ $url }`, type the address again: { $detail }
tui-setup-model = Which model of the server?
tui-setup-enter-model = The server lists no models. Name of the model:
tui-setup-server-stored = `{ $model }` is your default model now, see `{ $path }`
tui-setup-not-stored = cannot write `{ $path }`: { $detail }
tui-loading-model = loading the embedded model
tui-keys = keys
