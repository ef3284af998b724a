// What `ibeam --print` prints: contracts 1 and 2 of docs/output-format.md.
// Generated from docs/schema by `cargo xtask schema`; do not edit.
//
// Keys are only ever added, so there may be others. A key with `?` may be absent; none is ever null.

/** A line of `--output-format stream-json`, distinguished by `type` and `subtype`. */
export type StreamEvent =
  | AssistantEvent
  | ErrorEvent
  | InitEvent
  | ResultEvent
  | ToolCallCompletedEvent
  | ToolCallStartedEvent
  | UserEvent;

/** Contract 1: A piece of the answer. The texts of all of them, in order and with nothing in between, are the answer. Contract 2: A segment of the answer: the whole text between two calls. The texts of all segments, in order and with nothing in between, are the answer. A segment before a call has `model_call_id` and `timestamp_ms`, the last one neither. With `timestamp_ms` alone it is a delta, which the segment after it repeats; deltas come with `--stream-partial-output`. */
export interface AssistantEvent {
  /** What this object is. (since 0.1.0) */
  type: "assistant";
  /** The piece of text, as the model writes it. (since 0.1.0) */
  message: Message;
  /** The session of the run. (since 0.1.0) */
  session_id: string;
  /** The answer of the model that the text and the call after it belong to. (since 0.1.0) */
  model_call_id?: string;
  /** When it was written, since 1970-01-01 UTC. [ms] (since 0.1.0) */
  timestamp_ms?: number;
}

/** Which file is deleted. */
export interface DeleteArgs {
  /** The file. (since 0.1.0) */
  path: string;
}

/** Deletes a file. */
export interface DeleteCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: DeleteArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: DeleteResult;
}

/** How `deleteToolCall` ended: exactly one arm. */
export interface DeleteResult {
  /** It was done. (since 0.1.0) */
  success?: DeleteSuccess;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
  /** There is no such file. (since 0.1.0) */
  fileNotFound?: FileNotFound;
}

/** The file that was deleted. */
export interface DeleteSuccess {
  /** Its absolute path. (since 0.1.0) */
  path: string;
  /** Its size before. [bytes] (since 0.1.0) */
  fileSize: number;
}

/** A call that was refused. */
export interface DenialEntry {
  /** The call's id. (since 0.1.0) */
  call_id: string;
  /** The tool it was for. (since 0.1.0) */
  tool: string;
  /** The rule that refused it. (since 0.1.0) */
  rule: string;
}

/** A directory and what is in it. */
export interface DirectoryNode {
  /** Its absolute path. (since 0.1.0) */
  absPath: string;
  /** The files listed in it and below it. [count] (since 0.1.0) */
  numFiles: number;
  /** The files in it. (since 0.1.0) */
  childrenFiles: Array<FileNode>;
  /** The directories in it. (since 0.1.0) */
  childrenDirs: Array<DirectoryNode>;
}

/** A file and one of three ways to say what changes in it. */
export interface EditArgs {
  /** The file. (since 0.1.0) */
  path: string;
  /** One exact replacement. (since 0.1.0) */
  strReplace?: Replacement;
  /** Several, each applied to the result of the one before. (since 0.1.0) */
  multiStrReplace?: Replacements;
  /** A patch. (since 0.1.0) */
  applyPatch?: Patch;
}

/** Changes parts of a file. */
export interface EditCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: EditArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: EditResult;
}

/** How `editToolCall` ended: exactly one arm. */
export interface EditResult {
  /** It was done. (since 0.1.0) */
  success?: EditSuccess;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
}

/** What changed in a file. */
export interface EditSuccess {
  /** The file's absolute path. (since 0.1.0) */
  path: string;
  /** The lines the change added. [lines] (since 0.1.0) */
  linesAdded: number;
  /** The lines the change removed. [lines] (since 0.1.0) */
  linesRemoved: number;
  /** The change as a unified diff. (since 0.1.0) */
  diffString: string;
  /** One sentence that says what was done. (since 0.1.0) */
  message: string;
}

