//! The catalogue of alarms: of each its code, how urgent it is, what it means, and what to do.
//! docs/alarms.md is made from it. Viewers, hooks and other programs decide on codes and never on texts.
use super::causes::AlarmSeverity;
use super::{Alarm, AlarmKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Declares the codes, each with its name, severity, meaning and remedy.
macro_rules! alarm_codes {
    ($($variant:ident $name:literal $severity:ident $meaning:literal $remedy:literal;)*) => {
        /// The code of an alarm.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum AlarmCode {
            /// An alarm that another version of heddle wrote, or an older one without a code.
            #[default]
            Other,
            $(#[doc = $meaning] $variant,)*
        }

        impl AlarmCode {
            /// Every code of this version.
            pub const ALL: &[AlarmCode] = &[$(AlarmCode::$variant),*];

            /// Its name in the API, in files and in documents.
            pub fn name(self) -> &'static str {
                match self {
                    AlarmCode::Other => "other",
                    $(AlarmCode::$variant => $name,)*
                }
            }

            /// How much it asks of an operator.
            pub fn severity(self) -> AlarmSeverity {
                match self {
                    AlarmCode::Other => AlarmSeverity::Warning,
                    $(AlarmCode::$variant => AlarmSeverity::$severity,)*
                }
            }

            /// What it means.
            pub fn meaning(self) -> &'static str {
                match self {
                    AlarmCode::Other => "",
                    $(AlarmCode::$variant => $meaning,)*
                }
            }

            /// What to do.
            pub fn remedy(self) -> &'static str {
                match self {
                    AlarmCode::Other => "",
                    $(AlarmCode::$variant => $remedy,)*
                }
            }
        }
    };
}

