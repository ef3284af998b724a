// What `ibeam --print` prints: contracts 1 and 2 of docs/output-format.md.
// Generated from docs/schema by `cargo xtask schema`; do not edit.
//
// Keys are only ever added, so there may be others. A key with `?` may be absent; none is ever null.

/** A line of `--output-format stream-json`, distinguished by `type` and `subtype`. */
export type StreamEvent =
  | AssistantEvent
  | ErrorEvent
  | InitEvent
  | ModelFallbackEvent
  | ResultEvent
  | ToolCallCompletedEvent
  | ToolCallStartedEvent
  | UserEvent;

/** Contract 1: A part of the answer. The answer is the concatenation of the texts of all `assistant` lines, in order. Contract 2: A segment of the answer: the complete text between two calls. The answer is the concatenation of the texts of all segments, in order. A segment before a call has `model_call_id` and `timestamp_ms`; the last segment has neither. An event with `timestamp_ms` alone is a delta, which the next segment repeats; deltas need `--stream-partial-output`. */
export interface AssistantEvent {
  /** The type of the object. (since 0.1.0) */
  type: "assistant";
  /** The message with this part of the text. (since 0.1.0) */
  message: Message;
  /** The id of the session. (since 0.1.0) */
  session_id: string;
  /** The id of the model response that the text and the following call belong to. (since 0.1.0) */
  model_call_id?: string;
  /** The time of the event, since 1970-01-01 UTC. [ms] (since 0.1.0) */
  timestamp_ms?: number;
}

/** A file that the user attached. Its content is not in the stream. */
export interface AttachmentEntry {
  /** The path as the user wrote it, or `image 1` or `document 1` for a block of a message on stdin. (since 0.1.0) */
  name: string;
  /** The type of the file: `text/plain` for any text. (since 0.1.0) */
  media_type: string;
}

/** The end of a background command that ended by itself. */
export interface BackgroundEndEntry {
  /** The call that started it. (since 0.1.0) */
  call_id: string;
  /** The command. (since 0.1.0) */
  command: string;
  /** The exit code; 128 + number for a signal. [exit code] (since 0.1.0) */
  exit_code: number;
}

/** The file to delete. */
export interface DeleteArgs {
  /** The path of the file. (since 0.1.0) */
  path: string;
}

/** Deletes a file. */
export interface DeleteCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: DeleteArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: DeleteResult;
}

/** The outcome of `deleteToolCall`: exactly one arm. */
export interface DeleteResult {
  /** The call succeeded. (since 0.1.0) */
  success?: DeleteSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
  /** The file does not exist. (since 0.1.0) */
  fileNotFound?: FileNotFound;
}

/** The deleted file. */
export interface DeleteSuccess {
  /** The absolute path of the file. (since 0.1.0) */
  path: string;
  /** The size before the deletion. [bytes] (since 0.1.0) */
  fileSize: number;
}

/** A refused call. */
export interface DenialEntry {
  /** The id of the call. (since 0.1.0) */
  call_id: string;
  /** The tool of the call. (since 0.1.0) */
  tool: string;
  /** The rule that refused the call. (since 0.1.0) */
  rule: string;
}

/** A directory and its entries. */
export interface DirectoryNode {
  /** The absolute path of the directory. (since 0.1.0) */
  absPath: string;
  /** The number of files listed in the directory and below it. [count] (since 0.1.0) */
  numFiles: number;
  /** The files in the directory. (since 0.1.0) */
  childrenFiles: Array<FileNode>;
  /** The subdirectories of the directory. (since 0.1.0) */
  childrenDirs: Array<DirectoryNode>;
}

/** A file and its changes in one of three forms. */
export interface EditArgs {
  /** The path of the file. (since 0.1.0) */
  path: string;
  /** One exact replacement. (since 0.1.0) */
  strReplace?: Replacement;
  /** Several replacements, each applied to the result of the previous one. (since 0.1.0) */
  multiStrReplace?: Replacements;
  /** A patch. (since 0.1.0) */
  applyPatch?: Patch;
}

/** Changes parts of a file. */
export interface EditCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: EditArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: EditResult;
}

