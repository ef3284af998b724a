//! The tables of configuration keys: type, kind, what a project's file may set, default, environment variable.
//! docs/configuration.md describes each key.

use std::time::Duration;

use super::{Named, Setting, table};
use crate::Config;
use crate::keys::Key;
use crate::keys::ProjectScope::{
    self, Any, Delegated, IfEqual, MayLower, MayTighten, Never, OnlyEqual, Trusted,
};
use crate::value::Kind::{
    self, Choice, List, Money, NonBlankText, Number, Pause, Set, Size, Switch, Text, TextOrList, Time,
    Tokens, Words,
};

/// The levels of reasoning that a model may accept.
const EFFORT_LEVELS: &[&str] = &["minimal", "low", "medium", "high", "xhigh", "max"];
/// The amounts of reasoning that a run may ask for.
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];
/// The forms of a request for reasoning.
const THINKING_FORMS: &[&str] =
    &["none", "adaptive", "budget", "levels", "object", "switch", "zai", "together", "nova"];
/// The ways to switch reasoning off.
const THINKING_OFF: &[&str] = &["none", "disabled", "between_tools", "level"];
/// The forms of cache breakpoints.
const CACHE_FORMS: &[&str] = &["none", "breakpoints", "cache_control", "points", "system_points"];
/// The forms of a request for an answer that matches a JSON Schema.
const SCHEMA_FORMS: &[&str] = &["prompt", "json_schema", "output_config"];
/// The roles of instructions that follow later in a conversation.
const INSTRUCTION_ROLES: &[&str] = &["user", "system", "developer"];
/// The rules for the parts of a request.
const REQUEST_RULES: &[&str] = &[
    "added_tools",
    "developer_prompt",
    "effort_updates",
    "interleaved_beta",
    "media_in_results",
    "omitted_thinking",
    "reasoning_content",
    "result_status",
    "separate_text",
    "signed_calls",
    "summaries",
    "tool_stream",
];

table! {
    /// The settings in force, each with its origin. `[models.NAME]` and `[mcp_servers.NAME]` are not part of them: their
    /// readers take whole tables from [`Config::all_settings`].
    Settings at "" {
        /// The model and those that take over from it.
        model: Setting<Vec<String>> = TextOrList, Trusted, variable "IBEAM_MODEL";
        // More reasoning costs more.
        /// The amount of reasoning.
        effort: Setting<Option<String>> = Choice(EFFORTS), Trusted, variable "IBEAM_EFFORT";
        /// The maximum number of tokens for reasoning before an answer.
        thinking_budget: Setting<Option<u64>> = Number, Trusted, variable "IBEAM_THINKING_BUDGET";
        /// The language of messages.
        lang: Setting<Option<String>> = NonBlankText, Any, variable "IBEAM_LANG";
        /// Whether the format `text` shows the path or command of each action.
        verbose: Setting<bool> = Switch, Any;
        // The words are ordered from the least strict to the strictest.
        /// The policy for calls that no rule covers.
        approval: Setting<String> =
            Choice(&["sandboxed", "allowlist", "strict"]), MayTighten, default "sandboxed";
        /// The policy for background commands when the answer is complete.
        background: Setting<String> = NonBlankText, IfEqual("stop"), default "stop";
    } with tables {
        /// `[models]`, but for the tables of single models.
        models: ModelNames;
        /// `[providers.NAME]`.
        providers: Named<ProviderSettings>;
        /// `[permissions]`.
        permissions: PermissionSettings;
        /// `[sandbox]`.
        sandbox: SandboxSettings;
        /// `[network]`.
        network: NetworkSettings;
        /// `[tls]`.
        tls: TlsSettings;
        /// `[limits]`.
        limits: LimitSettings;
        /// `[subagents]`.
        subagents: SubagentSettings;
        /// `[timeouts]`.
        timeouts: TimeoutSettings;
        /// `[retry]`.
        retry: RetrySettings;
        /// `[web_search]`.
        web_search: WebSearchSettings;
        /// `[local]`.
        local: LocalSettings;
        /// `[session]`.
        session: SessionSettings;
    }
}

impl LimitSettings {
    /// Returns the number of processes that commands, hooks and servers may each have.
    pub fn process_count(&self) -> u32 {
        u32::try_from(self.processes.value).unwrap_or(u32::MAX)
    }
}

impl Settings {
    /// Returns the settings in force of `config`.
    pub fn new(config: &Config) -> Self {
        super::Field::read(config, &[])
    }
}

