//! One switch, asked by SNMP: a table at a time, or the cheap pulse. Nothing here panics or waits
//! for ever. An error becomes [`DeviceFact::Failed`] with a text for an operator.
use crate::request_meter::{RequestFailure, RequestMeter};
use crate::session_port::SessionPort;
use crate::snmp_access::SnmpAccess;
use crate::switch_place::SwitchPlace;
use crate::switch_socket::{ForeignSender, SwitchSocket};
use crate::tables::management::{self, NeighbourList};
use crate::tables::{self, TableObjects, pulse};
use crate::walk::{TableWalk, WalkAnswers};
use inventory::inventory_file::{InventorySwitch, InventoryTiming};
use inventory::observation::{CredentialRefusal, DeviceFact, DevicePulse, DeviceTable};
use snmp::{Auth, ClientBuilder, Error, ErrorStatus, Retry};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The limit of the time for one table, as a multiple of the patience for one answer. It holds
/// however steadily the switch answers.
const TABLE_PATIENCE: u32 = 10;

type SwitchSession = snmp::Client<SwitchSocket>;

/// A switch and the session with its agent. Every method may be called from several tasks at once.
pub struct SnmpClient {
    place: SwitchPlace,
    access: SnmpAccess,
    timeout: Duration,
    retries: u32,
    port: SessionPort,
    session: Mutex<Option<SwitchSession>>,
    elsewhere: ForeignSender,
    /// The rows that each column had last time, by what was asked for.
    rows: StdMutex<HashMap<AskedPart, Vec<usize>>>,
    /// True once the switch was seen to count octets in 32 bits only.
    narrow: AtomicBool,
    meter: Arc<RequestMeter>,
}

/// The values that one question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum AskedPart {
    Pulse,
    Neighbours,
    Table(DeviceTable),
    /// The objects of a table that only this vendor serves.
    Further(DeviceTable),
}

impl AskedPart {
    fn most_rows(self) -> usize {
        match self {
            AskedPart::Table(table) | AskedPart::Further(table) => tables::most_rows(table),
            AskedPart::Pulse | AskedPart::Neighbours => usize::MAX,
        }
    }
}

/// The reason why a table could not be read.
enum TableReadFailure {
    /// The agent lost the session, for example by a restart. A new session may work.
    Session(String),
    /// The agent does not answer at all. The hint names what an operator may check.
    Mute {
        problem: String,
        hint: String,
        refused: Option<CredentialRefusal>,
    },
    /// The agent answers, but not for this table.
    Table(String),
}

impl TableReadFailure {
    fn mute(problem: String) -> TableReadFailure {
        TableReadFailure::Mute {
            problem,
            hint: String::new(),
            refused: None,
        }
    }

    /// The agent answers, but not to this credential.
    fn refused(problem: String, credential: &str, reason: &str) -> TableReadFailure {
        TableReadFailure::Mute {
            problem,
            hint: String::new(),
            refused: Some(CredentialRefusal {
                credential: credential.to_owned(),
                reason: reason.to_owned(),
            }),
        }
    }

    fn kind(&self) -> RequestFailure {
        match self {
            TableReadFailure::Mute {
                refused: Some(_), ..
            } => RequestFailure::Refused,
            TableReadFailure::Mute { .. } => RequestFailure::Timeout,
            TableReadFailure::Session(_) | TableReadFailure::Table(_) => RequestFailure::Error,
        }
    }

    /// The failure of the whole device.
    fn of_device(self) -> DeviceFact {
        match self {
            TableReadFailure::Mute {
                problem,
                hint,
                refused,
            } => DeviceFact::Failed {
                table: None,
                problem: problem + &hint,
                refused,
            },
            TableReadFailure::Session(problem) | TableReadFailure::Table(problem) => {
                DeviceFact::Failed {
                    table: None,
                    problem,
                    refused: None,
                }
            }
        }
    }

