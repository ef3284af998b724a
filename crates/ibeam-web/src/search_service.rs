//! The services that search the web: the request of each, and the results in its answer.
//!
//! A new service is a new variant. Sources: docs.searxng.org "Search API"; api-dashboard.search.brave.com "Web search";
//! docs.tavily.com "Tavily Search".

use std::borrow::Cow;

use bytes::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, InvalidHeaderValue};
use hyper::{HeaderMap, Method};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use crate::fetch::RequestParts;

/// The number of results that are requested and used.
pub(crate) const MAX_RESULTS: usize = 10;
const BRAVE_KEY_HEADER: HeaderName = HeaderName::from_static("x-subscription-token");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A service that searches the web, with an API in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchService {
    Brave,
    /// An instance of SearXNG, which a person runs.
    Searxng,
    Tavily,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchResult {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) snippet: String,
}

impl SearchService {
    /// Returns the service with this name in the configuration.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Brave, Self::Searxng, Self::Tavily].into_iter().find(|service| service.name() == name)
    }

    /// Returns the name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brave => "brave",
            Self::Searxng => "searxng",
            Self::Tavily => "tavily",
        }
    }

    /// Returns the URL of the API; `None` if each person has another.
    pub fn default_url(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com/res/v1/web/search"),
            Self::Searxng => None,
            Self::Tavily => Some("https://api.tavily.com/search"),
        }
    }

    /// Returns the variable in which the key is usual; `None` if the service needs no key.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Searxng => None,
            Self::Tavily => Some("TAVILY_API_KEY"),
        }
    }

    /// Returns the URL and the other parts of the request for `term`.
    pub(crate) fn request(
        self,
        base: &Url,
        term: &str,
        key: Option<&str>,
    ) -> Result<(Url, RequestParts), InvalidHeaderValue> {
        let mut url = base.clone();
        let mut headers = HeaderMap::from_iter([(ACCEPT, JSON)]);
        let (method, body) = match self {
            Self::Brave => {
                let count = MAX_RESULTS.to_string();
                url.query_pairs_mut().extend_pairs([("q", term), ("count", count.as_str())]);
                if let Some(key) = key {
                    headers.insert(BRAVE_KEY_HEADER, secret_value(key)?);
                }
                (Method::GET, Bytes::new())
            }
            Self::Searxng => {
                if let Ok(mut path) = url.path_segments_mut() {
                    path.pop_if_empty().push("search");
                }
                url.query_pairs_mut().extend_pairs([("q", term), ("format", "json")]);
                if let Some(key) = key {
                    headers.insert(AUTHORIZATION, secret_value(&format!("Bearer {key}"))?);
                }
                (Method::GET, Bytes::new())
            }
            Self::Tavily => {
                headers.insert(CONTENT_TYPE, JSON);
                if let Some(key) = key {
                    headers.insert(AUTHORIZATION, secret_value(&format!("Bearer {key}"))?);
                }
                let body = json!({ "query": term, "max_results": MAX_RESULTS });
                (Method::POST, Bytes::from(body.to_string()))
            }
        };
        Ok((url, RequestParts { method, headers, body }))
    }

    /// Parses the answer of the service. Results without a web address are left out.
    pub(crate) fn parse(self, body: &[u8]) -> serde_json::Result<Vec<SearchResult>> {
        let rows = match self {
            Self::Brave => serde_json::from_slice::<BraveAnswer>(body)?.web.results,
            Self::Searxng | Self::Tavily => serde_json::from_slice::<PlainAnswer>(body)?.results,
        };
        let is_page = |row: &Row| ["https://", "http://"].iter().any(|scheme| row.url.starts_with(scheme));
        Ok(rows.into_iter().filter(is_page).take(MAX_RESULTS).map(Row::into_result).collect())
    }
}

/// Returns a header value that is never printed.
fn secret_value(text: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut value = HeaderValue::from_str(text)?;
    value.set_sensitive(true);
    Ok(value)
}