alarm_codes! {
    // Switches.
    SwitchStale "switch-stale" Warning "A switch stopped answering; its last tables count." "Check the switch and the path to it.";
    SwitchUnheard "switch-unheard" Warning "A switch never answered." "Correct its address or credential.";
    SwitchRefuses "switch-refuses" Warning "A switch refuses the credential." "Correct it in the inventory or on the switch.";
    SwitchFlaps "switch-flaps" Warning "A switch answers on and off." "Check the switch and the path to it.";
    TableFailed "table-failed" Warning "A table of a switch could not be read." "Allow it in the SNMP view.";
    // Identities.
    ChassisTwice "chassis-twice" Warning "Two switches announce one chassis id." "Give each its own.";
    AddressTwice "address-twice" Warning "Several stations have a host's address." "State the host's `mac`.";
    ForeignMac "foreign-mac" Warning "An agent claims another node's MAC address." "Check that host.";
    MacTwice "mac-twice" Warning "Two nodes have one MAC address." "Give each its own.";
    MacAnnounced "mac-announced" Warning "Several hosts announce one MAC address." "Give each its own.";
    MacClaimed "mac-claimed" Warning "Several agents claim one MAC address." "Give each its own.";
    Impostor "impostor" Warning "A node announces another node's identity." "Look at that port.";
    TwoMachines "two-machines" Warning "Two machines report under one name." "Give each agent its own name.";
    // Hosts.
    HostUnfound "host-unfound" Warning "A host is seen nowhere." "Check its cable, state its `mac`, or run the agent.";
    HostHidden "host-hidden" Warning "A host is behind nodes that do not answer." "Have them asked.";
    HostAmbiguous "host-ambiguous" Warning "A host may be at several places." "Run the agent or an LLDP daemon on it.";
    HostContradicted "host-contradicted" Warning "Switches contradict what a host says." "Check host and cable.";
    HostKept "host-kept" Warning "A host keeps its published place, unseen." "Wait, or check its cable.";
    HostFlaps "host-flaps" Warning "The cable of a host comes and goes." "Check cable and ports.";
    AgentFlaps "agent-flaps" Warning "An agent changes its claims again and again." "Check the host and its agent.";
    ClusterFlaps "cluster-flaps" Warning "A host's cluster changes again and again." "Check the host and its agent.";
    MeasuredBefore "measured-before" Info "Hosts lost their link since flows placed them." "Measure again if a cable moved.";
    // Bridges and segments.
    HostsOnPort "hosts-on-port" Warning "Several hosts are behind one port." "Measure the place, or state it.";
    HostsInNetwork "hosts-in-network" Warning "Nobody tells how a network's hosts are joined." "Have flows measured.";
    UnmanagedBridge "unmanaged-bridge" Warning "An unmanaged bridge must join these nodes." "State it under `unmanaged`.";
    SegmentUnclear "segment-unclear" Warning "Nodes see each other, but not all of them." "State the cables.";
    SeveralOnCable "several-on-cable" Warning "A port sees several neighbours on a cable." "Look for a bridge there.";
    MeasuredOtherwise "measured-otherwise" Warning "Flows contradict protocols or statements." "Check the cables.";
    BridgeUnknown "bridge-unknown" Warning "Spanning tree names a bridge that nobody asks." "List that switch.";
    RootUnwatched "root-unwatched" Warning "The root bridge is not in the inventory." "List it.";
    Loop "loop" Error "A link closes a loop." "Check spanning tree on both ends.";
    // Links.
    CableDoubted "cable-doubted" Warning "There is evidence against a cable." "Look at both ports.";
    LinkFlaps "link-flaps" Warning "A trunk comes and goes." "Check cable and ports.";
    DownPortNames "down-port-names" Warning "A port that is down names a neighbour." "None: an old row.";
    NamedPortDown "named-port-down" Warning "A named port is down." "Look at that port.";
    NamedByOther "named-by-other" Warning "A port names one that names another." "Look at these ports.";
    NobodysId "nobodys-id" Info "A neighbour announces an id that is nobody's." "Configure its LLDP.";
    OverTunnel "over-tunnel" Info "A neighbour is heard across a tunnel." "None.";
    HeardInside "heard-inside" Info "A neighbour is heard at an inner interface." "None.";
    StationUnlisted "station-unlisted" Info "A station is not in the inventory." "List it if it runs ranks.";
    DeviceUnlisted "device-unlisted" Info "A switch or router is not in the inventory." "List it.";
    StatedState "stated-state" Warning "A link's stated state differs from the found one." "Correct one of them.";
    StatedDown "stated-down" Warning "A stated link has a port that is down." "Check the cable.";
    StatedRate "stated-rate" Warning "A link's stated rate differs from the found one." "Correct one of them.";
    StatedElsewhere "stated-elsewhere" Warning "Another link is found in a stated one's place." "Correct the statement.";
    WrongRates "wrong-rates" Warning "Jobs were faster than published rates allow." "State the link's rate.";
    CableMoved "cable-moved" Warning "Jobs behave as if a cable had moved." "See where it is, and publish that.";
    // Clusters and routers.
    ProbesDiffer "probes-differ" Warning "Probes between two hosts met different hops." "Check the routes.";
    RouterUnmet "router-unmet" Warning "Cables lead through a router that probes do not meet." "Check the routes.";
    VirtualLans "virtual-lans" Warning "Switches join hosts between which routers are." "State the clusters.";
    StatedTogether "stated-together" Warning "Hosts of one stated cluster have routers between." "Correct the clusters.";
    RouterUnseen "router-unseen" Warning "Packets pass a router that no device names." "State it under `routers`.";
    RoutedTwice "routed-twice" Warning "Routers join a link's ends by another path, too." "State the unused link as blocked.";
    NetworkUnseen "network-unseen" Warning "No address of a stated prefix is seen." "Correct the prefix, or run agents.";
    AddressShared "address-shared" Warning "Several hosts of a network have one address." "Give each card its own.";
    HostBridges "host-bridges" Warning "A host passes frames from one network to another." "Remove the bridge between its cards.";
    HostRoutes "host-routes" Warning "A host passes packets from one network to another." "Expect no schedules across it.";
    NetworkShares "network-shares" Info "Networks are on the same switches: VLANs, or addresses of one card." "Expect their loads to add up.";
    // The controller's work.
    NoTree "no-tree" Error "There is no whole tree to plan on; the epoch stays." "Remove the reasons that it names.";
    NoFurtherTree "no-further-tree" Warning "A further network has no whole tree." "Remove the reasons that it names.";
    NobodyReports "nobody-reports" Warning "No switch is listed, and no agent reports." "Look at the agents.";
    EpochUnread "epoch-unread" Error "The current epoch could not be read." "A new one follows.";
    PlanFailed "plan-failed" Error "There is no schedule for the present tree." "Report it with the journal.";
    PublishFailed "publish-failed" Error "An epoch could not be published." "Make room, or give the right to write.";
    DirectoryStalled "directory-stalled" Error "The shared directory does not answer." "Look at its file server.";
    InventoryUnread "inventory-unread" Warning "The inventory has a mistake; the former one counts." "Correct the line that it names.";
    CertificateUnread "certificate-unread" Warning "The certificate cannot be used; the former one counts." "Correct the files.";
    MeasurementsUnread "measurements-unread" Warning "`tuning.json` cannot be used." "Run `heddle tune` again.";
    LearnedUnkept "learned-unkept" Warning "`learned.json` cannot be read or written." "Look at the directory.";
    MappedUnkept "mapped-unkept" Warning "`mapped.json` cannot be read or written." "Look at the directory.";
    JournalUnwritten "journal-unwritten" Warning "The journal cannot be written." "Make room.";
    JobRecordsOdd "job-records-odd" Warning "Files in `jobs/` hold no record, or are too many." "Remove them.";
    TrapsUnheard "traps-unheard" Warning "Traps cannot be heard, or are not signed." "Correct address or user.";
    RollbackHeld "rollback-held" Warning "An earlier network is published by order." "`heddle history --release` ends it.";
    EpochProgramFailed "epoch-program-failed" Warning "The program of `--on-epoch` failed." "See the log.";
    AlarmProgramFailed "alarm-program-failed" Warning "The program of `--on-alarm` failed." "See the log.";
}

