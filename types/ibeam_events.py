"""What `ibeam --print` prints: contracts 1 and 2 of docs/output-format.md.

Generated from docs/schema by `cargo xtask schema`; do not edit. Needs Python 3.11 and nothing else.
Keys are only ever added, so there may be others. A key that is `NotRequired` may be absent; none is ever None.
"""

from typing import Any, Literal, NotRequired, TypedDict, Union


class AssistantEvent(TypedDict):
    """Contract 1: A part of the answer. The answer is the concatenation of the texts of all `assistant` lines, in order. Contract 2: A segment of the answer: the complete text between two calls. The answer is the concatenation of the texts of all segments, in order. A segment before a call has `model_call_id` and `timestamp_ms`; the last segment has neither. An event with `timestamp_ms` alone is a delta, which the next segment repeats; deltas need `--stream-partial-output`."""

    type: Literal["assistant"]
    """The type of the object. (since 0.1.0)"""

    message: "Message"
    """The message with this part of the text. (since 0.1.0)"""

    session_id: str
    """The id of the session. (since 0.1.0)"""

    model_call_id: NotRequired[str]
    """The id of the model response that the text and the following call belong to. (since 0.1.0)"""

    timestamp_ms: NotRequired[int]
    """The time of the event, since 1970-01-01 UTC. [ms] (since 0.1.0)"""


class AttachmentEntry(TypedDict):
    """A file that the user attached. Its content is not in the stream."""

    name: str
    """The path as the user wrote it, or `image 1` or `document 1` for a block of a message on stdin. (since 0.1.0)"""

    media_type: str
    """The type of the file: `text/plain` for any text. (since 0.1.0)"""


class BackgroundEndEntry(TypedDict):
    """The end of a background command that ended by itself."""

    call_id: str
    """The call that started it. (since 0.1.0)"""

    command: str
    """The command. (since 0.1.0)"""

    exit_code: int
    """The exit code; 128 + number for a signal. [exit code] (since 0.1.0)"""


class DeleteArgs(TypedDict):
    """The file to delete."""

    path: str
    """The path of the file. (since 0.1.0)"""


