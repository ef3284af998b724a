//! The proxy of LiteLLM: it offers four APIs, and translates their requests for the scripted model server, which is a Chat
//! Completions service to it.

use std::fs;
use std::process::Command;

use ibeam_testkit::{Answer, ModelServer};
use serde_json::{Value, json};

use super::install;
use super::server_process::{ServerProcess, free_address};
use super::server_run::{Expected, ExpectedUsage, ServerRun, ServerTests};
use crate::suite::{SuiteContext, SuiteError};

pub(super) const NAME: &str = "litellm";

/// The text of LiteLLM's own mock responses.
const MOCK_TEXT: &str = "pong from the mock";
/// The last text of the scripted model.
const SCRIPTED_TEXT: &str = "The title is Tide tables.";

struct ProxyApi {
    /// The name in `wire` of a provider's configuration.
    wire: &'static str,
    /// The path of the base URL.
    path: &'static str,
    /// The reason why mock responses do not work over this API.
    mock_failure: Option<&'static str>,
    mock_usage: ExpectedUsage,
    usage: ExpectedUsage,
}

/// The usage of two answers of the scripted model.
const TWO_ANSWERS: ExpectedUsage = ExpectedUsage::Exact(200, 20);

const APIS: [ProxyApi; 4] = [
    ProxyApi {
        wire: "openai",
        path: "/v1",
        mock_failure: None,
        mock_usage: ExpectedUsage::Reported,
        usage: TWO_ANSWERS,
    },
    ProxyApi {
        wire: "openai-responses",
        path: "/v1",
        mock_failure: Some("LiteLLM 1.100.5 answers status 500 to a streaming request for a mock response"),
        mock_usage: ExpectedUsage::Reported,
        usage: TWO_ANSWERS,
    },
    ProxyApi {
        wire: "anthropic",
        path: "",
        mock_failure: None,
        mock_usage: ExpectedUsage::Reported,
        usage: TWO_ANSWERS,
    },
    ProxyApi {
        wire: "gemini",
        path: "/v1beta",
        mock_failure: None,
        mock_usage: ExpectedUsage::Unreported,
        usage: ExpectedUsage::Unreported,
    },
];

/// The services behind the proxy for one of its APIs.
struct Services {
    /// Answers with a call and a text.
    tool_loop: ModelServer,
    /// Refuses every request with status 429.
    rate_limited: ModelServer,
}

impl Services {
    fn start() -> Self {
        let call = Answer::new().text("I read it. ").call("call_1", "read", &json!({ "path": "README.md" }));
        let refusal = Answer::error(429, "rate_limit_error", "slow down");
        Self {
            tool_loop: ModelServer::start([call, Answer::new().text("The title is ").text("Tide tables.")]),
            rate_limited: ModelServer::start(vec![refusal; 8]),
        }
    }
}

/// Installs the proxy, starts it, and runs the program with each API.
pub(super) fn run(context: &SuiteContext, tests: &mut ServerTests<'_>) -> Result<(), SuiteError> {
    let directory = install(context, NAME)?;
    let services: Vec<Services> = APIS.iter().map(|_| Services::start()).collect();
    // JSON is YAML.
    let config = directory.join("config.yaml");
    fs::write(&config, proxy_config(&services).to_string()).map_err(SuiteError::system(config.display()))?;
    let address = free_address()?;
    let mut command = Command::new(directory.join("bin/python"));
    command.args(["-m", "litellm.proxy.proxy_cli", "--telemetry", "False", "--host", "127.0.0.1"]);
    command.arg("--port").arg(address.port().to_string()).arg("--config").arg(&config);
    // Without it, the proxy would request a list of prices from the network.
    command.env_clear().env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
    let log = directory.join("output.log");
    let server = ServerProcess::start(NAME, command, address, "/health/liveliness", &log)?;
    for (index, (api, services)) in APIS.iter().zip(&services).enumerate() {
        test_api(tests, &server, index, api, services);
    }
    Ok(())
}

/// Returns the configuration of the proxy: a model with mock responses, and two with services for each API.
fn proxy_config(services: &[Services]) -> Value {
    let model = |name: String, url: String, mock: Option<&str>| {
        // This provider has only Chat Completions, so the proxy translates requests of the other APIs.
        let mut parameters =
            json!({ "model": format!("hosted_vllm/{name}"), "api_base": url + "/v1", "api_key": "none" });
        if let Some((parameters, text)) = parameters.as_object_mut().zip(mock) {
            parameters.insert("mock_response".to_owned(), text.into());
        }
        json!({ "model_name": name, "litellm_params": parameters })
    };
    let mut models = vec![model("mock".to_owned(), "http://127.0.0.1:9".to_owned(), Some(MOCK_TEXT))];
    for (index, services) in services.iter().enumerate() {
        models.push(model(format!("scripted-{index}"), services.tool_loop.url(), None));
        models.push(model(format!("busy-{index}"), services.rate_limited.url(), None));
    }
    json!({
        "model_list": models,
        "litellm_settings": { "drop_params": true, "num_retries": 0 },
        "router_settings": { "num_retries": 0, "disable_cooldowns": true },
    })
}

fn test_api(
    tests: &mut ServerTests<'_>,
    server: &ServerProcess,
    index: usize,
    api: &ProxyApi,
    services: &Services,
) {
    let run = |what: &str, model: String, expected| ServerRun {
        label: format!("{NAME}, {}: {what}", api.wire),
        wire: api.wire,
        base_url: server.url() + api.path,
        key: "none",
        model,
        prompt: "What is the title of README.md?",
        expected,
    };
    match api.mock_failure {
        Some(reason) => tests.result.skip(&format!("{NAME}, {}: a mock response", api.wire), reason),
        None => {
            let expected = Expected::Text { text: MOCK_TEXT, usage: api.mock_usage };
            tests.run(&run("a mock response", "mock".to_owned(), expected));
        }
    }
    let expected = Expected::TextAfterRead { text: SCRIPTED_TEXT, usage: api.usage };
    tests.run(&run("a tool loop", format!("scripted-{index}"), expected));
    let is_result_sent = services.tool_loop.requests().get(1).is_some_and(|request| {
        request.transcript().iter().any(|line| line.starts_with("result ") && line.contains("Tide tables"))
    });
    let violations = if is_result_sent { Vec::new() } else { vec!["the result did not arrive".to_owned()] };
    tests.count(&format!("{NAME}, {}: the model gets the result of its call", api.wire), violations, None);
    tests.run(&run("an unknown model", "missing".to_owned(), Expected::Failure(21)));
    tests.run(&run("a rate limit", format!("busy-{index}"), Expected::Failure(24)));
}
