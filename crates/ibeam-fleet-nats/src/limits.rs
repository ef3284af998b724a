//! The limits that all workers share.
//!
//! `limits.fleet` has the consumption of the fleet and what workers lease of its limits (`SharedState`). Each lease and each
//! report changes it by compare-and-swap. `account.*` has the pauses and the exhausted quotas that workers have seen;
//! every worker watches these keys. The name of an account there is a hash with a salt of the fleet.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use async_nats::Subscriber;
use futures_util::StreamExt as _;
use ibeam_fleet::{
    Budget, BudgetLease, DriverUsage, FleetLimits, Hold, LeaseDecision, QueueError, RequestOutcome,
    RequestReport, SharedLimits, SharedState, Spend,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::connection::Connection;
use crate::control::ControlWatch;
use crate::error::{damaged, service};
use crate::nats_queue::now_ms;
use crate::store::{Store, Swap, parse};

/// The time between two readings of the keys of accounts, in case a value was lost with its connection.
const READ_INTERVAL: Duration = Duration::from_secs(5);
/// The pause until the next attempt when the servers do not answer.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(1);
/// The age up to which the consumption that was read last is used.
const FRESH: Duration = Duration::from_secs(1);
/// The first pause after an overload without a time. It doubles up to the longest.
const FIRST_PAUSE_MS: u64 = 500;
const LONGEST_PAUSE_MS: u64 = 60_000;
/// The number of failed attempts to change the shared state.
const MAX_FAILURES: u32 = 60;

/// The limits of a fleet, as a worker sees them.
#[derive(Clone)]
pub(crate) struct FleetLimitsClient(Arc<Inner>);

struct Inner {
    connection: Arc<Connection>,
    store: Store,
    control: ControlWatch,
    /// The milliseconds by which the clock of the servers is ahead.
    clock_offset_ms: i64,
    /// The number of the last change of the shared state. Those of a process that is started again are larger.
    changes: AtomicU64,
    last: Mutex<(Option<Instant>, SharedState)>,
    accounts: Mutex<HashMap<String, AccountNotice>>,
}

impl fmt::Debug for FleetLimitsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetLimitsClient").finish_non_exhaustive()
    }
}

/// The value of an `account` key. Times are those of the servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct AccountNotice {
    blocked_until_ms: u64,
    pause_ms: u64,
    exhausted: Option<String>,
}

impl AccountNotice {
    /// Returns the notice after an overload; `None` if the pause stays as it is.
    fn after_overload(&self, now_ms: u64, retry_after_ms: Option<u64>) -> Option<Self> {
        let is_recent = now_ms < self.blocked_until_ms.saturating_add(LONGEST_PAUSE_MS);
        let pause_ms = match (now_ms < self.blocked_until_ms, is_recent) {
            // A request that was sent before the pause does not extend it.
            (true, _) => self.pause_ms,
            (false, true) => self.pause_ms.saturating_mul(2).clamp(FIRST_PAUSE_MS, LONGEST_PAUSE_MS),
            (false, false) => FIRST_PAUSE_MS,
        };
        let asked = now_ms.saturating_add(retry_after_ms.unwrap_or_default());
        let blocked_until_ms = match now_ms < self.blocked_until_ms {
            true => self.blocked_until_ms.max(asked),
            false => asked.max(now_ms.saturating_add(pause_ms)),
        };
        let next = Self { blocked_until_ms, pause_ms, exhausted: self.exhausted.clone() };
        (next != *self).then_some(next)
    }
}

impl FleetLimitsClient {
    /// Watches the keys as long as the connection lasts.
    pub(crate) fn start(
        connection: &Arc<Connection>,
        store: &Store,
        control: ControlWatch,
    ) -> Result<Self, QueueError> {
        let subject = store.names.accounts();
        let (values, clock_offset_ms) = connection.block_on(async {
            let values = store.context.client().subscribe(subject.clone()).await;
            let values = values.map_err(|error| service(&subject, &error))?;
            Ok::<_, QueueError>((values, clock_offset_ms(store).await?))
        })?;
        let inner = Arc::new(Inner {
            connection: Arc::clone(connection),
            store: store.clone(),
            control,
            clock_offset_ms,
            changes: AtomicU64::new(now_ms()),
            last: Mutex::default(),
            accounts: Mutex::default(),
        });
        connection.block_on(inner.read_accounts())?;
        connection.handle().spawn(follow(Arc::downgrade(&inner), values));
        Ok(Self(inner))
    }
}