/** The outcome of `editToolCall`: exactly one arm. */
export interface EditResult {
  /** The call succeeded. (since 0.1.0) */
  success?: EditSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The change of a file. */
export interface EditSuccess {
  /** The absolute path of the file. (since 0.1.0) */
  path: string;
  /** The number of added lines. [lines] (since 0.1.0) */
  linesAdded: number;
  /** The number of removed lines. [lines] (since 0.1.0) */
  linesRemoved: number;
  /** The change as a unified diff. (since 0.1.0) */
  diffString: string;
  /** One sentence that describes the change. (since 0.1.0) */
  message: string;
}

/** The end of a failed run: the last line. */
export interface ErrorEvent {
  /** The type of the object. (since 0.1.0) */
  type: "error";
  /** The class of the failure. (since 0.1.0) */
  code: "failed" | "usage" | "denied" | "auth" | "model" | "request" | "context" | "rate_limited" | "provider" | "network" | "tls" | "stalled" | "limit" | "empty" | "refused" | "timeout" | "sandbox" | "untrusted" | "too_large" | "data" | "noinput" | "internal" | "os" | "cantcreat" | "io" | "busy" | "config" | "parked" | "signal";
  /** The message for people: one English sentence. (since 0.1.0) */
  message: string;
  /** The exit code of the program. [exit code] (since 0.1.0) */
  exit_code: number;
  /** Whether the same run may succeed later. (since 0.1.0) */
  retryable: boolean;
  /** The delay that the provider requests before a retry. [ms] (since 0.1.0) */
  retry_after_ms?: number;
  /** The status of the provider's response. [HTTP status] (since 0.1.0) */
  http_status?: number;
  /** The provider's id of the failed request. (since 0.1.0) */
  request_id?: string;
  /** The id of the session; absent if no run had started. (since 0.1.0) */
  session_id: string;
  /** Totals of the run; absent if no run had started. (since 0.1.0) */
  ibeam: RunSummary;
  /** Whether `--resume` can continue the run; absent if no run had started. (since 0.1.0) */
  resumable: boolean;
  /** The text of the answer up to the failure. (since 0.1.0) */
  result?: string;
}

/** The error of a failed call. */
export interface ErrorMessage {
  /** The error message: one English sentence. (since 0.1.0) */
  errorMessage: string;
}

/** The end of a failed run: the last line. */
export interface ErrorObject {
  /** The type of the object. (since 0.1.0) */
  type: "error";
  /** The class of the failure. (since 0.1.0) */
  code: "failed" | "usage" | "denied" | "auth" | "model" | "request" | "context" | "rate_limited" | "provider" | "network" | "tls" | "stalled" | "limit" | "empty" | "refused" | "timeout" | "sandbox" | "untrusted" | "too_large" | "data" | "noinput" | "internal" | "os" | "cantcreat" | "io" | "busy" | "config" | "parked" | "signal";
  /** The message for people: one English sentence. (since 0.1.0) */
  message: string;
  /** The exit code of the program. [exit code] (since 0.1.0) */
  exit_code: number;
  /** Whether the same run may succeed later. (since 0.1.0) */
  retryable: boolean;
  /** The delay that the provider requests before a retry. [ms] (since 0.1.0) */
  retry_after_ms?: number;
  /** The status of the provider's response. [HTTP status] (since 0.1.0) */
  http_status?: number;
  /** The provider's id of the failed request. (since 0.1.0) */
  request_id?: string;
  /** The id of the session; absent if no run had started. (since 0.1.0) */
  session_id?: string;
  /** Totals of the run; absent if no run had started. (since 0.1.0) */
  ibeam?: RunSummary;
  /** Whether `--resume` can continue the run; absent if no run had started. (since 0.1.0) */
  resumable?: boolean;
  /** The text of the answer up to the failure. (since 0.1.0) */
  result?: string;
}

/** A change to another model, because a model was overloaded or a quota was exhausted. */
export interface FallbackEntry {
  /** The model that was unavailable, as `PROVIDER/ID`. (since 0.1.0) */
  from_model: string;
  /** The model that took over, as `PROVIDER/ID`. (since 0.1.0) */
  to_model: string;
  /** The class of the last failure of the unavailable model. (since 0.1.0) */
  code: "failed" | "usage" | "denied" | "auth" | "model" | "request" | "context" | "rate_limited" | "provider" | "network" | "tls" | "stalled" | "limit" | "empty" | "refused" | "timeout" | "sandbox" | "untrusted" | "too_large" | "data" | "noinput" | "internal" | "os" | "cantcreat" | "io" | "busy" | "config" | "parked" | "signal";
  /** The failure for people: one English sentence. (since 0.1.0) */
  message: string;
}

/** A file of a directory. */
export interface FileNode {
  /** The name of the file, without the directory. (since 0.1.0) */
  name: string;
}

/** A file that does not exist. */
export interface FileNotFound {
  /** The path of the file. (since 0.1.0) */
  path: string;
}

/** A call of a tool without its own key. */
export interface FunctionCall {
  /** The name of the tool. (since 0.1.0) */
  name: string;
  /** The arguments as the model wrote them: a string, usually with JSON. (since 0.1.0) */
  arguments: string;
  /** The output of the tool; in `completed` only. (since 0.1.0) */
  result?: unknown;
}

/** The names to find and the directory to search. */
export interface GlobArgs {
  /** The glob pattern. (since 0.1.0) */
  globPattern: string;
  /** The directory to search. (since 0.1.0) */
  targetDirectory?: string;
}

/** Finds files by name. */
export interface GlobCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: GlobArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: GlobResult;
}

/** The outcome of `globToolCall`: exactly one arm. */
export interface GlobResult {
  /** The call succeeded. (since 0.1.0) */
  success?: GlobSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The files with matching names. */
export interface GlobSuccess {
  /** The glob pattern. (since 0.1.0) */
  pattern: string;
  /** The searched directory. (since 0.1.0) */
  path: string;
  /** The matching files. (since 0.1.0) */
  files: Array<string>;
  /** The number of all matching files, including those beyond the limit of `files`. [count] (since 0.1.0) */
  totalFiles: number;
}

/** The pattern and the files to search. */
export interface GrepArgs {
  /** The regular expression. (since 0.1.0) */
  pattern: string;
  /** The file or directory to search. (since 0.1.0) */
  path?: string;
  /** A glob of the files to search. (since 0.1.0) */
  glob?: string;
  /** The form of the matches. (since 0.1.0) */
  outputMode?: "content" | "files_with_matches" | "count";
  /** Whether the match ignores case. (since 0.1.0) */
  caseInsensitive?: boolean;
  /** Whether a match may span lines. (since 0.1.0) */
  multiline?: boolean;
  /** The maximum number of matches. [count] (since 0.1.0) */
  headLimit?: number;
  /** The type of the files, e.g. `rust`. (since 0.1.0) */
  type?: string;
  /** The `call_id` of the event. (since 0.1.0) */
  toolCallId: string;
}

/** Searches the content of files. */
export interface GrepCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: GrepArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: GrepResult;
}

