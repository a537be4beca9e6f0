//! How much each source counts: the grounds of claims, from the strongest to the weakest, and the
//! worth of each. This table is the only place that says so.
use inventory::topology::LinkGrade;

/// The grounds on which two ends are claimed to share a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClaimGrounds {
    /// Both ends name each other, at least one of them by LLDP.
    NamedByBoth,
    /// One end names the other by LLDP, by an identifier. The other cannot answer.
    NamedByOne,
    /// One end names the other by LLDP. The other hears neighbours, but not this one.
    NamedUnheard,
    /// One end names the other by LLDP, and only by a system name.
    NamedByName,
    /// One end names the other by LLDP, at a port that its tables do not tell for certain.
    NamedAtGuessedPort,
    /// Both ends name each other, one of them by a name although the chassis id is another's.
    NamedDespiteChassis,
    /// One end names a switch that never answered.
    NamedSilent,
    /// One end hears another by LLDP that announces nothing that distinguishes it from others, or the
    /// name and a port of an asked device beside an id that nobody has.
    NamedNobody,
    /// An end names the other by CDP. No end does so by LLDP.
    NamedByCdp,
    /// Two ports route, and each has only the other device behind it.
    NextRouters,
    /// Spanning tree names one end as the designated port of the other's segment.
    Designated,
    /// The ends face each other by the forwarding databases.
    Facing,
    /// A device without forwarding database is where its addresses were learned.
    LearnedAtEdge,
    /// Several ends are on one segment, and a bridge that nobody asked joins them.
    OnSegment,
    /// Flows between hosts fill a trunk behind a bridge that nobody asked.
    Measured,
    /// The ends face each other, and other devices may be between them.
    FacingInDoubt,
    /// One end names the other by a name that several devices use.
    NamedByContestedName,
    /// An end names the other on a port that is down.
    NamedWhileDown,
    /// A switch that nobody names may be behind another that does not answer.
    BehindSilent,
}

/// The worth of grounds.
struct GroundsRank {
    grounds: ClaimGrounds,
    /// The best grade of a link on these grounds.
    grade: LinkGrade,
    /// True if the claim gives way where the database of an asked bridge shows that the bridge is
    /// between the ends.
    gives_way: bool,
}

const fn rank(grounds: ClaimGrounds, grade: LinkGrade, gives_way: bool) -> GroundsRank {
    GroundsRank {
        grounds,
        grade,
        gives_way,
    }
}

/// The strongest grounds first.
///
/// LLDP frames do not pass a bridge (IEEE 802.1AB-2005, 8.1), so LLDP counts as truth where a
/// device speaks it; bridges that pass them on all the same are found by their databases. CDP
/// frames pass any bridge that does not speak CDP. Routers do not see bridges. Spanning tree and databases leave unseen bridges
/// possible. Flows tell only about bridges that state nothing themselves. A name is the weakest
/// identifier.
const RANKING: [GroundsRank; 19] = [
    rank(ClaimGrounds::NamedByBoth, LinkGrade::Certain, true),
    rank(ClaimGrounds::NamedByOne, LinkGrade::Certain, true),
    rank(ClaimGrounds::NamedUnheard, LinkGrade::Inferred, true),
    rank(ClaimGrounds::NamedByName, LinkGrade::Inferred, true),
    rank(ClaimGrounds::NamedAtGuessedPort, LinkGrade::Inferred, true),
    rank(ClaimGrounds::NamedDespiteChassis, LinkGrade::Inferred, true),
    rank(ClaimGrounds::NamedSilent, LinkGrade::Inferred, true),
    rank(ClaimGrounds::NamedNobody, LinkGrade::Inferred, true),
    rank(ClaimGrounds::NamedByCdp, LinkGrade::Inferred, true),
    rank(ClaimGrounds::NextRouters, LinkGrade::Inferred, false),
    rank(ClaimGrounds::Designated, LinkGrade::Inferred, false),
    rank(ClaimGrounds::Facing, LinkGrade::Inferred, false),
    rank(ClaimGrounds::LearnedAtEdge, LinkGrade::Inferred, false),
    rank(ClaimGrounds::OnSegment, LinkGrade::Inferred, false),
    rank(ClaimGrounds::Measured, LinkGrade::Inferred, false),
    rank(ClaimGrounds::FacingInDoubt, LinkGrade::Ambiguous, false),
    rank(
        ClaimGrounds::NamedByContestedName,
        LinkGrade::Ambiguous,
        true,
    ),
    // Only recordings have such rows: those of a living network leave out ports that are down.
    rank(ClaimGrounds::NamedWhileDown, LinkGrade::Ambiguous, true),
    rank(ClaimGrounds::BehindSilent, LinkGrade::Ambiguous, false),
];

impl ClaimGrounds {
    fn row(self) -> &'static GroundsRank {
        let row = &RANKING[self as usize];
        debug_assert_eq!(row.grounds, self);
        row
    }

    /// The best grade of a link on these grounds.
    pub(crate) fn grade(self) -> LinkGrade {
        self.row().grade
    }

    /// True if a database that shows a bridge between the ends goes first.
    pub(crate) fn gives_way_to_databases(self) -> bool {
        self.row().gives_way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_stands_at_the_place_of_its_grounds() {
        for (place, row) in RANKING.iter().enumerate() {
            assert_eq!(row.grounds as usize, place, "{:?}", row.grounds);
        }
    }
}