/** The end of a run that failed: the last line. */
export interface ErrorEvent {
  /** What this object is. (since 0.1.0) */
  type: "error";
  /** The class of the failure. (since 0.1.0) */
  code: "usage" | "denied" | "auth" | "model" | "request" | "context" | "rate_limited" | "provider" | "network" | "tls" | "stalled" | "limit" | "empty" | "refused" | "timeout" | "sandbox" | "untrusted" | "too_large" | "data" | "noinput" | "internal" | "os" | "cantcreat" | "io" | "busy" | "config" | "signal";
  /** One sentence for people, in English. (since 0.1.0) */
  message: string;
  /** The exit code of the program. [exit code] (since 0.1.0) */
  exit_code: number;
  /** Whether the same run may succeed later. (since 0.1.0) */
  retryable: boolean;
  /** How long the provider asks to wait. [ms] (since 0.1.0) */
  retry_after_ms?: number;
  /** The status of the provider's answer. [HTTP status] (since 0.1.0) */
  http_status?: number;
  /** The provider's id of the request that failed. (since 0.1.0) */
  request_id?: string;
  /** The session of the run; absent where no run had begun. (since 0.1.0) */
  session_id: string;
  /** Sums over the run; absent where no run had begun. (since 0.1.0) */
  ibeam: RunSummary;
  /** `--resume` takes up where it ended; absent where no run had begun. (since 0.1.0) */
  resumable: boolean;
  /** The text that was there when it failed. (since 0.1.0) */
  result?: string;
}

/** Why a call failed. */
export interface ErrorMessage {
  /** One sentence, in English. (since 0.1.0) */
  errorMessage: string;
}

/** The end of a run that failed: the last line. */
export interface ErrorObject {
  /** What this object is. (since 0.1.0) */
  type: "error";
  /** The class of the failure. (since 0.1.0) */
  code: "usage" | "denied" | "auth" | "model" | "request" | "context" | "rate_limited" | "provider" | "network" | "tls" | "stalled" | "limit" | "empty" | "refused" | "timeout" | "sandbox" | "untrusted" | "too_large" | "data" | "noinput" | "internal" | "os" | "cantcreat" | "io" | "busy" | "config" | "signal";
  /** One sentence for people, in English. (since 0.1.0) */
  message: string;
  /** The exit code of the program. [exit code] (since 0.1.0) */
  exit_code: number;
  /** Whether the same run may succeed later. (since 0.1.0) */
  retryable: boolean;
  /** How long the provider asks to wait. [ms] (since 0.1.0) */
  retry_after_ms?: number;
  /** The status of the provider's answer. [HTTP status] (since 0.1.0) */
  http_status?: number;
  /** The provider's id of the request that failed. (since 0.1.0) */
  request_id?: string;
  /** The session of the run; absent where no run had begun. (since 0.1.0) */
  session_id?: string;
  /** Sums over the run; absent where no run had begun. (since 0.1.0) */
  ibeam?: RunSummary;
  /** `--resume` takes up where it ended; absent where no run had begun. (since 0.1.0) */
  resumable?: boolean;
  /** The text that was there when it failed. (since 0.1.0) */
  result?: string;
}

/** A file of a directory. */
export interface FileNode {
  /** Its name, without the directory. (since 0.1.0) */
  name: string;
}

/** A file that is not there. */
export interface FileNotFound {
  /** Its path. (since 0.1.0) */
  path: string;
}

/** A call of a tool without a key of its own. */
export interface FunctionCall {
  /** The tool. (since 0.1.0) */
  name: string;
  /** The arguments as the model wrote them: JSON as a string, if the model wrote JSON. (since 0.1.0) */
  arguments: string;
  /** What the tool gave; in `completed` only. (since 0.1.0) */
  result?: unknown;
}

/** Which names are looked for, and where. */
export interface GlobArgs {
  /** The glob. (since 0.1.0) */
  globPattern: string;
  /** The directory. (since 0.1.0) */
  targetDirectory?: string;
}