/** The matching lines, grouped by file. */
export interface GrepContent {
  /** The files. (since 0.1.0) */
  matches: Array<GrepFile>;
  /** The number of lines of all files together. [lines] (since 0.1.0) */
  totalLines: number;
}

/** The number of matching lines of a file. */
export interface GrepCount {
  /** The path of the file. (since 0.1.0) */
  file: string;
  /** The number of matching lines. [lines] (since 0.1.0) */
  count: number;
}

/** The number of matching lines, grouped by file. */
export interface GrepCounts {
  /** The files. (since 0.1.0) */
  counts: Array<GrepCount>;
}

/** A file with its matching lines. */
export interface GrepFile {
  /** The path of the file. (since 0.1.0) */
  file: string;
  /** The matching lines. (since 0.1.0) */
  matches: Array<GrepLine>;
}

/** The files with a matching line. */
export interface GrepFiles {
  /** The paths of the files. (since 0.1.0) */
  files: Array<string>;
}

/** A matching line. */
export interface GrepLine {
  /** The line number, from 1. [line number] (since 0.1.0) */
  lineNumber: number;
  /** The text, without its line end. (since 0.1.0) */
  content: string;
}

/** The outcome of `grepToolCall`: exactly one arm. */
export interface GrepResult {
  /** The call succeeded. (since 0.1.0) */
  success?: GrepSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The matches under one path, in the requested form. */
export interface GrepResults {
  /** The matching lines. (since 0.1.0) */
  content?: GrepContent;
  /** The files with matches. (since 0.1.0) */
  files?: GrepFiles;
  /** The number of matching lines of each file. (since 0.1.0) */
  count?: GrepCounts;
}

/** The matches of a search. */
export interface GrepSuccess {
  /** The regular expression. (since 0.1.0) */
  pattern: string;
  /** The searched file or directory. (since 0.1.0) */
  path: string;
  /** The form of the values of `workspaceResults`. (since 0.1.0) */
  outputMode: "content" | "files_with_matches" | "count";
  /** The matches under one key, the searched path. (since 0.1.0) */
  workspaceResults: Record<string, GrepResults>;
}

/** The first line of a run: its settings. */
export interface InitEvent {
  /** The type of the object. (since 0.1.0) */
  type: "system";
  /** The subtype of the event. (since 0.1.0) */
  subtype: "init";
  /** The source of the provider's API key; also `env` if the model needs no key, see `ibeam.api_key`. (since 0.1.0) */
  apiKeySource: "env" | "flag" | "login";
  /** The absolute path of the working directory. (since 0.1.0) */
  cwd: string;
  /** The id of the session, for `--resume`; the same in every line. (since 0.1.0) */
  session_id: string;
  /** The display name of the model, e.g. `Claude 4 Sonnet`; not its id. (since 0.1.0) */
  model: string;
  /** The permission mode of the run. (since 0.1.0) */
  permissionMode: "default" | "force" | "plan" | "ask";
  /** The names of the tools offered to the model. (since 0.1.0) */
  tools?: Array<string>;
  /** The configured MCP servers. (since 0.1.0) */
  mcp_servers?: Array<ServerEntry>;
  /** The settings of the run that the published page does not have. (since 0.1.0) */
  ibeam?: InitExtras;
}

/** The settings of the run that the published page does not have. */
export interface InitExtras {
  /** The version of ibeam. (since 0.1.0) */
  version: string;
  /** The contract that the stream follows. (since 0.1.0) */
  contract: "1" | "2";
  /** The source of the provider's API key; `none` if the model needs no key. (since 0.1.0) */
  api_key: "env" | "flag" | "login" | "none";
  /** The sandbox of the commands. (since 0.1.0) */
  sandbox: SandboxEntry;
  /** The limits of the run; an absent key means no limit. (since 0.1.0) */
  limits: LimitValues;
  /** The number of places where the journal of the resumed session lacks, repeats or reorders events; absent if there are none. [count] (since 0.1.0) */
  journal_gaps?: number;
  /** Present and true if the run stores no session, so that `--resume` cannot continue it. (since 0.1.0) */
  ephemeral?: true;
  /** Present if the prompts are messages on stdin (`--input-format stream-json`). Then each message is a `user` line, each turn has a last line of its own, and only this line occurs once. (since 0.1.0) */
  input?: "stream-json";
}

/** A text, an image or a document. */
export interface InputBlock {
  /** The type of the block. (since 0.1.0) */
  type: "text" | "image" | "document";
  /** The text; present if the type is `text`. (since 0.1.0) */
  text?: string;
  /** The content; present if the type is `image` or `document`. (since 0.1.0) */
  source?: MediaSource;
}

/** The role and the content of a message. */
export interface InputMessage {
  /** The author of the message. (since 0.1.0) */
  role: "user";
  /** The blocks of the message; at least one has a text that is not blank. A string is a block of text. (since 0.1.0) */
  content: string | Array<InputBlock>;
}

/** The options of a message. */
export interface InputOptions {
  /** The turn of a message that arrives while a turn runs: `queue` (the default) starts a turn of its own after the running one, `steer` adds the message to the next model request of the running turn. (since 0.1.0) */
  delivery?: "queue" | "steer";
}

/** Ends the turn that is running, or else the turn of the next waiting message as soon as it starts. The last line of that turn is an `error` with the code `signal`. Without such a turn it has no effect. */
export interface InterruptInput {
  /** The type of the object. (since 0.1.0) */
  type: "interrupt";
  /** Ignored: the process has one session. (since 0.1.0) */
  session_id?: string;
}

/** The limits of a run. */
export interface LimitValues {
  /** The maximum number of model requests. [count] (since 0.1.0) */
  max_turns: number;
  /** The maximum number of tokens, input and output together. [tokens] (since 0.1.0) */
  max_tokens?: number;
  /** The maximum cost. [USD] (since 0.1.0) */
  max_cost_usd?: number;
  /** The maximum number of tool calls. [count] (since 0.1.0) */
  max_tool_calls?: number;
  /** The maximum duration. [ms] (since 0.1.0) */
  timeout_ms?: number;
}

/** The directory to list. */
export interface LsArgs {
  /** The path of the directory. (since 0.1.0) */
  path: string;
  /** Globs of the entries to leave out. (since 0.1.0) */
  ignore: Array<string>;
  /** The `call_id` of the event. (since 0.1.0) */
  toolCallId: string;
}

/** Lists a directory. */
export interface LsCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: LsArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: LsResult;
}

