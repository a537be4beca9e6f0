//! Shares of a bounded resource: users may write any amount of records, but only a bounded amount
//! is kept, and no user's records displace those of another user.
use std::collections::HashMap;
use std::hash::Hash;

/// A number of things, and the bytes of memory that they take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordAllowance {
    pub(crate) things: usize,
    pub(crate) bytes: usize,
}

impl RecordAllowance {
    /// Adds a thing if it fits. Returns whether it did.
    pub(crate) fn take(&mut self, bytes: usize, most: RecordAllowance) -> bool {
        let fits = self.things < most.things && self.bytes.saturating_add(bytes) <= most.bytes;
        if fits {
            self.things += 1;
            self.bytes += bytes;
        }
        fits
    }
}

/// The limit of each owner, and the limit of all owners together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnerShares {
    pub(crate) each: RecordAllowance,
    pub(crate) all: RecordAllowance,
}

impl OwnerShares {
    /// Selects from `claims` (owner and bytes, the most wanted first), and returns the indices of
    /// those kept. Every owner's first claim comes before any owner's second one.
    pub(crate) fn select_kept<O: Hash + Eq>(
        &self,
        claims: impl IntoIterator<Item = (O, usize)>,
    ) -> Vec<usize> {
        let mut owners: HashMap<O, RecordAllowance> = HashMap::new();
        let mut ranked = Vec::new();
        for (index, (owner, bytes)) in claims.into_iter().enumerate() {
            let share = owners.entry(owner).or_default();
            if share.take(bytes, self.each) {
                ranked.push((share.things, index, bytes));
            }
        }
        ranked.sort_unstable();
        let mut sum = RecordAllowance::default();
        ranked.retain(|(_, _, bytes)| sum.take(*bytes, self.all));
        ranked.into_iter().map(|(_, index, _)| index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_crowds_out_another() {
        let shares = OwnerShares {
            each: RecordAllowance {
                things: 4,
                bytes: 100,
            },
            all: RecordAllowance {
                things: 6,
                bytes: 150,
            },
        };
        let greedy = [("eve", 1); 9];
        assert_eq!(shares.select_kept(greedy.to_vec()), [0, 1, 2, 3]);
        let both: Vec<_> = greedy
            .into_iter()
            .chain([("ann", 1), ("bob", 1), ("ann", 1)])
            .collect();
        assert_eq!(
            shares.select_kept(both.to_vec()),
            [0, 9, 10, 1, 11, 2],
            "ann's and bob's come last and are kept"
        );
        assert_eq!(
            shares.select_kept(vec![
                ("eve", 101),
                ("eve", 60),
                ("eve", 60),
                ("eve", 40),
                ("ann", 50),
                ("bob", 1)
            ]),
            [1, 4, 5]
        );
        assert!(shares.select_kept(vec![("eve", usize::MAX); 2]).is_empty());
    }
}
