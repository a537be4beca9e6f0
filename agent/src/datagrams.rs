//! A table read from SNMPv2c answers that do not come from a session but from a capture or a
//! fuzzer.
use crate::tables::{self, TableObjects};
use crate::walk::{TableWalk, WalkAnswers};
use inventory::observation::{DeviceFact, DeviceTable};
use snmp::DecodeConfig;
use snmp::message::CommunityMessage;

/// The fact about a table if these datagrams are the switch's answers to the messages of one walk,
/// and of a second one where only its vendor serves the table. An answer that is not a message, or
/// that cannot be an answer, gives a [`DeviceFact::Failed`], as it would from a live switch. A
/// missing answer ends the table.
pub fn table<'d>(table: DeviceTable, datagrams: impl IntoIterator<Item = &'d [u8]>) -> DeviceFact {
    let mut datagrams = datagrams.into_iter();
    let read = walk(&tables::objects(table), &mut datagrams).and_then(|mut answers| {
        if let Some(objects) = tables::further(table, &answers) {
            answers.append(walk(&objects, &mut datagrams)?);
        }
        Ok(answers)
    });
    match read {
        Ok(answers) => tables::fact(table, &answers),
        Err(problem) => DeviceFact::Failed {
            table: Some(table),
            problem,
            refused: None,
        },
    }
}

fn walk<'d>(
    objects: &TableObjects,
    datagrams: &mut impl Iterator<Item = &'d [u8]>,
) -> Result<WalkAnswers, String> {
    let mut walk = TableWalk::new(objects.scalars, objects.columns, &[]);
    while walk.next().is_some() {
        let Some(datagram) = datagrams.next() else {
            break;
        };
        let message = CommunityMessage::decode(datagram.to_vec().into(), DecodeConfig::DEFAULT)
            .map_err(|e| format!("no message: {e}"))?;
        let (_, _, pdu) = message.value.into_parts();
        let pdu = pdu
            .standard()
            .ok_or_else(|| "no answer: a trap".to_owned())?;
        walk.take(pdu.clone().into_varbinds())
            .map_err(|nonsense| format!("answers nonsense: {nonsense}"))?;
    }
    Ok(walk.finish())
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

    /// The second message asks for what only the vendor serves.
    #[test]
    fn goes_on_where_the_vendor_has_a_table_of_its_own() {
        let model = Value::ObjectIdentifier(Oid::from_slice(&[1, 3, 6, 1, 4, 1, 1991, 1]));
        let end = |oid: &[u32]| VarBind::new(Oid::from_slice(oid), Value::EndOfMibView);
        let asked = tables::objects(DeviceTable::Lldp);
        let values = asked.scalars.len() + asked.columns.len();
        let mut standard: Vec<VarBind> = (0..values).map(|_| end(&[1, 3])).collect();
        standard[asked.scalars.len() - 1] =
            VarBind::new(Oid::from_slice(&[1, 3, 6, 1, 2, 1, 1, 2, 0]), model);
        let cell = [1, 3, 6, 1, 4, 1, 1991, 1, 1, 3, 20, 1, 2, 1, 1, 3, 7, 1];
        let further = vec![
            VarBind::new(Oid::from_slice(&cell), Value::OctetString("s9".into())),
            end(&[1, 3]),
        ];
        let message = |values| {
            let response = ResponsePdu::success(Version::V2c, 7, values).unwrap();
            let message = CommunityMessage::v2c("public", response.into_raw()).unwrap();
            message.encode().unwrap().to_vec()
        };
        let datagrams = [message(standard), message(further)];
        let DeviceFact::Lldp(lldp) = table(DeviceTable::Lldp, datagrams.iter().map(Vec::as_slice))
        else {
            panic!("no table")
        };
        assert_eq!(lldp.cdp.neighbours.len(), 1);
    }

    #[test]
    fn refuses_what_is_no_message_and_no_answer() {
        let problem = |datagram: &[u8]| match table(DeviceTable::Fdb, [datagram]) {
            DeviceFact::Failed {
                table: Some(DeviceTable::Fdb),
                problem,
                refused: None,
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