table! {
    /// Names, windows and prices of models, each by the name of a model.
    ModelNames at "models." {
        /// The model that an alias names.
        aliases: Named<Setting<String>> = NonBlankText, Trusted, names ".*";
        /// The name that lists show.
        display: Named<Setting<String>> = NonBlankText, Trusted, names ".*";
        /// The older form of `[models.NAME] context_window`.
        context: Named<Setting<u64>> = Number, Trusted, names ".*";
        /// The older form of `[models.NAME] prices`.
        prices: Named<Setting<String>> = NonBlankText, Trusted, names ".*";
    }
}

/// The fields of a model: this list is the only one.
pub(crate) const MODEL_KEYS: &[Key] = &[
    key("models.*.label", NonBlankText, Trusted),
    key("models.*.context_window", Number, Trusted),
    key("models.*.economic_window", Number, Trusted),
    key("models.*.max_output_tokens", Number, Trusted),
    key("models.*.prices", NonBlankText, Trusted),
    key("models.*.tiers", List, Trusted),
    key("models.*.batch_percent", Number, Trusted),
    key("models.*.max_images", Number, Trusted),
    key("models.*.tools", Switch, Trusted),
    key("models.*.images", Switch, Trusted),
    key("models.*.documents", Switch, Trusted),
    key("models.*.reasoning", Switch, Trusted),
    key("models.*.structured_output", Switch, Trusted),
    key("models.*.wire", NonBlankText, Trusted),
    key("models.*.cache", Choice(CACHE_FORMS), Trusted),
    key("models.*.schema", Choice(SCHEMA_FORMS), Trusted),
    key("models.*.rules", Words(REQUEST_RULES), Trusted),
    key("models.*.instruction_role", Choice(INSTRUCTION_ROLES), Trusted),
    key("models.*.thinking.form", Choice(THINKING_FORMS), Trusted),
    key("models.*.thinking.off", Choice(THINKING_OFF), Trusted),
    key("models.*.thinking.levels", Words(EFFORT_LEVELS), Trusted),
    key("models.*.thinking.default", Choice(EFFORT_LEVELS), Trusted),
    key("models.*.thinking.bound", Switch, Trusted),
    key("models.*.retires", NonBlankText, Trusted),
    key("models.*.successor", NonBlankText, Trusted),
];

table! {
    /// A provider of models.
    ProviderSettings at "providers.*." {
        /// The name of its API.
        wire: Setting<Option<String>> = NonBlankText, Trusted;
        /// The base URL of its API.
        base_url: Setting<Option<String>> = NonBlankText, Trusted;
        /// The environment variables with its keys.
        key_variable: Setting<Vec<String>> = TextOrList, Trusted;
        // A command of a project would run without the sandbox, and a file of a project could be anyone's key.
        /// The command that prints the key.
        api_key_command: Setting<Option<Vec<String>>> = List, Never;
        /// The files with its keys.
        api_key_file: Setting<Vec<String>> = TextOrList, Never, names_secret true;
        /// The headers of each request.
        headers: Named<Setting<String>> = Text, Trusted, names ".*";
        /// The transport of its API.
        transport: Setting<Option<String>> = Choice(&["http", "websocket"]), Trusted;
        /// Whether tool calls are written in the text of an answer.
        text_tool_calls: Setting<bool> = Switch, Trusted;
        /// Whether reasoning is sent back.
        echo_reasoning: Setting<Option<bool>> = Switch, Trusted;
        /// Whether requests have cache breakpoints.
        prompt_cache: Setting<Option<bool>> = Switch, Trusted;
    }
}

table! {
    /// Rules for tool calls, of all layers.
    PermissionSettings at "permissions." {
        /// The calls that are allowed.
        allow: Vec<Setting<String>> = Tokens, Trusted;
        /// The calls that need an approval.
        ask: Vec<Setting<String>> = Tokens, Any;
        /// The calls that are denied.
        deny: Vec<Setting<String>> = Tokens, Any;
        // A project may not allow itself anything.
        /// The calls that are allowed in a workspace, by its directory.
        projects: Named<Vec<Setting<String>>> = Tokens, Never, names ".*";
    }
}

table! {
    /// The sandbox of commands.
    SandboxSettings at "sandbox." {
        /// Whether commands run in the sandbox.
        mode: Setting<Option<String>> = Choice(&["enabled", "disabled"]), OnlyEqual("enabled");
        /// The environment variables that commands see.
        environment: Vec<Setting<String>> = Set, Trusted;
        // A build outside of the sandbox may later run the files in these directories.
        /// The directories outside of the workspace that commands may write.
        writable: Vec<Setting<String>> = Set, Never;
        /// The tools whose caches commands may write.
        caches: Vec<Setting<String>> = Set, Never;
        /// The size of the file system for temporary files in bytes.
        scratch_size: Setting<Option<u64>> = Size, MayLower;
        // The process that listens on a socket has the user's rights, or more.
        /// The sockets that commands may use.
        sockets: Vec<Setting<String>> = Set, Never;
    }
}