/** The outcome of `lsToolCall`: exactly one arm. */
export interface LsResult {
  /** The call succeeded. (since 0.1.0) */
  success?: LsSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The listing of a directory. */
export interface LsSuccess {
  /** The listed directory. (since 0.1.0) */
  directoryTreeRoot: DirectoryNode;
}

/** A tool of an MCP server and its arguments. */
export interface McpArgs {
  /** The names of the server and of the tool, joined: `server-tool`. (since 0.1.0) */
  name: string;
  /** The arguments of the tool. (since 0.1.0) */
  args: Record<string, unknown>;
  /** The `call_id` of the event. (since 0.1.0) */
  toolCallId: string;
  /** The name of the server. (since 0.1.0) */
  providerIdentifier: string;
  /** The name of the tool on the server. (since 0.1.0) */
  toolName: string;
}

/** A block of the response of an MCP server. */
export interface McpBlock {
  /** The text of the block. (since 0.1.0) */
  text: McpText;
}

/** Calls a tool of an MCP server. */
export interface McpCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: McpArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: McpResult;
}

/** The outcome of `mcpToolCall`: exactly one arm. */
export interface McpResult {
  /** The call succeeded. (since 0.1.0) */
  success?: McpSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The output of a tool of an MCP server. */
export interface McpSuccess {
  /** The blocks of the response. (since 0.1.0) */
  content: Array<McpBlock>;
  /** Whether the tool reports a failure; such a call counts as failed. (since 0.1.0) */
  isError: boolean;
}

/** The text of a block. */
export interface McpText {
  /** The text itself. (since 0.1.0) */
  text: string;
}

/** The content of an image or a document. */
export interface MediaSource {
  /** The type of the object. (since 0.1.0) */
  type: "base64";
  /** The type of the file. (since 0.1.0) */
  media_type: "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "application/pdf";
  /** The file as Base64 with padding. (since 0.1.0) */
  data: string;
}

/** A message of the user or of the model. */
export interface Message {
  /** The author of the message. (since 0.1.0) */
  role: "user" | "assistant";
  /** The blocks of the message. (since 0.1.0) */
  content: Array<TextBlock>;
}

/** The cost of the tokens of one model by class. */
export interface ModelCosts {
  /** The cost of `inputTokens`. [USD] (since 0.1.0) */
  input_usd: number;
  /** The cost of `outputTokens`. [USD] (since 0.1.0) */
  output_usd: number;
  /** The cost of `cacheReadTokens`. [USD] (since 0.1.0) */
  cache_read_usd: number;
  /** The cost of `cacheWriteTokens`. [USD] (since 0.1.0) */
  cache_write_usd: number;
  /** The part of `output_usd` that was for reasoning. [USD] (since 0.1.0) */
  reasoning_usd: number;
}

/** Another model takes over, because a model was overloaded or a quota was exhausted. Only in streams of ibeam. */
export interface ModelFallbackEvent {
  /** The type of the object. (since 0.1.0) */
  type: "ibeam";
  /** The subtype of the event. (since 0.1.0) */
  subtype: "model_fallback";
  /** The model that was unavailable, as `PROVIDER/ID`. (since 0.1.0) */
  from_model: string;
  /** The model that takes over, as `PROVIDER/ID`. (since 0.1.0) */
  to_model: string;
  /** The class of the last failure of the unavailable model. (since 0.1.0) */
  code: "failed" | "usage" | "denied" | "auth" | "model" | "request" | "context" | "rate_limited" | "provider" | "network" | "tls" | "stalled" | "limit" | "empty" | "refused" | "timeout" | "sandbox" | "untrusted" | "too_large" | "data" | "noinput" | "internal" | "os" | "cantcreat" | "io" | "busy" | "config" | "parked" | "signal";
  /** The failure for people: one English sentence. (since 0.1.0) */
  message: string;
  /** The id of the session. (since 0.1.0) */
  session_id: string;
  /** The time of the event, since 1970-01-01 UTC. [ms] (since 0.1.0) */
  timestamp_ms: number;
}

/** The tokens of the requests to one model. */
export interface ModelTokens {
  /** Input tokens that were neither read from nor written to the provider's cache. [tokens] (since 0.1.0) */
  inputTokens: number;
  /** Output tokens, reasoning included. [tokens] (since 0.1.0) */
  outputTokens: number;
  /** Input tokens read from the provider's cache. [tokens] (since 0.1.0) */
  cacheReadTokens: number;
  /** Input tokens written to the provider's cache. [tokens] (since 0.1.0) */
  cacheWriteTokens: number;
  /** The part of the output tokens that was reasoning, as far as the provider reports it. [tokens] (since 0.1.0) */
  reasoningTokens: number;
}

/** The requests of the run to one model. Failed requests, and requests for summaries and corrections, are included. */
export interface ModelUsage {
  /** The model as `PROVIDER/ID`, the form that `--model` takes. (since 0.1.0) */
  model: string;
  /** The number of requests that were answered. [count] (since 0.1.0) */
  requests: number;
  /** The number of requests that failed, whether they were retried or not. [count] (since 0.1.0) */
  failed_requests: number;
  /** The number of answers without token counts; absent if there were none. [count] (since 0.1.0) */
  uncounted_requests?: number;
  /** The tokens, as far as the provider reported them; absent if it reported none. (since 0.1.0) */
  usage?: ModelTokens;
  /** The cost of these tokens, rounded up to millionths for each request; absent if the price is unknown. [USD] (since 0.1.0) */
  cost_usd?: number;
  /** The cost of each class of tokens, not rounded; absent if the price is unknown. (since 0.1.0) */
  cost_by_class?: ModelCosts;
}

/** A patch of one file. */
export interface Patch {
  /** A unified diff. (since 0.1.0) */
  patchContent: string;
}

/** An access that the operating system denied. */
export interface PermissionDenied {
  /** The path of the denied access. (since 0.1.0) */
  path: string;
  /** The error message of the operating system. (since 0.1.0) */
  error: string;
}

/** The file and the part of it to read. */
export interface ReadArgs {
  /** The path of the file. (since 0.1.0) */
  path: string;
  /** The first line, from 1. [line number] (since 0.1.0) */
  offset?: number;
  /** The maximum number of lines. [lines] (since 0.1.0) */
  limit?: number;
}

/** Reads a file. */
export interface ReadCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: ReadArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: ReadResult;
}