/** Finds files by name. */
export interface GlobCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: GlobArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: GlobResult;
}

/** How `globToolCall` ended: exactly one arm. */
export interface GlobResult {
  /** It was done. (since 0.1.0) */
  success?: GlobSuccess;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
}

/** What was found by name. */
export interface GlobSuccess {
  /** The glob that was looked for. (since 0.1.0) */
  pattern: string;
  /** Where it was looked for. (since 0.1.0) */
  path: string;
  /** The files. (since 0.1.0) */
  files: Array<string>;
  /** How many files matched, those beyond the limit of `files` included. [count] (since 0.1.0) */
  totalFiles: number;
}

/** What is searched for, and where. */
export interface GrepArgs {
  /** A regular expression. (since 0.1.0) */
  pattern: string;
  /** The file or directory. (since 0.1.0) */
  path?: string;
  /** A glob of the files to search. (since 0.1.0) */
  glob?: string;
  /** What is told of the findings. (since 0.1.0) */
  outputMode?: "content" | "files_with_matches" | "count";
  /** Whether upper and lower case are the same. (since 0.1.0) */
  caseInsensitive?: boolean;
  /** Whether the expression may span lines. (since 0.1.0) */
  multiline?: boolean;
  /** The most findings. [count] (since 0.1.0) */
  headLimit?: number;
  /** A type of files, e.g. `rust`. (since 0.1.0) */
  type?: string;
  /** The `call_id` again. (since 0.1.0) */
  toolCallId: string;
}

/** Searches the content of files. */
export interface GrepCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: GrepArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: GrepResult;
}

/** The lines that match, by file. */
export interface GrepContent {
  /** The files. (since 0.1.0) */
  matches: Array<GrepFile>;
  /** The lines of all of them together. [lines] (since 0.1.0) */
  totalLines: number;
}

/** How many lines of a file match. */
export interface GrepCount {
  /** Its path. (since 0.1.0) */
  file: string;
  /** How many lines. [lines] (since 0.1.0) */
  count: number;
}

/** How many lines match, by file. */
export interface GrepCounts {
  /** The files. (since 0.1.0) */
  counts: Array<GrepCount>;
}

/** A file with the lines that match. */
export interface GrepFile {
  /** Its path. (since 0.1.0) */
  file: string;
  /** The lines. (since 0.1.0) */
  matches: Array<GrepLine>;
}

/** The files that have a line that matches. */
export interface GrepFiles {
  /** Their paths. (since 0.1.0) */
  files: Array<string>;
}

/** A line that matches. */
export interface GrepLine {
  /** Its number, from 1. [line number] (since 0.1.0) */
  lineNumber: number;
  /** Its text, without its end. (since 0.1.0) */
  content: string;
}

/** How `grepToolCall` ended: exactly one arm. */
export interface GrepResult {
  /** It was done. (since 0.1.0) */
  success?: GrepSuccess;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
}

/** What was found under one path, in the form that was asked for. */
export interface GrepResults {
  /** The lines. (since 0.1.0) */
  content?: GrepContent;
  /** The files alone. (since 0.1.0) */
  files?: GrepFiles;
  /** How many lines of each file. (since 0.1.0) */
  count?: GrepCounts;
}

/** What was found by content. */
export interface GrepSuccess {
  /** The regular expression that was searched for. (since 0.1.0) */
  pattern: string;
  /** Where it was searched for. (since 0.1.0) */
  path: string;
  /** What `workspaceResults` holds. (since 0.1.0) */
  outputMode: "content" | "files_with_matches" | "count";
  /** The findings; one key, the path searched. (since 0.1.0) */
  workspaceResults: Record<string, GrepResults>;
}

