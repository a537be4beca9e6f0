//! An aggregate between two switches: its cables are found, counters tell which port leads over which, and jobs
//! take the ways that are chosen for them.
use crate::common::job::TestJobOutput;
use crate::common::lab::RunningLab;
use crate::common::machine_share::MachinePart;
use crate::common::until::{LIMIT, until, until_or_why};
use crate::measured::MeasuredLab;
use inventory::Mpi;
use std::fs;

const TRUNK: &str = "
switches: [s0, s1]
hosts: {'n[0-1]': {switch: s0, rate: 20M}, 'n[2-3]': {switch: s1, rate: 20M}}
links: [{a: s0, b: s1, rate: 40M, cables: 2}]
";

impl RunningLab {
    /// Octets that each switch sent over each cable of the aggregate, ever.
    fn sent_by_cable(&self) -> [u64; 4] {
        [("s0", 0), ("s0", 1), ("s1", 0), ("s1", 1)].map(|(switch, cable)| {
            let file = format!("/sys/class/net/m-swp1-{cable}/statistics/tx_bytes");
            self.exec(switch, &["cat", &file]).trim().parse().unwrap()
        })
    }
}

#[test]
fn counters_tell_the_ways_through_an_aggregate_and_jobs_take_them() {
    let up = RunningLab::with(MachinePart::Half, "aggregate", TRUNK);
    let mut lab = MeasuredLab::allowed(up);
    lab.start_controller();
    lab.start_agents();
    until("both cables are ways", || {
        let links = lab.published()?.links;
        (links.len() == 2).then_some(())
    });
    lab.await_so("all agents report", || lab.all_report());
    let done = lab.order().wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(output.contains("each has a port"), "{output}{}", lab.logs());
    let shared = lab.lab().lab.shared_dir();
    until_or_why("an epoch has the flows", LIMIT, || {
        let current = fs::read_to_string(shared.join("current")).unwrap();
        let number: u64 = current.split(' ').next().unwrap().parse().unwrap();
        let flows = shared.join(format!("epochs/{number:08}/flows.json"));
        flows.exists().then_some(()).ok_or_else(|| lab.logs())
    });
    // The second job takes the ports of the first one.
    for _ in 0..2 {
        let before = lab.lab().sent_by_cable();
        let mut job = lab
            .lab()
            .over_ways("mpich", Mpi::Mpich, 64, ["--iterations", "8"]);
        let said = TestJobOutput::new(&job.output().unwrap(), "mpich");
        assert!(said.out.contains("every byte checked"), "{}", said.out);
        let unknown = said
            .heddle
            .iter()
            .find(|line| line.contains("ways of its connections"));
        assert_eq!(unknown, None);
        let after = lab.lab().sent_by_cable();
        let sent: [u64; 4] = std::array::from_fn(|at| after[at] - before[at]);
        let (most, least) = (sent.iter().max().unwrap(), sent.iter().min().unwrap());
        assert!(
            *least > 500_000 && *most as f64 <= 1.1 * *least as f64,
            "{sent:?}"
        );
    }
}
