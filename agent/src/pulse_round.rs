//! The brief pulses of many switches, asked from one socket.
//!
//! Source: own. Input: switches that speak SNMPv2c. Guarantee: a pulse is only ever what the asked
//! address and port answered to the last request to it, whose id nobody could guess. Without
//! such an answer there is no pulse: the switch is then overdue, and is to be asked in its own
//! session, which retries and knows the reasons. Cost: a system call for a request and one for an
//! answer, and no wake-up: whoever asks also fetches what came since. Deviations: SNMPv3 has its
//! state in a session, so such switches are not asked here.
use crate::client::SnmpClient;
use crate::tables::pulse;
use inventory::observation::DevicePulse;
use snmp::message::CommunityMessage;
use snmp::pdu::RequestPdu;
use snmp::{Community, DecodeConfig, Oid, Version};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// The longest answer: four scalars take some hundred octets.
const LONGEST_ANSWER: usize = 2_048;

/// A switch that may be asked in rounds.
#[derive(Debug, Clone)]
pub struct PulseTarget {
    address: SocketAddr,
    community: Community,
    /// The time in which it has to answer.
    patience: Duration,
}

/// A request under way.
#[derive(Debug)]
struct AskedTarget {
    number: usize,
    address: SocketAddr,
    until: Instant,
}

/// The news since the last round.
#[derive(Debug, Default)]
pub struct RoundNews {
    /// The switches that answered, by number.
    pub pulses: Vec<(usize, DevicePulse)>,
    /// The switches that did not answer in time, or not with a pulse.
    pub overdue: Vec<usize>,
}

/// The socket of the rounds, one for each address family, and the requests under way.
#[derive(Debug)]
pub struct PulseRound {
    sockets: Vec<UdpSocket>,
    objects: Vec<Oid>,
    asked: HashMap<i32, AskedTarget>,
    buffer: Vec<u8>,
}

impl PulseTarget {
    /// The target for the switch of this client; `None` if it cannot be asked in rounds.
    pub fn for_client(client: &SnmpClient) -> Option<PulseTarget> {
        let (address, community, patience) = client.round_access()?;
        Some(PulseTarget {
            address,
            community,
            patience,
        })
    }
}

impl PulseRound {
    /// Rounds without any request yet.
    ///
    /// # Errors
    /// The system's refusal of a socket; one address family is enough.
    pub fn open() -> io::Result<PulseRound> {
        let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        let [four, six] = any.map(|any| {
            let socket = UdpSocket::bind((any, 0))?;
            socket.set_nonblocking(true)?;
            io::Result::Ok(socket)
        });
        let sockets = match (four, six) {
            (Ok(four), Ok(six)) => vec![four, six],
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => vec![one],
            (Err(e), Err(_)) => return Err(e),
        };
        Ok(PulseRound {
            sockets,
            objects: pulse::BRIEF
                .scalars
                .iter()
                .map(|s| Oid::from_slice(s).child(0))
                .collect(),
            asked: HashMap::new(),
            buffer: vec![0; LONGEST_ANSWER],
        })
    }

    /// Asks a switch for its brief pulse. A request that cannot be sent becomes overdue.
    pub fn ask(&mut self, number: usize, target: &PulseTarget, now: Instant) {
        let Some(id) = self.draw() else { return };
        let until = now + target.patience;
        let address = target.address;
        self.asked.insert(
            id,
            AskedTarget {
                number,
                address,
                until,
            },
        );
        let sent = self.request(id, target);
        let fitting = self.sockets.iter().find(|socket| {
            let own = socket.local_addr();
            own.is_ok_and(|own| own.is_ipv4() == address.is_ipv4())
        });
        if let Some((socket, message)) = fitting.zip(sent) {
            // A request that the system refuses to send has no answer either.
            let _ = socket.send_to(&message, address);
        }
    }

    fn request(&self, id: i32, target: &PulseTarget) -> Option<bytes::Bytes> {
        let pdu = RequestPdu::get(Version::V2c, id, &self.objects).ok()?;
        let message = CommunityMessage::v2c(target.community.clone(), pdu.into_raw()).ok()?;
        message.encode().ok()
    }

    /// A request-id that nobody can guess and no request under way has.
    fn draw(&self) -> Option<i32> {
        let drawn = std::iter::repeat_with(|| getrandom::u32().ok());
        let mut ids = drawn.map(|drawn| drawn.map(|n| (n & 0x7fff_ffff) as i32));
        ids.find(|id| id.is_none_or(|id| id != 0 && !self.asked.contains_key(&id)))?
    }

