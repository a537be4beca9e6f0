//! Cables between devices by LLDP and CDP: each end names the other, and the two statements become
//! one claim.
use crate::claims::{Claim, ClaimEnd, EndPort, RefusedStatement};
use crate::facts::device::tells;
use crate::facts::names::is_factory_name;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts, NamedNeighbour, NeighbourStatement, NodeIx};
use crate::ranking::ClaimGrounds;
use indexmap::IndexMap;
use inventory::alarm::AlarmKind;
use inventory::evidence::{Evidence, NeighbourProtocol, RecognizedBy};
use inventory::host_report::DiscoveryProtocol;
use inventory::observation::LldpNeighbour;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The claims from neighbour tables.
#[derive(Default)]
pub(crate) struct NeighbourClaims {
    pub(crate) claims: Vec<Claim>,
    pub(crate) refused: Vec<RefusedStatement>,
    /// The hosts that announce themselves on each port.
    pub(crate) hosts: BTreeMap<DevicePortIx, BTreeSet<NodeIx>>,
    /// Ports that are down and still name a neighbour.
    pub(crate) down: Vec<DevicePortIx>,
}

/// The statement of one device about another that can also be asked.
struct TrunkHalf<'f> {
    at: DeviceIx,
    port: PortIx,
    row: &'f LldpNeighbour,
    names: &'f NamedNeighbour,
    protocol: DiscoveryProtocol,
    down: bool,
    guessed: bool,
    to: DeviceIx,
    /// The port that is named at the other device.
    far: Option<PortIx>,
    /// True if the name of that port is a number that the other device's tables fit to another as well.
    far_guessed: bool,
    /// The end there, as far as the statement tells.
    end: EndPort,
}

/// All claims about devices, and about nodes that are named but not asked. A device's statements
/// about itself do not count as claims.
pub(crate) fn propose(facts: &Facts<'_>) -> NeighbourClaims {
    let mut found = NeighbourClaims::default();
    let mut halves = Vec::new();
    for statement in facts.statements() {
        let (device, row) = (statement.device, statement.row);
        let node = statement.names.node;
        if facts.is_host(node) {
            let at = (device, row.port);
            found.hosts.entry(at).or_default().insert(node);
            continue;
        }
        if row.down {
            found.down.push((device, row.port));
        }
        match facts.device_of(node) {
            Some(to) => {
                let end = named_end(facts, to, &row.row);
                halves.push(TrunkHalf {
                    at: device,
                    port: row.port,
                    far: end.index(),
                    far_guessed: facts[to]
                        .is_remote_guess(row.row.port.as_ref(), &row.row.port_descr),
                    end,
                    row: &row.row,
                    protocol: row.protocol,
                    down: row.down,
                    guessed: row.guessed,
                    to,
                    names: statement.names,
                });
            }
            None => found.claims.push(about_unasked(facts, &statement)),
        }
    }
    found.claims = one_a_neighbour(facts, std::mem::take(&mut found.claims));
    halves.sort_by_key(|h| (h.at, h.port, h.to, Reverse(h.far)));
    // A row that names a port goes before one that names none.
    halves.dedup_by(|next, first| {
        let same = (next.at, next.port, next.to) == (first.at, first.port, first.to);
        same && (next.far.is_none() || next.far == first.far)
    });
    pair(facts, &halves, &mut found);
    found
}

/// The claims, with those of one port about one node joined: a device in its first frames, or a card's own
/// agent beside the system's, sends an address for the port and later its name. The members of an
/// aggregate may list the neighbours of all, and CDP passes through bridges.
fn one_a_neighbour(facts: &Facts<'_>, claims: Vec<Claim>) -> Vec<Claim> {
    let mut joined: IndexMap<(ClaimEnd, NodeIx), Vec<Claim>> = IndexMap::new();
    let mut apart = Vec::new();
    for claim in claims {
        let port = claim.ends[0].device_port(facts);
        let is_member = port.is_some_and(|(d, p)| facts[d].ports[p].aggregate.is_some());
        let is_named = matches!(
            claim.grounds,
            ClaimGrounds::NamedByOne | ClaimGrounds::NamedAtGuessedPort | ClaimGrounds::NamedSilent
        );
        match is_named && !is_member {
            false => apart.push(claim),
            true => {
                let key = (claim.ends[0].clone(), claim.ends[1].node);
                joined.entry(key).or_default().push(claim);
            }
        }
    }
    apart.extend(joined.into_values().filter_map(|mut all| {
        let named = all.iter().map(|claim| claim.ends[1].port.clone());
        let (addresses, names): (BTreeSet<EndPort>, BTreeSet<EndPort>) =
            named.partition(|port| port.is_address());
        let port = match (names.len(), addresses.len()) {
            (1, _) => names.into_iter().next(),
            (0, 1) => addresses.into_iter().next(),
            _ => None,
        };
        all.sort_by_key(|claim| claim.grounds);
        let mut all = all.into_iter();
        let mut first = all.next()?;
        first.ends[1].port = port.unwrap_or(EndPort::Unknown);
        first.evidence.extend(all.flat_map(|claim| claim.evidence));
        first.evidence.dedup();
        Some(first)
    }));
    apart
}