impl AlarmCode {
    /// The catalogue in Markdown. Warnings, which most are, go without their severity.
    pub fn markdown() -> String {
        let mut table = "code | meaning | what to do\n---|---|---\n".to_owned();
        for code in AlarmCode::ALL {
            let severity = match code.severity() {
                AlarmSeverity::Warning => String::new(),
                other => format!(" ({other})"),
            };
            let (meaning, remedy) = (code.meaning(), code.remedy());
            table += &format!("`{code}`{severity} | {meaning} | {remedy}\n");
        }
        table
    }
}

impl fmt::Display for AlarmCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for AlarmCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for AlarmCode {
    /// A code that this version does not know is [`AlarmCode::Other`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AlarmCode, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = AlarmCode::ALL.iter().find(|code| code.name() == name);
        Ok(known.copied().unwrap_or_default())
    }
}

impl Alarm {
    /// Its code.
    pub fn code(&self) -> AlarmCode {
        match &self.kind {
            AlarmKind::SwitchStale { refused, .. } | AlarmKind::SwitchUnheard { refused, .. }
                if refused.is_some() =>
            {
                AlarmCode::SwitchRefuses
            }
            AlarmKind::SwitchStale { .. } => AlarmCode::SwitchStale,
            AlarmKind::SwitchUnheard { .. } => AlarmCode::SwitchUnheard,
            AlarmKind::TableFailed { .. } => AlarmCode::TableFailed,
            AlarmKind::ChassisTwice(_) => AlarmCode::ChassisTwice,
            AlarmKind::AddressTwice(_) => AlarmCode::AddressTwice,
            AlarmKind::ForeignMac(..) => AlarmCode::ForeignMac,
            AlarmKind::MacTwice(..) => AlarmCode::MacTwice,
            AlarmKind::MacAnnounced(..) => AlarmCode::MacAnnounced,
            AlarmKind::MacClaimed(..) => AlarmCode::MacClaimed,
            AlarmKind::HostContradicted { .. } => AlarmCode::HostContradicted,
            AlarmKind::HostHidden(_) => AlarmCode::HostHidden,
            AlarmKind::HostUnfound(_) => AlarmCode::HostUnfound,
            AlarmKind::HostAmbiguous(_) => AlarmCode::HostAmbiguous,
            AlarmKind::HostsOnPort(..) => AlarmCode::HostsOnPort,
            AlarmKind::HostsInNetwork { .. } => AlarmCode::HostsInNetwork,
            AlarmKind::NetworkUnseen(_) => AlarmCode::NetworkUnseen,
            AlarmKind::NetworkShares(_) => AlarmCode::NetworkShares,
            AlarmKind::HostBridges(_) => AlarmCode::HostBridges,
            AlarmKind::HostRoutes { .. } => AlarmCode::HostRoutes,
            AlarmKind::AddressShared(..) => AlarmCode::AddressShared,
            AlarmKind::UnmanagedBridge(_) => AlarmCode::UnmanagedBridge,
            AlarmKind::MeasuredOtherwise { .. } => AlarmCode::MeasuredOtherwise,
            AlarmKind::MeasuredBefore(_) => AlarmCode::MeasuredBefore,
            AlarmKind::SegmentUnclear(_) => AlarmCode::SegmentUnclear,
            AlarmKind::DownPortNames(_) => AlarmCode::DownPortNames,
            AlarmKind::NobodysId(..) => AlarmCode::NobodysId,
            AlarmKind::OverTunnel(..) => AlarmCode::OverTunnel,
            AlarmKind::HeardInside(..) => AlarmCode::HeardInside,
            AlarmKind::NamedPortDown { .. } => AlarmCode::NamedPortDown,
            AlarmKind::Impostor { .. } => AlarmCode::Impostor,
            AlarmKind::NamedByOther { .. } => AlarmCode::NamedByOther,
            AlarmKind::SeveralOnCable(..) => AlarmCode::SeveralOnCable,
            AlarmKind::CableDoubted { .. } => AlarmCode::CableDoubted,
            AlarmKind::BridgeUnknown(_) => AlarmCode::BridgeUnknown,
            AlarmKind::RoutedTwice => AlarmCode::RoutedTwice,
            AlarmKind::Loop => AlarmCode::Loop,
            AlarmKind::RootUnwatched(_) => AlarmCode::RootUnwatched,
            AlarmKind::StationUnlisted(_) => AlarmCode::StationUnlisted,
            AlarmKind::DeviceUnlisted(..) => AlarmCode::DeviceUnlisted,
            AlarmKind::StatedState { .. } => AlarmCode::StatedState,
            AlarmKind::StatedDown(_) => AlarmCode::StatedDown,
            AlarmKind::StatedRate { .. } => AlarmCode::StatedRate,
            AlarmKind::StatedElsewhere { .. } => AlarmCode::StatedElsewhere,
            AlarmKind::ProbesDiffer(_) => AlarmCode::ProbesDiffer,
            AlarmKind::RouterUnmet => AlarmCode::RouterUnmet,
            AlarmKind::VirtualLans(_) => AlarmCode::VirtualLans,
            AlarmKind::StatedTogether(..) => AlarmCode::StatedTogether,
            AlarmKind::RouterUnseen { .. } => AlarmCode::RouterUnseen,
            AlarmKind::ReadBack(code, _) => *code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_has_a_name_of_its_own_that_reads_back() {
        let names: BTreeSet<&str> = AlarmCode::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), AlarmCode::ALL.len());
        for code in AlarmCode::ALL {
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(serde_json::from_str::<AlarmCode>(&json).unwrap(), *code);
        }
        let foreign: AlarmCode = serde_json::from_str("\"of-tomorrow\"").unwrap();
        assert_eq!(foreign, AlarmCode::Other);
    }
}
