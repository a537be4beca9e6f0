//! Sets of hosts, and of the flows of a round, as bits of one number.

/// The most hosts that one map holds.
pub const MOST_HOSTS: usize = 128;

/// Hosts by number, below [`MOST_HOSTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HostSet(pub(crate) u128);

impl HostSet {
    /// The first `count` hosts.
    pub fn first(count: usize) -> HostSet {
        HostSet(if count >= MOST_HOSTS {
            u128::MAX
        } else {
            (1 << count) - 1
        })
    }

    /// One host.
    pub fn one(host: usize) -> HostSet {
        HostSet(1 << host)
    }

    /// True if the host is in it.
    pub fn contains(self, host: usize) -> bool {
        self.0 >> host & 1 == 1
    }

    /// True if every host of `other` is in it.
    pub fn covers(self, other: HostSet) -> bool {
        other.0 & !self.0 == 0
    }

    /// True if they share a host.
    pub fn meets(self, other: HostSet) -> bool {
        self.0 & other.0 != 0
    }

    /// The number of hosts.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// True without hosts.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The hosts, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let next = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(next)
        })
    }

    pub(crate) fn with(self, other: HostSet) -> HostSet {
        HostSet(self.0 | other.0)
    }

    pub(crate) fn without(self, other: HostSet) -> HostSet {
        HostSet(self.0 & !other.0)
    }

    pub(crate) fn toggled(self, other: HostSet) -> HostSet {
        HostSet(self.0 ^ other.0)
    }
}

impl FromIterator<usize> for HostSet {
    fn from_iter<I: IntoIterator<Item = usize>>(hosts: I) -> HostSet {
        hosts
            .into_iter()
            .fold(HostSet::default(), |set, host| set.with(HostSet::one(host)))
    }
}
