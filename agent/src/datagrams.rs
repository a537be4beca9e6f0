//! A table read from SNMPv2c answers that do not come from a session but from a capture or a
//! fuzzer.
use crate::tables;
use crate::walk::TableWalk;
use inventory::observation::{DeviceFact, DeviceTable};
use snmp::DecodeConfig;
use snmp::message::CommunityMessage;

/// The fact about a table if these datagrams are the switch's answers to the messages of one walk.
/// An answer that is not a message, or that cannot be an answer, gives a [`DeviceFact::Failed`], as
/// it would from a live switch. A missing answer ends the table.
pub fn table<'d>(table: DeviceTable, datagrams: impl IntoIterator<Item = &'d [u8]>) -> DeviceFact {
    let failed = |problem: String| DeviceFact::Failed {
        table: Some(table),
        problem,
    };
    let objects = tables::objects(table);
    let mut walk = TableWalk::new(objects.scalars, objects.columns, &[]);
    for datagram in datagrams {
        if walk.next().is_none() {
            break;
        }
        let message =
            match CommunityMessage::decode(datagram.to_vec().into(), DecodeConfig::DEFAULT) {
                Ok(message) => message.value,
                Err(e) => return failed(format!("no message: {e}")),
            };
        let (_, _, pdu) = message.into_parts();
        let Some(pdu) = pdu.standard() else {
            return failed("no answer: a trap".to_owned());
        };
        if let Err(nonsense) = walk.take(pdu.clone().into_varbinds()) {
            return failed(format!("answers nonsense: {nonsense}"));
        }
    }
    tables::fact(table, &walk.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::observation::SystemGroup;
    use snmp::pdu::ResponsePdu;
    use snmp::{Oid, Value, VarBind, Version};

    fn datagram(values: &[(&[u32], Value)]) -> Vec<u8> {
        let values = values
            .iter()
            .map(|(oid, value)| VarBind::new(Oid::from_slice(oid), value.clone()))
            .collect();
        let response = ResponsePdu::success(Version::V2c, 7, values)
            .unwrap()
            .into_raw();
        CommunityMessage::v2c("public", response)
            .unwrap()
            .encode()
            .unwrap()
            .to_vec()
    }

    #[test]
    fn reads_what_a_session_would() {
        // sysDescr, sysUpTime, sysName and sysServices, in two answers.
        let first = datagram(&[
            (
                &[1, 3, 6, 1, 2, 1, 1, 1, 0],
                Value::OctetString("Linux".into()),
            ),
            (&[1, 3, 6, 1, 2, 1, 1, 3, 0], Value::TimeTicks(7)),
        ]);
        let second = datagram(&[
            (
                &[1, 3, 6, 1, 2, 1, 1, 5, 0],
                Value::OctetString("s0".into()),
            ),
            (&[1, 3, 6, 1, 2, 1, 1, 7, 0], Value::Integer(6)),
        ]);
        let system = SystemGroup {
            name: "s0".into(),
            descr: "Linux".into(),
            uptime: 7,
            services: Some(6),
        };
        assert_eq!(
            table(DeviceTable::System, [&first[..], &second]),
            DeviceFact::System(system)
        );
    }

    #[test]
    fn refuses_what_is_no_message_and_no_answer() {
        let problem = |datagram: &[u8]| match table(DeviceTable::Fdb, [datagram]) {
            DeviceFact::Failed {
                table: Some(DeviceTable::Fdb),
                problem,
            } => problem,
            other => panic!("{other:?}"),
        };
        assert!(problem(b"\x30\x05nonsense").starts_with("no message: "));
        assert_eq!(
            problem(&datagram(&[])),
            "answers nonsense: an answer without any value"
        );
        let back = datagram(&[(&[1, 3], Value::Integer(1))]);
        assert!(problem(&back).starts_with("answers nonsense: object identifiers do not grow"));
    }
}