impl Inner {
    /// Returns the time on the clock of the servers.
    fn now_ms(&self) -> u64 {
        now_ms().saturating_add_signed(self.clock_offset_ms)
    }

    /// Returns the name of an account in keys, from which the account cannot be found.
    fn shared_name(&self, account: &str) -> String {
        let mut digest = Sha256::new_with_prefix(self.control.current().salt.to_be_bytes());
        digest.update(account);
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Changes the shared state. A change that does not alter it is not written. The attempts of one change have the same
    /// number, so one whose answer was lost is not repeated.
    async fn change<T>(&self, driver: &str, change: impl Fn(&mut SharedState) -> T) -> Result<T, QueueError> {
        let (subject, number) = (self.store.names.limits(), self.changes.fetch_add(1, Ordering::SeqCst) + 1);
        let (mut made, mut failures) = (None, 0);
        loop {
            match self.try_change(&subject, Some((driver, number)), &change, &mut made).await {
                Ok(true) => return made.ok_or_else(|| damaged(&subject, "it was not changed")),
                // Another worker was faster.
                Ok(false) => tokio::time::sleep(Duration::from_millis(number % 4)).await,
                Err(error) if failures >= MAX_FAILURES => return Err(error),
                Err(_) => {
                    failures += 1;
                    tokio::time::sleep(UNREACHABLE_PAUSE).await;
                }
            }
        }
    }

    /// Tries to change the shared state, and sets what the change returned. Returns whether it is made. Without the driver and
    /// the number, the change may be made twice.
    async fn try_change<T>(
        &self,
        subject: &str,
        number: Option<(&str, u64)>,
        change: impl Fn(&mut SharedState) -> T,
        made: &mut Option<T>,
    ) -> Result<bool, QueueError> {
        let entry = self.store.read_once(subject).await?;
        let (mut state, sequence) = match &entry {
            Some(entry) => (parse::<SharedState>(subject, &entry.value)?, entry.sequence),
            None => (SharedState::default(), 0),
        };
        if made.is_none() || number.is_none_or(|(driver, number)| !state.is_made(driver, number)) {
            let before = state.clone();
            *made = Some(change(&mut state));
            if state != before {
                if let Some((driver, number)) = number {
                    state.mark(driver, number);
                }
                if self.store.swap(subject, sequence, &state).await? == Swap::Changed {
                    return Ok(false);
                }
            }
        }
        *lock(&self.last) = (Some(Instant::now()), state);
        Ok(true)
    }

    async fn read_accounts(&self) -> Result<(), QueueError> {
        let subject = self.store.names.accounts();
        let mut accounts = HashMap::new();
        for entry in self.store.scan(&subject, 1).await? {
            accounts.insert(entry.task, parse::<AccountNotice>(&subject, &entry.value)?);
        }
        *lock(&self.accounts) = accounts;
        Ok(())
    }

    /// Announces to the other workers a pause or an exhausted quota that a request has caused.
    fn announce(&self, name: &str, next: impl FnOnce(&AccountNotice) -> Option<AccountNotice>) {
        let known = lock(&self.accounts).get(name).cloned().unwrap_or_default();
        let Some(notice) = next(&known) else { return };
        lock(&self.accounts).insert(name.to_owned(), notice.clone());
        let subject = self.store.names.account(name);
        // Without an answer, the other workers meet the limit themselves.
        drop(self.connection.block_on(self.store.put_once(&subject, &notice)));
    }
}

impl FleetLimitsClient {
    /// Returns the consumption with the names that accounts have in the shared state.
    fn shared_usage(&self, usage: &DriverUsage) -> DriverUsage {
        let mut usage = usage.clone();
        for correction in &mut usage.corrections {
            correction.account = self.0.shared_name(&correction.account);
        }
        usage
    }
}

impl SharedLimits for FleetLimitsClient {
    fn hold(&self, account: &str) -> Option<Hold> {
        let (inner, name) = (&self.0, self.0.shared_name(account));
        let notice = lock(&inner.accounts).get(&name).cloned()?;
        if let Some(reason) = notice.exhausted {
            return Some(Hold::Refuse(reason));
        }
        let left_ms = notice.blocked_until_ms.saturating_sub(inner.now_ms());
        (left_ms > 0).then(|| Hold::Wait(Duration::from_millis(left_ms)))
    }

    fn limits(&self) -> FleetLimits {
        self.0.control.current().limits
    }