class DeleteCall(TypedDict):
    """Deletes a file."""

    args: Union["DeleteArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["DeleteResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class DeleteResult(TypedDict):
    """The outcome of `deleteToolCall`: exactly one arm."""

    success: NotRequired["DeleteSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""

    fileNotFound: NotRequired["FileNotFound"]
    """The file does not exist. (since 0.1.0)"""


class DeleteSuccess(TypedDict):
    """The deleted file."""

    path: str
    """The absolute path of the file. (since 0.1.0)"""

    fileSize: int
    """The size before the deletion. [bytes] (since 0.1.0)"""


class DenialEntry(TypedDict):
    """A refused call."""

    call_id: str
    """The id of the call. (since 0.1.0)"""

    tool: str
    """The tool of the call. (since 0.1.0)"""

    rule: str
    """The rule that refused the call. (since 0.1.0)"""


class DirectoryNode(TypedDict):
    """A directory and its entries."""

    absPath: str
    """The absolute path of the directory. (since 0.1.0)"""

    numFiles: int
    """The number of files listed in the directory and below it. [count] (since 0.1.0)"""

    childrenFiles: list["FileNode"]
    """The files in the directory. (since 0.1.0)"""

    childrenDirs: list["DirectoryNode"]
    """The subdirectories of the directory. (since 0.1.0)"""


class EditArgs(TypedDict):
    """A file and its changes in one of three forms."""

    path: str
    """The path of the file. (since 0.1.0)"""

    strReplace: NotRequired["Replacement"]
    """One exact replacement. (since 0.1.0)"""

    multiStrReplace: NotRequired["Replacements"]
    """Several replacements, each applied to the result of the previous one. (since 0.1.0)"""

    applyPatch: NotRequired["Patch"]
    """A patch. (since 0.1.0)"""


class EditCall(TypedDict):
    """Changes parts of a file."""

    args: Union["EditArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["EditResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class EditResult(TypedDict):
    """The outcome of `editToolCall`: exactly one arm."""

    success: NotRequired["EditSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""


class EditSuccess(TypedDict):
    """The change of a file."""

    path: str
    """The absolute path of the file. (since 0.1.0)"""

    linesAdded: int
    """The number of added lines. [lines] (since 0.1.0)"""

    linesRemoved: int
    """The number of removed lines. [lines] (since 0.1.0)"""

    diffString: str
    """The change as a unified diff. (since 0.1.0)"""

    message: str
    """One sentence that describes the change. (since 0.1.0)"""


class ErrorEvent(TypedDict):
    """The end of a failed run: the last line."""

    type: Literal["error"]
    """The type of the object. (since 0.1.0)"""

    code: Literal["failed", "usage", "denied", "auth", "model", "request", "context", "rate_limited", "provider", "network", "tls", "stalled", "limit", "empty", "refused", "timeout", "sandbox", "untrusted", "too_large", "data", "noinput", "internal", "os", "cantcreat", "io", "busy", "config", "parked", "signal"]
    """The class of the failure. (since 0.1.0)"""

    message: str
    """The message for people: one English sentence. (since 0.1.0)"""

    exit_code: int
    """The exit code of the program. [exit code] (since 0.1.0)"""

    retryable: bool
    """Whether the same run may succeed later. (since 0.1.0)"""

    retry_after_ms: NotRequired[int]
    """The delay that the provider requests before a retry. [ms] (since 0.1.0)"""

    http_status: NotRequired[int]
    """The status of the provider's response. [HTTP status] (since 0.1.0)"""

    request_id: NotRequired[str]
    """The provider's id of the failed request. (since 0.1.0)"""

    session_id: str
    """The id of the session; absent if no run had started. (since 0.1.0)"""

    ibeam: "RunSummary"
    """Totals of the run; absent if no run had started. (since 0.1.0)"""

    resumable: bool
    """Whether `--resume` can continue the run; absent if no run had started. (since 0.1.0)"""

    result: NotRequired[str]
    """The text of the answer up to the failure. (since 0.1.0)"""


class ErrorMessage(TypedDict):
    """The error of a failed call."""

    errorMessage: str
    """The error message: one English sentence. (since 0.1.0)"""


class ErrorObject(TypedDict):
    """The end of a failed run: the last line."""

    type: Literal["error"]
    """The type of the object. (since 0.1.0)"""

    code: Literal["failed", "usage", "denied", "auth", "model", "request", "context", "rate_limited", "provider", "network", "tls", "stalled", "limit", "empty", "refused", "timeout", "sandbox", "untrusted", "too_large", "data", "noinput", "internal", "os", "cantcreat", "io", "busy", "config", "parked", "signal"]
    """The class of the failure. (since 0.1.0)"""

    message: str
    """The message for people: one English sentence. (since 0.1.0)"""

    exit_code: int
    """The exit code of the program. [exit code] (since 0.1.0)"""

    retryable: bool
    """Whether the same run may succeed later. (since 0.1.0)"""

    retry_after_ms: NotRequired[int]
    """The delay that the provider requests before a retry. [ms] (since 0.1.0)"""

    http_status: NotRequired[int]
    """The status of the provider's response. [HTTP status] (since 0.1.0)"""

    request_id: NotRequired[str]
    """The provider's id of the failed request. (since 0.1.0)"""

    session_id: NotRequired[str]
    """The id of the session; absent if no run had started. (since 0.1.0)"""

    ibeam: NotRequired["RunSummary"]
    """Totals of the run; absent if no run had started. (since 0.1.0)"""

    resumable: NotRequired[bool]
    """Whether `--resume` can continue the run; absent if no run had started. (since 0.1.0)"""

    result: NotRequired[str]
    """The text of the answer up to the failure. (since 0.1.0)"""


class FallbackEntry(TypedDict):
    """A change to another model, because a model was overloaded or a quota was exhausted."""

    from_model: str
    """The model that was unavailable, as `PROVIDER/ID`. (since 0.1.0)"""

    to_model: str
    """The model that took over, as `PROVIDER/ID`. (since 0.1.0)"""

    code: Literal["failed", "usage", "denied", "auth", "model", "request", "context", "rate_limited", "provider", "network", "tls", "stalled", "limit", "empty", "refused", "timeout", "sandbox", "untrusted", "too_large", "data", "noinput", "internal", "os", "cantcreat", "io", "busy", "config", "parked", "signal"]
    """The class of the last failure of the unavailable model. (since 0.1.0)"""

    message: str
    """The failure for people: one English sentence. (since 0.1.0)"""


class FileNode(TypedDict):
    """A file of a directory."""

    name: str
    """The name of the file, without the directory. (since 0.1.0)"""


class FileNotFound(TypedDict):
    """A file that does not exist."""

    path: str
    """The path of the file. (since 0.1.0)"""


class FunctionCall(TypedDict):
    """A call of a tool without its own key."""

    name: str
    """The name of the tool. (since 0.1.0)"""

    arguments: str
    """The arguments as the model wrote them: a string, usually with JSON. (since 0.1.0)"""

    result: NotRequired[Any]
    """The output of the tool; in `completed` only. (since 0.1.0)"""


class GlobArgs(TypedDict):
    """The names to find and the directory to search."""

    globPattern: str
    """The glob pattern. (since 0.1.0)"""

    targetDirectory: NotRequired[str]
    """The directory to search. (since 0.1.0)"""


class GlobCall(TypedDict):
    """Finds files by name."""

    args: Union["GlobArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["GlobResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class GlobResult(TypedDict):
    """The outcome of `globToolCall`: exactly one arm."""

    success: NotRequired["GlobSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""


class GlobSuccess(TypedDict):
    """The files with matching names."""

    pattern: str
    """The glob pattern. (since 0.1.0)"""

    path: str
    """The searched directory. (since 0.1.0)"""

    files: list[str]
    """The matching files. (since 0.1.0)"""

    totalFiles: int
    """The number of all matching files, including those beyond the limit of `files`. [count] (since 0.1.0)"""


class GrepArgs(TypedDict):
    """The pattern and the files to search."""

    pattern: str
    """The regular expression. (since 0.1.0)"""

    path: NotRequired[str]
    """The file or directory to search. (since 0.1.0)"""

    glob: NotRequired[str]
    """A glob of the files to search. (since 0.1.0)"""

    outputMode: NotRequired[Literal["content", "files_with_matches", "count"]]
    """The form of the matches. (since 0.1.0)"""

    caseInsensitive: NotRequired[bool]
    """Whether the match ignores case. (since 0.1.0)"""

    multiline: NotRequired[bool]
    """Whether a match may span lines. (since 0.1.0)"""

    headLimit: NotRequired[int]
    """The maximum number of matches. [count] (since 0.1.0)"""

    type: NotRequired[str]
    """The type of the files, e.g. `rust`. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` of the event. (since 0.1.0)"""


class GrepCall(TypedDict):
    """Searches the content of files."""

    args: Union["GrepArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["GrepResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class GrepContent(TypedDict):
    """The matching lines, grouped by file."""

    matches: list["GrepFile"]
    """The files. (since 0.1.0)"""

    totalLines: int
    """The number of lines of all files together. [lines] (since 0.1.0)"""


class GrepCount(TypedDict):
    """The number of matching lines of a file."""

    file: str
    """The path of the file. (since 0.1.0)"""

    count: int
    """The number of matching lines. [lines] (since 0.1.0)"""


class GrepCounts(TypedDict):
    """The number of matching lines, grouped by file."""

    counts: list["GrepCount"]
    """The files. (since 0.1.0)"""


class GrepFile(TypedDict):
    """A file with its matching lines."""

    file: str
    """The path of the file. (since 0.1.0)"""

    matches: list["GrepLine"]
    """The matching lines. (since 0.1.0)"""


class GrepFiles(TypedDict):
    """The files with a matching line."""

    files: list[str]
    """The paths of the files. (since 0.1.0)"""


class GrepLine(TypedDict):
    """A matching line."""

    lineNumber: int
    """The line number, from 1. [line number] (since 0.1.0)"""

    content: str
    """The text, without its line end. (since 0.1.0)"""


class GrepResult(TypedDict):
    """The outcome of `grepToolCall`: exactly one arm."""

    success: NotRequired["GrepSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""


class GrepResults(TypedDict):
    """The matches under one path, in the requested form."""

    content: NotRequired["GrepContent"]
    """The matching lines. (since 0.1.0)"""

    files: NotRequired["GrepFiles"]
    """The files with matches. (since 0.1.0)"""

    count: NotRequired["GrepCounts"]
    """The number of matching lines of each file. (since 0.1.0)"""


class GrepSuccess(TypedDict):
    """The matches of a search."""

    pattern: str
    """The regular expression. (since 0.1.0)"""

    path: str
    """The searched file or directory. (since 0.1.0)"""

    outputMode: Literal["content", "files_with_matches", "count"]
    """The form of the values of `workspaceResults`. (since 0.1.0)"""

    workspaceResults: dict[str, "GrepResults"]
    """The matches under one key, the searched path. (since 0.1.0)"""


class InitEvent(TypedDict):
    """The first line of a run: its settings."""

    type: Literal["system"]
    """The type of the object. (since 0.1.0)"""

    subtype: Literal["init"]
    """The subtype of the event. (since 0.1.0)"""

    apiKeySource: Literal["env", "flag", "login"]
    """The source of the provider's API key; also `env` if the model needs no key, see `ibeam.api_key`. (since 0.1.0)"""

    cwd: str
    """The absolute path of the working directory. (since 0.1.0)"""

    session_id: str
    """The id of the session, for `--resume`; the same in every line. (since 0.1.0)"""

    model: str
    """The display name of the model, e.g. `Claude 4 Sonnet`; not its id. (since 0.1.0)"""

    permissionMode: Literal["default", "force", "plan", "ask"]
    """The permission mode of the run. (since 0.1.0)"""

    tools: NotRequired[list[str]]
    """The names of the tools offered to the model. (since 0.1.0)"""

    mcp_servers: NotRequired[list["ServerEntry"]]
    """The configured MCP servers. (since 0.1.0)"""

    ibeam: NotRequired["InitExtras"]
    """The settings of the run that the published page does not have. (since 0.1.0)"""


class InitExtras(TypedDict):
    """The settings of the run that the published page does not have."""

    version: str
    """The version of ibeam. (since 0.1.0)"""

    contract: Literal["1", "2"]
    """The contract that the stream follows. (since 0.1.0)"""

    api_key: Literal["env", "flag", "login", "none"]
    """The source of the provider's API key; `none` if the model needs no key. (since 0.1.0)"""

    sandbox: "SandboxEntry"
    """The sandbox of the commands. (since 0.1.0)"""

    limits: "LimitValues"
    """The limits of the run; an absent key means no limit. (since 0.1.0)"""

    journal_gaps: NotRequired[int]
    """The number of places where the journal of the resumed session lacks, repeats or reorders events; absent if there are none. [count] (since 0.1.0)"""

    ephemeral: NotRequired[Literal[True]]
    """Present and true if the run stores no session, so that `--resume` cannot continue it. (since 0.1.0)"""

    input: NotRequired[Literal["stream-json"]]
    """Present if the prompts are messages on stdin (`--input-format stream-json`). Then each message is a `user` line, each turn has a last line of its own, and only this line occurs once. (since 0.1.0)"""


class InputBlock(TypedDict):
    """A text, an image or a document."""

    type: Literal["text", "image", "document"]
    """The type of the block. (since 0.1.0)"""

    text: NotRequired[str]
    """The text; present if the type is `text`. (since 0.1.0)"""

    source: NotRequired["MediaSource"]
    """The content; present if the type is `image` or `document`. (since 0.1.0)"""


class InputMessage(TypedDict):
    """The role and the content of a message."""

    role: Literal["user"]
    """The author of the message. (since 0.1.0)"""

    content: Union[str, list["InputBlock"]]
    """The blocks of the message; at least one has a text that is not blank. A string is a block of text. (since 0.1.0)"""


class InputOptions(TypedDict):
    """The options of a message."""

    delivery: NotRequired[Literal["queue", "steer"]]
    """The turn of a message that arrives while a turn runs: `queue` (the default) starts a turn of its own after the running one, `steer` adds the message to the next model request of the running turn. (since 0.1.0)"""


class InterruptInput(TypedDict):
    """Ends the turn that is running, or else the turn of the next waiting message as soon as it starts. The last line of that turn is an `error` with the code `signal`. Without such a turn it has no effect."""

    type: Literal["interrupt"]
    """The type of the object. (since 0.1.0)"""

    session_id: NotRequired[str]
    """Ignored: the process has one session. (since 0.1.0)"""


class LimitValues(TypedDict):
    """The limits of a run."""

    max_turns: int
    """The maximum number of model requests. [count] (since 0.1.0)"""

    max_tokens: NotRequired[int]
    """The maximum number of tokens, input and output together. [tokens] (since 0.1.0)"""

    max_cost_usd: NotRequired[float]
    """The maximum cost. [USD] (since 0.1.0)"""

    max_tool_calls: NotRequired[int]
    """The maximum number of tool calls. [count] (since 0.1.0)"""

    timeout_ms: NotRequired[int]
    """The maximum duration. [ms] (since 0.1.0)"""


class LsArgs(TypedDict):
    """The directory to list."""

    path: str
    """The path of the directory. (since 0.1.0)"""

    ignore: list[str]
    """Globs of the entries to leave out. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` of the event. (since 0.1.0)"""


class LsCall(TypedDict):
    """Lists a directory."""

    args: Union["LsArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["LsResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class LsResult(TypedDict):
    """The outcome of `lsToolCall`: exactly one arm."""

    success: NotRequired["LsSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""


class LsSuccess(TypedDict):
    """The listing of a directory."""

    directoryTreeRoot: "DirectoryNode"
    """The listed directory. (since 0.1.0)"""


class McpArgs(TypedDict):
    """A tool of an MCP server and its arguments."""

    name: str
    """The names of the server and of the tool, joined: `server-tool`. (since 0.1.0)"""

    args: dict[str, Any]
    """The arguments of the tool. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` of the event. (since 0.1.0)"""

    providerIdentifier: str
    """The name of the server. (since 0.1.0)"""

    toolName: str
    """The name of the tool on the server. (since 0.1.0)"""


class McpBlock(TypedDict):
    """A block of the response of an MCP server."""

    text: "McpText"
    """The text of the block. (since 0.1.0)"""


class McpCall(TypedDict):
    """Calls a tool of an MCP server."""

    args: Union["McpArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["McpResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class McpResult(TypedDict):
    """The outcome of `mcpToolCall`: exactly one arm."""

    success: NotRequired["McpSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""


class McpSuccess(TypedDict):
    """The output of a tool of an MCP server."""

    content: list["McpBlock"]
    """The blocks of the response. (since 0.1.0)"""

    isError: bool
    """Whether the tool reports a failure; such a call counts as failed. (since 0.1.0)"""


class McpText(TypedDict):
    """The text of a block."""

    text: str
    """The text itself. (since 0.1.0)"""


class MediaSource(TypedDict):
    """The content of an image or a document."""

    type: Literal["base64"]
    """The type of the object. (since 0.1.0)"""

    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]
    """The type of the file. (since 0.1.0)"""

    data: str
    """The file as Base64 with padding. (since 0.1.0)"""


class Message(TypedDict):
    """A message of the user or of the model."""

    role: Literal["user", "assistant"]
    """The author of the message. (since 0.1.0)"""

    content: list["TextBlock"]
    """The blocks of the message. (since 0.1.0)"""


class ModelCosts(TypedDict):
    """The cost of the tokens of one model by class."""

    input_usd: float
    """The cost of `inputTokens`. [USD] (since 0.1.0)"""

    output_usd: float
    """The cost of `outputTokens`. [USD] (since 0.1.0)"""

    cache_read_usd: float
    """The cost of `cacheReadTokens`. [USD] (since 0.1.0)"""

    cache_write_usd: float
    """The cost of `cacheWriteTokens`. [USD] (since 0.1.0)"""

    reasoning_usd: float
    """The part of `output_usd` that was for reasoning. [USD] (since 0.1.0)"""


class ModelFallbackEvent(TypedDict):
    """Another model takes over, because a model was overloaded or a quota was exhausted. Only in streams of ibeam."""

    type: Literal["ibeam"]
    """The type of the object. (since 0.1.0)"""

    subtype: Literal["model_fallback"]
    """The subtype of the event. (since 0.1.0)"""

    from_model: str
    """The model that was unavailable, as `PROVIDER/ID`. (since 0.1.0)"""

    to_model: str
    """The model that takes over, as `PROVIDER/ID`. (since 0.1.0)"""

    code: Literal["failed", "usage", "denied", "auth", "model", "request", "context", "rate_limited", "provider", "network", "tls", "stalled", "limit", "empty", "refused", "timeout", "sandbox", "untrusted", "too_large", "data", "noinput", "internal", "os", "cantcreat", "io", "busy", "config", "parked", "signal"]
    """The class of the last failure of the unavailable model. (since 0.1.0)"""

    message: str
    """The failure for people: one English sentence. (since 0.1.0)"""

    session_id: str
    """The id of the session. (since 0.1.0)"""

    timestamp_ms: int
    """The time of the event, since 1970-01-01 UTC. [ms] (since 0.1.0)"""


class ModelTokens(TypedDict):
    """The tokens of the requests to one model."""

    inputTokens: int
    """Input tokens that were neither read from nor written to the provider's cache. [tokens] (since 0.1.0)"""

    outputTokens: int
    """Output tokens, reasoning included. [tokens] (since 0.1.0)"""

    cacheReadTokens: int
    """Input tokens read from the provider's cache. [tokens] (since 0.1.0)"""

    cacheWriteTokens: int
    """Input tokens written to the provider's cache. [tokens] (since 0.1.0)"""

    reasoningTokens: int
    """The part of the output tokens that was reasoning, as far as the provider reports it. [tokens] (since 0.1.0)"""


class ModelUsage(TypedDict):
    """The requests of the run to one model. Failed requests, and requests for summaries and corrections, are included."""

    model: str
    """The model as `PROVIDER/ID`, the form that `--model` takes. (since 0.1.0)"""

    requests: int
    """The number of requests that were answered. [count] (since 0.1.0)"""

    failed_requests: int
    """The number of requests that failed, whether they were retried or not. [count] (since 0.1.0)"""

    uncounted_requests: NotRequired[int]
    """The number of answers without token counts; absent if there were none. [count] (since 0.1.0)"""

    usage: NotRequired["ModelTokens"]
    """The tokens, as far as the provider reported them; absent if it reported none. (since 0.1.0)"""

    cost_usd: NotRequired[float]
    """The cost of these tokens, rounded up to millionths for each request; absent if the price is unknown. [USD] (since 0.1.0)"""

    cost_by_class: NotRequired["ModelCosts"]
    """The cost of each class of tokens, not rounded; absent if the price is unknown. (since 0.1.0)"""


class Patch(TypedDict):
    """A patch of one file."""

    patchContent: str
    """A unified diff. (since 0.1.0)"""


class PermissionDenied(TypedDict):
    """An access that the operating system denied."""

    path: str
    """The path of the denied access. (since 0.1.0)"""

    error: str
    """The error message of the operating system. (since 0.1.0)"""


class ReadArgs(TypedDict):
    """The file and the part of it to read."""

    path: str
    """The path of the file. (since 0.1.0)"""

    offset: NotRequired[int]
    """The first line, from 1. [line number] (since 0.1.0)"""

    limit: NotRequired[int]
    """The maximum number of lines. [lines] (since 0.1.0)"""


class ReadCall(TypedDict):
    """Reads a file."""

    args: Union["ReadArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["ReadResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class ReadResult(TypedDict):
    """The outcome of `readToolCall`: exactly one arm."""

    success: NotRequired["ReadSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""

    fileNotFound: NotRequired["FileNotFound"]
    """The file does not exist. (since 0.1.0)"""


class ReadSuccess(TypedDict):
    """The content of a part of a file."""

    content: str
    """The text from `offset` on, at most `limit` lines. (since 0.1.0)"""

    isEmpty: bool
    """Whether the file is empty. (since 0.1.0)"""

    exceededLimit: bool
    """Whether the file is longer than the maximum of one call, so that the text was cut. (since 0.1.0)"""

    totalLines: int
    """The number of lines of the complete file. [lines] (since 0.1.0)"""

    totalChars: int
    """The number of characters of the complete file. [characters] (since 0.1.0)"""


class Rejected(TypedDict):
    """A call that policy, a hook or a person refused; it did not run."""

    reason: str
    """The reason, in English. (since 0.1.0)"""


class Replacement(TypedDict):
    """One exact replacement."""

    oldText: str
    """The text to replace. (since 0.1.0)"""

    newText: str
    """The new text. (since 0.1.0)"""

    replaceAll: NotRequired[bool]
    """Whether every occurrence is replaced. (since 0.1.0)"""


class Replacements(TypedDict):
    """Several exact replacements."""

    edits: list["Replacement"]
    """The replacements, in the order of their application. (since 0.1.0)"""


class ResultEvent(TypedDict):
    """The end of a successful run: the last line."""

    type: Literal["result"]
    """The type of the object. (since 0.1.0)"""

    subtype: Literal["success"]
    """The outcome of the run. (since 0.1.0)"""

    duration_ms: int
    """The duration of the run. [ms] (since 0.1.0)"""

    duration_api_ms: int
    """Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`. [ms] (since 0.1.0)"""

    is_error: Literal[False]
    """Always false: a failed run ends with an `error` line. (since 0.1.0)"""

    result: str
    """Contract 1: The concatenation of the texts of all `assistant` lines, in order. (since 0.1.0) Contract 2: The concatenation of the texts of all segments, in order. (since 0.1.0)"""

    session_id: str
    """The id of the session. (since 0.1.0)"""

    request_id: NotRequired[str]
    """The provider's id of the last request. (since 0.1.0)"""

    usage: NotRequired["TokenUsage"]
    """The tokens of the run, if the provider counts them. (since 0.1.0)"""

    ibeam: NotRequired["RunSummary"]
    """Totals of the run. (since 0.1.0)"""


class ResultObject(TypedDict):
    """The one object that the format `json` prints on stdout at the end of a successful run."""

    type: Literal["result"]
    """The type of the object. (since 0.1.0)"""

    subtype: Literal["success"]
    """The outcome of the run. (since 0.1.0)"""

    is_error: Literal[False]
    """Always false: a failed run prints nothing on stdout. (since 0.1.0)"""

    duration_ms: int
    """The duration of the run. [ms] (since 0.1.0)"""

    duration_api_ms: int
    """Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`. [ms] (since 0.1.0)"""

    result: str
    """The concatenation of all texts of the answer, in order. (since 0.1.0)"""

    session_id: str
    """The id of the session, for `--resume`. (since 0.1.0)"""

    request_id: NotRequired[str]
    """The provider's id of the last request. (since 0.1.0)"""

    usage: NotRequired["TokenUsage"]
    """The tokens of the run, if the provider counts them. (since 0.1.0)"""

    ibeam: NotRequired["RunSummary"]
    """Totals of the run. (since 0.1.0)"""


class RunSummary(TypedDict):
    """Totals of a run."""

    turns: int
    """The number of model requests that were answered. [count] (since 0.1.0)"""

    api_ms: int
    """The time spent waiting for the model. [ms] (since 0.1.0)"""

    cost_usd: NotRequired[float]
    """The cost of the run, if the price of the model is known. [USD] (since 0.1.0)"""

    permission_denials: list["DenialEntry"]
    """The refused calls. (since 0.1.0)"""

    failed_tool_calls: int
    """The number of failed calls, without refused ones. [count] (since 0.1.0)"""

    files_changed: list[str]
    """The absolute paths that tools wrote, changed or deleted, each once, in the order of their first change. (since 0.1.0)"""

    retries: int
    """The number of repeated requests. [count] (since 0.1.0)"""

    continuations: NotRequired[int]
    """The number of interrupted answers that another request continued; absent if there were none. [count] (since 0.1.0)"""

    compactions: int
    """The number of compactions of the conversation. [count] (since 0.1.0)"""

    tool_calls: int
    """The number of started tool calls. [count] (since 0.1.0)"""

    background_stopped: int
    """The number of background commands that still ran at the end and were stopped. [count] (since 0.1.0)"""

    background_ended: NotRequired[list["BackgroundEndEntry"]]
    """The background commands that ended by themselves, in the order of their ends; absent if there were none. (since 0.1.0)"""

    final: NotRequired[str]
    """The final message: the text after the last call, at the end of `result`; absent if the run failed. (since 0.1.0)"""

    structured: NotRequired[Any]
    """The final message as a value; only with `--json-schema`, and absent if the run failed. (since 0.1.0)"""

    unsynced: NotRequired[Literal[True]]
    """Present and true if the run ended before its session was synced to disk: the last records may be lost. (since 0.1.0)"""

    models: NotRequired[list["ModelUsage"]]
    """The requests, tokens and cost of each model, in the order of the first request; absent if nothing was requested. (since 0.1.0)"""

    fallbacks: NotRequired[list["FallbackEntry"]]
    """The changes of the model, in their order; absent if there were none. (since 0.1.0)"""

    effort_used: NotRequired[str]
    """The level of reasoning that was used, if the model does not accept the one of `--effort`; otherwise absent. (since 0.1.0)"""


class SandboxEntry(TypedDict):
    """The sandbox of the commands of a run."""

    mode: Literal["off", "namespaces", "landlock"]
    """The kind of sandbox. (since 0.1.0)"""

    layers: list[str]
    """The names of the active layers. (since 0.1.0)"""

    network: bool
    """Whether commands can reach at least part of the network. (since 0.1.0)"""

    writable: NotRequired[list[str]]
    """The directories outside the workspace that commands may write to; absent if there are none. (since 0.1.0)"""

    reason: str
    """The reason for this sandbox, in English. (since 0.1.0)"""


class ServerEntry(TypedDict):
    """A configured MCP server."""

    name: str
    """The name in the configuration. (since 0.1.0)"""

    status: Literal["connected", "failed", "untrusted", "unsupported", "disabled"]
    """The state of the server. (since 0.1.0)"""


class ShellArgs(TypedDict):
    """A command and its working directory."""

    command: str
    """The bash command. (since 0.1.0)"""

    workingDirectory: str
    """The working directory; empty for the one of the run. (since 0.1.0)"""

    timeout: int
    """The time limit. [ms] (since 0.1.0)"""

    isBackground: NotRequired[bool]
    """Whether the command continues in the background. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` of the event. (since 0.1.0)"""


class ShellCall(TypedDict):
    """Runs a command."""

    args: Union["ShellArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["ShellResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class ShellOutput(TypedDict):
    """The output of a command that ran, with any exit code."""

    command: str
    """The command. (since 0.1.0)"""

    workingDirectory: str
    """The working directory. (since 0.1.0)"""

    exitCode: int
    """The exit code; 128 plus the signal number if a signal ended the command. [exit code] (since 0.1.0)"""

    signal: NotRequired[str]
    """The signal that ended the command, e.g. `SIGKILL`. (since 0.1.0)"""

    stdout: str
    """The text on stdout; long output is cut in the middle. (since 0.1.0)"""

    stderr: str
    """The text on stderr; long output is cut in the middle. (since 0.1.0)"""

    interleavedOutput: str
    """Stdout and stderr together, in the order in which they were read. (since 0.1.0)"""

    executionTime: int
    """The duration of the command. [ms] (since 0.1.0)"""


class ShellResult(TypedDict):
    """The outcome of `shellToolCall`: exactly one arm."""

    success: NotRequired["ShellOutput"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""

    failure: NotRequired["ShellOutput"]
    """The command exited non-zero, or a signal ended it. (since 0.1.0)"""

    timeout: NotRequired["Timeout"]
    """The command exceeded its time limit. (since 0.1.0)"""

    spawnError: NotRequired["ErrorMessage"]
    """The command could not be started. (since 0.1.0)"""

    isBackground: NotRequired[bool]
    """True for a command that continues in the background; a key next to the arm. (since 0.1.0)"""


class TaskArgs(TypedDict):
    """The task of a sub-agent."""

    description: str
    """The task in a few words. (since 0.1.0)"""

    prompt: str
    """The prompt of the sub-agent. (since 0.1.0)"""

    subagentType: NotRequired[str]
    """The name of the definition of the sub-agent. (since 0.1.0)"""

    model: NotRequired[str]
    """The model of the sub-agent, if it is not that of the run. (since 0.1.0)"""

    resume: NotRequired[str]
    """The id of an earlier sub-agent, which continues. (since 0.1.0)"""

    readonly: NotRequired[bool]
    """Whether the sub-agent may only read. (since 0.1.0)"""

    agentId: NotRequired[str]
    """The id of the sub-agent, which is the id of its session. (since 0.1.0)"""


class TaskCall(TypedDict):
    """Runs a sub-agent."""

    args: Union["TaskArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["TaskResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class TaskResult(TypedDict):
    """The outcome of `taskToolCall`: exactly one arm."""

    success: NotRequired["TaskSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""


class TaskSuccess(TypedDict):
    """The work of a sub-agent."""

    conversationSteps: list[Any]
    """The steps of the conversation; the last one is the result. (since 0.1.0)"""

    agentId: str
    """The id of the sub-agent. (since 0.1.0)"""

    durationMs: NotRequired[int]
    """The duration. [ms] (since 0.1.0)"""


class TextBlock(TypedDict):
    """A block of text."""

    type: Literal["text"]
    """The type of the object. (since 0.1.0)"""

    text: str
    """The text. (since 0.1.0)"""


class Timeout(TypedDict):
    """A command that exceeded its time limit."""

    timeoutMs: int
    """The time limit. [ms] (since 0.1.0)"""


class TodoArgs(TypedDict):
    """An item of the arguments. In a merge, absent keys keep their values."""

    id: str
    """The id within the list. (since 0.1.0)"""

    content: NotRequired[str]
    """The text of the to-do. (since 0.1.0)"""

    status: NotRequired[Literal["TODO_STATUS_PENDING", "TODO_STATUS_IN_PROGRESS", "TODO_STATUS_COMPLETED", "TODO_STATUS_CANCELLED"]]
    """The state of the to-do. (since 0.1.0)"""


class TodoEntry(TypedDict):
    """A to-do."""

    id: str
    """The id within the list. (since 0.1.0)"""

    content: str
    """The text of the to-do. (since 0.1.0)"""

    status: Literal["TODO_STATUS_PENDING", "TODO_STATUS_IN_PROGRESS", "TODO_STATUS_COMPLETED", "TODO_STATUS_CANCELLED"]
    """The state of the to-do. (since 0.1.0)"""


class TodosSuccess(TypedDict):
    """The new state of the to-do list."""

    todos: list["TodoEntry"]
    """The complete list. (since 0.1.0)"""


class TokenUsage(TypedDict):
    """The tokens of all requests of a run."""

    inputTokens: int
    """Input tokens that were neither read from nor written to the provider's cache. [tokens] (since 0.1.0)"""

    outputTokens: int
    """Output tokens. [tokens] (since 0.1.0)"""

    cacheReadTokens: int
    """Input tokens read from the provider's cache. [tokens] (since 0.1.0)"""

    cacheWriteTokens: int
    """Input tokens written to the provider's cache. [tokens] (since 0.1.0)"""


class ToolCall(TypedDict):
    """A call: one key, which names the tool."""

    readToolCall: NotRequired["ReadCall"]
    """Reads a file. (since 0.1.0)"""

    writeToolCall: NotRequired["WriteCall"]
    """Creates a file or replaces its content. (since 0.1.0)"""

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

    webSearchToolCall: NotRequired["WebSearchCall"]
    """Searches the web. (since 0.1.0)"""

    mcpToolCall: NotRequired["McpCall"]
    """Calls a tool of an MCP server. (since 0.1.0)"""

    taskToolCall: NotRequired["TaskCall"]
    """Runs a sub-agent. (since 0.1.0)"""

    function: NotRequired["FunctionCall"]
    """Calls a tool without its own key, or one that does not exist. (since 0.1.0)"""


class ToolCallCompletedEvent(TypedDict):
    """A tool call has ended: successful, failed, refused or interrupted. Each started call has exactly one such line."""

    type: Literal["tool_call"]
    """The type of the object. (since 0.1.0)"""

    subtype: Literal["completed"]
    """The subtype of the event. (since 0.1.0)"""

    call_id: str
    """The `call_id` of the line `started`. (since 0.1.0)"""

    tool_call: "ToolCall"
    """The tool, its arguments and its `result`. (since 0.1.0)"""

    session_id: str
    """The id of the session. (since 0.1.0)"""

    model_call_id: NotRequired[str]
    """The model response that the call belongs to; the calls of one response share it. (since 0.1.0)"""

    timestamp_ms: NotRequired[int]
    """The end time, since 1970-01-01 UTC. [ms] (since 0.1.0)"""


class ToolCallStartedEvent(TypedDict):
    """A tool call starts."""

    type: Literal["tool_call"]
    """The type of the object. (since 0.1.0)"""

    subtype: Literal["started"]
    """The subtype of the event. (since 0.1.0)"""

    call_id: str
    """The provider's id of the call, with any characters; the same in `started` and `completed`. (since 0.1.0)"""

    tool_call: "ToolCall"
    """The tool and its arguments, without a `result`. (since 0.1.0)"""

    session_id: str
    """The id of the session. (since 0.1.0)"""

    model_call_id: NotRequired[str]
    """The model response that the call belongs to; the calls of one response share it. (since 0.1.0)"""

    timestamp_ms: NotRequired[int]
    """The start time, since 1970-01-01 UTC. [ms] (since 0.1.0)"""


class UpdateTodosArgs(TypedDict):
    """The items for the to-do list."""

    todos: list["TodoArgs"]
    """The items. (since 0.1.0)"""

    merge: bool
    """Whether the items are merged into the list by their ids; otherwise they replace it. (since 0.1.0)"""


class UpdateTodosCall(TypedDict):
    """Changes the to-do list."""

    args: Union["UpdateTodosArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["UpdateTodosResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class UpdateTodosResult(TypedDict):
    """The outcome of `updateTodosToolCall`: exactly one arm."""

    success: NotRequired["TodosSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""


class UserEvent(TypedDict):
    """The prompt, verbatim. Occurs once, after `init`."""

    type: Literal["user"]
    """The type of the object. (since 0.1.0)"""

    message: "Message"
    """The prompt. Its text, piped input and context added by hooks are separate blocks. (since 0.1.0)"""

    session_id: str
    """The id of the session. (since 0.1.0)"""

    ibeam: NotRequired["UserExtras"]
    """The additions of ibeam; absent without attached files. (since 0.1.0)"""


class UserExtras(TypedDict):
    """The additions to `user`."""

    attachments: list["AttachmentEntry"]
    """The files that the user attached, in their order. (since 0.1.0)"""


class UserInput(TypedDict):
    """A message of the user. A `user` line of the output without attached files has the same form and can be written to stdin again."""

    type: Literal["user"]
    """The type of the object. (since 0.1.0)"""

    message: "InputMessage"
    """The message. (since 0.1.0)"""

    session_id: NotRequired[str]
    """Ignored: the process has one session. (since 0.1.0)"""

    ibeam: NotRequired["InputOptions"]
    """The options of the message. (since 0.1.0)"""


class WebFetchArgs(TypedDict):
    """The page to fetch."""

    url: str
    """The address of the page. (since 0.1.0)"""


class WebFetchCall(TypedDict):
    """Fetches a page."""

    args: Union["WebFetchArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["WebFetchResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class WebFetchResult(TypedDict):
    """The outcome of `webFetchToolCall`: exactly one arm."""

    success: NotRequired["WebFetchSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""


class WebFetchSuccess(TypedDict):
    """A fetched page."""

    url: str
    """The address of the page, after redirects. (since 0.1.0)"""

    markdown: str
    """The text of the page as Markdown. (since 0.1.0)"""


class WebSearchArgs(TypedDict):
    """The words to search for."""

    searchTerm: str
    """The words. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` of the event. (since 0.1.0)"""


class WebSearchCall(TypedDict):
    """Searches the web."""

    args: Union["WebSearchArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["WebSearchResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class WebSearchResult(TypedDict):
    """The outcome of `webSearchToolCall`: exactly one arm."""

    success: NotRequired["WebSearchSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""


class WebSearchSuccess(TypedDict):
    """The results of a search."""

    content: str
    """Title, address and text of each result. (since 0.1.0)"""


class WriteArgs(TypedDict):
    """A file and its complete new content."""

    path: str
    """The path of the file. (since 0.1.0)"""

    fileText: str
    """The complete new content. (since 0.1.0)"""

    toolCallId: str
    """The `call_id` of the event. (since 0.1.0)"""


class WriteCall(TypedDict):
    """Creates a file or replaces its content."""

    args: Union["WriteArgs", dict[str, Any]]
    """The arguments as the model wrote them; they may not fit the tool. (since 0.1.0)"""

    result: NotRequired["WriteResult"]
    """The outcome of the call; in `completed` only. (since 0.1.0)"""


class WriteResult(TypedDict):
    """The outcome of `writeToolCall`: exactly one arm."""

    success: NotRequired["WriteSuccess"]
    """The call succeeded. (since 0.1.0)"""

    rejected: NotRequired["Rejected"]
    """The call was refused and did not run. (since 0.1.0)"""

    permissionDenied: NotRequired["PermissionDenied"]
    """The operating system denied access. (since 0.1.0)"""

    error: NotRequired["ErrorMessage"]
    """The call failed, or the end of the run interrupted it. (since 0.1.0)"""


class WriteSuccess(TypedDict):
    """The written file."""

    path: str
    """The absolute path of the file. (since 0.1.0)"""

    linesCreated: int
    """The number of lines of the new content. [lines] (since 0.1.0)"""

    fileSize: int
    """The size of the new content. [bytes] (since 0.1.0)"""


StreamEvent = Union[
    AssistantEvent,
    ErrorEvent,
    InitEvent,
    ModelFallbackEvent,
    ResultEvent,
    ToolCallCompletedEvent,
    ToolCallStartedEvent,
    UserEvent,
]
"""A line of `--output-format stream-json`, distinguished by `type` and `subtype`."""
