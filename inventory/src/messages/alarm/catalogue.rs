//! The catalogue of alarms, a row each: arguments, code, severity, meaning, what to do, and the sentence
//! about its subject; for some, from which cause it follows. docs/alarms.md is made from it.
use super::Alarm;
use super::arguments::{
    FlapCount, HostElsewhere, HostNotFound, HostPlace, KeptUntil, MeasuredConflict, NamedNode,
    PresenceDoubt, SuspectedMove, TreeDoubt, and_more_links, are_measurable, both, card, doubted,
    end, further_stays, measurable, moved, node, on_bridges, owner, quoted, seen, stays,
};
use super::origin::{AlarmCause, AlarmOrigin, AlarmSeverity};
use crate::messages::evidence::{
    DevicePort, Evidence, NeighbourProtocol, RecognizedBy, STATED, joined,
};
use crate::messages::wording::{listed, routed_hops};
use crate::model::observation::{BridgeId, CredentialRefusal, DeviceTable, NeighbourId};
use crate::model::topology::{LinkState, NodeKind};
use crate::{BitsPerSec, Mac};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// Declares the kinds of alarms and their codes, and what is asked of each.
macro_rules! alarms {
    (|$about:ident| $(
        $kind:ident $({ $($argument:ident: $type:ty),* })? $code:literal $severity:ident
        $meaning:literal $remedy:literal
        => $sentence:literal $(, $part:expr)* $(=> $origin:expr)?;
    )*) => {
        /// The problem that an alarm reports. Its sentence says what each argument is.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "code", content = "arguments")]
        pub enum AlarmKind {
            $(#[doc = $meaning] #[serde(rename = $code)] $kind $({ $($argument: $type),* })?,)*
            /// An alarm of another version, whose arguments are not known, or one that sums others up.
            #[serde(untagged)]
            TextOnly {
                #[serde(default)]
                code: AlarmCode,
                #[serde(skip)]
                text: String,
            },
        }

        /// The code of an alarm.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum AlarmCode {
            /// An alarm that another version of heddle wrote, or an older one without a code.
            #[default]
            Other,
            $(#[doc = $meaning] $kind,)*
        }

        impl AlarmCode {
            /// Every code of this version.
            pub const ALL: &[AlarmCode] = &[$(AlarmCode::$kind),*];

            /// Its name in the API, in files and in documents.
            pub fn name(self) -> &'static str {
                match self {
                    AlarmCode::Other => "other",
                    $(AlarmCode::$kind => $code,)*
                }
            }

            /// How much it asks of an operator.
            pub fn severity(self) -> AlarmSeverity {
                match self {
                    AlarmCode::Other => AlarmSeverity::Warning,
                    $(AlarmCode::$kind => AlarmSeverity::$severity,)*
                }
            }

            /// Its meaning, and the operator's next step.
            pub(super) fn explained(self) -> [&'static str; 2] {
                match self {
                    AlarmCode::Other => ["", ""],
                    $(AlarmCode::$kind => [$meaning, $remedy],)*
                }
            }
        }

        impl AlarmKind {
            /// Its code.
            pub fn code(&self) -> AlarmCode {
                match self {
                    AlarmKind::TextOnly { code, .. } => *code,
                    $(AlarmKind::$kind { .. } => AlarmCode::$kind,)*
                }
            }
        }

        #[allow(unused_variables, reason = "a sentence needs some of the arguments")]
        impl Alarm {
            /// Where it comes from.
            pub(super) fn origin(&self) -> AlarmOrigin {
                let $about = &self.subject;
                match &self.kind {
                    AlarmKind::TextOnly { .. } => AlarmOrigin::Own,
                    $(AlarmKind::$kind $({ $($argument),* })? => alarms!(@origin $($origin)?),)*
                }
            }
        }

        #[allow(unused_variables, reason = "a sentence needs some of the arguments")]
        impl fmt::Display for Alarm {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $about = &self.subject;
                match &self.kind {
                    AlarmKind::TextOnly { text, .. } => f.write_str(text),
                    $(AlarmKind::$kind $({ $($argument),* })? => write!(f, $sentence $(, $part)*),)*
                }
            }
        }
    };
    (@origin) => { AlarmOrigin::Own };
    (@origin $origin:expr) => { $origin };
}