    /// Fetches what came since the last time.
    pub fn news(&mut self, now: Instant) -> RoundNews {
        let mut news = RoundNews::default();
        for at in 0..self.sockets.len() {
            while let Ok((length, from)) = self.sockets[at].recv_from(&mut self.buffer) {
                news.pulses.extend(self.take(length, from));
            }
        }
        let overdue = self.asked.extract_if(|_, asked| now >= asked.until);
        news.overdue = overdue.map(|(_, asked)| asked.number).collect();
        news
    }

    /// The pulse in the received octets, if they are the answer to a request under way.
    fn take(&mut self, length: usize, from: SocketAddr) -> Option<(usize, DevicePulse)> {
        let octets = bytes::Bytes::copy_from_slice(&self.buffer[..length]);
        let message = CommunityMessage::decode(octets, DecodeConfig::DEFAULT)
            .ok()?
            .value;
        let pdu = message.into_pdu()?;
        let (failed, (id, _, found)) = (pdu.is_error(), pdu.into_raw_parts());
        let asked = self.asked.get(&id)?;
        let there = (from.ip(), from.port()) == (asked.address.ip(), asked.address.port());
        // The request stays under way: the true answer may still come. If not, the switch is
        // overdue.
        if !there || failed || found.len() != self.objects.len() {
            return None;
        }
        let number = asked.number;
        self.asked.remove(&id);
        Some((
            number,
            pulse::brief([0, 1, 2, 3].map(|i| {
                let varbind = found.get(i).filter(|v| v.oid == self.objects[i])?;
                (!varbind.value.is_exception()).then_some(&varbind.value)
            })),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use snmp::pdu::ResponsePdu;
    use snmp::{Value, VarBind};

    const PATIENCE: Duration = Duration::from_millis(300);

    /// A round that asked a switch, the switch's socket, and the id and sender of the request.
    fn asked() -> (PulseRound, UdpSocket, i32, SocketAddr) {
        let switch = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut round = PulseRound::open().unwrap();
        let target = PulseTarget {
            address: switch.local_addr().unwrap(),
            community: Community::new("public"),
            patience: PATIENCE,
        };
        round.ask(7, &target, Instant::now());
        let mut request = [0; LONGEST_ANSWER];
        let (length, from) = switch.recv_from(&mut request).unwrap();
        let octets = bytes::Bytes::copy_from_slice(&request[..length]);
        let message = CommunityMessage::decode(octets, DecodeConfig::DEFAULT)
            .unwrap()
            .value;
        assert_eq!(message.community().as_bytes(), b"public");
        let (id, ..) = message.into_pdu().unwrap().into_raw_parts();
        let home = SocketAddr::from((Ipv4Addr::LOCALHOST, from.port()));
        (round, switch, id, home)
    }

    fn answer(id: i32) -> Vec<u8> {
        let mut values: Vec<VarBind> = pulse::BRIEF
            .scalars
            .iter()
            .map(|s| VarBind::new(Oid::from_slice(s).child(0), Value::TimeTicks(500)))
            .collect();
        values[3].value = Value::NoSuchObject;
        let response = ResponsePdu::success(Version::V2c, id, values)
            .unwrap()
            .into_raw();
        let message = CommunityMessage::v2c("public", response).unwrap();
        message.encode().unwrap().to_vec()
    }

    fn news(round: &mut PulseRound) -> RoundNews {
        std::thread::sleep(Duration::from_millis(20));
        round.news(Instant::now())
    }

    #[test]
    fn a_switch_that_answers_gives_a_pulse_once() {
        let (mut round, switch, id, home) = asked();
        for _ in 0..2 {
            switch.send_to(&answer(id), home).unwrap();
        }
        let news = news(&mut round);
        let [(7, pulse)] = &news.pulses[..] else {
            panic!("{news:?}");
        };
        assert_eq!(
            (pulse.uptime, pulse.brief, pulse.lldp_last_change),
            (500, true, None)
        );
        let late = round.news(Instant::now() + 2 * PATIENCE);
        assert!(late.overdue.is_empty(), "{late:?}");
    }

    #[test]
    fn nobody_else_answers_and_no_other_answer_counts() {
        let (mut round, switch, id, home) = asked();
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        stranger.send_to(&answer(id), home).unwrap();
        switch.send_to(&answer(id ^ 1), home).unwrap();
        switch.send_to(b"\x30\x05nonsense", home).unwrap();
        let early = news(&mut round);
        assert!(
            early.pulses.is_empty() && early.overdue.is_empty(),
            "{early:?}"
        );
        let late = round.news(Instant::now() + PATIENCE);
        assert_eq!((late.pulses.len(), late.overdue), (0, vec![7]));
    }
}