/** The head of the run: the first line, once. */
export interface InitEvent {
  /** What this object is. (since 0.1.0) */
  type: "system";
  /** Which line of its type this is. (since 0.1.0) */
  subtype: "init";
  /** Where the key of the provider comes from; `env` too where the model needs none, see `ibeam.api_key`. (since 0.1.0) */
  apiKeySource: "env" | "flag" | "login";
  /** The absolute path of the directory the run works in. (since 0.1.0) */
  cwd: string;
  /** The session of the run: the same in every line, and what `--resume` takes. (since 0.1.0) */
  session_id: string;
  /** The name of the model for people, e.g. `Claude 4 Sonnet`; not its id. (since 0.1.0) */
  model: string;
  /** What may be done without asking. (since 0.1.0) */
  permissionMode: "default" | "force" | "plan" | "ask";
  /** The names of the tools that the model is offered. (since 0.1.0) */
  tools?: Array<string>;
  /** The MCP servers that are configured. (since 0.1.0) */
  mcp_servers?: Array<ServerEntry>;
  /** What the run begins with, beyond the published keys. (since 0.1.0) */
  ibeam?: InitExtras;
}

/** What the run begins with, beyond the published keys. */
export interface InitExtras {
  /** The version of ibeam. (since 0.1.0) */
  version: string;
  /** The contract that the stream keeps. (since 0.1.0) */
  contract: "1" | "2";
  /** Where the key of the provider comes from; `none` where the model needs no key. (since 0.1.0) */
  api_key: "env" | "flag" | "login" | "none";
  /** What confines the commands of the run. (since 0.1.0) */
  sandbox: SandboxEntry;
  /** The bounds of the run; what is absent has no bound. (since 0.1.0) */
  limits: LimitValues;
  /** The number of places where the journal of the resumed session lacks, repeats or moves events; absent where there is none. [count] (since 0.1.0) */
  journal_gaps?: number;
  /** Present and true where the run keeps no session, so that `--resume` cannot take it up. (since 0.1.0) */
  ephemeral?: true;
}

/** The bounds of a run. */
export interface LimitValues {
  /** The most requests to the model. [count] (since 0.1.0) */
  max_turns: number;
  /** The most tokens, prompts and answers together. [tokens] (since 0.1.0) */
  max_tokens?: number;
  /** The most it may cost. [USD] (since 0.1.0) */
  max_cost_usd?: number;
  /** The most calls of tools. [count] (since 0.1.0) */
  max_tool_calls?: number;
  /** The longest it may take. [ms] (since 0.1.0) */
  timeout_ms?: number;
}

/** Which directory is listed. */
export interface LsArgs {
  /** The directory. (since 0.1.0) */
  path: string;
  /** Globs of what is left out. (since 0.1.0) */
  ignore: Array<string>;
  /** The `call_id` again. (since 0.1.0) */
  toolCallId: string;
}

/** Lists a directory. */
export interface LsCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: LsArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: LsResult;
}

/** How `lsToolCall` ended: exactly one arm. */
export interface LsResult {
  /** It was done. (since 0.1.0) */
  success?: LsSuccess;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
}

/** What is in a directory. */
export interface LsSuccess {
  /** The directory that was listed. (since 0.1.0) */
  directoryTreeRoot: DirectoryNode;
}

/** A tool of an MCP server, and what it is given. */
export interface McpArgs {
  /** Server and tool as one word, `server-tool`. (since 0.1.0) */
  name: string;
  /** What the tool is given. (since 0.1.0) */
  args: Record<string, unknown>;
  /** The `call_id` again. (since 0.1.0) */
  toolCallId: string;
  /** The server. (since 0.1.0) */
  providerIdentifier: string;
  /** The tool, as the server names it. (since 0.1.0) */
  toolName: string;
}

/** A block of the answer of an MCP server. */
export interface McpBlock {
  /** The text of the block. (since 0.1.0) */
  text: McpText;
}

/** Calls a tool of an MCP server. */
export interface McpCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: McpArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: McpResult;
}

/** How `mcpToolCall` ended: exactly one arm. */
export interface McpResult {
  /** It was done. (since 0.1.0) */
  success?: McpSuccess;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
}

