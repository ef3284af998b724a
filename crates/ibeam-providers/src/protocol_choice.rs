//! The choice between the protocol of a provider and the Responses API of OpenAI for a model.

use crate::model_table::{KnownModel, ModelWire};
use crate::protocols::OPENAI_RESPONSES;
use crate::wire_protocol::WireProtocol;

/// The models for which a provider implements the Responses API of OpenAI, although it has another protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponsesUse {
    /// No model.
    Never,
    /// The models whose row in the model table has it.
    KnownModels,
    /// Known models, and models that the model table does not have: their names are chosen by the user.
    UnknownModelsToo,
}

/// The protocols of the requests to a model.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolChoice {
    pub first: &'static dyn WireProtocol,
    /// The protocol to change to if the service has no such API or refuses the model there.
    pub other: Option<&'static dyn WireProtocol>,
}

impl ProtocolChoice {
    /// Returns the choice of a protocol without an alternative.
    pub const fn only(protocol: &'static dyn WireProtocol) -> Self {
        Self { first: protocol, other: None }
    }
}

impl ResponsesUse {
    /// Returns the protocols for a model.
    ///
    /// `protocol` is that of the provider. A server at another address than the provider's own may implement only the common
    /// protocol, so only a model that this protocol refuses is tried over Responses first.
    pub fn choose(
        self,
        protocol: &'static dyn WireProtocol,
        model: Option<&KnownModel>,
        is_own_address: bool,
    ) -> ProtocolChoice {
        let responses_first = ProtocolChoice { first: OPENAI_RESPONSES, other: Some(protocol) };
        let responses_later = ProtocolChoice { first: protocol, other: Some(OPENAI_RESPONSES) };
        match (self, model.map(|model| model.wire)) {
            (Self::Never, _) => ProtocolChoice::only(protocol),
            (Self::KnownModels, Some(Some(_))) if is_own_address => ProtocolChoice::only(OPENAI_RESPONSES),
            (Self::KnownModels | Self::UnknownModelsToo, Some(Some(ModelWire::OnlyResponses)))
            | (Self::UnknownModelsToo, Some(Some(ModelWire::Responses)) | None) => responses_first,
            (Self::KnownModels, Some(Some(ModelWire::Responses)) | None) => responses_later,
            (Self::KnownModels | Self::UnknownModelsToo, Some(None)) => ProtocolChoice::only(protocol),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_table::find_model;
    use crate::provider_table::known_provider;

    #[track_caller]
    fn check_protocols(provider: &str, model: &str, is_own_address: bool, expect: [&str; 2]) {
        let entry = known_provider(provider).unwrap();
        let known = find_model(provider, model);
        let ProtocolChoice { first, other } =
            entry.responses.choose(entry.protocol, known.as_ref(), is_own_address);
        let names = [first.name(), other.map_or("", WireProtocol::name)];
        assert_eq!(names, expect, "{provider} {model} {is_own_address}");
    }

    #[test]
    fn the_api_of_a_model_is_that_of_its_row() {
        let (chat, responses) = ("openai", "openai-responses");
        for model in ["gpt-5", "gpt-5.4", "gpt-6-luna", "gpt-6.2-sol", "gpt-7-sol", "gpt-5.3-codex"] {
            check_protocols("openai", model, true, [responses, ""]);
        }
        check_protocols("openai", "gpt-4.1", true, [chat, ""]);
        check_protocols("openai", "my-model", true, [chat, responses]);
        check_protocols("openai", "gpt-6.2-sol", false, [responses, chat]);
        check_protocols("openai", "gpt-5", false, [chat, responses]);
        check_protocols("openai", "gpt-4.1", false, [chat, ""]);
        check_protocols("azure", "my-deployment", true, [responses, chat]);
        check_protocols("azure", "gpt-6.2-sol", true, [responses, chat]);
        check_protocols("azure", "gpt-4.1", true, [chat, ""]);
        check_protocols("xai", "grok-4.7", true, [responses, ""]);
        check_protocols("groq", "openai/gpt-oss-120b", true, [chat, ""]);
        check_protocols("openrouter", "openai/gpt-6.2-sol", true, [chat, ""]);
    }
}
