"""What `ibeam --print` prints: contracts 1 and 2 of docs/output-format.md.

Generated from docs/schema by `cargo xtask schema`; do not edit. Needs Python 3.11 and nothing else.
Keys are only ever added, so there may be others. A key that is `NotRequired` may be absent; none is ever None.
"""

from typing import Any, Literal, NotRequired, TypedDict, Union


class AssistantEvent(TypedDict):
    """Contract 1: A piece of the answer. The texts of all of them, in order and with nothing in between, are the answer. Contract 2: A segment of the answer: the whole text between two calls. The texts of all segments, in order and with nothing in between, are the answer. A segment before a call has `model_call_id` and `timestamp_ms`, the last one neither. With `timestamp_ms` alone it is a delta, which the segment after it repeats; deltas come with `--stream-partial-output`."""

    type: Literal["assistant"]
    """What this object is. (since 0.1.0)"""

    message: "Message"
    """The piece of text, as the model writes it. (since 0.1.0)"""

    session_id: str
    """The session of the run. (since 0.1.0)"""

    model_call_id: NotRequired[str]
    """The answer of the model that the text and the call after it belong to. (since 0.1.0)"""

    timestamp_ms: NotRequired[int]
    """When it was written, since 1970-01-01 UTC. [ms] (since 0.1.0)"""


class DeleteArgs(TypedDict):
    """Which file is deleted."""

    path: str
    """The file. (since 0.1.0)"""