/** What the tool of an MCP server gave. */
export interface McpSuccess {
  /** The blocks of its answer. (since 0.1.0) */
  content: Array<McpBlock>;
  /** Whether the tool says itself that it failed; such a call counts as failed. (since 0.1.0) */
  isError: boolean;
}

/** The text of a block. */
export interface McpText {
  /** The text itself. (since 0.1.0) */
  text: string;
}

/** What one side says. */
export interface Message {
  /** Who says it. (since 0.1.0) */
  role: "user" | "assistant";
  /** The blocks of it. (since 0.1.0) */
  content: Array<TextBlock>;
}

/** A patch of one file. */
export interface Patch {
  /** A unified diff. (since 0.1.0) */
  patchContent: string;
}

/** What the system did not let the call do. */
export interface PermissionDenied {
  /** The path it was about. (since 0.1.0) */
  path: string;
  /** What the system said. (since 0.1.0) */
  error: string;
}

/** Which part of which file is read. */
export interface ReadArgs {
  /** The file. (since 0.1.0) */
  path: string;
  /** The first line, from 1. [line number] (since 0.1.0) */
  offset?: number;
  /** The most lines. [lines] (since 0.1.0) */
  limit?: number;
}

/** Reads a file. */
export interface ReadCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: ReadArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: ReadResult;
}

/** How `readToolCall` ended: exactly one arm. */
export interface ReadResult {
  /** It was done. (since 0.1.0) */
  success?: ReadSuccess;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
  /** There is no such file. (since 0.1.0) */
  fileNotFound?: FileNotFound;
}

/** What was read of a file. */
export interface ReadSuccess {
  /** The text, from `offset` on and no more than `limit` lines. (since 0.1.0) */
  content: string;
  /** Whether the file holds nothing at all. (since 0.1.0) */
  isEmpty: boolean;
  /** Whether the file is longer than what one call returns, and was cut. (since 0.1.0) */
  exceededLimit: boolean;
  /** The lines of the whole file. [lines] (since 0.1.0) */
  totalLines: number;
  /** The characters of the whole file. [characters] (since 0.1.0) */
  totalChars: number;
}

/** A call that was refused by policy, a hook or a person; it did not run. */
export interface Rejected {
  /** Why, in English. (since 0.1.0) */
  reason: string;
}

/** One exact replacement. */
export interface Replacement {
  /** The text that is there. (since 0.1.0) */
  oldText: string;
  /** The text that replaces it. (since 0.1.0) */
  newText: string;
  /** Whether every occurrence is replaced. (since 0.1.0) */
  replaceAll?: boolean;
}

/** Several exact replacements. */
export interface Replacements {
  /** The replacements, in their order. (since 0.1.0) */
  edits: Array<Replacement>;
}

/** The end of a run that succeeded: the last line. */
export interface ResultEvent {
  /** What this object is. (since 0.1.0) */
  type: "result";
  /** How the run ended. (since 0.1.0) */
  subtype: "success";
  /** How long the run took. [ms] (since 0.1.0) */
  duration_ms: number;
  /** Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`. [ms] (since 0.1.0) */
  duration_api_ms: number;
  /** Always false: a run that failed ends with the line `error`. (since 0.1.0) */
  is_error: false;
  /** Contract 1: The texts of all `assistant` lines, in order, with nothing in between. (since 0.1.0) Contract 2: The texts of all segments, in order, with nothing in between. (since 0.1.0) */
  result: string;
  /** The session of the run. (since 0.1.0) */
  session_id: string;
  /** The provider's id of the last request. (since 0.1.0) */
  request_id?: string;
  /** The tokens of the run, where the provider counts them. (since 0.1.0) */
  usage?: TokenUsage;
  /** Sums over the run. (since 0.1.0) */
  ibeam?: RunSummary;
}