alarms! { |about|
    // Switches.
    SwitchStale { problem: String } "switch-stale" Warning
        "A switch stopped answering; its last tables count." "Check the switch and the path to it."
        => "switch \"{about}\" is stale: {problem}; its links stay as last seen"
        => AlarmOrigin::Cause(AlarmCause::StaleSwitch(about.to_string()));
    SwitchUnheard { problem: String } "switch-unheard" Warning
        "A switch never answered." "Correct its address or credential."
        => "switch \"{about}\" never answered: {problem}; nothing is known of its ports"
        => AlarmOrigin::Cause(AlarmCause::UnheardSwitch(about.to_string()));
    SwitchRefuses { refusal: CredentialRefusal, problem: String, answered: bool } "switch-refuses" Warning
        "A switch refuses the credential." "Correct it in the inventory or on the switch."
        => "switch \"{about}\" {}: {problem}; {}",
        if *answered { "is stale" } else { "never answered" },
        if *answered { "its links stay as last seen" } else { "nothing is known of its ports" }
        => AlarmOrigin::Cause(AlarmCause::Refusal(refusal.clone()));
    SwitchFlaps { flaps: FlapCount } "switch-flaps" Warning
        "A switch answers on and off." "Check the switch and the path to it."
        => "{}: flaps, fell silent {}; its last answers stay in use while it is silent; this alarm stays {}; \
            check the switch and the path to it", flaps.name, flaps.often(), flaps.calm()
        => AlarmOrigin::Cause(AlarmCause::StaleSwitch(about.to_string()));
    TableFailed { table: DeviceTable, problem: String } "table-failed" Warning
        "A table of a switch could not be read." "Allow it in the SNMP view."
        => "switch \"{about}\", table {table}: {problem}; its former content stays in use"
        => AlarmOrigin::Silence(vec![about.to_string()]);

    // Identities.
    ChassisTwice { id: NeighbourId } "chassis-twice" Warning
        "Two switches announce one chassis id." "Give each its own."
        => "switch \"{about}\": another switch announces its LLDP chassis id {id}; neither is recognized by it";
    AddressTwice { macs: Vec<Mac> } "address-twice" Warning
        "Several stations have a host's address." "State the host's `mac`."
        => "host \"{about}\": its address is claimed by {}; ARP tables contradict each other, state its mac",
        joined(macs, ", ");
    ForeignMac { mac: Mac, owned_by: Option<NamedNode> } "foreign-mac" Warning
        "An agent claims another node's MAC address." "Check that host."
        => "host \"{about}\": its agent claims MAC address {mac}, which is that of {}; the claim is not believed",
        owner(owned_by.as_ref(), "several others");
    MacTwice { mac: Mac, owned_by: Option<NamedNode> } "mac-twice" Warning
        "Two nodes have one MAC address." "Give each its own."
        => "host \"{about}\": its MAC address {mac} is claimed by {} too; neither is recognized by it",
        owner(owned_by.as_ref(), "others");
    MacAnnounced { mac: Mac, others: Vec<String> } "mac-announced" Warning
        "Several hosts announce one MAC address." "Give each its own."
        => "host \"{about}\": its MAC address {mac} is claimed by host {} too; give each its own address",
        quoted(others);
    MacClaimed { mac: Mac, hosts: Vec<String> } "mac-claimed" Warning
        "Several agents claim one MAC address." "Give each its own."
        => "MAC address {mac}: the agents of hosts {} each claim it; none is recognized by it", quoted(hosts);
    Impostor { at: DevicePort, called: String, by: RecognizedBy, protocol: NeighbourProtocol, owner: String }
        "impostor" Warning
        "A node announces another node's identity." "Look at that port."
        => "{}: \"{called}\" there announces {by} by {protocol}, which is switch \"{owner}\"'s, and that one does \
            not name {} back; no link is shown there: check who is plugged in there and what announces for it",
        at.short(), at.device;
    TwoMachines { cards: [Option<Mac>; 2] } "two-machines" Warning
        "Two machines report under one name." "Give each agent its own name."
        => "host \"{about}\": two machines report under this name in turn, with cards {} and {}; neither is \
            believed: give each agent its own name", card(cards[0]), card(cards[1]);

    // Hosts.
    HostUnfound { why: HostNotFound } "host-unfound" Warning
        "A host is seen nowhere." "Check its cable, state its `mac`, or run the agent."
        => "host \"{about}\": seen nowhere: {why}; left out of every schedule"
        => match why {
            HostNotFound::SharesNoNetwork => AlarmOrigin::Own,
            HostNotFound::NoName | HostNotFound::Unlearned | HostNotFound::TrunksOnly(_) => {
                AlarmOrigin::AnyUnheard
            }
        };
    HostHidden { behind: Vec<String> } "host-hidden" Warning
        "A host is behind nodes that do not answer." "Have them asked."
        => "host \"{about}\": somewhere behind {}, who does not answer; {AMBIGUOUS}", behind.join(" or ")
        => AlarmOrigin::Silence(behind.clone());
    HostAmbiguous { places: Vec<HostPlace> } "host-ambiguous" Warning
        "A host may be at several places." "Run the agent or an LLDP daemon on it."
        => "host \"{about}\": {}; {AMBIGUOUS}", seen(places)
        => AlarmOrigin::of_places(places);
    HostContradicted { at: DevicePort, against: HostElsewhere } "host-contradicted" Warning
        "Switches contradict what a host says." "Check host and cable."
        => "host \"{about}\": says it is on {at}, but {against}; the switches' word stands: check host and cable";
    HostKept { elsewhere: bool, epoch: u64, switch: String, until: KeptUntil } "host-kept" Warning
        "A host keeps its published place, unseen." "Wait, or check its cable."
        => "host \"{about}\": {}, epoch {epoch} keeps it on \"{switch}\"; {until}",
        if *elsewhere { "on its way" } else { "seen nowhere" }
        => if let KeptUntil::Unproven(PresenceDoubt::SwitchSilent(switch)) = until {
            AlarmOrigin::Silence(vec![switch.clone()])
        } else {
            AlarmOrigin::Own
        };
    HostFlaps { flaps: FlapCount, epoch: u64 } "host-flaps" Warning
        "The cable of a host comes and goes." "Check cable and ports."
        => "{}: flaps, {}; host \"{}\" stays as in epoch {epoch} {}; check cable and ports",
        flaps.name, flaps.often(), node(about, 1), flaps.calm();
    AgentFlaps { flaps: FlapCount, epoch: u64 } "agent-flaps" Warning
        "An agent changes its claims again and again." "Check the host and its agent."
        => "{}: its agent changed the number of ranks or the address {}; ranks and address stay as in epoch \
            {epoch} {}; check the host and its agent", flaps.name, flaps.often(), flaps.calm();
    ClusterFlaps { flaps: FlapCount, epoch: u64 } "cluster-flaps" Warning
        "A host's cluster changes again and again." "Check the host and its agent."
        => "{}: changed {}; it stays as in epoch {epoch} {}; check the host and its agent",
        flaps.name, flaps.often(), flaps.calm();
    MeasuredBefore { hosts: Vec<String> } "measured-before" Info
        "Hosts lost their link since flows placed them." "Measure again if a cable moved."
        => "\"{about}\": the link of {} was lost since flows were measured here; if its cable is elsewhere now, \
            the tree is wrong: `heddle map --controller` measures it again",
        listed(hosts);

    // Bridges and segments.
    HostsOnPort { at: DevicePort, hosts: Vec<String> } "hosts-on-port" Warning
        "Several hosts are behind one port." "Measure the place, or state it."
        => "switch \"{}\" port {}: {} are all behind it; an unmanaged bridge stands between, its rates are not \
            known{}", at.device, at.port, hosts.join(", "), measurable(are_measurable(hosts.len()));
    HostsInNetwork { network: String, are_measurable: bool, switches: usize } "hosts-in-network" Warning
        "Nobody tells how a network's hosts are joined." "Have flows measured."
        => "network {network}: the inventory lists no switch, {}{}", on_bridges(*switches), measurable(*are_measurable);
    UnmanagedBridge { places: Vec<String> } "unmanaged-bridge" Warning
        "An unmanaged bridge must join these nodes." "State it under `unmanaged`."
        => "{}: all on one segment; an unmanaged bridge stands between, its rates are not known",
        places.join(", ");
    SegmentUnclear { places: Vec<String> } "segment-unclear" Warning
        "Nodes see each other, but not all of them." "State the cables."
        => "{}: they see each other, but not all of them all others; which are next to each other is ambiguous, \
            let LLDP or CDP run there", places.join(", ");
    SeveralOnCable { at: DevicePort, neighbours: Vec<String> } "several-on-cable" Warning
        "A port sees several neighbours on a cable." "Look for a bridge there."
        => "switch \"{}\" port {}: sees {} on one cable; the links are ambiguous, something between them forwards \
            LLDP", at.device, at.port, neighbours.join(" and ");
    MeasuredOtherwise { side: Vec<String>, against: MeasuredConflict } "measured-otherwise" Warning
        "Flows contradict protocols or statements." "Check the cables."
        => "\"{about}\": flows between hosts tell a trunk beside {}, but {against}, which counts: measure again on \
            an idle network, or check the cables", listed(side);
    BridgeUnknown { address: Mac } "bridge-unknown" Warning
        "Spanning tree names a bridge that nobody asks." "List that switch."
        => "bridge {address}: spanning tree names it, but no switch that answers has this address; what is behind \
            it stays unknown: see that it is asked"
        => AlarmOrigin::AnyUnheard;
    RootUnwatched { root: BridgeId } "root-unwatched" Warning
        "The root bridge is not in the inventory." "List it."
        => "root bridge {:04x}.{}: no switch of the inventory has this address; the tree hangs from a switch that \
            is not watched", root.priority, root.address
        => AlarmOrigin::AnyUnheard;
    Loop "loop" Error
        "A link closes a loop." "Check spanning tree on both ends."
        => "link {about}: closes a loop among forwarding links; frames may circle and nothing is planned: check \
            STP on {}", both(about);

    // Links.
    CableDoubted { ends: [DevicePort; 2], why: Evidence } "cable-doubted" Warning
        "There is evidence against a cable." "Look at both ports."
        => "{} and {} name each other by LLDP, but {why}; {}", ends[0].short(), ends[1].short(), doubted(why);
    RouteWithdrawn { flows: u32, from: String, to: String } "route-withdrawn" Warning
        "No route leads over a fabric's link." "Look at the routes of its ends."
        => "link {about}: none of {flows} flows from {from} to {to} takes it, and nothing is planned over it: \
            check the routes of {}", both(about);
    LinkFlaps { flaps: FlapCount, epoch: u64 } "link-flaps" Warning
        "A trunk comes and goes." "Check cable and ports."
        => "{}: flaps, {}; links between switches stay as in epoch {epoch} {}; check cable and ports",
        flaps.name, flaps.often(), flaps.calm();
    DownPortNames { at: DevicePort } "down-port-names" Warning
        "A port that is down names a neighbour." "None: an old row."
        => "{at}: names a neighbour, but is down; the link is ambiguous, one of the two is old";
    NamedPortDown { at: DevicePort, named: DevicePort, protocol: NeighbourProtocol } "named-port-down" Warning
        "A named port is down." "Look at that port."
        => "{}: names {} by {protocol}, but that port is down; no link is shown there: check the cable; the row \
            may be an old one", at.short(), named.short();
    NamedByOther { at: DevicePort, named: DevicePort, cable: [DevicePort; 2] } "named-by-other" Warning
        "A port names one that names another." "Look at these ports."
        => "{0}: names {1}, but {2} and {3} name each other; no link {4}-{5} is shown: check the cable at {0}; \
            the row may be an old one, or something between passes LLDP on",
        at.short(), named.short(), cable[0].short(), cable[1].short(), at.device, named.device;
    NobodysId { at: DevicePort, id: NeighbourId } "nobodys-id" Info
        "A neighbour announces an id that is nobody's." "Configure its LLDP."
        => "{at}: the neighbour announces {id} and no name, by which nobody can be told from others; it is shown \
            under the name of this port: give it a name of its own";
    OverTunnel { at: DevicePort, neighbour: String } "over-tunnel" Info
        "A neighbour is heard across a tunnel." "None."
        => "{at}: names {neighbour}, but is a tunnel and no cable; no link is shown there";
    HeardInside { at: DevicePort, neighbour: String } "heard-inside" Info
        "A neighbour is heard at an inner interface." "None."
        => "{at}: names {neighbour}, but is a VLAN or bridge inside the device and no cable, and no other port \
            names it; no link is shown there: let LLDP run on ports";
    StationUnlisted { at: DevicePort } "station-unlisted" Info
        "A station is not in the inventory." "List it if it runs ranks."
        => "station \"{about}\" on {at}: not among the inventory's hosts; left out, list it under hosts if it runs \
            ranks";
    DeviceUnlisted { at: DevicePort, what: NodeKind } "device-unlisted" Info
        "A switch or router is not in the inventory." "List it."
        => "{} \"{about}\" on {at}: not in the inventory; shown but not asked, what is behind it stays unknown: \
            list it under switches", if *what == NodeKind::Router { "router" } else { "switch" };
    StatedState { stated: LinkState, found: LinkState } "stated-state" Warning
        "A link's stated state differs from the found one." "Correct one of them."
        => "link {about}: {STATED} to be {stated}, but found {found}; the statement counts";
    StatedDown { at: DevicePort } "stated-down" Warning
        "A stated link has a port that is down." "Check the cable."
        => "link {about}: {STATED}, but port {} of \"{}\" is down: check the cable", at.port, at.device;
    StatedRate { stated: BitsPerSec, found: BitsPerSec } "stated-rate" Warning
        "A link's stated rate differs from the found one." "Correct one of them."
        => "link {about}: {STATED} with {stated}, but found with {found}; the statement counts";
    StatedElsewhere { found: [DevicePort; 2], why: Option<Evidence> } "stated-elsewhere" Warning
        "Another link is found in a stated one's place." "Correct the statement."
        => "link {about}: {STATED}, but found {} - {}, {}; the statement counts: check the cable or the inventory",
        end(&found[0]), end(&found[1]), why.as_ref().map(Evidence::to_string).unwrap_or_default();
    WrongRates { published: BitsPerSec, shown: BitsPerSec, links: usize, users: Vec<String> } "wrong-rates" Warning
        "Jobs were faster than published rates allow." "State the link's rate."
        => "link {about}: published as {published}, carried at least {shown} in jobs of {}{}; jobs pace by what \
            they measure, but plans take it for slower than it is: look at the speed of its ports, or state its \
            rate in the inventory", users.join(", "), and_more_links(*links);
    CableMoved { moves: Vec<SuspectedMove>, pairs: usize, users: Vec<String>, epoch: u64 } "cable-moved" Warning
        "Jobs behave as if a cable had moved." "See where it is, and publish that."
        => "{}, say jobs of {}; epoch {epoch} stays, and its schedules collide there: see where that cable is; \
            where switches are unmanaged, `heddle map --controller` measures it while no job runs",
        moved(moves, *pairs), users.join(", ");

    // Clusters and routers.
    ProbesDiffer { hops: Vec<Option<IpAddr>> } "probes-differ" Warning
        "Probes between two hosts met different hops." "Check the routes."
        => "hosts \"{}\" and \"{}\": {} between them by one probe and none by others; the probe with hops counts \
            for nothing: check the routes of both", node(about, 0), node(about, 1), routed_hops(hops);
    RouterUnmet "router-unmet" Warning
        "Cables lead through a router that probes do not meet." "Check the routes."
        => "host \"{}\": its probe met no routed hop on the way to \"{}\", but cables lead there only through a \
            router; the probe joins nothing: check its routes, and that both are probed on this network",
        node(about, 0), node(about, 1);
    VirtualLans { hops: Vec<Option<IpAddr>> } "virtual-lans" Warning
        "Switches join hosts between which routers are." "State the clusters."
        => "hosts \"{}\" and \"{}\": {} between them though switches join them; they are taken for two clusters: \
            two virtual LANs, or a wrong route on one of them", node(about, 0), node(about, 1), routed_hops(hops);
    StatedTogether { hosts: [String; 2], hops: Vec<Option<IpAddr>> } "stated-together" Warning
        "Hosts of one stated cluster have routers between." "Correct the clusters."
        => "cluster \"{about}\": \"{}\" and \"{}\" are in it as {STATED}, but there is {} between them; the \
            statement counts", hosts[0], hosts[1], routed_hops(hops);
    RouterUnseen { way: Evidence, at: Vec<String>, rate: BitsPerSec } "router-unseen" Warning
        "Packets pass a router that no device names." "State it under `routers`."
        => "router \"{about}\": packets pass it ({way}) and nothing tells where it is; it is taken to be cabled to \
            {} with {rate} each: list it under switches, or state it under routers and its cables under links",
        listed(at);
    RoutedTwice "routed-twice" Warning
        "Routers join a link's ends by another path, too." "State the unused link as blocked."
        => "link {about}: routers join both ends by another way, too; schedules count that one: state the link that \
            packets do not take as blocked, under links in the inventory";
    NetworkUnseen { prefix: IpNet } "network-unseen" Warning
        "No address of a stated prefix is seen." "Correct the prefix, or run agents."
        => "network \"{about}\": no address of {prefix} is seen in any network, so none has this name; correct the \
            prefix in the inventory, or run heddle agent on its hosts";
    AddressShared { address: IpAddr, hosts: Vec<String> } "address-shared" Warning
        "Several hosts of a network have one address." "Give each card its own."
        => "network \"{about}\": address {address} is that of several hosts ({}), so no job is recognised by it; \
            give each card its own", listed(hosts);
    HostBridges { networks: [String; 2] } "host-bridges" Warning
        "A host passes frames from one network to another." "Remove the bridge between its cards."
        => "host \"{about}\": stations of one of networks {} and {} are learned behind its card in the other, so it \
            bridges them; no tree has this way: look for a bridge between its cards", networks[0], networks[1];
    HostRoutes { address: IpAddr, between: [String; 2] } "host-routes" Warning
        "A host passes packets from one network to another." "Expect no schedules across it."
        => "host \"{about}\": packets from \"{}\" to \"{}\" pass it ({address}), so it routes between networks; no \
            tree has this way, and the probe joins and parts nothing: jobs across it go the library's way",
        between[0], between[1];
    NetworkShares { networks: Vec<String> } "network-shares" Info
        "Networks are on the same switches: VLANs, or addresses of one card." "Expect their loads to add up."
        => "network \"{about}\": shares switches and cables with {}; what all carry adds up there, and the schedules \
            of each are planned as if it were alone", listed(networks);

    // The controller's work. A problem of it comes as a whole sentence.
    NoTree { doubts: Vec<TreeDoubt>, epoch: Option<u64> } "no-tree" Error
        "There is no whole tree to plan on; the epoch stays." "Remove the reasons that it names."
        => "{about}: there is no complete tree to plan on: {}; {}", joined(doubts, "; "), stays(*epoch)
        => AlarmOrigin::of_doubts(doubts);
    NoFurtherTree { doubts: Vec<TreeDoubt>, epoch: Option<u64> } "no-further-tree" Warning
        "A further network has no whole tree." "Remove the reasons that it names."
        => "{about}: there is no complete tree to plan on: {}; {}", joined(doubts, "; "), further_stays(*epoch);
    NobodyReports { epoch: Option<u64> } "nobody-reports" Warning
        "No switch is listed, and no agent reports." "Look at the agents."
        => "{about}: no agent reports any more, and no switch is listed, so nobody sees changes; {}; look at the \
            agents", stays(*epoch);
    EpochUnread { problem: String } "epoch-unread" Error
        "The current epoch could not be read." "A new one follows." => "{problem}";
    PlanFailed { problem: String } "plan-failed" Error
        "There is no schedule for the present tree." "Report it with the journal." => "{problem}";
    PublishFailed { problem: String } "publish-failed" Error
        "An epoch could not be published." "Make room, or give the right to write." => "{problem}";
    DirectoryStalled { problem: String } "directory-stalled" Error
        "The shared directory does not answer." "Look at its file server." => "{problem}"
        => AlarmOrigin::Cause(AlarmCause::StalledDirectory);
    InventoryUnread { problem: String } "inventory-unread" Warning
        "The inventory has a mistake; the former one counts." "Correct the line that it names." => "{problem}";
    CertificateUnread { problem: String } "certificate-unread" Warning
        "The certificate cannot be used; the former one counts." "Correct the files." => "{problem}";
    MeasurementsUnread { problem: String } "measurements-unread" Warning
        "`tuning.json` cannot be used." "Run `heddle tune` again." => "{problem}";
    LearnedUnkept { problem: String } "learned-unkept" Warning
        "`learned.json` cannot be read or written." "Look at the directory." => "{problem}";
    MappedUnkept { problem: String } "mapped-unkept" Warning
        "`mapped.json` cannot be read or written." "Look at the directory." => "{problem}";
    JournalUnwritten { problem: String } "journal-unwritten" Warning
        "The journal cannot be written." "Make room." => "{problem}";
    JobRecordsOdd { problem: String } "job-records-odd" Warning
        "Files in `jobs/` hold no record, or are too many." "Remove them." => "{problem}";
    TrapsUnheard { problem: String } "traps-unheard" Warning
        "Traps cannot be heard, or are not signed." "Correct address or user." => "{problem}";
    RollbackHeld { problem: String } "rollback-held" Warning
        "An earlier network is published by order." "`heddle history --release` ends it." => "{problem}";
    EpochProgramFailed { problem: String } "epoch-program-failed" Warning
        "The program of `--on-epoch` failed." "See the log." => "{problem}";
    AlarmProgramFailed { problem: String } "alarm-program-failed" Warning
        "The program of `--on-alarm` failed." "See the log." => "{problem}";
}

const AMBIGUOUS: &str = "its place is ambiguous, nothing is planned on it until one remains";