/** The outcome of `readToolCall`: exactly one arm. */
export interface ReadResult {
  /** The call succeeded. (since 0.1.0) */
  success?: ReadSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
  /** The file does not exist. (since 0.1.0) */
  fileNotFound?: FileNotFound;
}

/** The content of a part of a file. */
export interface ReadSuccess {
  /** The text from `offset` on, at most `limit` lines. (since 0.1.0) */
  content: string;
  /** Whether the file is empty. (since 0.1.0) */
  isEmpty: boolean;
  /** Whether the file is longer than the maximum of one call, so that the text was cut. (since 0.1.0) */
  exceededLimit: boolean;
  /** The number of lines of the complete file. [lines] (since 0.1.0) */
  totalLines: number;
  /** The number of characters of the complete file. [characters] (since 0.1.0) */
  totalChars: number;
}

/** A call that policy, a hook or a person refused; it did not run. */
export interface Rejected {
  /** The reason, in English. (since 0.1.0) */
  reason: string;
}

/** One exact replacement. */
export interface Replacement {
  /** The text to replace. (since 0.1.0) */
  oldText: string;
  /** The new text. (since 0.1.0) */
  newText: string;
  /** Whether every occurrence is replaced. (since 0.1.0) */
  replaceAll?: boolean;
}

/** Several exact replacements. */
export interface Replacements {
  /** The replacements, in the order of their application. (since 0.1.0) */
  edits: Array<Replacement>;
}

/** The end of a successful run: the last line. */
export interface ResultEvent {
  /** The type of the object. (since 0.1.0) */
  type: "result";
  /** The outcome of the run. (since 0.1.0) */
  subtype: "success";
  /** The duration of the run. [ms] (since 0.1.0) */
  duration_ms: number;
  /** Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`. [ms] (since 0.1.0) */
  duration_api_ms: number;
  /** Always false: a failed run ends with an `error` line. (since 0.1.0) */
  is_error: false;
  /** Contract 1: The concatenation of the texts of all `assistant` lines, in order. (since 0.1.0) Contract 2: The concatenation of the texts of all segments, in order. (since 0.1.0) */
  result: string;
  /** The id of the session. (since 0.1.0) */
  session_id: string;
  /** The provider's id of the last request. (since 0.1.0) */
  request_id?: string;
  /** The tokens of the run, if the provider counts them. (since 0.1.0) */
  usage?: TokenUsage;
  /** Totals of the run. (since 0.1.0) */
  ibeam?: RunSummary;
}

