//! The address of a switch that the inventory names by a name of the DNS.
//!
//! A name is looked up when it is first needed, and again when its switch stops answering: it may
//! have moved. A resolver waits for seconds where no name server answers, so look-ups run on
//! threads of their own, a few at a time. The other switches, and everything else, go on meanwhile.
use inventory::inventory_file::SwitchAddress;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The time limit of a look-up.
const PATIENCE: Duration = Duration::from_secs(5);
/// The shortest time between two look-ups of a name.
const PAUSE: Duration = Duration::from_secs(10);
/// The look-ups under way at once, in the whole process.
const AT_ONCE: usize = 8;

static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(AT_ONCE)));

/// The place of a switch, and what look-ups gave.
#[derive(Debug)]
pub(crate) struct SwitchPlace {
    stated: SwitchAddress,
    known: Mutex<KnownAddresses>,
}

/// The outcome of look-ups.
#[derive(Debug, Default)]
struct KnownAddresses {
    /// The addresses of the last look-up that succeeded.
    addresses: Vec<SocketAddr>,
    /// The number of addresses that did not answer. A name may have one that is not served.
    silent: usize,
    /// The time and the outcome of the last look-up.
    last: Option<(Instant, Result<(), String>)>,
    /// A look-up is wanted: the switch does not answer.
    doubted: bool,
}

impl SwitchPlace {
    pub(crate) fn new(stated: SwitchAddress) -> SwitchPlace {
        SwitchPlace {
            stated,
            known: Mutex::default(),
        }
    }

    /// The address, if nobody needs to look it up.
    pub(crate) fn fixed(&self) -> Option<SocketAddr> {
        self.stated.fixed()
    }

    /// The address that a name has, as last asked.
    pub(crate) fn looked_up(&self) -> Option<SocketAddr> {
        match self.stated {
            SwitchAddress::Fixed(_) => None,
            SwitchAddress::Named { .. } => self.known().current(),
        }
    }

    /// The address to ask.
    ///
    /// # Errors
    /// The reason why the name has none, for an operator.
    pub(crate) async fn address(&self) -> Result<SocketAddr, String> {
        let (host, port) = match &self.stated {
            SwitchAddress::Fixed(address) => return Ok(*address),
            SwitchAddress::Named { host, port } => (host, *port),
        };
        if self.known().is_look_up_due() {
            let found = look_up(host.clone(), port).await;
            self.known().take(found);
        }
        let known = self.known();
        known.current().ok_or_else(|| {
            let problem = match &known.last {
                Some((_, Err(problem))) => problem.as_str(),
                _ => "it has no address",
            };
            format!(
                "the name \"{host}\" cannot be looked up: {problem}; state an address in the \
                 inventory, or add the name to the DNS or to /etc/hosts"
            )
        })
    }

    /// Notes that the switch does not answer at its address. Returns whether there may be another.
    pub(crate) fn doubt(&self) -> bool {
        let named = self.fixed().is_none();
        if named {
            let mut known = self.known();
            // From now on the name's next address is asked.
            known.silent = known.silent.wrapping_add(1);
            known.doubted = true;
        }
        named
    }

    fn known(&self) -> MutexGuard<'_, KnownAddresses> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address; for a name `leaf1:161 (10.0.0.11)`.
impl fmt::Display for SwitchPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stated)?;
        match self.looked_up() {
            Some(address) => write!(f, " ({})", address.ip()),
            None => Ok(()),
        }
    }
}

impl KnownAddresses {
    fn current(&self) -> Option<SocketAddr> {
        let at = self.silent.checked_rem(self.addresses.len())?;
        self.addresses.get(at).copied()
    }

    fn is_look_up_due(&self) -> bool {
        self.last.as_ref().is_none_or(|(at, _)| {
            (self.doubted || self.addresses.is_empty()) && at.elapsed() >= PAUSE
        })
    }

    /// Takes the result of a look-up. After a failure the former addresses stay, and the next look-up
    /// may find others.
    fn take(&mut self, found: Result<Vec<SocketAddr>, String>) {
        let outcome = found.map(|addresses| {
            if self.addresses != addresses {
                (self.addresses, self.silent) = (addresses, 0);
            }
        });
        (self.last, self.doubted) = (Some((Instant::now(), outcome)), false);
    }
}

/// The addresses of a name, in the system's order, which are never none.
async fn look_up(host: String, port: u16) -> Result<Vec<SocketAddr>, String> {
    let asked = async {
        let turn = Arc::clone(&TURNS).acquire_owned().await;
        // A thread that waits for a name server keeps its turn, however long that takes.
        let looking = spawn_blocking(move || {
            let found = (host.as_str(), port).to_socket_addrs();
            drop(turn);
            found.map(Iterator::collect::<Vec<SocketAddr>>)
        });
        match looking.await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err("it has no address".to_owned()),
            Ok(found) => found.map_err(|e| e.to_string()),
            Err(e) => Err(e.to_string()),
        }
    };
    timeout(PATIENCE, asked).await.unwrap_or_else(|_| {
        Err(format!(
            "no name server answers within {} s",
            PATIENCE.as_secs()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> SwitchPlace {
        SwitchPlace::new(text.parse().unwrap())
    }

    #[tokio::test]
    async fn a_name_is_looked_up_once_and_again_after_silence() {
        let place = named("localhost:1161");
        assert_eq!(
            (place.looked_up(), place.to_string().as_str()),
            (None, "localhost:1161")
        );
        let address = place.address().await.unwrap();
        assert!(address.ip().is_loopback() && address.port() == 1161);
        assert_eq!(place.looked_up(), Some(address));
        assert!(place.to_string().starts_with("localhost:1161 ("));
        assert!(!place.known().is_look_up_due());
        assert!(
            place.doubt() && !place.known().is_look_up_due(),
            "too early"
        );
        place.known().last = Some((Instant::now() - PAUSE, Ok(())));
        assert!(place.known().is_look_up_due());
        assert!(place.address().await.is_ok() && !place.known().doubted);
    }

    #[tokio::test]
    async fn a_silent_address_makes_way_for_the_next_one() {
        let place = named("leaf1");
        let addresses: Vec<SocketAddr> = ["[fd00::1]:161", "10.0.0.1:161"]
            .map(|a| a.parse().unwrap())
            .into();
        place.known().take(Ok(addresses.clone()));
        assert_eq!(place.address().await, Ok(addresses[0]));
        place.doubt();
        assert_eq!(place.address().await, Ok(addresses[1]));
        place.known().take(Err("no name server".into()));
        assert_eq!(
            place.address().await,
            Ok(addresses[1]),
            "what was known stays"
        );
        place.known().take(Ok(vec![addresses[0]]));
        assert_eq!(place.address().await, Ok(addresses[0]), "it moved");
    }

    #[tokio::test]
    async fn a_name_that_nobody_knows_has_a_clear_message_and_an_address_needs_no_look_up() {
        let place = named("no-such-switch.invalid");
        let problem = place.address().await.unwrap_err();
        assert!(
            problem.starts_with("the name \"no-such-switch.invalid\" cannot be looked up: ")
                && problem.ends_with("or add the name to the DNS or to /etc/hosts"),
            "{problem}"
        );
        assert_eq!(
            place.address().await.unwrap_err(),
            problem,
            "not asked again so soon"
        );
        let place = named("10.0.0.1");
        assert_eq!(place.address().await, Ok("10.0.0.1:161".parse().unwrap()));
        assert!(!place.doubt() && place.looked_up().is_none());
    }
}
