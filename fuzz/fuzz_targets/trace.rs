//! Traces that anybody may have left: they are refused, or everything that is made of them can be
//! made. The octets are a file, and the steps of three ranks with good headers.
#![no_main]
use drawing::traced_call;
use policy::decision_table::Collective;
use trace::file::{CallKind, RankTrace, TraceHeader, TracedNetwork};
use trace::job::TracedJob;
use trace::step::{STEP_OCTETS, TimedStep};
use trace::{chrome, report};

const NETWORK: &str =
    "switches: [s0]\nhosts: {a: {switch: s0}, b: {switch: s0}, c: {switch: s0}}\n";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = RankTrace::read(bytes) {
        let steps = read.steps.iter().map(|step| step.to_octets());
        let again = RankTrace::read(&RankTrace::write(&read.header, steps));
        assert_eq!(again.as_ref(), Ok(&read));
        everything(vec![read]);
    }
    let mut traces: Vec<RankTrace> = (0..3).map(trace).collect();
    for &[rank, kind, peer, phase, value, blocks, time, more] in bytes.as_chunks().0 {
        let mut octets = [0; STEP_OCTETS];
        // Up to 67 ms, in microseconds or so.
        octets[..8]
            .copy_from_slice(&(u64::from(u16::from_le_bytes([time, more])) << 10).to_le_bytes());
        (octets[8], octets[12], octets[16]) = (peer, phase, value);
        (octets[20], octets[22]) = (blocks, kind);
        let steps = &mut traces[usize::from(rank) % 3].steps;
        steps.extend(TimedStep::from_octets(&octets));
    }
    everything(traces);
});

/// The empty trace of a rank.
fn trace(rank: u32) -> RankTrace {
    let kind = CallKind {
        collective: Collective::Alltoall,
        way: "aapc tcp".parse().expect("a way"),
        block: 1448,
        epoch: 3,
    };
    let header = TraceHeader {
        job: 7,
        rank,
        hosts: ["a", "b", "c"].map(str::to_owned).to_vec(),
        kinds: vec![kind],
        clocks: Vec::new(),
        networks: vec![TracedNetwork {
            epoch: 3,
            topology: NETWORK.to_owned(),
        }],
        lost: 0,
    };
    RankTrace {
        header,
        steps: Vec::new(),
    }
}

fn everything(traces: Vec<RankTrace>) {
    let Ok(job) = TracedJob::new(traces) else {
        return;
    };
    let reports = report::reports(&job, None);
    report::text(&job, &reports);
    report::json(&job, &reports);
    for call in &job.calls {
        traced_call::picture(&job, call).document(&traced_call::title(call));
        chrome::export(&job, &[call]);
    }
}
