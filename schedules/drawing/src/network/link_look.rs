//! How a link looks: one look for each thing that an operator must see.
use inventory::topology::{Link, LinkGrade, LinkState};

/// The special state of a link, the most important one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LinkLook {
    /// It is not in the network of the other picture.
    New,
    /// It is gone in the network of the other picture.
    Gone,
    /// The spanning tree blocks it.
    Blocked,
    /// Its evidence allows more than one interpretation.
    Ambiguous,
    /// Nobody knows whether it carries frames.
    Unknown,
    /// It determines the number of phases.
    Bottleneck,
    /// It follows from the addresses that other devices learned.
    Inferred,
    /// Flows between hosts measured it.
    Measured,
    /// Nothing.
    Plain,
}

impl LinkLook {
    /// All that a legend explains.
    pub(super) const EXPLAINED: [LinkLook; 8] = [
        LinkLook::Bottleneck,
        LinkLook::Measured,
        LinkLook::Inferred,
        LinkLook::Ambiguous,
        LinkLook::Unknown,
        LinkLook::Blocked,
        LinkLook::New,
        LinkLook::Gone,
    ];

    /// The look of a link by its state and grade.
    pub(super) fn for_link(link: &Link) -> LinkLook {
        match (link.grade, link.state) {
            (LinkGrade::Ambiguous, _) => LinkLook::Ambiguous,
            (_, LinkState::Blocked) => LinkLook::Blocked,
            (_, LinkState::Unknown) => LinkLook::Unknown,
            _ if link.is_measured() => LinkLook::Measured,
            (LinkGrade::Inferred, _) => LinkLook::Inferred,
            (LinkGrade::Certain, _) => LinkLook::Plain,
        }
    }

    /// The classes of its line.
    pub(super) fn stroke(self) -> &'static str {
        match self {
            LinkLook::New => "new",
            LinkLook::Gone => "gone",
            LinkLook::Blocked => "blocked",
            LinkLook::Ambiguous | LinkLook::Unknown => "doubt ambiguous",
            LinkLook::Bottleneck => "hot",
            LinkLook::Inferred | LinkLook::Measured => "doubt",
            LinkLook::Plain => "link",
        }
    }

    /// The class of its text.
    pub(super) fn ink(self) -> Option<&'static str> {
        match self {
            LinkLook::New => Some("new-ink"),
            LinkLook::Gone => Some("gone-ink"),
            LinkLook::Blocked => Some("blocked-ink"),
            LinkLook::Ambiguous | LinkLook::Unknown | LinkLook::Inferred | LinkLook::Measured => {
                Some("doubt-ink")
            }
            LinkLook::Bottleneck => Some("hot-ink"),
            LinkLook::Plain => None,
        }
    }

    /// A word beside the link.
    pub(super) fn note(self) -> &'static str {
        match self {
            LinkLook::New => "new",
            LinkLook::Gone => "gone",
            LinkLook::Blocked => "blocked",
            LinkLook::Ambiguous => "ambiguous",
            LinkLook::Unknown => "STP unknown",
            LinkLook::Bottleneck => "bottleneck",
            LinkLook::Inferred => "inferred",
            LinkLook::Measured => "measured",
            LinkLook::Plain => "",
        }
    }

    /// Its words in the legend.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            LinkLook::New => "new after the change",
            LinkLook::Gone => "gone after the change",
            LinkLook::Blocked => "blocked by spanning tree",
            LinkLook::Ambiguous => "ambiguous: more than one place fits",
            LinkLook::Unknown => "spanning tree state unknown",
            LinkLook::Bottleneck => "bottleneck: it determines the number of phases",
            LinkLook::Inferred => "inferred from learned addresses",
            LinkLook::Measured => "≈ measured by flows between hosts",
            LinkLook::Plain => "certain",
        }
    }
}