    fn problem(self) -> String {
        match self {
            TableReadFailure::Session(problem)
            | TableReadFailure::Mute { problem, .. }
            | TableReadFailure::Table(problem) => problem,
        }
    }
}

impl SnmpClient {
    /// A client of `switch` that asks from `port`; nothing is sent yet.
    pub(crate) fn new(
        switch: &InventorySwitch,
        access: &SnmpAccess,
        timing: &InventoryTiming,
        port: SessionPort,
    ) -> SnmpClient {
        SnmpClient {
            place: SwitchPlace::new(switch.address.clone()),
            access: access.clone(),
            timeout: timing.timeout,
            retries: timing.retries,
            port,
            session: Mutex::new(None),
            elsewhere: ForeignSender::default(),
            rows: StdMutex::default(),
            narrow: AtomicBool::new(false),
            meter: Arc::default(),
        }
    }

    /// Counts its requests.
    pub fn meter(&self) -> Arc<RequestMeter> {
        Arc::clone(&self.meter)
    }

    /// The address, community and patience by which the switch may be asked outside its session;
    /// `None` if only a session can ask it. A session looks a name up again if nobody answers.
    pub(crate) fn round_access(&self) -> Option<(SocketAddr, snmp::Community, Duration)> {
        let Auth::Community { community, .. } = &self.access.auth else {
            return None;
        };
        Some((self.place.fixed()?, community.clone(), self.timeout))
    }

    /// The address of a switch that is known by a name, once the name was looked up.
    pub fn looked_up(&self) -> Option<IpAddr> {
        self.place.looked_up().map(|address| address.ip())
    }

    /// Reads one table. A table that the device does not serve comes back empty. A failure names
    /// the table, with one exception: every agent serves [`DeviceTable::System`], so if that gets
    /// no answer, the whole device is mute.
    pub async fn read(&self, table: DeviceTable) -> DeviceFact {
        let mut read = self
            .walk(AskedPart::Table(table), tables::objects(table))
            .await;
        // Here and not in a function of its own, so that the future stays shallow: the compiler
        // bounds their nesting.
        if let Ok(answers) = &mut read
            && let Some(objects) = tables::further(table, answers)
        {
            match self.walk(AskedPart::Further(table), objects).await {
                Ok(further) => answers.append(further),
                Err(failure) => read = Err(failure),
            }
        }
        match read {
            Ok(answers) => tables::fact(table, &answers),
            Err(failure @ TableReadFailure::Mute { .. }) if table == DeviceTable::System => {
                failure.of_device()
            }
            Err(failure) => DeviceFact::Failed {
                table: Some(table),
                problem: failure.problem(),
                refused: None,
            },
        }
    }

    /// Reads the objects that change first after any change, in as few messages as possible. A
    /// failure of the pulse is a failure of the whole device.
    pub async fn pulse(&self) -> DeviceFact {
        match self
            .walk(AskedPart::Pulse, pulse::objects(self.narrow.load(Relaxed)))
            .await
        {
            Ok(answers) => {
                self.narrow.store(pulse::is_narrow(&answers), Relaxed);
                DeviceFact::Pulse(pulse::read(&answers))
            }
            Err(failure) => failure.of_device(),
        }
    }

    /// Reads only the scalars of the pulse: one small message, for fleets that are too large to ask
    /// for every port all the time.
    pub async fn brief_pulse(&self) -> DeviceFact {
        match self.walk(AskedPart::Pulse, pulse::BRIEF).await {
            Ok(answers) => DeviceFact::Pulse(DevicePulse {
                brief: true,
                ..pulse::read(&answers)
            }),
            Err(failure) => failure.of_device(),
        }
    }

    /// Looks the switch's name up, if it has one; asks the switch nothing.
    ///
    /// # Errors
    /// The reason why the name has no address, for an operator.
    pub async fn look_up(&self) -> Result<IpAddr, String> {
        self.place.address().await.map(|address| address.ip())
    }