/** The one object that the format `json` prints on stdout, at the end of a run that succeeded. */
export interface ResultObject {
  /** What this object is. (since 0.1.0) */
  type: "result";
  /** How the run ended. (since 0.1.0) */
  subtype: "success";
  /** Always false: a run that failed prints nothing on stdout. (since 0.1.0) */
  is_error: false;
  /** How long the run took. [ms] (since 0.1.0) */
  duration_ms: number;
  /** Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`. [ms] (since 0.1.0) */
  duration_api_ms: number;
  /** Every text of the answer, in order, with nothing in between. (since 0.1.0) */
  result: string;
  /** The session of the run, which `--resume` takes. (since 0.1.0) */
  session_id: string;
  /** The provider's id of the last request. (since 0.1.0) */
  request_id?: string;
  /** The tokens of the run, where the provider counts them. (since 0.1.0) */
  usage?: TokenUsage;
  /** Sums over the run. (since 0.1.0) */
  ibeam?: RunSummary;
}

/** Sums over a run. */
export interface RunSummary {
  /** Requests that the model answered. [count] (since 0.1.0) */
  turns: number;
  /** The time spent waiting for the model. [ms] (since 0.1.0) */
  api_ms: number;
  /** What the run cost, where the price of the model is known. [USD] (since 0.1.0) */
  cost_usd?: number;
  /** The calls that were refused. (since 0.1.0) */
  permission_denials: Array<DenialEntry>;
  /** The calls that failed; those that were refused are not counted. [count] (since 0.1.0) */
  failed_tool_calls: number;
  /** The absolute paths that tools wrote, changed or deleted, each once, in the order of their first change. (since 0.1.0) */
  files_changed: Array<string>;
  /** Requests that were sent again. [count] (since 0.1.0) */
  retries: number;
  /** Answers that were interrupted in their text and continued by another request; absent where there was none. [count] (since 0.1.0) */
  continuations?: number;
  /** How often the conversation was shortened. [count] (since 0.1.0) */
  compactions: number;
  /** The calls of tools that were started. [count] (since 0.1.0) */
  tool_calls: number;
  /** The commands that still ran in the background at the end, and were stopped. [count] (since 0.1.0) */
  background_stopped: number;
  /** The final message: the text after the last call, which is the end of `result`; absent where the run failed. (since 0.1.0) */
  final?: string;
  /** Present where the end did not wait for the disk: a resumed session may lack its last records. (since 0.1.0) */
  unsynced?: true;
}

/** What confines the commands of a run. */
export interface SandboxEntry {
  /** How commands are confined. (since 0.1.0) */
  mode: "off" | "namespaces" | "landlock";
  /** The layers that stand, by name. (since 0.1.0) */
  layers: Array<string>;
  /** Whether commands reach some of the network. (since 0.1.0) */
  network: boolean;
  /** Directories outside of the workspace that commands may write; absent where there is none. (since 0.1.0) */
  writable?: Array<string>;
  /** Why it is so, in English. (since 0.1.0) */
  reason: string;
}

/** An MCP server that is configured. */
export interface ServerEntry {
  /** Its name in the configuration. (since 0.1.0) */
  name: string;
  /** Whether it answers, and if not, why. (since 0.1.0) */
  status: "connected" | "failed" | "untrusted" | "unsupported" | "disabled";
}

/** A command and where it runs. */
export interface ShellArgs {
  /** The command, for bash. (since 0.1.0) */
  command: string;
  /** The directory it runs in; empty for that of the run. (since 0.1.0) */
  workingDirectory: string;
  /** The longest it may take. [ms] (since 0.1.0) */
  timeout: number;
  /** Whether it goes on in the background. (since 0.1.0) */
  isBackground?: boolean;
  /** The `call_id` again. (since 0.1.0) */
  toolCallId: string;
}

/** Runs a command. */
export interface ShellCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: ShellArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: ShellResult;
}

