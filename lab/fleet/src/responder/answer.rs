//! Answers to GET, GETNEXT and GETBULK (RFC 3416, 4.2.1 to 4.2.3) in SNMPv2c messages (RFC 1901).
//! Other requests get no answer.
use super::COMMUNITY;
use crate::mib::DeviceMib;
use snmp::message::CommunityMessage;
use snmp::pdu::{PduBody, StandardPduType};
use snmp::{DecodeConfig, Oid, ResponsePdu, Value, VarBind, Version};
use std::time::Duration;

/// The octets of variable bindings in an answer: a datagram that Ethernet carries in one frame.
const MOST_OCTETS: usize = 1400;

/// The answer to a request that arrived `up` after the rows were made.
pub(super) fn answer(mib: &DeviceMib, up: Duration, request: &[u8]) -> Option<Vec<u8>> {
    let message = CommunityMessage::decode(request.to_vec().into(), DecodeConfig::default())
        .ok()?
        .value;
    if message.version() != Version::V2c || message.community().as_bytes() != COMMUNITY.as_bytes() {
        return None;
    }
    let (id, body, asked) = message.into_pdu()?.into_raw_parts();
    let oids = asked.into_iter().map(|v| v.oid);
    let found = match body {
        PduBody::Standard {
            pdu_type: StandardPduType::GetRequest,
            ..
        } => oids.map(|oid| get(mib, up, oid)).collect(),
        PduBody::Standard {
            pdu_type: StandardPduType::GetNextRequest,
            ..
        } => oids.map(|oid| next(mib, up, oid)).collect(),
        PduBody::GetBulk {
            non_repeaters,
            max_repetitions,
        } => bulk(mib, up, oids.collect(), non_repeaters, max_repetitions),
        PduBody::Standard { .. } => return None,
    };
    let response = ResponsePdu::success(Version::V2c, id, found).ok()?;
    Some(
        CommunityMessage::v2c(COMMUNITY, response)
            .ok()?
            .encode()
            .ok()?
            .to_vec(),
    )
}

fn get(mib: &DeviceMib, up: Duration, oid: Oid) -> VarBind {
    let value = mib.get(&oid, up).unwrap_or(Value::NoSuchInstance);
    VarBind::new(oid, value)
}

fn next(mib: &DeviceMib, up: Duration, oid: Oid) -> VarBind {
    match mib.after(&oid, up).next() {
        Some((oid, value)) => VarBind::new(oid, value),
        None => VarBind::new(oid, Value::EndOfMibView),
    }
}

/// One row for each of the first names, and several for each of the others, taken in turn until the
/// message is full.
fn bulk(
    mib: &DeviceMib,
    up: Duration,
    oids: Vec<Oid>,
    non_repeaters: u32,
    repetitions: u32,
) -> Vec<VarBind> {
    let single = oids.len().min(non_repeaters as usize);
    let mut oids = oids.into_iter();
    let mut found: Vec<VarBind> = oids
        .by_ref()
        .take(single)
        .map(|oid| next(mib, up, oid))
        .collect();
    let mut octets: usize = found.iter().map(VarBind::encoded_size).sum();
    let mut columns: Vec<_> = oids.map(|oid| (mib.after(&oid, up), oid)).collect();
    for _ in 0..repetitions {
        for (rows, last) in &mut columns {
            let row = match rows.next() {
                Some((oid, value)) => {
                    last.clone_from(&oid);
                    VarBind::new(oid, value)
                }
                None => VarBind::new(last.clone(), Value::EndOfMibView),
            };
            octets += row.encoded_size();
            if octets > MOST_OCTETS {
                return found;
            }
            found.push(row);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::device_view::DeviceView;
    use inventory::observation::SystemGroup;
    use snmp::pdu::{GetBulkPdu, Pdu, RequestPdu};

    fn mib() -> DeviceMib {
        let system = SystemGroup {
            name: "s0".into(),
            descr: "a switch".into(),
            uptime: 100,
            services: None,
        };
        DeviceMib::new(&DeviceView {
            system: Some(system),
            ..DeviceView::default()
        })
    }

    fn ask(community: &str, pdu: impl Into<Pdu>) -> Option<Vec<(String, Value)>> {
        let request = CommunityMessage::v2c(community, pdu)
            .unwrap()
            .encode()
            .unwrap();
        let answer = answer(&mib(), Duration::from_secs(2), &request)?;
        let (id, body, found) = CommunityMessage::decode(answer.into(), DecodeConfig::default())
            .unwrap()
            .value
            .into_pdu()
            .unwrap()
            .into_raw_parts();
        assert_eq!(id, 7);
        assert_eq!(
            body,
            PduBody::Standard {
                pdu_type: StandardPduType::Response,
                error_status: 0,
                error_index: 0
            }
        );
        Some(
            found
                .into_iter()
                .map(|v| (v.oid.to_string(), v.value))
                .collect(),
        )
    }

    fn oids(texts: &[&str]) -> Vec<Oid> {
        texts.iter().map(|t| Oid::parse(t).unwrap()).collect()
    }

    const UPTIME: &str = "1.3.6.1.2.1.1.3.0";
    const NAME: &str = "1.3.6.1.2.1.1.5.0";

    #[test]
    fn get_gives_the_instance_or_says_that_there_is_none() {
        let found = ask(
            "public",
            RequestPdu::get(Version::V2c, 7, &oids(&[UPTIME, "1.3.6.1.2.1.1.3"])).unwrap(),
        )
        .unwrap();
        assert_eq!(
            found,
            [
                (UPTIME.into(), Value::TimeTicks(300)),
                ("1.3.6.1.2.1.1.3".into(), Value::NoSuchInstance)
            ]
        );
    }

    #[test]
    fn getnext_gives_what_follows_or_the_end() {
        let found = ask(
            "public",
            RequestPdu::get_next(Version::V2c, 7, &oids(&[UPTIME, NAME])).unwrap(),
        )
        .unwrap();
        assert_eq!(
            found,
            [
                (NAME.into(), Value::OctetString("s0".into())),
                (NAME.into(), Value::EndOfMibView)
            ]
        );
    }

    #[test]
    fn getbulk_repeats_what_follows_the_first_names() {
        let asked = oids(&["1.3", "1.3", UPTIME])
            .into_iter()
            .map(VarBind::null)
            .collect();
        let found = ask(
            "public",
            GetBulkPdu::new(Version::V2c, 7, 1, 3, asked).unwrap(),
        )
        .unwrap();
        let names: Vec<&str> = found.iter().map(|(oid, _)| oid.as_str()).collect();
        let descr = "1.3.6.1.2.1.1.1.0";
        assert_eq!(names, [descr, descr, NAME, UPTIME, NAME, NAME, NAME]);
        assert_eq!(found[6].1, Value::EndOfMibView);
    }

    #[test]
    fn others_get_no_answer() {
        assert_eq!(
            ask(
                "private",
                RequestPdu::get(Version::V2c, 7, &oids(&[UPTIME])).unwrap()
            ),
            None
        );
        assert_eq!(
            ask(
                "public",
                RequestPdu::set(
                    Version::V2c,
                    7,
                    vec![VarBind::new(oids(&[NAME])[0].clone(), Value::Integer(1))]
                )
                .unwrap()
            ),
            None
        );
        assert_eq!(answer(&mib(), Duration::ZERO, b"no message"), None);
    }
}
