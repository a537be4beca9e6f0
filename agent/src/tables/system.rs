//! SNMPv2-MIB system group (RFC 3418).
use super::{TableObjects, number, text};
use crate::walk::WalkAnswers;
use inventory::observation::SystemGroup;

pub(super) const DESCR: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 1];
pub(crate) const UPTIME: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 3];
pub(super) const NAME: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 5];
const SERVICES: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 7];

pub(crate) const OBJECTS: TableObjects = TableObjects {
    scalars: &[DESCR, UPTIME, NAME, SERVICES],
    columns: &[],
};

pub(crate) fn read(answers: &WalkAnswers) -> SystemGroup {
    SystemGroup {
        name: text(answers.scalar(NAME)),
        descr: text(answers.scalar(DESCR)),
        uptime: number(answers.scalar(UPTIME)).unwrap_or_default(),
        services: number(answers.scalar(SERVICES)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use snmp::Value;

    #[test]
    fn reads_and_refuses() {
        let good = answers(&[
            ("1.3.6.1.2.1.1.1.0", octets("Linux")),
            ("1.3.6.1.2.1.1.3.0", Value::TimeTicks(7)),
            ("1.3.6.1.2.1.1.5.0", octets("s0")),
            ("1.3.6.1.2.1.1.7.0", Value::Integer(6)),
        ]);
        assert_eq!(
            read(&good),
            SystemGroup {
                name: "s0".into(),
                descr: "Linux".into(),
                uptime: 7,
                services: Some(6)
            }
        );
        let bad = answers(&[
            ("1.3.6.1.2.1.1.5.0", Value::Integer(3)),
            ("1.3.6.1.2.1.1.3.0", octets("now")),
        ]);
        assert_eq!(read(&bad), SystemGroup::default());
    }
}