/** A command that ran, whatever its exit code. */
export interface ShellOutput {
  /** The command as it ran. (since 0.1.0) */
  command: string;
  /** Where it ran. (since 0.1.0) */
  workingDirectory: string;
  /** Its exit code; 128 and the number of the signal where one ended it. [exit code] (since 0.1.0) */
  exitCode: number;
  /** The signal that ended it, e.g. `SIGKILL`. (since 0.1.0) */
  signal?: string;
  /** What it wrote to stdout; long output is cut in the middle. (since 0.1.0) */
  stdout: string;
  /** What it wrote to stderr; long output is cut in the middle. (since 0.1.0) */
  stderr: string;
  /** Both, in the order in which they were read. (since 0.1.0) */
  interleavedOutput: string;
  /** How long it ran. [ms] (since 0.1.0) */
  executionTime: number;
}

/** How `shellToolCall` ended: exactly one arm. */
export interface ShellResult {
  /** It was done. (since 0.1.0) */
  success?: ShellOutput;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
  /** It ran, and exited non-zero or was ended by a signal. (since 0.1.0) */
  failure?: ShellOutput;
  /** It took longer than it may. (since 0.1.0) */
  timeout?: Timeout;
  /** It could not be started. (since 0.1.0) */
  spawnError?: ErrorMessage;
  /** True, beside the arm, for a command that goes on in the background. (since 0.1.0) */
  isBackground?: boolean;
}

/** A block of text. */
export interface TextBlock {
  /** What this object is. (since 0.1.0) */
  type: "text";
  /** The text. (since 0.1.0) */
  text: string;
}

/** A command that took longer than it may. */
export interface Timeout {
  /** How long it may take. [ms] (since 0.1.0) */
  timeoutMs: number;
}

/** An item as it was asked for; in a merge, what is absent stays as it was. */
export interface TodoArgs {
  /** Its id within the list. (since 0.1.0) */
  id: string;
  /** What is to be done. (since 0.1.0) */
  content?: string;
  /** How far it is. (since 0.1.0) */
  status?: "TODO_STATUS_PENDING" | "TODO_STATUS_IN_PROGRESS" | "TODO_STATUS_COMPLETED" | "TODO_STATUS_CANCELLED";
}

/** A to-do. */
export interface TodoEntry {
  /** Its id within the list. (since 0.1.0) */
  id: string;
  /** What is to be done. (since 0.1.0) */
  content: string;
  /** How far it is. (since 0.1.0) */
  status: "TODO_STATUS_PENDING" | "TODO_STATUS_IN_PROGRESS" | "TODO_STATUS_COMPLETED" | "TODO_STATUS_CANCELLED";
}

/** The to-do list as it is now. */
export interface TodosSuccess {
  /** The whole list. (since 0.1.0) */
  todos: Array<TodoEntry>;
}

/** The tokens of a run, all requests together. */
export interface TokenUsage {
  /** Tokens of prompts, without those read from or written to the provider's cache. [tokens] (since 0.1.0) */
  inputTokens: number;
  /** Tokens of answers. [tokens] (since 0.1.0) */
  outputTokens: number;
  /** Tokens of prompts that the provider read from its cache. [tokens] (since 0.1.0) */
  cacheReadTokens: number;
  /** Tokens of prompts that the provider wrote to its cache. [tokens] (since 0.1.0) */
  cacheWriteTokens: number;
}

/** A call: one key, which names the tool. */
export interface ToolCall {
  /** Reads a file. (since 0.1.0) */
  readToolCall?: ReadCall;
  /** Makes a file or replaces its content. (since 0.1.0) */
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
  /** Calls a tool of an MCP server. (since 0.1.0) */
  mcpToolCall?: McpCall;
  /** Calls a tool without a key of its own, or one that does not exist. (since 0.1.0) */
  function?: FunctionCall;
}

/** A call of a tool has ended: done, failed, refused or cut off. Each started call has exactly one such line. */
export interface ToolCallCompletedEvent {
  /** What this object is. (since 0.1.0) */
  type: "tool_call";
  /** Which line of its type this is. (since 0.1.0) */
  subtype: "completed";
  /** The `call_id` of the line `started`. (since 0.1.0) */
  call_id: string;
  /** The tool, its arguments again, and its `result`. (since 0.1.0) */
  tool_call: ToolCall;
  /** The session of the run. (since 0.1.0) */
  session_id: string;
  /** The answer of the model that the call belongs to; calls of one answer share it. (since 0.1.0) */
  model_call_id?: string;
  /** When it ended, since 1970-01-01 UTC. [ms] (since 0.1.0) */
  timestamp_ms?: number;
}

