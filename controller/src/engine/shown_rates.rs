//! Links that jobs' calls have shown to be faster than published.
//!
//! Any user can write a job record. So an alarm says whose jobs it rests on, it changes no rate, and one
//! call of each user counts.
use directory::job_record::JobRecord;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::{Millis, Tree};
use policy::learned::place::host_numbers;
use policy::shown_rates::{FasterLink, RecordedFastCall, faster_links};
use std::collections::BTreeMap;
use std::time::Duration;

/// A call counts for so long: some jobs run once a day.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Users whose calls count.
const MOST_USERS: usize = 64;

/// The last call of each user that showed wrong rates.
#[derive(Debug, Default)]
pub(super) struct ShownRates {
    users: BTreeMap<String, (Millis, Vec<FasterLink>)>,
}

impl ShownRates {
    /// Takes what a job's record shows of the rates of the tree that it runs on. True if that is news.
    pub(super) fn take(&mut self, now: Millis, record: &JobRecord, tree: &Tree) -> bool {
        let call = record.fast_call.as_ref().and_then(RecordedFastCall::known);
        let (Some(call), Some(ranks)) = (call, ranks_of(record, tree)) else {
            return false;
        };
        let links = faster_links(tree, &ranks, &call);
        if links.is_empty() {
            return false;
        }
        let is_full = self.users.len() >= MOST_USERS && !self.users.contains_key(&record.user);
        let oldest = self.users.iter().min_by_key(|(_, (at, _))| *at);
        if let Some(user) = oldest.map(|(user, _)| user.clone()).filter(|_| is_full) {
            self.users.remove(&user);
        }
        let before = self.alarm();
        self.users.insert(record.user.clone(), (now, links));
        self.alarm() != before
    }

    /// Another network is published.
    pub(super) fn clear(&mut self) {
        self.users.clear();
    }

    pub(super) fn forget_old(&mut self, now: Millis) {
        self.users.retain(|_, (at, _)| now.since(*at) < REMEMBERED);
    }

    /// The alarm, if a call has shown wrong rates. It names the link that is most wrong, by the user whose
    /// calls show most.
    pub(super) fn alarm(&self) -> Option<Alarm> {
        let (_, links) = self.users.values().max_by_key(|(_, links)| links.len())?;
        let worst = links.first()?;
        let kind = AlarmKind::WrongRates {
            published: worst.published,
            shown: worst.shown,
            links: links.len(),
            users: self.users.keys().cloned().collect(),
        };
        let (a, b) = &worst.ends;
        Some(Alarm::between(a, b, kind))
    }
}

/// The number of a job's ranks on each host of the tree; `None` where the tree lacks a host.
fn ranks_of(record: &JobRecord, tree: &Tree) -> Option<Vec<u32>> {
    if !record.layout.fits(record.hosts.len(), record.ranks) {
        return None;
    }
    let numbers = host_numbers(tree, &record.hosts).ok()?;
    let mut ranks = vec![0; tree.host_names().len()];
    for host in record.layout.host_of() {
        ranks[*numbers.get(host as usize)?] += 1;
    }
    Some(ranks)
}