class DeleteCall(TypedDict):
    """Deletes a file."""

    args: Union["DeleteArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["DeleteResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class DeleteResult(TypedDict):
    """How `deleteToolCall` ended: exactly one arm."""

    success: NotRequired["DeleteSuccess"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""

    fileNotFound: NotRequired["FileNotFound"]
    """There is no such file. (since 0.1.0)"""


class DeleteSuccess(TypedDict):
    """The file that was deleted."""

    path: str
    """Its absolute path. (since 0.1.0)"""

    fileSize: int
    """Its size before. [bytes] (since 0.1.0)"""


class DenialEntry(TypedDict):
    """A call that was refused."""

    call_id: str
    """The call's id. (since 0.1.0)"""

    tool: str
    """The tool it was for. (since 0.1.0)"""

    rule: str
    """The rule that refused it. (since 0.1.0)"""


class DirectoryNode(TypedDict):
    """A directory and what is in it."""

    absPath: str
    """Its absolute path. (since 0.1.0)"""

    numFiles: int
    """The files listed in it and below it. [count] (since 0.1.0)"""

    childrenFiles: list["FileNode"]
    """The files in it. (since 0.1.0)"""

    childrenDirs: list["DirectoryNode"]
    """The directories in it. (since 0.1.0)"""


class EditArgs(TypedDict):
    """A file and one of three ways to say what changes in it."""

    path: str
    """The file. (since 0.1.0)"""

    strReplace: NotRequired["Replacement"]
    """One exact replacement. (since 0.1.0)"""

    multiStrReplace: NotRequired["Replacements"]
    """Several, each applied to the result of the one before. (since 0.1.0)"""

    applyPatch: NotRequired["Patch"]
    """A patch. (since 0.1.0)"""


class EditCall(TypedDict):
    """Changes parts of a file."""

    args: Union["EditArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["EditResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class EditResult(TypedDict):
    """How `editToolCall` ended: exactly one arm."""

    success: NotRequired["EditSuccess"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""


class EditSuccess(TypedDict):
    """What changed in a file."""

    path: str
    """The file's absolute path. (since 0.1.0)"""

    linesAdded: int
    """The lines the change added. [lines] (since 0.1.0)"""

    linesRemoved: int
    """The lines the change removed. [lines] (since 0.1.0)"""

    diffString: str
    """The change as a unified diff. (since 0.1.0)"""

    message: str
    """One sentence that says what was done. (since 0.1.0)"""


class ErrorEvent(TypedDict):
    """The end of a run that failed: the last line."""

    type: Literal["error"]
    """What this object is. (since 0.1.0)"""

    code: Literal["usage", "denied", "auth", "model", "request", "context", "rate_limited", "provider", "network", "tls", "stalled", "limit", "empty", "refused", "timeout", "sandbox", "untrusted", "too_large", "data", "noinput", "internal", "os", "cantcreat", "io", "busy", "config", "signal"]
    """The class of the failure. (since 0.1.0)"""

    message: str
    """One sentence for people, in English. (since 0.1.0)"""

    exit_code: int
    """The exit code of the program. [exit code] (since 0.1.0)"""

    retryable: bool
    """Whether the same run may succeed later. (since 0.1.0)"""

    retry_after_ms: NotRequired[int]
    """How long the provider asks to wait. [ms] (since 0.1.0)"""

    http_status: NotRequired[int]
    """The status of the provider's answer. [HTTP status] (since 0.1.0)"""

    request_id: NotRequired[str]
    """The provider's id of the request that failed. (since 0.1.0)"""

    session_id: str
    """The session of the run; absent where no run had begun. (since 0.1.0)"""

    ibeam: "RunSummary"
    """Sums over the run; absent where no run had begun. (since 0.1.0)"""

    resumable: bool
    """`--resume` takes up where it ended; absent where no run had begun. (since 0.1.0)"""

    result: NotRequired[str]
    """The text that was there when it failed. (since 0.1.0)"""


class ErrorMessage(TypedDict):
    """Why a call failed."""

    errorMessage: str
    """One sentence, in English. (since 0.1.0)"""


class ErrorObject(TypedDict):
    """The end of a run that failed: the last line."""

    type: Literal["error"]
    """What this object is. (since 0.1.0)"""

    code: Literal["usage", "denied", "auth", "model", "request", "context", "rate_limited", "provider", "network", "tls", "stalled", "limit", "empty", "refused", "timeout", "sandbox", "untrusted", "too_large", "data", "noinput", "internal", "os", "cantcreat", "io", "busy", "config", "signal"]
    """The class of the failure. (since 0.1.0)"""

    message: str
    """One sentence for people, in English. (since 0.1.0)"""

    exit_code: int
    """The exit code of the program. [exit code] (since 0.1.0)"""

    retryable: bool
    """Whether the same run may succeed later. (since 0.1.0)"""

    retry_after_ms: NotRequired[int]
    """How long the provider asks to wait. [ms] (since 0.1.0)"""

    http_status: NotRequired[int]
    """The status of the provider's answer. [HTTP status] (since 0.1.0)"""

    request_id: NotRequired[str]
    """The provider's id of the request that failed. (since 0.1.0)"""

    session_id: NotRequired[str]
    """The session of the run; absent where no run had begun. (since 0.1.0)"""

    ibeam: NotRequired["RunSummary"]
    """Sums over the run; absent where no run had begun. (since 0.1.0)"""

    resumable: NotRequired[bool]
    """`--resume` takes up where it ended; absent where no run had begun. (since 0.1.0)"""

    result: NotRequired[str]
    """The text that was there when it failed. (since 0.1.0)"""


class FileNode(TypedDict):
    """A file of a directory."""

    name: str
    """Its name, without the directory. (since 0.1.0)"""


class FileNotFound(TypedDict):
    """A file that is not there."""

    path: str
    """Its path. (since 0.1.0)"""


class FunctionCall(TypedDict):
    """A call of a tool without a key of its own."""

    name: str
    """The tool. (since 0.1.0)"""

    arguments: str
    """The arguments as the model wrote them: JSON as a string, if the model wrote JSON. (since 0.1.0)"""

    result: NotRequired[Any]
    """What the tool gave; in `completed` only. (since 0.1.0)"""


class GlobArgs(TypedDict):
    """Which names are looked for, and where."""

    globPattern: str
    """The glob. (since 0.1.0)"""

    targetDirectory: NotRequired[str]
    """The directory. (since 0.1.0)"""


class GlobCall(TypedDict):
    """Finds files by name."""

    args: Union["GlobArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["GlobResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class GlobResult(TypedDict):
    """How `globToolCall` ended: exactly one arm."""

    success: NotRequired["GlobSuccess"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""


class GlobSuccess(TypedDict):
    """What was found by name."""

    pattern: str
    """The glob that was looked for. (since 0.1.0)"""

    path: str
    """Where it was looked for. (since 0.1.0)"""

    files: list[str]
    """The files. (since 0.1.0)"""

    totalFiles: int
    """How many files matched, those beyond the limit of `files` included. [count] (since 0.1.0)"""


class GrepArgs(TypedDict):
    """What is searched for, and where."""

    pattern: str
    """A regular expression. (since 0.1.0)"""

    path: NotRequired[str]
    """The file or directory. (since 0.1.0)"""

    glob: NotRequired[str]
    """A glob of the files to search. (since 0.1.0)"""

    outputMode: NotRequired[Literal["content", "files_with_matches", "count"]]
    """What is told of the findings. (since 0.1.0)"""

    caseInsensitive: NotRequired[bool]
    """Whether upper and lower case are the same. (since 0.1.0)"""

    multiline: NotRequired[bool]
    """Whether the expression may span lines. (since 0.1.0)"""

    headLimit: NotRequired[int]
    """The most findings. [count] (since 0.1.0)"""

    type: NotRequired[str]
    """A type of files, e.g. `rust`. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` again. (since 0.1.0)"""


class GrepCall(TypedDict):
    """Searches the content of files."""

    args: Union["GrepArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["GrepResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class GrepContent(TypedDict):
    """The lines that match, by file."""

    matches: list["GrepFile"]
    """The files. (since 0.1.0)"""

    totalLines: int
    """The lines of all of them together. [lines] (since 0.1.0)"""


class GrepCount(TypedDict):
    """How many lines of a file match."""

    file: str
    """Its path. (since 0.1.0)"""

    count: int
    """How many lines. [lines] (since 0.1.0)"""


class GrepCounts(TypedDict):
    """How many lines match, by file."""

    counts: list["GrepCount"]
    """The files. (since 0.1.0)"""


class GrepFile(TypedDict):
    """A file with the lines that match."""

    file: str
    """Its path. (since 0.1.0)"""

    matches: list["GrepLine"]
    """The lines. (since 0.1.0)"""


class GrepFiles(TypedDict):
    """The files that have a line that matches."""

    files: list[str]
    """Their paths. (since 0.1.0)"""


class GrepLine(TypedDict):
    """A line that matches."""

    lineNumber: int
    """Its number, from 1. [line number] (since 0.1.0)"""

    content: str
    """Its text, without its end. (since 0.1.0)"""


class GrepResult(TypedDict):
    """How `grepToolCall` ended: exactly one arm."""

    success: NotRequired["GrepSuccess"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""


class GrepResults(TypedDict):
    """What was found under one path, in the form that was asked for."""

    content: NotRequired["GrepContent"]
    """The lines. (since 0.1.0)"""

    files: NotRequired["GrepFiles"]
    """The files alone. (since 0.1.0)"""

    count: NotRequired["GrepCounts"]
    """How many lines of each file. (since 0.1.0)"""


class GrepSuccess(TypedDict):
    """What was found by content."""

    pattern: str
    """The regular expression that was searched for. (since 0.1.0)"""

    path: str
    """Where it was searched for. (since 0.1.0)"""

    outputMode: Literal["content", "files_with_matches", "count"]
    """What `workspaceResults` holds. (since 0.1.0)"""

    workspaceResults: dict[str, "GrepResults"]
    """The findings; one key, the path searched. (since 0.1.0)"""


class InitEvent(TypedDict):
    """The head of the run: the first line, once."""

    type: Literal["system"]
    """What this object is. (since 0.1.0)"""

    subtype: Literal["init"]
    """Which line of its type this is. (since 0.1.0)"""

    apiKeySource: Literal["env", "flag", "login"]
    """Where the key of the provider comes from; `env` too where the model needs none, see `ibeam.api_key`. (since 0.1.0)"""

    cwd: str
    """The absolute path of the directory the run works in. (since 0.1.0)"""

    session_id: str
    """The session of the run: the same in every line, and what `--resume` takes. (since 0.1.0)"""

    model: str
    """The name of the model for people, e.g. `Claude 4 Sonnet`; not its id. (since 0.1.0)"""

    permissionMode: Literal["default", "force", "plan", "ask"]
    """What may be done without asking. (since 0.1.0)"""

    tools: NotRequired[list[str]]
    """The names of the tools that the model is offered. (since 0.1.0)"""

    mcp_servers: NotRequired[list["ServerEntry"]]
    """The MCP servers that are configured. (since 0.1.0)"""

    ibeam: NotRequired["InitExtras"]
    """What the run begins with, beyond the published keys. (since 0.1.0)"""


class InitExtras(TypedDict):
    """What the run begins with, beyond the published keys."""

    version: str
    """The version of ibeam. (since 0.1.0)"""

    contract: Literal["1", "2"]
    """The contract that the stream keeps. (since 0.1.0)"""

    api_key: Literal["env", "flag", "login", "none"]
    """Where the key of the provider comes from; `none` where the model needs no key. (since 0.1.0)"""

    sandbox: "SandboxEntry"
    """What confines the commands of the run. (since 0.1.0)"""

    limits: "LimitValues"
    """The bounds of the run; what is absent has no bound. (since 0.1.0)"""

    journal_gaps: NotRequired[int]
    """The number of places where the journal of the resumed session lacks, repeats or moves events; absent where there is none. [count] (since 0.1.0)"""

    ephemeral: NotRequired[Literal[True]]
    """Present and true where the run keeps no session, so that `--resume` cannot take it up. (since 0.1.0)"""


class LimitValues(TypedDict):
    """The bounds of a run."""

    max_turns: int
    """The most requests to the model. [count] (since 0.1.0)"""

    max_tokens: NotRequired[int]
    """The most tokens, prompts and answers together. [tokens] (since 0.1.0)"""

    max_cost_usd: NotRequired[float]
    """The most it may cost. [USD] (since 0.1.0)"""

    max_tool_calls: NotRequired[int]
    """The most calls of tools. [count] (since 0.1.0)"""

    timeout_ms: NotRequired[int]
    """The longest it may take. [ms] (since 0.1.0)"""


class LsArgs(TypedDict):
    """Which directory is listed."""

    path: str
    """The directory. (since 0.1.0)"""

    ignore: list[str]
    """Globs of what is left out. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` again. (since 0.1.0)"""


class LsCall(TypedDict):
    """Lists a directory."""

    args: Union["LsArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["LsResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class LsResult(TypedDict):
    """How `lsToolCall` ended: exactly one arm."""

    success: NotRequired["LsSuccess"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""


class LsSuccess(TypedDict):
    """What is in a directory."""

    directoryTreeRoot: "DirectoryNode"
    """The directory that was listed. (since 0.1.0)"""


class McpArgs(TypedDict):
    """A tool of an MCP server, and what it is given."""

    name: str
    """Server and tool as one word, `server-tool`. (since 0.1.0)"""

    args: dict[str, Any]
    """What the tool is given. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` again. (since 0.1.0)"""

    providerIdentifier: str
    """The server. (since 0.1.0)"""

    toolName: str
    """The tool, as the server names it. (since 0.1.0)"""


class McpBlock(TypedDict):
    """A block of the answer of an MCP server."""

    text: "McpText"
    """The text of the block. (since 0.1.0)"""


class McpCall(TypedDict):
    """Calls a tool of an MCP server."""

    args: Union["McpArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["McpResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class McpResult(TypedDict):
    """How `mcpToolCall` ended: exactly one arm."""

    success: NotRequired["McpSuccess"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""


class McpSuccess(TypedDict):
    """What the tool of an MCP server gave."""

    content: list["McpBlock"]
    """The blocks of its answer. (since 0.1.0)"""

    isError: bool
    """Whether the tool says itself that it failed; such a call counts as failed. (since 0.1.0)"""


class McpText(TypedDict):
    """The text of a block."""

    text: str
    """The text itself. (since 0.1.0)"""


class Message(TypedDict):
    """What one side says."""

    role: Literal["user", "assistant"]
    """Who says it. (since 0.1.0)"""

    content: list["TextBlock"]
    """The blocks of it. (since 0.1.0)"""


class Patch(TypedDict):
    """A patch of one file."""

    patchContent: str
    """A unified diff. (since 0.1.0)"""


class PermissionDenied(TypedDict):
    """What the system did not let the call do."""

    path: str
    """The path it was about. (since 0.1.0)"""

    error: str
    """What the system said. (since 0.1.0)"""


class ReadArgs(TypedDict):
    """Which part of which file is read."""

    path: str
    """The file. (since 0.1.0)"""

    offset: NotRequired[int]
    """The first line, from 1. [line number] (since 0.1.0)"""

    limit: NotRequired[int]
    """The most lines. [lines] (since 0.1.0)"""


class ReadCall(TypedDict):
    """Reads a file."""

    args: Union["ReadArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["ReadResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class ReadResult(TypedDict):
    """How `readToolCall` ended: exactly one arm."""

    success: NotRequired["ReadSuccess"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""

    fileNotFound: NotRequired["FileNotFound"]
    """There is no such file. (since 0.1.0)"""


class ReadSuccess(TypedDict):
    """What was read of a file."""

    content: str
    """The text, from `offset` on and no more than `limit` lines. (since 0.1.0)"""

    isEmpty: bool
    """Whether the file holds nothing at all. (since 0.1.0)"""

    exceededLimit: bool
    """Whether the file is longer than what one call returns, and was cut. (since 0.1.0)"""

    totalLines: int
    """The lines of the whole file. [lines] (since 0.1.0)"""

    totalChars: int
    """The characters of the whole file. [characters] (since 0.1.0)"""


class Rejected(TypedDict):
    """A call that was refused by policy, a hook or a person; it did not run."""

    reason: str
    """Why, in English. (since 0.1.0)"""


class Replacement(TypedDict):
    """One exact replacement."""

    oldText: str
    """The text that is there. (since 0.1.0)"""

    newText: str
    """The text that replaces it. (since 0.1.0)"""

    replaceAll: NotRequired[bool]
    """Whether every occurrence is replaced. (since 0.1.0)"""


class Replacements(TypedDict):
    """Several exact replacements."""

    edits: list["Replacement"]
    """The replacements, in their order. (since 0.1.0)"""


class ResultEvent(TypedDict):
    """The end of a run that succeeded: the last line."""

    type: Literal["result"]
    """What this object is. (since 0.1.0)"""

    subtype: Literal["success"]
    """How the run ended. (since 0.1.0)"""

    duration_ms: int
    """How long the run took. [ms] (since 0.1.0)"""

    duration_api_ms: int
    """Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`. [ms] (since 0.1.0)"""

    is_error: Literal[False]
    """Always false: a run that failed ends with the line `error`. (since 0.1.0)"""

    result: str
    """Contract 1: The texts of all `assistant` lines, in order, with nothing in between. (since 0.1.0) Contract 2: The texts of all segments, in order, with nothing in between. (since 0.1.0)"""

    session_id: str
    """The session of the run. (since 0.1.0)"""

    request_id: NotRequired[str]
    """The provider's id of the last request. (since 0.1.0)"""

    usage: NotRequired["TokenUsage"]
    """The tokens of the run, where the provider counts them. (since 0.1.0)"""

    ibeam: NotRequired["RunSummary"]
    """Sums over the run. (since 0.1.0)"""


class ResultObject(TypedDict):
    """The one object that the format `json` prints on stdout, at the end of a run that succeeded."""

    type: Literal["result"]
    """What this object is. (since 0.1.0)"""

    subtype: Literal["success"]
    """How the run ended. (since 0.1.0)"""

    is_error: Literal[False]
    """Always false: a run that failed prints nothing on stdout. (since 0.1.0)"""

    duration_ms: int
    """How long the run took. [ms] (since 0.1.0)"""

    duration_api_ms: int
    """Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`. [ms] (since 0.1.0)"""

    result: str
    """Every text of the answer, in order, with nothing in between. (since 0.1.0)"""

    session_id: str
    """The session of the run, which `--resume` takes. (since 0.1.0)"""

    request_id: NotRequired[str]
    """The provider's id of the last request. (since 0.1.0)"""

    usage: NotRequired["TokenUsage"]
    """The tokens of the run, where the provider counts them. (since 0.1.0)"""

    ibeam: NotRequired["RunSummary"]
    """Sums over the run. (since 0.1.0)"""


class RunSummary(TypedDict):
    """Sums over a run."""

    turns: int
    """Requests that the model answered. [count] (since 0.1.0)"""

    api_ms: int
    """The time spent waiting for the model. [ms] (since 0.1.0)"""

    cost_usd: NotRequired[float]
    """What the run cost, where the price of the model is known. [USD] (since 0.1.0)"""

    permission_denials: list["DenialEntry"]
    """The calls that were refused. (since 0.1.0)"""

    failed_tool_calls: int
    """The calls that failed; those that were refused are not counted. [count] (since 0.1.0)"""

    files_changed: list[str]
    """The absolute paths that tools wrote, changed or deleted, each once, in the order of their first change. (since 0.1.0)"""

    retries: int
    """Requests that were sent again. [count] (since 0.1.0)"""

    continuations: NotRequired[int]
    """Answers that were interrupted in their text and continued by another request; absent where there was none. [count] (since 0.1.0)"""

    compactions: int
    """How often the conversation was shortened. [count] (since 0.1.0)"""

    tool_calls: int
    """The calls of tools that were started. [count] (since 0.1.0)"""

    background_stopped: int
    """The commands that still ran in the background at the end, and were stopped. [count] (since 0.1.0)"""

    final: NotRequired[str]
    """The final message: the text after the last call, which is the end of `result`; absent where the run failed. (since 0.1.0)"""

    unsynced: NotRequired[Literal[True]]
    """Present where the end did not wait for the disk: a resumed session may lack its last records. (since 0.1.0)"""


class SandboxEntry(TypedDict):
    """What confines the commands of a run."""

    mode: Literal["off", "namespaces", "landlock"]
    """How commands are confined. (since 0.1.0)"""

    layers: list[str]
    """The layers that stand, by name. (since 0.1.0)"""

    network: bool
    """Whether commands reach some of the network. (since 0.1.0)"""

    writable: NotRequired[list[str]]
    """Directories outside of the workspace that commands may write; absent where there is none. (since 0.1.0)"""

    reason: str
    """Why it is so, in English. (since 0.1.0)"""


class ServerEntry(TypedDict):
    """An MCP server that is configured."""

    name: str
    """Its name in the configuration. (since 0.1.0)"""

    status: Literal["connected", "failed", "untrusted", "unsupported", "disabled"]
    """Whether it answers, and if not, why. (since 0.1.0)"""


class ShellArgs(TypedDict):
    """A command and where it runs."""

    command: str
    """The command, for bash. (since 0.1.0)"""

    workingDirectory: str
    """The directory it runs in; empty for that of the run. (since 0.1.0)"""

    timeout: int
    """The longest it may take. [ms] (since 0.1.0)"""

    isBackground: NotRequired[bool]
    """Whether it goes on in the background. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` again. (since 0.1.0)"""


class ShellCall(TypedDict):
    """Runs a command."""

    args: Union["ShellArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["ShellResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class ShellOutput(TypedDict):
    """A command that ran, whatever its exit code."""

    command: str
    """The command as it ran. (since 0.1.0)"""

    workingDirectory: str
    """Where it ran. (since 0.1.0)"""

    exitCode: int
    """Its exit code; 128 and the number of the signal where one ended it. [exit code] (since 0.1.0)"""

    signal: NotRequired[str]
    """The signal that ended it, e.g. `SIGKILL`. (since 0.1.0)"""

    stdout: str
    """What it wrote to stdout; long output is cut in the middle. (since 0.1.0)"""

    stderr: str
    """What it wrote to stderr; long output is cut in the middle. (since 0.1.0)"""

    interleavedOutput: str
    """Both, in the order in which they were read. (since 0.1.0)"""

    executionTime: int
    """How long it ran. [ms] (since 0.1.0)"""


class ShellResult(TypedDict):
    """How `shellToolCall` ended: exactly one arm."""

    success: NotRequired["ShellOutput"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""

    failure: NotRequired["ShellOutput"]
    """It ran, and exited non-zero or was ended by a signal. (since 0.1.0)"""

    timeout: NotRequired["Timeout"]
    """It took longer than it may. (since 0.1.0)"""

    spawnError: NotRequired["ErrorMessage"]
    """It could not be started. (since 0.1.0)"""

    isBackground: NotRequired[bool]
    """True, beside the arm, for a command that goes on in the background. (since 0.1.0)"""


class TextBlock(TypedDict):
    """A block of text."""

    type: Literal["text"]
    """What this object is. (since 0.1.0)"""

    text: str
    """The text. (since 0.1.0)"""


class Timeout(TypedDict):
    """A command that took longer than it may."""

    timeoutMs: int
    """How long it may take. [ms] (since 0.1.0)"""


class TodoArgs(TypedDict):
    """An item as it was asked for; in a merge, what is absent stays as it was."""

    id: str
    """Its id within the list. (since 0.1.0)"""

    content: NotRequired[str]
    """What is to be done. (since 0.1.0)"""

    status: NotRequired[Literal["TODO_STATUS_PENDING", "TODO_STATUS_IN_PROGRESS", "TODO_STATUS_COMPLETED", "TODO_STATUS_CANCELLED"]]
    """How far it is. (since 0.1.0)"""


class TodoEntry(TypedDict):
    """A to-do."""

    id: str
    """Its id within the list. (since 0.1.0)"""

    content: str
    """What is to be done. (since 0.1.0)"""

    status: Literal["TODO_STATUS_PENDING", "TODO_STATUS_IN_PROGRESS", "TODO_STATUS_COMPLETED", "TODO_STATUS_CANCELLED"]
    """How far it is. (since 0.1.0)"""


class TodosSuccess(TypedDict):
    """The to-do list as it is now."""

    todos: list["TodoEntry"]
    """The whole list. (since 0.1.0)"""


class TokenUsage(TypedDict):
    """The tokens of a run, all requests together."""

    inputTokens: int
    """Tokens of prompts, without those read from or written to the provider's cache. [tokens] (since 0.1.0)"""

    outputTokens: int
    """Tokens of answers. [tokens] (since 0.1.0)"""

    cacheReadTokens: int
    """Tokens of prompts that the provider read from its cache. [tokens] (since 0.1.0)"""

    cacheWriteTokens: int
    """Tokens of prompts that the provider wrote to its cache. [tokens] (since 0.1.0)"""


class ToolCall(TypedDict):
    """A call: one key, which names the tool."""

    readToolCall: NotRequired["ReadCall"]
    """Reads a file. (since 0.1.0)"""

    writeToolCall: NotRequired["WriteCall"]
    """Makes a file or replaces its content. (since 0.1.0)"""

    editToolCall: NotRequired["EditCall"]
    """Changes parts of a file. (since 0.1.0)"""

    shellToolCall: NotRequired["ShellCall"]
    """Runs a command. (since 0.1.0)"""

    grepToolCall: NotRequired["GrepCall"]
    """Searches the content of files. (since 0.1.0)"""

    globToolCall: NotRequired["GlobCall"]
    """Finds files by name. (since 0.1.0)"""

    lsToolCall: NotRequired["LsCall"]
    """Lists a directory. (since 0.1.0)"""

    deleteToolCall: NotRequired["DeleteCall"]
    """Deletes a file. (since 0.1.0)"""

    updateTodosToolCall: NotRequired["UpdateTodosCall"]
    """Changes the to-do list. (since 0.1.0)"""

    webFetchToolCall: NotRequired["WebFetchCall"]
    """Fetches a page. (since 0.1.0)"""

    mcpToolCall: NotRequired["McpCall"]
    """Calls a tool of an MCP server. (since 0.1.0)"""

    function: NotRequired["FunctionCall"]
    """Calls a tool without a key of its own, or one that does not exist. (since 0.1.0)"""


class ToolCallCompletedEvent(TypedDict):
    """A call of a tool has ended: done, failed, refused or cut off. Each started call has exactly one such line."""

    type: Literal["tool_call"]
    """What this object is. (since 0.1.0)"""

    subtype: Literal["completed"]
    """Which line of its type this is. (since 0.1.0)"""

    call_id: str
    """The `call_id` of the line `started`. (since 0.1.0)"""

    tool_call: "ToolCall"
    """The tool, its arguments again, and its `result`. (since 0.1.0)"""

    session_id: str
    """The session of the run. (since 0.1.0)"""

    model_call_id: NotRequired[str]
    """The answer of the model that the call belongs to; calls of one answer share it. (since 0.1.0)"""

    timestamp_ms: NotRequired[int]
    """When it ended, since 1970-01-01 UTC. [ms] (since 0.1.0)"""


class ToolCallStartedEvent(TypedDict):
    """A call of a tool begins."""

    type: Literal["tool_call"]
    """What this object is. (since 0.1.0)"""

    subtype: Literal["started"]
    """Which line of its type this is. (since 0.1.0)"""

    call_id: str
    """The provider's id of the call, any characters; joins `started` and `completed`. (since 0.1.0)"""

    tool_call: "ToolCall"
    """The tool and its arguments; no `result` yet. (since 0.1.0)"""

    session_id: str
    """The session of the run. (since 0.1.0)"""

    model_call_id: NotRequired[str]
    """The answer of the model that the call belongs to; calls of one answer share it. (since 0.1.0)"""

    timestamp_ms: NotRequired[int]
    """When it began, since 1970-01-01 UTC. [ms] (since 0.1.0)"""


class UpdateTodosArgs(TypedDict):
    """Items for the to-do list."""

    todos: list["TodoArgs"]
    """The items. (since 0.1.0)"""

    merge: bool
    """Whether they are merged into the list by their ids, or replace it. (since 0.1.0)"""


class UpdateTodosCall(TypedDict):
    """Changes the to-do list."""

    args: Union["UpdateTodosArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["UpdateTodosResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class UpdateTodosResult(TypedDict):
    """How `updateTodosToolCall` ended: exactly one arm."""

    success: NotRequired["TodosSuccess"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""


class UserEvent(TypedDict):
    """The prompt, verbatim; one line for each prompt."""

    type: Literal["user"]
    """What this object is. (since 0.1.0)"""

    message: "Message"
    """The prompt: a block each for the words, for piped context, and for the context of hooks. (since 0.1.0)"""

    session_id: str
    """The session of the run. (since 0.1.0)"""


class WebFetchArgs(TypedDict):
    """Which page is fetched."""

    url: str
    """Its address. (since 0.1.0)"""


class WebFetchCall(TypedDict):
    """Fetches a page."""

    args: Union["WebFetchArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["WebFetchResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class WebFetchResult(TypedDict):
    """How `webFetchToolCall` ended: exactly one arm."""

    success: NotRequired["WebFetchSuccess"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""


class WebFetchSuccess(TypedDict):
    """A page that was fetched."""

    url: str
    """The address of the page, after redirects. (since 0.1.0)"""

    markdown: str
    """Its text as Markdown. (since 0.1.0)"""


class WriteArgs(TypedDict):
    """A file and its whole new content."""

    path: str
    """The file. (since 0.1.0)"""

    fileText: str
    """Its whole new content. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` again. (since 0.1.0)"""


class WriteCall(TypedDict):
    """Makes a file or replaces its content."""

    args: Union["WriteArgs", dict[str, Any]]
    """The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0)"""

    result: NotRequired["WriteResult"]
    """How it ended; in `completed` only. (since 0.1.0)"""


class WriteResult(TypedDict):
    """How `writeToolCall` ended: exactly one arm."""

    success: NotRequired["WriteSuccess"]
    """It was done. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """It was refused, and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """It failed, or was cut off by the end of the run. (since 0.1.0)"""


class WriteSuccess(TypedDict):
    """The file that was written."""

    path: str
    """Its absolute path. (since 0.1.0)"""

    linesCreated: int
    """The lines it has now. [lines] (since 0.1.0)"""

    fileSize: int
    """Its size now. [bytes] (since 0.1.0)"""


StreamEvent = Union[
    AssistantEvent,
    ErrorEvent,
    InitEvent,
    ResultEvent,
    ToolCallCompletedEvent,
    ToolCallStartedEvent,
    UserEvent,
]
"""A line of `--output-format stream-json`, distinguished by `type` and `subtype`."""