/** A call of a tool begins. */
export interface ToolCallStartedEvent {
  /** What this object is. (since 0.1.0) */
  type: "tool_call";
  /** Which line of its type this is. (since 0.1.0) */
  subtype: "started";
  /** The provider's id of the call, any characters; joins `started` and `completed`. (since 0.1.0) */
  call_id: string;
  /** The tool and its arguments; no `result` yet. (since 0.1.0) */
  tool_call: ToolCall;
  /** The session of the run. (since 0.1.0) */
  session_id: string;
  /** The answer of the model that the call belongs to; calls of one answer share it. (since 0.1.0) */
  model_call_id?: string;
  /** When it began, since 1970-01-01 UTC. [ms] (since 0.1.0) */
  timestamp_ms?: number;
}

/** Items for the to-do list. */
export interface UpdateTodosArgs {
  /** The items. (since 0.1.0) */
  todos: Array<TodoArgs>;
  /** Whether they are merged into the list by their ids, or replace it. (since 0.1.0) */
  merge: boolean;
}

/** Changes the to-do list. */
export interface UpdateTodosCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: UpdateTodosArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: UpdateTodosResult;
}

/** How `updateTodosToolCall` ended: exactly one arm. */
export interface UpdateTodosResult {
  /** It was done. (since 0.1.0) */
  success?: TodosSuccess;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The prompt, verbatim; one line for each prompt. */
export interface UserEvent {
  /** What this object is. (since 0.1.0) */
  type: "user";
  /** The prompt: a block each for the words, for piped context, and for the context of hooks. (since 0.1.0) */
  message: Message;
  /** The session of the run. (since 0.1.0) */
  session_id: string;
}

/** Which page is fetched. */
export interface WebFetchArgs {
  /** Its address. (since 0.1.0) */
  url: string;
}

/** Fetches a page. */
export interface WebFetchCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: WebFetchArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: WebFetchResult;
}

/** How `webFetchToolCall` ended: exactly one arm. */
export interface WebFetchResult {
  /** It was done. (since 0.1.0) */
  success?: WebFetchSuccess;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
}

/** A page that was fetched. */
export interface WebFetchSuccess {
  /** The address of the page, after redirects. (since 0.1.0) */
  url: string;
  /** Its text as Markdown. (since 0.1.0) */
  markdown: string;
}

/** A file and its whole new content. */
export interface WriteArgs {
  /** The file. (since 0.1.0) */
  path: string;
  /** Its whole new content. (since 0.1.0) */
  fileText: string;
  /** The `call_id` again. (since 0.1.0) */
  toolCallId: string;
}

/** Makes a file or replaces its content. */
export interface WriteCall {
  /** The arguments; what the model wrote instead, where they do not fit the tool. (since 0.1.0) */
  args: WriteArgs | Record<string, unknown>;
  /** How it ended; in `completed` only. (since 0.1.0) */
  result?: WriteResult;
}

/** How `writeToolCall` ended: exactly one arm. */
export interface WriteResult {
  /** It was done. (since 0.1.0) */
  success?: WriteSuccess;
  /** It was refused, and did not run. (since 0.1.0) */
  rejected?: Rejected;
  /** The system denied access. (since 0.1.0) */
  permissionDenied?: PermissionDenied;
  /** It failed, or was cut off by the end of the run. (since 0.1.0) */
  error?: ErrorMessage;
}

/** The file that was written. */
export interface WriteSuccess {
  /** Its absolute path. (since 0.1.0) */
  path: string;
  /** The lines it has now. [lines] (since 0.1.0) */
  linesCreated: number;
  /** Its size now. [bytes] (since 0.1.0) */
  fileSize: number;
}