/// The end that a row names at a device. It stays open where the device has another interface of this
/// name than a cable's end, or where the row gives the device's own id for the port's.
fn named_end(facts: &Facts<'_>, to: DeviceIx, row: &LldpNeighbour) -> EndPort {
    let own = &facts[to];
    match own.remote_port(row.port.as_ref(), &row.port_descr) {
        Some(port) if own.ports[port].may_be_cabled() => EndPort::At(port),
        Some(_) => EndPort::Unknown,
        None if row.port.is_some() && row.port == row.chassis => EndPort::Unknown,
        None => EndPort::as_announced(row),
    }
}

/// The claim about a node that cannot be asked. A switch of the inventory that never answered
/// cannot deny it.
fn about_unasked(facts: &Facts<'_>, statement: &NeighbourStatement<'_>) -> Claim {
    let NeighbourStatement { device, row, names } = statement;
    let node = &facts.nodes()[names.node.0 as usize];
    let evidence = vec![Evidence::Names {
        protocol: row.protocol.into(),
        at: facts[*device].place(row.port),
        neighbour: node.name.clone(),
        by: names.by.clone(),
        stale: facts[*device].stale,
        down: row.down,
    }];
    let silent = facts.is_listed_switch(names.node);
    let grounds = match row.protocol {
        _ if row.down => ClaimGrounds::NamedWhileDown,
        DiscoveryProtocol::Cdp => ClaimGrounds::NamedByCdp,
        DiscoveryProtocol::Lldp if silent => ClaimGrounds::NamedSilent,
        DiscoveryProtocol::Lldp if is_nobody(&row.row) || may_be_asked(facts, &row.row) => {
            ClaimGrounds::NamedNobody
        }
        DiscoveryProtocol::Lldp if row.guessed => ClaimGrounds::NamedAtGuessedPort,
        DiscoveryProtocol::Lldp => ClaimGrounds::NamedByOne,
    };
    let ends = [
        ClaimEnd::at(*device, row.port),
        ClaimEnd::new(names.node, EndPort::as_announced(&row.row)),
    ];
    let mut claim = Claim::new(facts, ends, grounds, evidence);
    if silent {
        let unanswering = Evidence::Unanswering(node.name.clone());
        claim.evidence.push(unanswering);
    }
    claim
}

/// True if a row has nothing that distinguishes the neighbour from others. It may be any device,
/// even one that was asked.
fn is_nobody(row: &LldpNeighbour) -> bool {
    let has_id = row.chassis.as_ref().is_some_and(tells);
    !has_id && (row.name.is_empty() || is_factory_name(&row.name))
}

/// True if a row may be about an asked device that has another id: it has the name, and the port.
fn may_be_asked(facts: &Facts<'_>, row: &LldpNeighbour) -> bool {
    let named = facts.identity.names().get(&row.name);
    let named = named.filter(|_| !is_factory_name(&row.name));
    let device = named.and_then(|node| facts.device_of(node));
    device.is_some_and(|device| {
        let port = facts[device].remote_port(row.port.as_ref(), &row.port_descr);
        port.is_some()
    })
}

/// Joins the statements of both ends: first those whose ports agree on both sides, then those with
/// one unknown port, then those with just one statement left in each direction.
fn pair(facts: &Facts<'_>, halves: &[TrunkHalf<'_>], found: &mut NeighbourClaims) {
    let partner = partners(halves);
    for (i, half) in halves.iter().enumerate() {
        match partner[i] {
            Some(j) if j < i => {}
            Some(j) => found.claims.push(joined(facts, half, Some(&halves[j]))),
            None => match refusal(facts, half) {
                None => found.claims.push(joined(facts, half, None)),
                Some(kind) => found.refused.push(RefusedStatement {
                    at: (half.at, half.port),
                    kind,
                }),
            },
        }
    }
}

