//! An aggregate between two switches: its cables are found, counters tell which port leads over which, and jobs
//! take the ways that are chosen for them.
use crate::common::job::TestJobOutput;
use crate::common::lab::RunningLab;
use crate::common::until::{LIMIT, until, until_or_why};
use crate::measured::MeasuredLab;
use inventory::Mpi;
use std::process::{Child, Stdio};
use std::time::Duration;

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

impl RunningLab {
    /// Takes the first cable of the aggregate away, as LACP does with one that failed: both ends send all over
    /// the other. Or puts it back.
    fn set_first_cable(&self, is_there: bool) {
        for switch in ["s0", "s1"] {
            let file = self.path(switch);
            let rules = file.display();
            let words = match is_there {
                true => format!(
                    "ip link set m-swp1-0 up && nft delete table netdev swp1 && nft -f {rules}"
                ),
                false => format!(
                    "nft list table netdev swp1 > {rules} && nft flush chain netdev swp1 out && \
                     nft add rule netdev swp1 out fwd to m-swp1-1 && ip link set m-swp1-0 down"
                ),
            };
            self.exec(switch, &["sh", "-c", &words]);
        }
    }
}

/// A job under way.
pub(super) struct AggregateJob(Child);

impl AggregateJob {
    pub(super) fn ends_well(self) {
        let output = TestJobOutput::new(&self.0.wait_with_output().unwrap(), "mpich");
        assert!(output.out.contains("every byte checked"), "{}", output.out);
    }
}

impl RunningLab {
    pub(super) fn job(&self, kilobytes: u32, length: [&str; 2]) -> AggregateJob {
        let mut job = self.over_ways("mpich", Mpi::Mpich, kilobytes, length);
        job.stdout(Stdio::piped()).stderr(Stdio::piped());
        AggregateJob(job.spawn().unwrap())
    }
}

impl MeasuredLab {
    /// The flows of the published epoch, if it has any.
    fn published_flows(&self) -> Option<String> {
        self.published_file("flows.json")
    }

    fn await_links(&self, count: usize) {
        self.await_published("the cables", |file| file.links.len() == count);
    }

    /// Has the ways measured until each has a port, and an epoch has them.
    fn await_flows(&self) -> String {
        until_or_why("an epoch has the flows", LIMIT * 2, || {
            let done = self.order().wait_with_output().unwrap();
            let output = String::from_utf8_lossy(&done.stdout).into_owned();
            std::thread::sleep(Duration::from_secs(1));
            self.published_flows().ok_or_else(|| output + &self.logs())
        })
    }
}

/// A cable that goes for a while: while flows are measured, and under a job.
#[test]
fn a_cable_that_flaps_leaves_no_wrong_flows_and_jobs_go_on() {
    let lab = MeasuredLab::reporting("flaps", TRUNK);
    lab.await_links(2);
    let order = lab.order();
    until("flows are under way", || {
        let begun = lab.log("controller.log").contains("hosts are measured");
        begun.then_some(())
    });
    std::thread::sleep(Duration::from_secs(2));
    lab.lab().set_first_cable(false);
    std::thread::sleep(Duration::from_millis(1500));
    lab.lab().set_first_cable(true);
    order.wait_with_output().unwrap();
    lab.await_links(2);
    lab.await_flows();
    // Ports that lead elsewhere would make the cables uneven.
    let before = lab.lab().sent_by_cable();
    lab.lab().job(64, ["--iterations", "8"]).ends_well();
    let after = lab.lab().sent_by_cable();
    let sent: [u64; 4] = std::array::from_fn(|at| after[at] - before[at]);
    let (most, least) = (sent.iter().max().unwrap(), sent.iter().min().unwrap());
    assert!(*most as f64 <= 1.1 * *least as f64, "{sent:?}");

    let long = lab.lab().job(16, ["--seconds", "20"]);
    std::thread::sleep(Duration::from_secs(4));
    lab.lab().set_first_cable(false);
    lab.await_links(1);
    assert_eq!(lab.published_flows(), None);
    lab.lab().set_first_cable(true);
    lab.await_links(2);
    assert_eq!(lab.published_flows(), None, "what was known is in doubt");
    long.ends_well();
    lab.await_flows();
}

#[test]
fn counters_tell_the_ways_through_an_aggregate_and_jobs_take_them() {
    let lab = MeasuredLab::reporting("aggregate", TRUNK);
    lab.await_links(2);
    let done = lab.order().wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(output.contains("each has a port"), "{output}{}", lab.logs());
    lab.await_so("an epoch has the flows", || lab.published_flows().is_some());
    // The second job takes the ports of the first one.
    for _ in 0..2 {
        let before = lab.lab().sent_by_cable();
        let mut job = lab
            .lab()
            .over_ways("mpich", Mpi::Mpich, 64, ["--iterations", "8"]);
        let output = TestJobOutput::new(&job.output().unwrap(), "mpich");
        assert!(output.out.contains("every byte checked"), "{}", output.out);
        let unknown = output
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