    /// Reads the neighbours, with the addresses at which they say they are managed.
    ///
    /// # Errors
    /// The reason why there is no answer, for an operator.
    pub async fn neighbours(&self) -> Result<NeighbourList, String> {
        match self.walk(AskedPart::Neighbours, management::OBJECTS).await {
            Ok(answers) => Ok(management::read(&answers)),
            Err(TableReadFailure::Mute { problem, hint, .. }) => Err(problem + &hint),
            Err(failure) => Err(failure.problem()),
        }
    }

    async fn walk(
        &self,
        part: AskedPart,
        objects: TableObjects,
    ) -> Result<WalkAnswers, TableReadFailure> {
        match self.try_walk(part, &objects).await {
            // The failed session was dropped. A new one learns the engine's id and time again (RFC
            // 3414, 4).
            Err(TableReadFailure::Session(_)) => self.try_walk(part, &objects).await,
            other => other,
        }
    }

    /// How many rows each part had the last time.
    fn rows(&self) -> MutexGuard<'_, HashMap<AskedPart, Vec<usize>>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn try_walk(
        &self,
        part: AskedPart,
        objects: &TableObjects,
    ) -> Result<WalkAnswers, TableReadFailure> {
        let mut walk = TableWalk::new(
            objects.scalars,
            objects.columns,
            self.rows().get(&part).map_or(&[], Vec::as_slice),
        )
        .with_most_rows(part.most_rows());
        let patience = self.timeout * (self.retries + 1) * TABLE_PATIENCE;
        match tokio::time::timeout(patience, self.run(&mut walk)).await {
            Ok(Ok(())) => {
                // A brief pulse has no rows. It must not make the next full pulse forget the number
                // of rows.
                if !objects.columns.is_empty() {
                    self.rows().insert(part, walk.rows());
                }
                Ok(walk.finish())
            }
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(TableReadFailure::Table(format!(
                "{} answers too slowly: {} values in {} s and no end; given up",
                self.place,
                walk.len(),
                patience.as_secs_f32()
            ))),
        }
    }

    async fn run(&self, walk: &mut TableWalk) -> Result<(), TableReadFailure> {
        let session = self.session().await?;
        let mut most = u32::MAX;
        while let Some(request) = walk.next() {
            let repetitions = request.repetitions.min(most);
            let asked = Instant::now();
            match session
                .get_bulk(&request.oids, request.non_repeaters, repetitions)
                .await
            {
                Ok(varbinds) => {
                    self.meter.answered(asked.elapsed());
                    walk.take(varbinds).map_err(|e| {
                        TableReadFailure::Table(format!("{} answers nonsense: {e}", self.place))
                    })?;
                }
                // An agent should cut an answer to GETBULK that does not fit (RFC 3416, 4.2.3).
                // Some agents answer tooBig instead, and net-snmp answers genErr under SNMPv3.
                Err(e) if too_much(&e) && repetitions > 1 => most = repetitions / 2,
                Err(e) => {
                    let failure = self.failure(&e).await;
                    self.meter.failed(failure.kind());
                    return Err(failure);
                }
            }
        }
        Ok(())
    }

    async fn session(&self) -> Result<SwitchSession, TableReadFailure> {
        let mut slot = self.session.lock().await;
        if let Some(session) = slot.as_ref() {
            return Ok(session.clone());
        }
        let address = self.place.address().await.map_err(TableReadFailure::mute)?;
        let session = self.connect(address).await.map_err(|e| {
            TableReadFailure::mute(format!("{}: no socket to ask from: {e}", self.place))
        })?;
        Ok(slot.insert(session).clone())
    }

    async fn connect(&self, address: SocketAddr) -> snmp::Result<SwitchSession> {
        let socket = self.port.to(address).await?;
        let retry = Retry::fixed(self.retries.min(snmp::MAX_RETRIES), Duration::ZERO)
            .unwrap_or_else(|_| Retry::none());
        ClientBuilder::new(self.access.auth.clone())
            .request_timeout(self.timeout)
            .retry(retry)
            // Refusals (wrong key, unknown user, forgotten engine) come unsigned (RFC 3414, 3.2).
            // If they are accepted, they end a request with their reason. If they are ignored, each
            // of them looks like a switch that is down.
            .allow_unauthenticated_v3_time_correction(true)
            .build_with_transport(SwitchSocket::new(socket, self.elsewhere.clone()))
    }

    /// The text for an error. An SNMPv3 session that failed is dropped: an agent that lost its
    /// engine state in a restart (snmpd -C) never answers the old session again.
    async fn failure(&self, error: &Error) -> TableReadFailure {
        let error = error.exchange_source();
        let (address, words) = (self.place.to_string(), &self.access.words);
        let silent = matches!(error, Error::Timeout { .. } | Error::Network { .. });
        // A session stays with the address that it was made for; a name may have another one.
        let elsewhere = silent && self.place.doubt();
        if elsewhere
            || matches!(self.access.auth, Auth::Usm(_)) && !matches!(error, Error::Snmp { .. })
        {
            *self.session.lock().await = None;
        }
        match error {
            Error::Timeout { .. } => TableReadFailure::Mute {
                problem: format!(
                    "no answer from {address} after {} of {} ms",
                    tries(self.retries + 1),
                    self.timeout.as_millis()
                ),
                hint: match self.elsewhere.take() {
                    Some(other) => format!(
                        "; {other} answered instead and is not heard, as anybody could: if that \
                         is the same switch, state the address it answers from, or have it answer \
                         from the one it is asked at"
                    ),
                    None => format!("; down, unreachable, or it refuses {words}"),
                },
                refused: None,
            },
            Error::Report { status, .. } if forgot(status) => TableReadFailure::Session(format!(
                "{address} lost the session: {}",
                refusal(status)
            )),
            Error::Report { status, .. } => TableReadFailure::refused(
                format!("{address} refuses {words}: {}", refusal(status)),
                words,
                refusal(status),
            ),
            Error::Auth { .. } => TableReadFailure::refused(
                format!("{address} cannot prove who it is to {words}: wrong auth key?"),
                words,
                "wrong auth key?",
            ),
            Error::Network { source, .. } => {
                TableReadFailure::mute(format!("no answer from {address}: {source}"))
            }
            Error::Snmp { status, .. } => {
                TableReadFailure::Table(format!("{address} answers with an error: {status}"))
            }
            Error::Decode(_) | Error::MalformedResponse { .. } => {
                TableReadFailure::Table(format!("{address} answers nonsense: {error}"))
            }
            other => TableReadFailure::mute(format!("{address}: {other}")),
        }
    }
}