/** The one object that the format `json` prints on stdout at the end of a successful run. */
export interface ResultObject {
  /** The type of the object. (since 0.1.0) */
  type: "result";
  /** The outcome of the run. (since 0.1.0) */
  subtype: "success";
  /** Always false: a failed run prints nothing on stdout. (since 0.1.0) */
  is_error: false;
  /** The duration of the run. [ms] (since 0.1.0) */
  duration_ms: number;
  /** Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`. [ms] (since 0.1.0) */
  duration_api_ms: number;
  /** The concatenation of all texts of the answer, in order. (since 0.1.0) */
  result: string;
  /** The id of the session, for `--resume`. (since 0.1.0) */
  session_id: string;
  /** The provider's id of the last request. (since 0.1.0) */
  request_id?: string;
  /** The tokens of the run, if the provider counts them. (since 0.1.0) */
  usage?: TokenUsage;
  /** Totals of the run. (since 0.1.0) */
  ibeam?: RunSummary;
}

/** Totals of a run. */
export interface RunSummary {
  /** The number of model requests that were answered. [count] (since 0.1.0) */
  turns: number;
  /** The time spent waiting for the model. [ms] (since 0.1.0) */
  api_ms: number;
  /** The cost of the run, if the price of the model is known. [USD] (since 0.1.0) */
  cost_usd?: number;
  /** The refused calls. (since 0.1.0) */
  permission_denials: Array<DenialEntry>;
  /** The number of failed calls, without refused ones. [count] (since 0.1.0) */
  failed_tool_calls: number;
  /** The absolute paths that tools wrote, changed or deleted, each once, in the order of their first change. (since 0.1.0) */
  files_changed: Array<string>;
  /** The number of repeated requests. [count] (since 0.1.0) */
  retries: number;
  /** The number of interrupted answers that another request continued; absent if there were none. [count] (since 0.1.0) */
  continuations?: number;
  /** The number of compactions of the conversation. [count] (since 0.1.0) */
  compactions: number;
  /** The number of started tool calls. [count] (since 0.1.0) */
  tool_calls: number;
  /** The number of background commands that still ran at the end and were stopped. [count] (since 0.1.0) */
  background_stopped: number;
  /** The background commands that ended by themselves, in the order of their ends; absent if there were none. (since 0.1.0) */
  background_ended?: Array<BackgroundEndEntry>;
  /** The final message: the text after the last call, at the end of `result`; absent if the run failed. (since 0.1.0) */
  final?: string;
  /** The final message as a value; only with `--json-schema`, and absent if the run failed. (since 0.1.0) */
  structured?: unknown;
  /** Present and true if the run ended before its session was synced to disk: the last records may be lost. (since 0.1.0) */
  unsynced?: true;
  /** The requests, tokens and cost of each model, in the order of the first request; absent if nothing was requested. (since 0.1.0) */
  models?: Array<ModelUsage>;
  /** The changes of the model, in their order; absent if there were none. (since 0.1.0) */
  fallbacks?: Array<FallbackEntry>;
  /** The level of reasoning that was used, if the model does not accept the one of `--effort`; otherwise absent. (since 0.1.0) */
  effort_used?: string;
}

/** The sandbox of the commands of a run. */
export interface SandboxEntry {
  /** The kind of sandbox. (since 0.1.0) */
  mode: "off" | "namespaces" | "landlock";
  /** The names of the active layers. (since 0.1.0) */
  layers: Array<string>;
  /** Whether commands can reach at least part of the network. (since 0.1.0) */
  network: boolean;
  /** The directories outside the workspace that commands may write to; absent if there are none. (since 0.1.0) */
  writable?: Array<string>;
  /** The reason for this sandbox, in English. (since 0.1.0) */
  reason: string;
}

/** A configured MCP server. */
export interface ServerEntry {
  /** The name in the configuration. (since 0.1.0) */
  name: string;
  /** The state of the server. (since 0.1.0) */
  status: "connected" | "failed" | "untrusted" | "unsupported" | "disabled";
}

/** A command and its working directory. */
export interface ShellArgs {
  /** The bash command. (since 0.1.0) */
  command: string;
  /** The working directory; empty for the one of the run. (since 0.1.0) */
  workingDirectory: string;
  /** The time limit. [ms] (since 0.1.0) */
  timeout: number;
  /** Whether the command continues in the background. (since 0.1.0) */
  isBackground?: boolean;
  /** The `call_id` of the event. (since 0.1.0) */
  toolCallId: string;
}

/** Runs a command. */
export interface ShellCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: ShellArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: ShellResult;
}

/** The output of a command that ran, with any exit code. */
export interface ShellOutput {
  /** The command. (since 0.1.0) */
  command: string;
  /** The working directory. (since 0.1.0) */
  workingDirectory: string;
  /** The exit code; 128 plus the signal number if a signal ended the command. [exit code] (since 0.1.0) */
  exitCode: number;
  /** The signal that ended the command, e.g. `SIGKILL`. (since 0.1.0) */
  signal?: string;
  /** The text on stdout; long output is cut in the middle. (since 0.1.0) */
  stdout: string;
  /** The text on stderr; long output is cut in the middle. (since 0.1.0) */
  stderr: string;
  /** Stdout and stderr together, in the order in which they were read. (since 0.1.0) */
  interleavedOutput: string;
  /** The duration of the command. [ms] (since 0.1.0) */
  executionTime: number;
}

