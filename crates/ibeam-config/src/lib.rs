//! Configuration with the origin of every value, trusted workspaces, stored keys, and the directories of a user.
//!
//! Reads and writes files; prints nothing and parses no command line. Flags arrive as [`FlagSetting`]s and the
//! environment as a function, so that the binary resolves everything once at start.

mod config;
pub mod config_file;
mod credentials;
mod cursor_file;
mod dirs;
mod error;
mod keys;
mod layer;
mod load;
mod mcp_edit;
mod own_directories;
mod policy_files;
mod settings;
mod toml_fault;
mod trust;
mod trust_store;
mod value;

pub use config::{Config, Origin};
pub use credentials::Credentials;
pub use dirs::{Dirs, home_from_user_database};
pub use error::ConfigError;
pub use keys::{choices, model_fields, names_secret};
pub use load::{FlagInput, FlagSetting};
pub use mcp_edit::{NewMcpServer, add_mcp_server, remove_mcp_server, set_mcp_server_enabled};
pub use policy_files::{PolicyFiles, fingerprint};
pub use settings::tables::{
    LimitSettings, LocalSettings, ModelNames, NetworkSettings, PermissionSettings, ProviderSettings,
    RetrySettings, SandboxSettings, SessionSettings, Settings, SubagentSettings, TimeoutSettings,
    TlsSettings, WebSearchSettings,
};
pub use settings::{Named, Setting};
pub use trust::{Trust, TrustRequest};
pub use trust_store::{ApprovedServer, ServerTools, TrustFile, TrustStore, TrustedWorkspace};
pub use value::{Value, parse_time};