#[derive(Deserialize)]
struct BraveAnswer {
    /// Missing if nothing was found.
    #[serde(default)]
    web: PlainAnswer,
}

#[derive(Default, Deserialize)]
struct PlainAnswer {
    #[serde(default)]
    results: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    title: Option<String>,
    #[serde(default)]
    url: String,
    content: Option<String>,
    /// The text at Brave Search.
    description: Option<String>,
}

impl Row {
    fn into_result(self) -> SearchResult {
        let plain = |text: Option<String>| plain_text(text.as_deref().unwrap_or_default()).into_owned();
        SearchResult {
            title: plain(self.title),
            url: self.url,
            snippet: plain(self.content.or(self.description)),
        }
    }
}

/// Returns a text without the marks of found words, and with the characters of its HTML entities.
fn plain_text(text: &str) -> Cow<'_, str> {
    const REPLACEMENTS: [(&str, &str); 7] = [
        ("<strong>", ""),
        ("</strong>", ""),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    REPLACEMENTS.iter().fold(Cow::Borrowed(text), |text, (from, to)| match text.contains(from) {
        true => Cow::Owned(text.replace(from, to)),
        false => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(service: SearchService, base: &str, key: Option<&str>) -> (String, RequestParts) {
        let (url, parts) = service.request(&Url::parse(base).unwrap(), "a b&c", key).unwrap();
        (url.into(), parts)
    }

    #[test]
    fn each_service_has_its_request() {
        let (url, parts) = request(SearchService::Brave, "https://b.test/search", Some("fake-key"));
        assert_eq!(url, "https://b.test/search?q=a+b%26c&count=10");
        assert_eq!(
            (parts.method, parts.headers.get(BRAVE_KEY_HEADER).unwrap().to_str().unwrap()),
            (Method::GET, "fake-key")
        );
        for base in ["https://s.test/sub", "https://s.test/sub/"] {
            let (url, parts) = request(SearchService::Searxng, base, None);
            assert_eq!(url, "https://s.test/sub/search?q=a+b%26c&format=json");
            assert_eq!(parts.headers.get(AUTHORIZATION), None);
        }
        let (url, parts) = request(SearchService::Tavily, "https://t.test/search", Some("fake-key"));
        assert_eq!((url.as_str(), parts.method), ("https://t.test/search", Method::POST));
        assert_eq!(parts.headers.get(AUTHORIZATION).unwrap(), "Bearer fake-key");
        assert_eq!(&*parts.body, br#"{"query":"a b&c","max_results":10}"#);
        assert!(
            SearchService::Brave.request(&Url::parse("https://b.test").unwrap(), "x", Some("a\nb")).is_err()
        );
    }

    #[track_caller]
    fn check(service: SearchService, body: &str, expect: &[[&str; 3]]) {
        let found = service.parse(body.as_bytes()).unwrap();
        let found: Vec<[&str; 3]> =
            found.iter().map(|result| [&*result.title, &*result.url, &*result.snippet]).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn each_service_has_its_answer() {
        check(
            SearchService::Brave,
            r#"{"type":"search","web":{"results":[{"title":"A &amp; B","url":"https://a.test/","description":"one <strong>two</strong>"}]}}"#,
            &[["A & B", "https://a.test/", "one two"]],
        );
        check(SearchService::Brave, r#"{"type":"search"}"#, &[]);
        check(
            SearchService::Searxng,
            r#"{"query":"x","results":[{"title":"A","url":"http://a.test/","content":"t","score":1.5},{"title":"B","url":"javascript:x"},{"title":null,"url":"https://c.test/","content":null}]}"#,
            &[["A", "http://a.test/", "t"], ["", "https://c.test/", ""]],
        );
        let row = r#"{"title":"T","url":"https://t.test/","content":"c"}"#;
        let many = format!(r#"{{"results":[{}]}}"#, [row; 30].join(","));
        assert_eq!(SearchService::Tavily.parse(many.as_bytes()).unwrap().len(), MAX_RESULTS);
        assert!(SearchService::Tavily.parse(b"<html>").is_err());
    }
}