/** The outcome of `shellToolCall`: exactly one arm. */
export interface ShellResult {
  /** The call succeeded. (since 0.1.0) */
  success?: ShellOutput;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
  /** The command exited non-zero, or a signal ended it. (since 0.1.0) */
  failure?: ShellOutput;
  /** The command exceeded its time limit. (since 0.1.0) */
  timeout?: Timeout;
  /** The command could not be started. (since 0.1.0) */
  spawnError?: ErrorMessage;
  /** True for a command that continues in the background; a key next to the arm. (since 0.1.0) */
  isBackground?: boolean;
}

/** The task of a sub-agent. */
export interface TaskArgs {
  /** The task in a few words. (since 0.1.0) */
  description: string;
  /** The prompt of the sub-agent. (since 0.1.0) */
  prompt: string;
  /** The name of the definition of the sub-agent. (since 0.1.0) */
  subagentType?: string;
  /** The model of the sub-agent, if it is not that of the run. (since 0.1.0) */
  model?: string;
  /** The id of an earlier sub-agent, which continues. (since 0.1.0) */
  resume?: string;
  /** Whether the sub-agent may only read. (since 0.1.0) */
  readonly?: boolean;
  /** The id of the sub-agent, which is the id of its session. (since 0.1.0) */
  agentId?: string;
}

/** Runs a sub-agent. */
export interface TaskCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: TaskArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: TaskResult;
}

/** The outcome of `taskToolCall`: exactly one arm. */
export interface TaskResult {
  /** The call succeeded. (since 0.1.0) */
  success?: TaskSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The work of a sub-agent. */
export interface TaskSuccess {
  /** The steps of the conversation; the last one is the result. (since 0.1.0) */
  conversationSteps: Array<unknown>;
  /** The id of the sub-agent. (since 0.1.0) */
  agentId: string;
  /** The duration. [ms] (since 0.1.0) */
  durationMs?: number;
}

/** A block of text. */
export interface TextBlock {
  /** The type of the object. (since 0.1.0) */
  type: "text";
  /** The text. (since 0.1.0) */
  text: string;
}

/** A command that exceeded its time limit. */
export interface Timeout {
  /** The time limit. [ms] (since 0.1.0) */
  timeoutMs: number;
}

/** An item of the arguments. In a merge, absent keys keep their values. */
export interface TodoArgs {
  /** The id within the list. (since 0.1.0) */
  id: string;
  /** The text of the to-do. (since 0.1.0) */
  content?: string;
  /** The state of the to-do. (since 0.1.0) */
  status?: "TODO_STATUS_PENDING" | "TODO_STATUS_IN_PROGRESS" | "TODO_STATUS_COMPLETED" | "TODO_STATUS_CANCELLED";
}

/** A to-do. */
export interface TodoEntry {
  /** The id within the list. (since 0.1.0) */
  id: string;
  /** The text of the to-do. (since 0.1.0) */
  content: string;
  /** The state of the to-do. (since 0.1.0) */
  status: "TODO_STATUS_PENDING" | "TODO_STATUS_IN_PROGRESS" | "TODO_STATUS_COMPLETED" | "TODO_STATUS_CANCELLED";
}

/** The new state of the to-do list. */
export interface TodosSuccess {
  /** The complete list. (since 0.1.0) */
  todos: Array<TodoEntry>;
}

/** The tokens of all requests of a run. */
export interface TokenUsage {
  /** Input tokens that were neither read from nor written to the provider's cache. [tokens] (since 0.1.0) */
  inputTokens: number;
  /** Output tokens. [tokens] (since 0.1.0) */
  outputTokens: number;
  /** Input tokens read from the provider's cache. [tokens] (since 0.1.0) */
  cacheReadTokens: number;
  /** Input tokens written to the provider's cache. [tokens] (since 0.1.0) */
  cacheWriteTokens: number;
}

/** A call: one key, which names the tool. */
export interface ToolCall {
  /** Reads a file. (since 0.1.0) */
  readToolCall?: ReadCall;
  /** Creates a file or replaces its content. (since 0.1.0) */
  writeToolCall?: WriteCall;
  /** Changes parts of a file. (since 0.1.0) */
  editToolCall?: EditCall;
  /** Runs a command. (since 0.1.0) */
  shellToolCall?: ShellCall;
  /** Searches the content of files. (since 0.1.0) */
  grepToolCall?: GrepCall;
  /** Finds files by name. (since 0.1.0) */
  globToolCall?: GlobCall;
  /** Lists a directory. (since 0.1.0) */
  lsToolCall?: LsCall;
  /** Deletes a file. (since 0.1.0) */
  deleteToolCall?: DeleteCall;
  /** Changes the to-do list. (since 0.1.0) */
  updateTodosToolCall?: UpdateTodosCall;
  /** Fetches a page. (since 0.1.0) */
  webFetchToolCall?: WebFetchCall;
  /** Searches the web. (since 0.1.0) */
  webSearchToolCall?: WebSearchCall;
  /** Calls a tool of an MCP server. (since 0.1.0) */
  mcpToolCall?: McpCall;
  /** Runs a sub-agent. (since 0.1.0) */
  taskToolCall?: TaskCall;
  /** Calls a tool without its own key, or one that does not exist. (since 0.1.0) */
  function?: FunctionCall;
}

/** A tool call has ended: successful, failed, refused or interrupted. Each started call has exactly one such line. */
export interface ToolCallCompletedEvent {
  /** The type of the object. (since 0.1.0) */
  type: "tool_call";
  /** The subtype of the event. (since 0.1.0) */
  subtype: "completed";
  /** The `call_id` of the line `started`. (since 0.1.0) */
  call_id: string;
  /** The tool, its arguments and its `result`. (since 0.1.0) */
  tool_call: ToolCall;
  /** The id of the session. (since 0.1.0) */
  session_id: string;
  /** The model response that the call belongs to; the calls of one response share it. (since 0.1.0) */
  model_call_id?: string;
  /** The end time, since 1970-01-01 UTC. [ms] (since 0.1.0) */
  timestamp_ms?: number;
}

/** A tool call starts. */
export interface ToolCallStartedEvent {
  /** The type of the object. (since 0.1.0) */
  type: "tool_call";
  /** The subtype of the event. (since 0.1.0) */
  subtype: "started";
  /** The provider's id of the call, with any characters; the same in `started` and `completed`. (since 0.1.0) */
  call_id: string;
  /** The tool and its arguments, without a `result`. (since 0.1.0) */
  tool_call: ToolCall;
  /** The id of the session. (since 0.1.0) */
  session_id: string;
  /** The model response that the call belongs to; the calls of one response share it. (since 0.1.0) */
  model_call_id?: string;
  /** The start time, since 1970-01-01 UTC. [ms] (since 0.1.0) */
  timestamp_ms?: number;
}

/** The items for the to-do list. */
export interface UpdateTodosArgs {
  /** The items. (since 0.1.0) */
  todos: Array<TodoArgs>;
  /** Whether the items are merged into the list by their ids; otherwise they replace it. (since 0.1.0) */
  merge: boolean;
}

/** Changes the to-do list. */
export interface UpdateTodosCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: UpdateTodosArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: UpdateTodosResult;
}

