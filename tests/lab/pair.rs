//! Two switches that act as one, and hosts with a card at both: found, measured, and under a job whose hosts lose
//! a card each.
use crate::common::job::{BOTH, TestJobOutput};
use crate::measured::MeasuredLab;
use inventory::Mpi;

const PAIR: &str = "
switches: [leaf1a, leaf1b]
hosts:
  n[0-3]: {cards: [{switch: leaf1a, rate: 20M}, {switch: leaf1b, rate: 20M}], bond: lacp}
links: [{a: leaf1a, b: leaf1b, rate: 40M}]
pairs: {leaf1: [leaf1a, leaf1b]}
";

impl MeasuredLab {
    /// Waits until so many hosts have both cards in the published topology.
    fn await_bonds(&self, count: usize) {
        self.await_published("the bonds", |file| {
            let hosts = file.hosts.values();
            let bonds = hosts.filter(|host| host.further_cards.len() == 1);
            bonds.count() == count
        });
    }
}

#[test]
fn hosts_at_a_pair_of_switches_use_both_and_need_one() {
    let lab = MeasuredLab::reporting("pair", PAIR);
    lab.await_bonds(4);
    let done = lab.order().wait_with_output().unwrap();
    let remarks = String::from_utf8_lossy(&done.stdout);
    assert!(
        remarks.contains("each has a port"),
        "{remarks}{}",
        lab.logs()
    );
    for (mpi, library) in BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich]) {
        let mut job = lab.lab().over_ways(mpi, library, 64, ["--iterations", "4"]);
        let output = TestJobOutput::new(&job.output().unwrap(), mpi);
        assert!(output.out.contains("every byte checked"), "{}", output.out);
        let remarks = output.heddle.join("\n");
        assert!(
            remarks.contains("has its way through the fabric"),
            "{remarks}"
        );
    }
    let long = lab.lab().job(16, ["--seconds", "10"]);
    for (host, leaf, left) in [("n0", "leaf1a", 3), ("n3", "leaf1b", 2)] {
        lab.lab().lab.cut(host, leaf).unwrap();
        // Then these two reach each other over the cable between the switches only.
        lab.await_bonds(left);
    }
    for (host, leaf) in [("n0", "leaf1a"), ("n3", "leaf1b")] {
        lab.lab().lab.join(host, leaf, None).unwrap();
    }
    lab.await_bonds(4);
    long.ends_well();
}