table! {
    /// The network.
    NetworkSettings at "network." {
        /// The hosts that commands and tools may reach.
        allow: Vec<Setting<String>> = Set, Trusted;
        // An API key would be sent unencrypted.
        /// The hosts that may be reached without TLS.
        insecure_hosts: Vec<Setting<String>> = Set, Never;
        // The address of a name decides who receives keys and where pages come from.
        /// The addresses of host names.
        resolve: Named<Setting<String>> = NonBlankText, Never, names ".*";
    }
}

table! {
    /// Files for TLS, each in PEM.
    TlsSettings at "tls." {
        // Another authority could read API keys on their way.
        /// The certificates of further authorities.
        ca_file: Setting<Option<String>> = NonBlankText, Never, variable "IBEAM_CA_FILE";
        // The file of the certificate may have its key too.
        /// The client certificate.
        client_cert: Setting<Option<String>> = NonBlankText, Never, names_secret true;
        /// The key of the client certificate.
        client_key: Setting<Option<String>> = NonBlankText, Never, names_secret true;
    }
}

table! {
    /// Limits of a run and of its commands.
    LimitSettings at "limits." {
        /// The number of model requests.
        max_turns: Setting<u64> = Number, MayLower, default "200", variable "IBEAM_MAX_TURNS";
        /// The duration.
        timeout: Setting<Option<Duration>> = Time, MayLower, variable "IBEAM_TIMEOUT";
        /// The number of tokens, prompts and answers together.
        max_tokens: Setting<Option<u64>> = Number, MayLower;
        /// The cost in millionths of a US dollar.
        max_cost: Setting<Option<u64>> = Money, MayLower;
        /// The number of tool calls.
        max_tool_calls: Setting<Option<u64>> = Number, MayLower;
        /// The size of a file that a command writes, in bytes.
        file_size: Setting<Option<u64>> = Size, MayLower;
        // With too few processes, a hook that denies calls could not start the programs that it needs.
        /// The number of processes that commands, hooks and servers may each have.
        processes: Setting<u64> = Number, Trusted, default "4096";
        /// The number of tokens of an answer.
        max_output_tokens: Setting<Option<u64>> = Number, MayLower;
    }
}

table! {
    /// Sub-agents.
    SubagentSettings at "subagents." {
        // Sub-agents cost more.
        /// Whether there are sub-agents.
        mode: Setting<Option<String>> = Choice(&["enabled", "disabled"]), IfEqual("disabled");
        /// The number of generations.
        max_depth: Setting<u64> = Number, MayLower, default "1";
    }
}

table! {
    /// Time limits of what a run waits for.
    TimeoutSettings at "timeouts." {
        // Without a value, the default of the provider applies: a local server may have to load its model first.
        /// A connection to a model server.
        connect: Setting<Option<Duration>> = Time, Trusted;
        /// The first byte of an answer.
        first_byte: Setting<Option<Duration>> = Time, Trusted;
        /// The next byte of an answer.
        idle: Setting<Option<Duration>> = Time, Trusted;
        /// The next content of an answer.
        content_idle: Setting<Option<Duration>> = Time, Trusted;
        /// A whole answer.
        answer: Setting<Option<Duration>> = Time, Trusted;
        /// A prompt on stdin.
        stdin: Setting<Duration> = Time, Trusted, default "30s";
        /// Context on stdin, when the prompt is an argument.
        stdin_context: Setting<Duration> = Time, Trusted, default "3s";
        /// A session that another process holds.
        lock: Setting<Duration> = Pause, Trusted, default "0s";
        /// A call of a file tool.
        files: Setting<Duration> = Time, MayLower, default "60s";
        /// A command, unless the model asks for more.
        tool: Setting<Duration> = Time, MayLower, default "120s";
        /// A command for which the model asks for more.
        tool_longest: Setting<Duration> = Time, MayLower, default "600s";
        /// A command in the background.
        background: Setting<Duration> = Time, MayLower, default "10m";
        /// The end of a run that is stopped.
        shutdown: Setting<Duration> = Time, Trusted, default "3s";
        // Too short a time would end a hook before it can deny a call.
        /// A hook.
        hook: Setting<Duration> = Time, Trusted, default "60s";
        /// A command that prints a key.
        api_key_command: Setting<Duration> = Time, Never, default "30s";
        /// A checkpoint.
        checkpoint: Setting<Duration> = Time, Trusted, default "10s";
        /// A command of git.
        git: Setting<Duration> = Time, Trusted, default "10m";
        /// The start of an MCP server.
        mcp_start: Setting<Duration> = Time, MayLower, default "10s";
        /// A call of an MCP server.
        mcp_call: Setting<Duration> = Time, MayLower, default "120s";
    }
}