/** The outcome of `updateTodosToolCall`: exactly one arm. */
export interface UpdateTodosResult {
  /** The call succeeded. (since 0.1.0) */
  success?: TodosSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The prompt, verbatim. Occurs once, after `init`. */
export interface UserEvent {
  /** The type of the object. (since 0.1.0) */
  type: "user";
  /** The prompt. Its text, piped input and context added by hooks are separate blocks. (since 0.1.0) */
  message: Message;
  /** The id of the session. (since 0.1.0) */
  session_id: string;
  /** The additions of ibeam; absent without attached files. (since 0.1.0) */
  ibeam?: UserExtras;
}

/** The additions to `user`. */
export interface UserExtras {
  /** The files that the user attached, in their order. (since 0.1.0) */
  attachments: Array<AttachmentEntry>;
}

/** A message of the user. A `user` line of the output without attached files has the same form and can be written to stdin again. */
export interface UserInput {
  /** The type of the object. (since 0.1.0) */
  type: "user";
  /** The message. (since 0.1.0) */
  message: InputMessage;
  /** Ignored: the process has one session. (since 0.1.0) */
  session_id?: string;
  /** The options of the message. (since 0.1.0) */
  ibeam?: InputOptions;
}

/** The page to fetch. */
export interface WebFetchArgs {
  /** The address of the page. (since 0.1.0) */
  url: string;
}

/** Fetches a page. */
export interface WebFetchCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: WebFetchArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: WebFetchResult;
}

/** The outcome of `webFetchToolCall`: exactly one arm. */
export interface WebFetchResult {
  /** The call succeeded. (since 0.1.0) */
  success?: WebFetchSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
}

/** A fetched page. */
export interface WebFetchSuccess {
  /** The address of the page, after redirects. (since 0.1.0) */
  url: string;
  /** The text of the page as Markdown. (since 0.1.0) */
  markdown: string;
}

/** The words to search for. */
export interface WebSearchArgs {
  /** The words. (since 0.1.0) */
  searchTerm: string;
  /** The `call_id` of the event. (since 0.1.0) */
  toolCallId: string;
}

/** Searches the web. */
export interface WebSearchCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: WebSearchArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: WebSearchResult;
}

/** The outcome of `webSearchToolCall`: exactly one arm. */
export interface WebSearchResult {
  /** The call succeeded. (since 0.1.0) */
  success?: WebSearchSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The results of a search. */
export interface WebSearchSuccess {
  /** Title, address and text of each result. (since 0.1.0) */
  content: string;
}

/** A file and its complete new content. */
export interface WriteArgs {
  /** The path of the file. (since 0.1.0) */
  path: string;
  /** The complete new content. (since 0.1.0) */
  fileText: string;
  /** The `call_id` of the event. (since 0.1.0) */
  toolCallId: string;
}

/** Creates a file or replaces its content. */
export interface WriteCall {
  /** The arguments as the model wrote them; they may not fit the tool. (since 0.1.0) */
  args: WriteArgs | Record<string, unknown>;
  /** The outcome of the call; in `completed` only. (since 0.1.0) */
  result?: WriteResult;
}

/** The outcome of `writeToolCall`: exactly one arm. */
export interface WriteResult {
  /** The call succeeded. (since 0.1.0) */
  success?: WriteSuccess;
  /** The call was refused and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The operating system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** The call failed, or the end of the run interrupted it. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The written file. */
export interface WriteSuccess {
  /** The absolute path of the file. (since 0.1.0) */
  path: string;
  /** The number of lines of the new content. [lines] (since 0.1.0) */
  linesCreated: number;
  /** The size of the new content. [bytes] (since 0.1.0) */
  fileSize: number;
}
