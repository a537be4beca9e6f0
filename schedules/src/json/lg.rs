//! LG as JSON: steps of messages that carry several blocks, instead of phases.
use super::{HostNumbers, JsonError, MAX_HOSTS, known, line, parse, refuse};
use crate::bound::PhaseBound;
use crate::lg::{HostCluster, LG, LgSchedule, Transfer};
use crate::message::Message;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LgJson<Name> {
    collective: Name,
    algorithm: Name,
    hosts: Vec<Name>,
    clusters: Vec<ClusterJson<Name>>,
    bound: BackboneJson<Name>,
    steps: Vec<Vec<TransferJson<Name>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterJson<Name> {
    name: Name,
    hosts: Vec<Name>,
}

/// The bound as in other schedules, and the number of messages in which its load crosses.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BackboneJson<Name> {
    phases: u64,
    edge: (Name, Name),
    load: u64,
    capacity: u64,
    messages: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferJson<Name> {
    from: Name,
    to: Name,
    blocks: Vec<(Name, Name)>,
}

/// An all-to-all by LG as one line of JSON.
///
/// # Panics
/// If a step or a cluster names a host number beyond `hosts`; planners and readers never make such
/// a schedule.
pub fn write_lg(plan: &LgSchedule) -> String {
    let name = |h: u32| plan.hosts[h as usize].as_str();
    fn cluster<'a>(c: &'a HostCluster, name: impl Fn(u32) -> &'a str) -> ClusterJson<&'a str> {
        ClusterJson {
            name: &c.name,
            hosts: c.hosts.iter().map(|&h| name(h)).collect(),
        }
    }
    let transfer = |t: &Transfer| TransferJson {
        from: name(t.from),
        to: name(t.to),
        blocks: t
            .blocks
            .iter()
            .map(|b| (name(b.src), name(b.dst)))
            .collect(),
    };
    let bound = &plan.bound;
    line(&LgJson {
        collective: "alltoall",
        algorithm: LG,
        hosts: plan.hosts.iter().map(String::as_str).collect(),
        clusters: plan.clusters.iter().map(|c| cluster(c, name)).collect(),
        bound: BackboneJson {
            phases: bound.phases,
            edge: (&bound.edge.0, &bound.edge.1),
            load: bound.load,
            capacity: bound.capacity,
            messages: plan.messages,
        },
        steps: plan
            .steps
            .iter()
            .map(|step| step.iter().map(transfer).collect())
            .collect(),
    })
}

/// Reads an all-to-all by LG; hosts are numbered in the order of its `hosts`.
pub fn read_lg(text: &[u8]) -> Result<LgSchedule, JsonError> {
    let json: LgJson<String> = parse(text)?;
    known("collective", &json.collective, "alltoall")?;
    known("algorithm", &json.algorithm, LG)?;
    let numbers = HostNumbers::new(&json.hosts, MAX_HOSTS)?;
    if json.clusters.len() > json.hosts.len() {
        return refuse(format!(
            "{} clusters of {} hosts; every cluster has one at least",
            json.clusters.len(),
            json.hosts.len()
        ));
    }
    let clusters = json
        .clusters
        .iter()
        .map(|c| {
            Ok(HostCluster {
                name: c.name.clone(),
                hosts: numbers.all(&c.hosts)?,
            })
        })
        .collect::<Result<Vec<HostCluster>, JsonError>>()?;
    let transfer = |t: &TransferJson<String>| {
        let blocks = t.blocks.iter().map(|block| numbers.message(block));
        Ok(Transfer {
            from: numbers.number(&t.from)?,
            to: numbers.number(&t.to)?,
            blocks: blocks.collect::<Result<Vec<Message>, JsonError>>()?,
        })
    };
    let steps = json
        .steps
        .iter()
        .map(|step| step.iter().map(transfer).collect())
        .collect::<Result<Vec<Vec<Transfer>>, JsonError>>()?;
    let BackboneJson {
        phases,
        edge,
        load,
        capacity,
        messages,
    } = json.bound;
    drop(numbers);
    Ok(LgSchedule {
        hosts: json.hosts,
        clusters,
        bound: PhaseBound {
            phases,
            edge,
            load,
            capacity,
        },
        messages,
        steps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lg;
    use crate::lg::tests::runs;
    use proptest::prelude::*;
    use samples::trees::star;

    #[test]
    fn writes_the_contract_form() {
        let tree = star(&[2, 1]);
        let plan = lg::plan(&tree, &runs(&tree, &[2, 1]), None);
        assert_eq!(
            write_lg(&plan),
            "{\"collective\":\"alltoall\",\"algorithm\":\"lg\",\"hosts\":[\"n0\",\"n1\",\"n2\"],\
             \"clusters\":[{\"name\":\"c0\",\"hosts\":[\"n0\",\"n1\"]},{\"name\":\"c1\",\
             \"hosts\":[\"n2\"]}],\
             \"bound\":{\"phases\":2,\"edge\":[\"n2\",\"s1\"],\"load\":2,\"capacity\":1,\
             \"messages\":2},\
             \"steps\":[[{\"from\":\"n0\",\"to\":\"n1\",\"blocks\":[[\"n0\",\"n1\"]]},\
             {\"from\":\"n1\",\"to\":\"n0\",\"blocks\":[[\"n1\",\"n0\"]]}],\
             [{\"from\":\"n0\",\"to\":\"n2\",\"blocks\":[[\"n0\",\"n2\"]]},{\"from\":\"n2\",\
             \"to\":\"n0\",\"blocks\":[[\"n2\",\"n0\"]]}],\
             [{\"from\":\"n1\",\"to\":\"n2\",\"blocks\":[[\"n1\",\"n2\"]]},{\"from\":\"n2\",\
             \"to\":\"n1\",\"blocks\":[[\"n2\",\"n1\"]]}]]}\n"
        );
    }

    #[test]
    fn refuses_foreign_files_with_the_reason() {
        let tree = star(&[2, 1]);
        let good = write_lg(&lg::plan(&tree, &runs(&tree, &[2, 1]), None));
        let err = |from: &str, to: &str| {
            read_lg(good.replacen(from, to, 1).as_bytes())
                .unwrap_err()
                .to_string()
        };
        assert!(err("\"lg\"", "\"aapc\"").contains("algorithm \"aapc\": expected lg"));
        assert!(
            err("\"from\":\"n0\"", "\"from\":\"n7\"").contains("\"n7\" is used but not listed")
        );
        assert!(err("[[\"n0\"", "[[\"n8\"").contains("\"n8\" is used but not listed"));
        assert!(err("\"hosts\":[\"n2\"]", "\"hosts\":[\"n9\"]").contains("\"n9\""));
        assert!(err("\"messages\"", "\"message\"").contains("message"));
        let empty = "{\"name\":\"c\",\"hosts\":[]},".repeat(3);
        assert!(
            err("\"clusters\":[", &format!("\"clusters\":[{empty}"))
                .contains("5 clusters of 3 hosts")
        );
    }

    proptest! {
        #[test]
        fn round_trip(sizes in prop::collection::vec(1u32..5, 1..4)) {
            let tree = star(&sizes);
            let plan = lg::plan(&tree, &runs(&tree, &sizes), None);
            prop_assert_eq!(read_lg(write_lg(&plan).as_bytes()), Ok(plan));
        }

        #[test]
        fn mutated_bytes_are_read_or_refused(
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in any::<bool>(),
        ) {
            let tree = star(&[2, 3]);
            let mut text = write_lg(&lg::plan(&tree, &runs(&tree, &[2, 3]), None)).into_bytes();
            let at = at.index(text.len());
            text[at] = byte;
            if cut {
                text.truncate(at);
            }
            let _ = read_lg(&text);
        }
    }
}
