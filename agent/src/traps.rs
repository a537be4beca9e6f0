//! Receives the notifications that devices send unasked (RFC 3416, 4.2.6 and 4.2.7). They are hints
//! to poll sooner, not facts. SNMPv2c traps prove nothing ([`TrapProof`]), and datagrams get lost,
//! so polls find the same changes a little later.
use crate::snmp_access::SnmpAccess;
use snmp::v3::{AuthoritativeEngine, generate_engine_id};
use snmp::{Notification, NotificationReceiver, SecurityLevel};
use std::net::{IpAddr, SocketAddr};
use tokio::sync::mpsc;

/// The number of hints that may wait. More are dropped, because a poll follows anyway.
const WAITING: usize = 256;

/// A notification, reduced to its hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trap {
    /// The sender's address, from the datagram.
    pub from: IpAddr,
    /// The kind of the hint.
    pub kind: TrapKind,
    /// The proof that the notification comes from the sender.
    pub proof: TrapProof,
}

/// The proof of a notification's sender, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrapProof {
    /// A community or nothing: SNMPv1 and SNMPv2c.
    Nothing,
    /// The name of an SNMPv3 user that heddle knows, unsigned.
    Name,
    /// The signature of such a user.
    Signature,
}

/// The change that a notification hints at.
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

/// An address at which the receiver cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("traps: {address}: {problem}; nothing is heard there, polls go on")]
pub struct TrapError {
    pub address: SocketAddr,
    /// The reason.
    pub problem: String,
}

/// A receiver of hints, and its address.
pub struct TrapReceiver {
    /// The address and port in use. The port differs from the one asked for if that was 0.
    pub address: SocketAddr,
    hints: mpsc::Receiver<Trap>,
}

impl TrapReceiver {
    /// The next hint; `None` after the socket failed.
    pub async fn next(&mut self) -> Option<Trap> {
        self.hints.recv().await
    }
}

/// Receives notifications of every version at `address` until the returned [`TrapReceiver`] is
/// dropped: those of SNMPv1 and SNMPv2c from any sender, those of SNMPv3 from `users`. Informs are
/// acknowledged (RFC 3416, 4.2.7).
///
/// # Errors
/// [`TrapError`] if the address cannot be bound: it is in use, or its port is below 1024 and the
/// process lacks the right to it.
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
                        // A socket of all addresses has IPv4 senders as IPv4-mapped ones (RFC 4291,
                        // 2.5.5.2).
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

/// The sender of an inform asks the receiver for its engine and signs for that (RFC 3414, 3.1). The
/// engine is new at each start, so nothing of it has to be kept. An inform signed for an earlier
/// engine is refused, and the sender asks again.
async fn receiver(address: SocketAddr, users: &[SnmpAccess]) -> snmp::Result<NotificationReceiver> {
    // The worth of an unsigned hint depends on its sender. The listener decides by TrapProof.
    let mut receiver = NotificationReceiver::builder()
        .bind(address.to_string())
        .accept_all_notifications();
    for (name, keys) in users.iter().filter_map(|access| access.user.as_ref()) {
        receiver = receiver
            .usm_user(name.clone(), |user| {
                keys.clone()
                    .map_or(Ok(user.clone()), |keys| user.with_master_keys(keys))
            })
            .map_err(|e| snmp::Error::Config(e.to_string().into()).boxed())?;
    }
    if !users.is_empty() {
        receiver = receiver
            .authoritative_engine(AuthoritativeEngine::install(generate_engine_id()?, |_| {
                Ok::<(), std::convert::Infallible>(())
            })?);
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