table! {
    /// Repeats of model requests that failed.
    RetrySettings at "retry." {
        /// The number of attempts.
        attempts: Setting<u64> = Number, MayLower, default "6";
        /// The pause after the first attempt.
        first_pause: Setting<Duration> = Pause, Trusted, default "1s";
        /// The time after which no attempt follows.
        give_up_after: Setting<Duration> = Time, MayLower, default "5m";
    }
}

/// The keys of MCP servers.
pub(crate) const MCP_SERVER_KEYS: &[Key] = &[
    key("mcp_servers.*.command", Text, Delegated),
    key("mcp_servers.*.args", List, Delegated),
    key("mcp_servers.*.env.*", Text, Delegated),
    key("mcp_servers.*.cwd", Text, Delegated),
    key("mcp_servers.*.url", Text, Delegated),
    key("mcp_servers.*.headers.*", Text, Delegated),
    key("mcp_servers.*.headers_command", List, Delegated),
    key("mcp_servers.*.revision", Choice(&["auto", "2025-11-25", "2026-07-28"]), Delegated),
    key("mcp_servers.*.elicitation", Choice(&["decline", "defaults"]), Delegated),
    key(
        "mcp_servers.*.auth.grant",
        Choice(&["authorization_code", "device_code", "client_credentials", "jwt_bearer", "id_jag", "none"]),
        Delegated,
    ),
    key("mcp_servers.*.auth.scopes", List, Delegated),
    key("mcp_servers.*.auth.redirect_port", Number, Delegated),
    secret_file("mcp_servers.*.auth.private_key_file", Delegated),
    secret_file("mcp_servers.*.auth.assertion_file", Delegated),
    key("mcp_servers.*.auth.*", Text, Delegated),
    key("mcp_servers.*.start_timeout", Time, Delegated),
    key("mcp_servers.*.call_timeout", Time, Delegated),
    key("mcp_servers.*.required", Switch, Delegated),
    key("mcp_servers.*.enabled", Switch, Delegated),
];

table! {
    /// The service for web searches.
    WebSearchSettings at "web_search." {
        // The service receives what the model searches for, and a key.
        /// The kind of the service.
        service: Setting<Option<String>> = Choice(&["brave", "searxng", "tavily", "mcp"]), Never;
        /// The base URL of the service.
        url: Setting<Option<String>> = NonBlankText, Never;
        /// The tool of an MCP server that searches.
        tool: Setting<Option<String>> = NonBlankText, Never;
        /// The environment variable with the key.
        key_variable: Setting<Option<String>> = NonBlankText, Never;
        /// The command that prints the key.
        api_key_command: Setting<Option<Vec<String>>> = List, Never;
        /// The file with the key.
        api_key_file: Setting<Option<String>> = NonBlankText, Never, names_secret true;
    }
}

table! {
    /// The embedded model.
    LocalSettings at "local." {
        /// The file of the model.
        model: Setting<Option<String>> = NonBlankText, Trusted, variable "IBEAM_LOCAL_MODEL";
    }
}

table! {
    /// Sessions.
    SessionSettings at "session." {
        // A project must not be able to prevent the recording of a run.
        /// Whether nothing of a run is stored.
        ephemeral: Setting<bool> = Switch, Trusted, variable "IBEAM_EPHEMERAL";
        // A project must not be able to prevent an undo.
        /// Whether a run records checkpoints.
        checkpoints: Setting<bool> = Switch, Trusted, default "true";
        // Only a person knows whether all of a home directory is meant.
        /// Whether monitor and checkpoints cover a home directory that is the workspace.
        cover_home: Setting<bool> = Switch, Never, default "false";
        /// When the journal reaches the disk.
        durability: Setting<String> = NonBlankText, IfEqual("strict"), default "default";
    }
}

/// All keys. The first that matches a path counts.
pub(crate) const TABLES: &[&[Key]] = &[
    Settings::KEYS,
    ModelNames::KEYS,
    MODEL_KEYS,
    ProviderSettings::KEYS,
    PermissionSettings::KEYS,
    SandboxSettings::KEYS,
    NetworkSettings::KEYS,
    TlsSettings::KEYS,
    LimitSettings::KEYS,
    SubagentSettings::KEYS,
    TimeoutSettings::KEYS,
    RetrySettings::KEYS,
    MCP_SERVER_KEYS,
    WebSearchSettings::KEYS,
    LocalSettings::KEYS,
    SessionSettings::KEYS,
];

const fn key(path: &'static str, kind: Kind, project_scope: ProjectScope) -> Key {
    Key { path, kind, default: None, variable: None, project_scope, names_secret: false }
}

/// Returns a key whose value is the path of a file with a secret.
const fn secret_file(path: &'static str, project_scope: ProjectScope) -> Key {
    Key { names_secret: true, ..key(path, NonBlankText, project_scope) }
}
