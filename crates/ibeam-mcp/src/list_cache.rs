//! Lists that are requested when they are needed: all pages, bounded, and stored for as long as the server allows
//! (`ttlMs` of revision 2026-07-28).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::connection::parse_result;
use crate::lenient_list::text_or_none;
use crate::server::Server;

/// Maximum number of pages of a list, against a cursor that never ends.
const MAX_PAGES: usize = 20;
/// Maximum number of entries of a list.
pub(crate) const MAX_ENTRIES: usize = 500;
/// The longest time for which a list is stored.
const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The fields that every page of a list has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageInfo {
    #[serde(default, deserialize_with = "text_or_none")]
    next_cursor: Option<String>,
    /// A number of milliseconds.
    #[serde(default)]
    ttl_ms: Value,
}

impl PageInfo {
    /// Returns the cursor of the next page, if there is one.
    fn into_cursor(self) -> Option<String> {
        self.next_cursor.filter(|cursor| !cursor.is_empty())
    }

    /// Returns the time for which the page may be stored; `None` if the server does not say.
    pub(crate) fn ttl(&self) -> Option<Duration> {
        self.ttl_ms.as_u64().map(|milliseconds| Duration::from_millis(milliseconds).min(MAX_TTL))
    }
}

/// The cursors of a list so far. A cursor that comes again would lead through the same pages for ever.
#[derive(Debug, Default)]
pub(crate) struct SeenCursors(BTreeSet<String>);

impl SeenCursors {
    /// Returns the cursor of the page after this one; `None` for the last page.
    pub(crate) fn next(&mut self, page: PageInfo) -> Option<String> {
        page.into_cursor().filter(|cursor| self.0.insert(cursor.clone()))
    }
}

/// A list, stored until it expires. A list without a lifetime is not stored.
#[derive(Debug)]
pub(crate) struct ListCache<T>(Mutex<Option<(Instant, Arc<[T]>)>>);

impl<T> Default for ListCache<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> ListCache<T> {
    /// Forgets the stored list.
    pub(crate) async fn clear(&self) {
        *self.0.lock().await = None;
    }

    /// Returns the stored list if it is fresh at `now`, else the result of `request`.
    ///
    /// # Errors
    /// The error of `request`.
    pub(crate) async fn get_or_request(
        &self,
        now: Instant,
        request: impl Future<Output = Result<(Vec<T>, Option<Duration>), String>>,
    ) -> Result<Arc<[T]>, String> {
        let mut stored = self.0.lock().await;
        if let Some((expiry, list)) = &*stored
            && now < *expiry
        {
            return Ok(Arc::clone(list));
        }
        *stored = None;
        let (list, ttl) = request.await?;
        let list: Arc<[T]> = list.into();
        *stored = ttl.map(|ttl| (now + ttl, Arc::clone(&list)));
        Ok(list)
    }
}

impl Server {
    /// Requests all pages of a list. Returns at most [`MAX_ENTRIES`] entries, and the time for which they may be stored.
    ///
    /// # Errors
    /// A message that names the server; the errors of `parse`.
    pub(crate) async fn request_list<T: PartialEq>(
        &self,
        method: &str,
        parse: impl Fn(&RawValue) -> Result<Vec<T>, String>,
    ) -> Result<(Vec<T>, Option<Duration>), String> {
        let mut entries: Vec<T> = Vec::new();
        let (mut cursor, mut ttl, mut cursors) = (None, Some(MAX_TTL), SeenCursors::default());
        for _ in 0..MAX_PAGES {
            let params =
                cursor.take().map_or_else(|| json!({}), |cursor: String| json!({ "cursor": cursor }));
            let page = self.request(method, params).await?;
            for entry in parse(&page)? {
                if entries.len() < MAX_ENTRIES && !entries.contains(&entry) {
                    entries.push(entry);
                }
            }
            let info: PageInfo = parse_result(method, &page)?;
            ttl = ttl.zip(info.ttl()).map(|(ttl, of_page)| ttl.min(of_page));
            cursor = cursors.next(info).filter(|_| entries.len() < MAX_ENTRIES);
            if cursor.is_none() {
                break;
            }
        }
        Ok((entries, ttl))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_number_of_milliseconds_is_a_lifetime() {
        let ttl = |page: &str| serde_json::from_str::<PageInfo>(page).unwrap().ttl();
        assert_eq!(ttl(r#"{"ttlMs":1500}"#), Some(Duration::from_millis(1500)));
        assert_eq!(ttl(r#"{"ttlMs":99999999999999}"#), Some(MAX_TTL));
        for page in ["{}", r#"{"ttlMs":null}"#, r#"{"ttlMs":-1}"#, r#"{"ttlMs":"1"}"#] {
            assert_eq!(ttl(page), None, "{page}");
        }
    }

    #[test]
    fn a_list_ends_at_a_cursor_that_was_there_before() {
        let mut cursors = SeenCursors::default();
        let pages = [
            r#"{"nextCursor":"a"}"#,
            r#"{"nextCursor":"b"}"#,
            r#"{"nextCursor":"a"}"#,
            r#"{"nextCursor":""}"#,
            r#"{"nextCursor":5}"#,
            "{}",
        ];
        let next = pages.map(|page| cursors.next(serde_json::from_str(page).unwrap()));
        assert_eq!(next, [Some("a".to_owned()), Some("b".to_owned()), None, None, None, None]);
    }

    #[test]
    fn a_list_is_requested_again_after_it_has_expired() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (cache, start) = (ListCache::default(), Instant::now());
        let list = |after: u64, result: Result<(u8, Option<u64>), String>| {
            let result = result.map(|(entry, ttl)| (vec![entry], ttl.map(Duration::from_millis)));
            let now = start + Duration::from_millis(after);
            runtime.block_on(cache.get_or_request(now, async { result })).map(|list| list.to_vec())
        };
        assert_eq!(list(0, Ok((1, None))), Ok(vec![1]));
        assert_eq!(list(0, Ok((2, Some(1000)))), Ok(vec![2]), "nothing was stored");
        assert_eq!(list(999, Ok((3, Some(1000)))), Ok(vec![2]));
        assert_eq!(list(1000, Ok((4, Some(0)))), Ok(vec![4]));
        assert_eq!(list(1000, Ok((5, Some(1000)))), Ok(vec![5]), "a lifetime of 0 ends at once");
        assert_eq!(list(2000, Err("no".to_owned())), Err("no".to_owned()));
        assert_eq!(list(2000, Ok((6, None))), Ok(vec![6]));
    }
}