fn too_much(error: &Error) -> bool {
    matches!(
        error.exchange_source(),
        Error::Snmp {
            status: ErrorStatus::TooBig | ErrorStatus::GenErr,
            ..
        }
    )
}

fn tries(n: u32) -> String {
    if n == 1 {
        "1 try".to_owned()
    } else {
        format!("{n} tries")
    }
}

/// True if the agent forgot its engine or its time. A new session is then worth a try.
fn forgot(status: &snmp::v3::ReportStatus) -> bool {
    matches!(
        status,
        snmp::v3::ReportStatus::UnknownEngineId { .. }
            | snmp::v3::ReportStatus::NotInTimeWindow { .. }
    )
}

fn refusal(status: &snmp::v3::ReportStatus) -> &'static str {
    use snmp::v3::ReportStatus as R;
    match status {
        R::UnknownUserName { .. } => "unknown user",
        R::WrongDigest { .. } => "wrong auth key or protocol",
        R::DecryptionError { .. } => "wrong priv key or protocol",
        R::UnsupportedSecurityLevel { .. } => "it wants another security level (auth and priv?)",
        R::NotInTimeWindow { .. } => "its clock does not agree with itself",
        R::UnknownEngineId { .. } => "it is another engine now",
        _ => "an unknown report",
    }
}
