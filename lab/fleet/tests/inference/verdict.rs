//! The figures of one network, or the sums of many.
use fleet::network::LinkVoice;
use inventory::topology::LinkGrade;
use std::collections::BTreeMap;
use std::fmt;

/// A mistake of the inference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VerdictError {
    FalseCertain,
    CertainWrongState,
    FalseInferred,
    InferredWrongState,
    /// Not found as certain or inferred, though LLDP or CDP speaks.
    MissedSpoken,
    /// Not found as certain or inferred, though databases tell it.
    MissedLearned,
    /// Flows spread over it, which was not found.
    MissedSpread,
    /// Switches of two networks were found as one of several networks.
    MixedNetworks,
    /// A network beside the main one was not found as one, though hosts speak LLDP in both.
    MissedNetwork,
}

/// The numbers of observable links, by the way they were found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LinkTally {
    pub all: usize,
    pub certain: usize,
    pub inferred: usize,
    pub ambiguous: usize,
}

impl LinkTally {
    pub(crate) fn add(&mut self, found: Option<LinkGrade>) {
        self.all += 1;
        match found {
            Some(LinkGrade::Certain) => self.certain += 1,
            Some(LinkGrade::Inferred) => self.inferred += 1,
            Some(LinkGrade::Ambiguous) => self.ambiguous += 1,
            None => {}
        }
    }

    /// The share of the links that were found as certain or inferred.
    pub(crate) fn recall(&self) -> f64 {
        share(self.certain + self.inferred, self.all).unwrap_or(1.0)
    }
}

/// The numbers of listed hosts, by their attachments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HostTally {
    pub right: usize,
    pub wrong: usize,
    pub ambiguous: usize,
    pub unplaced: usize,
}

/// One network's verdict, or the sum of many.
#[derive(Debug, Default)]
pub(crate) struct InferenceVerdict {
    pub networks: usize,
    pub true_links: usize,
    pub voices: BTreeMap<LinkVoice, LinkTally>,
    pub certain: usize,
    pub inferred: usize,
    pub ambiguous: usize,
    pub false_ambiguous: usize,
    /// The bridges that were made up, and those of them that do not exist.
    pub made_up: [usize; 2],
    /// True aggregates that were found as several links.
    pub split_aggregates: usize,
    pub hosts: HostTally,
    /// The observable links over which flows spread in truth, and those found to carry frames.
    pub spread: [usize; 2],
    /// The networks beside the main one that hosts tell by LLDP, and those found as such.
    pub named_networks: usize,
    pub found_networks: usize,
    pub errors: Vec<(VerdictError, String)>,
}

pub(crate) fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl InferenceVerdict {
    pub(crate) fn add(&mut self, other: &InferenceVerdict) {
        for (voice, t) in &other.voices {
            let sum = self.voices.entry(*voice).or_default();
            *sum = LinkTally {
                all: sum.all + t.all,
                certain: sum.certain + t.certain,
                inferred: sum.inferred + t.inferred,
                ambiguous: sum.ambiguous + t.ambiguous,
            };
        }
        self.networks += other.networks;
        self.true_links += other.true_links;
        self.certain += other.certain;
        self.inferred += other.inferred;
        self.ambiguous += other.ambiguous;
        self.false_ambiguous += other.false_ambiguous;
        self.made_up = [0, 1].map(|n| self.made_up[n] + other.made_up[n]);
        self.split_aggregates += other.split_aggregates;
        self.spread = [0, 1].map(|n| self.spread[n] + other.spread[n]);
        self.named_networks += other.named_networks;
        self.found_networks += other.found_networks;
        self.hosts.right += other.hosts.right;
        self.hosts.wrong += other.hosts.wrong;
        self.hosts.ambiguous += other.hosts.ambiguous;
        self.hosts.unplaced += other.hosts.unplaced;
        self.errors.extend(other.errors.iter().cloned());
    }

    pub(crate) fn count(&self, error: VerdictError) -> usize {
        self.errors.iter().filter(|(e, _)| *e == error).count()
    }

    pub(crate) fn voice(&self, voice: LinkVoice) -> LinkTally {
        self.voices.get(&voice).copied().unwrap_or_default()
    }

    /// The share of inferred links that are false.
    pub(crate) fn false_inferred(&self) -> f64 {
        share(self.count(VerdictError::FalseInferred), self.inferred).unwrap_or_default()
    }

    /// The head of a table of verdicts.
    pub(crate) fn head() -> String {
        "| situation | asked | networks | true cables | certain | of them false | wrong state | \
         inferred | of them false | wrong state | ambiguous (false) | recall where spoken | recall \
         from databases | bridges made up (that do not exist) | split aggregates | hosts right/wrong/ambiguous/unplaced | spread found | networks beside \
         found |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
            .to_owned()
    }
}

impl fmt::Display for InferenceVerdict {
    /// The cells of a row.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recall = |voice| {
            let t = self.voice(voice);
            match t.all {
                0 => "-".to_owned(),
                all => format!("{:.1} % of {all}", 100.0 * t.recall()),
            }
        };
        let hosts = self.hosts;
        write!(
            f,
            "{} | {} | {} | {} | {} | {} | {} ({:.1} %) | {} | {} ({}) | {} | {} | {} ({}) | {} | {}/{}/{}/{} | {} | {} |",
            self.networks,
            self.true_links,
            self.certain,
            self.count(VerdictError::FalseCertain),
            self.count(VerdictError::CertainWrongState),
            self.inferred,
            self.count(VerdictError::FalseInferred),
            100.0 * self.false_inferred(),
            self.count(VerdictError::InferredWrongState),
            self.ambiguous,
            self.false_ambiguous,
            recall(LinkVoice::Spoken),
            recall(LinkVoice::Learned),
            self.made_up[0],
            self.made_up[1],
            self.split_aggregates,
            hosts.right,
            hosts.wrong,
            hosts.ambiguous,
            hosts.unplaced,
            match self.spread {
                [0, _] => "-".to_owned(),
                [all, found] => format!("{found} of {all}"),
            },
            match self.named_networks {
                0 => "-".to_owned(),
                all => format!("{} of {all}", self.found_networks),
            },
        )
    }
}