/// The statement of the other end that belongs to each statement.
fn partners(halves: &[TrunkHalf<'_>]) -> Vec<Option<usize>> {
    let mut partner: Vec<Option<usize>> = vec![None; halves.len()];
    let mut between: HashMap<(DeviceIx, DeviceIx), Vec<usize>> = HashMap::new();
    for (i, h) in halves.iter().enumerate() {
        between.entry((h.at, h.to)).or_default().push(i);
    }
    // Ports that name each other come first: otherwise a statement without a port could take the partner of one
    // that names it.
    for strict in [true, false] {
        for (i, a) in halves.iter().enumerate() {
            let others = between.get(&(a.to, a.at)).into_iter().flatten();
            if partner[i].is_none()
                && let Some(&j) = others
                    .into_iter()
                    .find(|&&j| j != i && partner[j].is_none() && a.answers(&halves[j], strict))
            {
                (partner[i], partner[j]) = (Some(j), Some(i));
            }
        }
    }
    // Neither end says the other's port. Only where one statement is left in each direction are the two of one
    // cable; of several nothing tells which belong together.
    let mut left: BTreeMap<(DeviceIx, DeviceIx), Vec<usize>> = BTreeMap::new();
    for (i, h) in halves.iter().enumerate() {
        if partner[i].is_none() && h.far.is_none() {
            left.entry((h.at, h.to)).or_default().push(i);
        }
    }
    for ((at, to), mine) in &left {
        if let ([i], Some([j])) = (mine.as_slice(), left.get(&(*to, *at)).map(Vec::as_slice)) {
            partner[*i] = Some(*j);
        }
    }
    partner
}

/// The reason why a statement that only one end makes cannot be true: the other end's port is down,
/// or the named device has another name, because every node may announce a switch's identifiers.
fn refusal(facts: &Facts<'_>, half: &TrunkHalf<'_>) -> Option<AlarmKind> {
    let (near, other) = (&facts[half.at], &facts[half.to]);
    let at = near.place(half.port);
    let protocol = NeighbourProtocol::from(half.protocol);
    match half.far.filter(|far| !other.ports[*far].up) {
        Some(far) => Some(AlarmKind::NamedPortDown {
            at,
            named: other.place(far),
            protocol,
        }),
        None if !may_be_called(facts, half.to, &half.row.name) => Some(AlarmKind::Impostor {
            at,
            called: half.row.name.clone(),
            by: half.names.by.clone(),
            protocol,
            owner: other.name.clone(),
        }),
        None => None,
    }
}

/// True if the name may be one of the device's own names: whole, cut short or without domain. A
/// device without a name may have any.
fn may_be_called(facts: &Facts<'_>, device: DeviceIx, name: &str) -> bool {
    let own = &facts[device];
    let name = name.to_ascii_lowercase();
    let listed = own.name.to_ascii_lowercase();
    let mut names = own.own_names.iter().chain([&listed]);
    name.is_empty()
        || own.own_names.is_empty()
        || names.any(|own| {
            own.starts_with(&name)
                || name.starts_with(own)
                || own.split('.').next() == name.split('.').next()
        })
}

fn joined(facts: &Facts<'_>, half: &TrunkHalf<'_>, back: Option<&TrunkHalf<'_>>) -> Claim {
    let (near, other) = (&facts[half.at], &facts[half.to]);
    let mut evidence = vec![half.evidence(facts)];
    match back {
        Some(b) => evidence.push(b.evidence(facts)),
        None => evidence.push(Evidence::NotNamedBack {
            device: other.name.clone(),
            other: near.name.clone(),
        }),
    }
    let far = back.map_or_else(|| half.end.clone(), |b| EndPort::At(b.port));
    let ends = [
        ClaimEnd::at(half.at, half.port),
        ClaimEnd::new(half.to, far),
    ];
    Claim::new(facts, ends, grounds(facts, half, back), evidence)
}

fn grounds(facts: &Facts<'_>, half: &TrunkHalf<'_>, back: Option<&TrunkHalf<'_>>) -> ClaimGrounds {
    let halves = [half, back.unwrap_or(half)];
    // One statement by LLDP is enough, whatever the other end states by CDP.
    let by_lldp = halves.iter().any(|s| s.protocol == DiscoveryProtocol::Lldp);
    let other = &facts[half.to];
    match back {
        _ if halves.iter().any(|s| s.down) => ClaimGrounds::NamedWhileDown,
        Some(_) if halves.iter().any(|s| s.names.doubtful) => ClaimGrounds::NamedDespiteChassis,
        None if half.names.doubtful => ClaimGrounds::NamedByContestedName,
        _ if !by_lldp => ClaimGrounds::NamedByCdp,
        _ if half.is_guess(back) || back.is_some_and(|back| back.is_guess(Some(half))) => {
            ClaimGrounds::NamedAtGuessedPort
        }
        Some(_) => ClaimGrounds::NamedByBoth,
        // A device that hears others by LLDP would hear this one, too. Another node may use its
        // identifiers.
        None if !other.stale && other.hears_lldp => ClaimGrounds::NamedUnheard,
        None if matches!(half.names.by, RecognizedBy::Name(_)) && other.has_identity() => {
            ClaimGrounds::NamedByName
        }
        None => ClaimGrounds::NamedByOne,
    }
}

impl TrunkHalf<'_> {
    /// True if the ports that two statements name agree: both, or, unless `strict`, the only one named.
    fn answers(&self, other: &TrunkHalf<'_>, strict: bool) -> bool {
        match (self.far == Some(other.port), other.far == Some(self.port)) {
            (there, back) if strict => there && back,
            (there, back) => (there && other.far.is_none()) || (back && self.far.is_none()),
        }
    }

    /// True if a port is a guess that the other end does not confirm.
    fn is_guess(&self, back: Option<&TrunkHalf<'_>>) -> bool {
        match back {
            Some(back) => self.guessed && (back.far != Some(self.port) || back.far_guessed),
            None => self.guessed || self.far_guessed,
        }
    }

    /// The evidence for a cable from this device to that neighbour.
    fn evidence(&self, facts: &Facts<'_>) -> Evidence {
        Evidence::Names {
            protocol: self.protocol.into(),
            at: facts[self.at].place(self.port),
            neighbour: facts[self.to].name.clone(),
            by: self.names.by.clone(),
            stale: facts[self.at].stale,
            down: self.down,
        }
    }
}