    fn lease(&self, account: &str, usage: &DriverUsage) -> LeaseDecision {
        let (inner, name) = (&self.0, self.0.shared_name(account));
        let (limits, usage) = (self.limits(), self.shared_usage(usage));
        let lease = |state: &mut SharedState| state.lease(limits, &name, &usage, inner.now_ms());
        let leased = inner.connection.block_on(inner.change(&usage.driver, lease));
        leased.unwrap_or(LeaseDecision::Wait { pause: UNREACHABLE_PAUSE, budget: None })
    }

    fn report(&self, usage: &DriverUsage, is_idle: bool) -> Option<BudgetLease> {
        let inner = &self.0;
        let (limits, usage) = (self.limits(), self.shared_usage(usage));
        let report = |state: &mut SharedState| state.report(limits, &usage, is_idle, inner.now_ms());
        // Without an answer, the next report has the consumption, and what is leased comes back after a minute.
        inner.connection.block_on(inner.change(&usage.driver, report)).ok()
    }

    fn end(&self, account: &str, report: Option<&RequestReport>) {
        let (inner, name) = (&self.0, self.0.shared_name(account));
        match report.map(|report| &report.outcome) {
            Some(RequestOutcome::Overloaded { retry_after_ms }) => {
                inner.announce(&name, |known| known.after_overload(inner.now_ms(), *retry_after_ms));
            }
            Some(RequestOutcome::Exhausted { reason }) => inner.announce(&name, |known| {
                Some(AccountNotice { exhausted: Some(reason.clone()), ..known.clone() })
            }),
            Some(RequestOutcome::Complete | RequestOutcome::Failed) | None => {}
        }
    }

    fn budget(&self) -> (Budget, Spend) {
        let inner = &self.0;
        let budget = self.limits().budget;
        let is_stale = lock(&inner.last).0.is_none_or(|at| at.elapsed() > FRESH);
        if budget != Budget::default() && is_stale {
            let subject = inner.store.names.limits();
            // The caller holds the queue, so this is tried once. Without an answer, what was read last counts.
            drop(inner.connection.block_on(inner.try_change(&subject, None, |_| (), &mut None)));
        }
        (budget, lock(&inner.last).1.spent())
    }
}

/// Raises the consumption in the shared state to what tasks have recorded.
pub(crate) async fn raise_spent(store: &Store, recorded: Spend) -> Result<(), QueueError> {
    let subject = store.names.limits();
    loop {
        let entry = store.read(&subject).await?;
        let sequence = entry.as_ref().map_or(0, |entry| entry.sequence);
        let state = entry.map(|entry| parse::<SharedState>(&subject, &entry.value)).transpose()?;
        let (before, mut state) = (state.clone(), state.unwrap_or_default());
        state.raise(recorded);
        // The attempt is repeated with what the key has then.
        if before.as_ref() == Some(&state) || store.swap(&subject, sequence, &state).await? == Swap::Set {
            return Ok(());
        }
    }
}

/// Follows the keys of accounts.
async fn follow(inner: Weak<Inner>, mut values: Subscriber) {
    loop {
        let value = tokio::time::timeout(READ_INTERVAL, values.next()).await;
        let Some(inner) = inner.upgrade() else { return };
        match value {
            Ok(Some(message)) => {
                let name = crate::names::task_of(&message.subject);
                let notice = parse::<AccountNotice>(&message.subject, &message.payload);
                // A deleted key has no value.
                lock(&inner.accounts).insert(name, notice.unwrap_or_default());
            }
            // The connection was closed.
            Ok(None) => return,
            // The next reading may succeed.
            Err(_) => drop(inner.read_accounts().await),
        }
    }
}

/// Returns the time on the clock of the servers.
pub(crate) async fn server_now_ms(store: &Store) -> Result<u64, QueueError> {
    let offset_ms = clock_offset_ms(store).await?;
    Ok(now_ms().saturating_add_signed(offset_ms))
}

/// Returns the milliseconds by which the clock of the servers is ahead of that of this machine.
async fn clock_offset_ms(store: &Store) -> Result<i64, QueueError> {
    #[derive(Deserialize)]
    struct Info {
        ts: String,
    }
    let subject = format!("$JS.API.STREAM.INFO.KV_{}", store.names.bucket());
    let sent_ms = now_ms();
    let answer = store.context.client().request(subject.clone(), bytes::Bytes::new()).await;
    let answer = answer.map_err(|error| service(&subject, &error))?;
    let local_ms = sent_ms.midpoint(now_ms());
    let info: Info = serde_json::from_slice(&answer.payload).map_err(|error| damaged(&subject, error))?;
    let time: jiff::Timestamp = info.ts.parse().map_err(|error| damaged(&subject, error))?;
    Ok(time.as_millisecond().saturating_sub_unsigned(local_ms))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
