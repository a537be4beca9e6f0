//! Hears the notifications devices send unasked (RFC 3416, 4.2.6 and 4.2.7). They are hints to look
//! sooner, not facts: SNMPv2c traps prove nothing ([`TrapProof`]), and datagrams get lost, so polls
//! find the same things a little later.
use crate::snmp_access::SnmpAccess;
use snmp::v3::{AuthoritativeEngine, PersistedAuthoritativeEngine, UsmUser, generate_engine_id};
use snmp::{Notification, NotificationReceiver, SecurityLevel};
use std::net::{IpAddr, SocketAddr};
use tokio::sync::mpsc;

/// Hints waiting to be taken; beyond that they are dropped, a poll follows anyway.
const WAITING: usize = 256;

/// A notification, reduced to what it hints at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trap {
    /// The sender, by its datagram.
    pub from: IpAddr,
    /// What it hints at.
    pub kind: TrapKind,
    /// How sure it is that the sender sent it.
    pub proof: TrapProof,
}

/// What shows that a notification comes from whom it says. Each of these is worth more than those
/// before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrapProof {
    /// A community at most, or nothing: SNMPv1 and SNMPv2c.
    Nothing,
    /// The name of an SNMPv3 user that heddle knows, unsigned.
    Name,
    /// That user's signature.
    Signature,
}

/// What a notification hints at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrapKind {
    /// linkUp (RFC 2863).
    LinkUp,
    /// linkDown (RFC 2863).
    LinkDown,
    /// lldpRemTablesChange (IEEE 802.1AB-2005).
    LldpChange,
    /// newRoot or topologyChange (RFC 4188).
    TopologyChange,
    /// Anything else, such as coldStart.
    Other,
}

/// A place that cannot be listened at.
#[derive(Debug, thiserror::Error)]
#[error("traps: {address}: {problem}; nothing is heard there, polls go on")]
pub struct TrapError {
    /// Where.
    pub address: SocketAddr,
    /// Why.
    pub problem: String,
}

/// Hints as they come, and where they are heard.
pub struct TrapReceiver {
    /// The address and port in use; they differ from what was asked for where that was port 0.
    pub address: SocketAddr,
    hints: mpsc::Receiver<Trap>,
}

impl TrapReceiver {
    /// The next hint; `None` after the socket broke.
    pub async fn next(&mut self) -> Option<Trap> {
        self.hints.recv().await
    }
}

/// Listens at `address` for notifications of every version until the returned [`TrapReceiver`] is
/// dropped: those of SNMPv1 and SNMPv2c from anybody, those of SNMPv3 from `users`. Informs are
/// acknowledged (RFC 3416, 4.2.7).
///
/// # Errors
/// [`TrapError`] where the address cannot be bound: in use, or a port below 1024 without the right
/// to it.
pub async fn traps(address: SocketAddr, users: &[SnmpAccess]) -> Result<TrapReceiver, TrapError> {
    let receiver = receiver(address, users).await.map_err(|e| TrapError {
        address,
        problem: e.exchange_source().to_string(),
    })?;
    let address = receiver.local_addr();
    let (send, hints) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        loop {
            let received = tokio::select! {
                received = receiver.recv() => received,
                () = send.closed() => return,
            };
            match received {
                Ok(r) => {
                    let (kind, proof) = (kind(&r.notification), proof(&r.notification));
                    let _ = send.try_send(Trap {
                        from: r.source.ip().to_canonical(),
                        kind,
                        proof,
                    });
                }
                Err(e)
                    if matches!(
                        e.exchange_source(),
                        snmp::Error::Closed { .. } | snmp::Error::Network { .. }
                    ) =>
                {
                    return;
                }
                Err(e) => tracing::debug!("notification ignored: {e}"),
            }
        }
    });
    Ok(TrapReceiver { address, hints })
}

/// Who sends an inform asks the receiver for its engine and signs for that (RFC 3414, 3.1). The
/// engine is another one with each start, so nothing has to be kept of it: what was signed for the
/// one before is refused, and the sender asks again.
async fn receiver(address: SocketAddr, users: &[SnmpAccess]) -> snmp::Result<NotificationReceiver> {
    // What a hint is worth without a signature depends on its sender: the listener decides by
    // TrapProof.
    let mut receiver = NotificationReceiver::builder()
        .bind(address.to_string())
        .accept_all_notifications();
    for (name, keys) in users.iter().filter_map(|access| access.user.as_ref()) {
        let keyed = |user: UsmUser| {
            keys.clone()
                .map_or(Ok(user.clone()), |keys| user.with_master_keys(keys))
        };
        receiver = receiver
            .usm_user(name.clone(), keyed)
            .map_err(|e| snmp::Error::Config(e.to_string().into()).boxed())?;
    }
    if !users.is_empty() {
        let kept_nowhere =
            |_: &PersistedAuthoritativeEngine| Ok::<(), std::convert::Infallible>(());
        receiver = receiver.authoritative_engine(AuthoritativeEngine::install(
            generate_engine_id()?,
            kept_nowhere,
        )?);
    }
    receiver.build().await
}

fn proof(notification: &Notification) -> TrapProof {
    match notification.security_level() {
        None => TrapProof::Nothing,
        Some(SecurityLevel::NoAuthNoPriv) => TrapProof::Name,
        Some(SecurityLevel::AuthNoPriv | SecurityLevel::AuthPriv) => TrapProof::Signature,
    }
}

fn kind(notification: &Notification) -> TrapKind {
    notification
        .trap_oid()
        .map_or(TrapKind::Other, |oid| kind_of(oid.arcs()))
}

fn kind_of(trap: &[u32]) -> TrapKind {
    match trap {
        [1, 3, 6, 1, 6, 3, 1, 1, 5, 3] => TrapKind::LinkDown,
        [1, 3, 6, 1, 6, 3, 1, 1, 5, 4] => TrapKind::LinkUp,
        [1, 0, 8802, 1, 1, 2, 0, 0, 1] => TrapKind::LldpChange,
        [1, 3, 6, 1, 2, 1, 17, 0, 1 | 2] => TrapKind::TopologyChange,
        _ => TrapKind::Other,
    }
}
