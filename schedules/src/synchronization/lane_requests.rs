//! Each message requests lanes of the edges on its path, before anybody knows which messages are over.
use super::messages::{NOBODY, PhaseMessages, SenderOrders};
use crate::batches::BATCH;
use inventory::tree::Tree;

/// The bookkeeping that an edge needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EdgeTracking {
    /// None: it cannot overflow.
    Free,
    /// One lane.
    Narrow,
    /// Several lanes. The number is that of the edge among such edges.
    Wide(u32),
}

/// The requests of some messages in a row.
#[derive(Default)]
pub(super) struct LaneRequests {
    /// By message: the ends of its four parts among the numbers.
    ends: Vec<[u32; 4]>,
    numbers: Vec<u32>,
}

/// The request of one message.
pub(super) struct LaneRequest<'a> {
    /// Messages of its sender that its sender follows no more.
    pub(super) gone: &'a [u32],
    /// The sender's messages of the busy phase before.
    pub(super) previous: &'a [u32],
    /// The former users of its edges with one lane, or nobody.
    pub(super) former: &'a [u32],
    /// Its edges with several lanes.
    pub(super) wide: &'a [u32],
}

impl LaneRequests {
    pub(super) fn all(&self) -> impl Iterator<Item = LaneRequest<'_>> {
        let mut begin = 0;
        self.ends.iter().map(move |ends| {
            let [gone, previous, former, wide] = ends.map(|end| {
                let part = &self.numbers[begin..end as usize];
                begin = end as usize;
                part
            });
            LaneRequest {
                gone,
                previous,
                former,
                wide,
            }
        })
    }
}

/// Gives the requests of all messages, batch by batch.
pub(super) fn requests(
    tree: &Tree,
    messages: &PhaseMessages,
    mut senders: SenderOrders,
    kinds: &[EdgeTracking],
    give: &mut dyn FnMut(LaneRequests),
) {
    let mut last = vec![NOBODY; tree.edges() as usize];
    let mut batch = LaneRequests::default();
    let mut wide = Vec::new();
    for (number, m, phase, _) in messages.in_order() {
        let LaneRequests { ends, numbers } = &mut batch;
        if senders.begins(m.src, phase) {
            numbers.extend(senders.previous_messages(m.src));
        }
        let gone = numbers.len();
        senders.send(number, m.src, phase);
        numbers.extend(senders.previous_messages(m.src));
        let previous = numbers.len();
        tree.path(m.src, m.dst, |edge| match kinds[edge as usize] {
            EdgeTracking::Free => {}
            EdgeTracking::Narrow => {
                numbers.push(std::mem::replace(&mut last[edge as usize], number));
            }
            EdgeTracking::Wide(at) => wide.push(at),
        });
        let former = numbers.len();
        numbers.append(&mut wide);
        ends.push([gone, previous, former, numbers.len()].map(|end| end as u32));
        if ends.len() == BATCH {
            give(std::mem::take(&mut batch));
        }
    }
    give(batch);
}
