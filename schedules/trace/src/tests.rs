use crate::critical_path::{PathStep, TimeSink, critical_path};
use crate::file::{CallKind, ClockBounds, RankTrace, TraceFileError, TraceHeader, TracedNetwork};
use crate::job::{JobTraceError, TracedJob};
use crate::step::{RankStep, STEP_OCTETS, TimedStep, TracedPiece, TracedToken};
use crate::{chrome, report};
use policy::decision_table::{Collective, DataCarrier, Way};
use proptest::prelude::*;
use schedules::synchronization::SyncKind;
use std::time::Duration;

const NETWORK: &str = "switches: [s0]\nhosts: {a: {switch: s0, rate: 8M}, b: {switch: s0, rate: 8M}, \
                       \"c\": {switch: s0, rate: 8M}}\n";

fn kind() -> CallKind {
    CallKind {
        collective: Collective::Alltoall,
        way: Way::Aapc {
            sync: SyncKind::Receiver.into(),
            over: DataCarrier::Tcp,
        },
        block: 1448,
        epoch: 3,
    }
}

fn header(rank: u32) -> TraceHeader {
    TraceHeader {
        job: 7,
        rank,
        hosts: ["a", "b", "c"].map(str::to_owned).to_vec(),
        kinds: vec![kind()],
        clocks: Vec::new(),
        networks: (rank == 0)
            .then(|| TracedNetwork {
                epoch: 3,
                topology: NETWORK.to_owned(),
            })
            .into_iter()
            .collect(),
        lost: 0,
    }
}

/// A trace of steps at microseconds.
fn trace(rank: u32, steps: &[(u64, RankStep)]) -> RankTrace {
    RankTrace {
        header: header(rank),
        steps: steps
            .iter()
            .map(|&(at, step)| TimedStep {
                at: Duration::from_micros(at),
                step,
            })
            .collect(),
    }
}

fn piece(peer: u32, phase: u32) -> TracedPiece {
    TracedPiece {
        peer,
        phase,
        block: 0,
        blocks: 1,
    }
}

fn token(peer: u32) -> TracedToken {
    TracedToken { peer, id: 0 }
}

const BEGAN: RankStep = RankStep::CallBegan { call: 1, kind: 0 };
const ENDED: RankStep = RankStep::CallEnded { call: 1 };

/// Rank 0 comes late and sends to rank 1, which lets rank 2 send to it, too. A block takes 1,538 us
/// on a link; the second takes 500 us more, and the token for it stood in line for a processor.
fn traces() -> Vec<RankTrace> {
    vec![
        trace(
            0,
            &[
                (100, BEGAN),
                (101, RankStep::SendBegan(piece(1, 0))),
                (1500, RankStep::SendGone(piece(1, 0))),
                (1501, ENDED),
            ],
        ),
        trace(
            1,
            &[
                (0, BEGAN),
                (1639, RankStep::Arriving(piece(0, 0))),
                (1640, RankStep::TokenGiven(token(2))),
                (1641, RankStep::Arrived(piece(0, 0))),
                (4178, RankStep::Arrived(piece(2, 1))),
                (4180, ENDED),
            ],
        ),
        trace(
            2,
            &[
                (50, BEGAN),
                (51, RankStep::TokenAwaited(token(1))),
                (2139, RankStep::WokenLate { late: 300_000 }),
                (2140, RankStep::TokenTaken(token(1))),
                (2140, RankStep::SendBegan(piece(1, 1))),
                (4100, RankStep::SendGone(piece(1, 1))),
                (4101, ENDED),
            ],
        ),
    ]
}

fn written(trace: &RankTrace) -> Vec<u8> {
    RankTrace::write(
        &trace.header,
        trace.steps.iter().map(|step| step.to_octets()),
    )
}

#[test]
fn a_trace_is_read_as_it_was_written() {
    for trace in traces() {
        assert_eq!(RankTrace::read(&written(&trace)), Ok(trace));
    }
}

#[test]
fn what_no_rank_writes_is_refused() {
    let good = written(&traces()[0]);
    assert_eq!(RankTrace::read(b"heddle"), Err(TraceFileError::NoTrace));
    assert_eq!(RankTrace::read(&good[..17]), Err(TraceFileError::CutShort));
    assert_eq!(
        RankTrace::read(&good[..good.len() - 1]),
        Err(TraceFileError::CutShort)
    );
    let mut absurd = good.clone();
    absurd[15..19].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(RankTrace::read(&absurd), Err(TraceFileError::CutShort));
    let mut step = good.clone();
    let kind = step.len() - STEP_OCTETS + 22;
    step[kind] = 99;
    assert_eq!(RankTrace::read(&step), Err(TraceFileError::Step(3)));
    let mut wrong = traces().remove(0);
    wrong.header.rank = 3;
    assert!(matches!(
        RankTrace::read(&written(&wrong)),
        Err(TraceFileError::Header(_))
    ));
    wrong = traces().remove(0);
    wrong.header.networks[0].topology = "switches: 7".to_owned();
    assert!(matches!(
        RankTrace::read(&written(&wrong)),
        Err(TraceFileError::Header(_))
    ));
}

#[test]
fn strangers_are_distinguished() {
    assert_eq!(
        TracedJob::new(Vec::new()).unwrap_err(),
        JobTraceError::Nothing
    );
    let twice = [traces(), traces()].concat();
    assert_eq!(TracedJob::new(twice).unwrap_err(), JobTraceError::Mixed);
    let mut other = traces();
    other[1].header.job = 8;
    assert_eq!(TracedJob::new(other).unwrap_err(), JobTraceError::Mixed);
}

#[test]
fn the_critical_path_is_the_chain_of_what_waited() {
    let job = TracedJob::new(traces()).unwrap();
    let call = &job.calls[0];
    assert_eq!(call.took(), Duration::from_micros(4180));
    let path = critical_path(call, job.network(call));
    let steps: Vec<_> = path
        .iter()
        .map(|segment| (segment.from, segment.to, segment.step))
        .collect();
    assert_eq!(
        steps,
        [
            (0, 0, PathStep::Coming),
            (0, 0, PathStep::Idling),
            (0, 1, PathStep::Transfer { phase: 0 }),
            (1, 1, PathStep::Idling),
            (1, 2, PathStep::Token),
            (2, 1, PathStep::Transfer { phase: 1 }),
            (1, 1, PathStep::Idling),
        ]
    );
    let whole: Duration = path.iter().map(|segment| segment.took()).sum();
    assert_eq!(whole, call.took(), "the path has no gap");
    let report = &report::reports(&job, None)[0];
    assert_eq!(
        TimeSink::ALL.map(|sink| report.sinks.get(&sink).map_or(0, Duration::as_micros)),
        [1536 + 1538, 2 + 500, 0, 500, 0, 4, 100, 0],
        "{path:#?}"
    );
}

#[test]
fn clocks_that_differ_are_put_right_by_what_was_sent() {
    let mut skewed = traces();
    for step in &mut skewed[2].steps {
        step.at += Duration::from_micros(900);
    }
    let wrong = TracedJob::new(skewed.clone()).unwrap();
    // The data from rank 2 to rank 1 took 2,038 us, the token 500: less, and the same, shifted.
    assert!(wrong.calls[0].took() >= Duration::from_micros(4180));
    for (trace, ahead) in skewed.iter_mut().zip([0, 0, 900_000]) {
        trace.header.clocks = vec![ClockBounds {
            at: 0,
            least: ahead - 1_000,
            most: ahead + 1_000,
        }];
    }
    let job = TracedJob::new(skewed).unwrap();
    let right = traces();
    for (step, right) in job.calls[0].steps[2].iter().zip(&right[2].steps) {
        assert!(step.at.abs_diff(right.at) <= Duration::from_micros(1));
    }
    assert_eq!(job.clock_doubt, Duration::from_micros(1));
}

/// Each rank sends to the next one only, which would allow clocks that differ by a block's time.
#[test]
fn a_ring_moves_no_clock_that_is_known() {
    let around = |rank: u32| {
        let (next, previous) = ((rank + 1) % 3, (rank + 2) % 3);
        let mut steps = vec![(0, BEGAN)];
        steps.push((1, RankStep::SendBegan(piece(next, 0))));
        steps.push((
            52_000 + u64::from(rank),
            RankStep::Arrived(piece(previous, 0)),
        ));
        steps.push((52_010, ENDED));
        let mut trace = trace(rank, &steps);
        trace.header.clocks = vec![ClockBounds {
            at: 0,
            least: -2_000,
            most: 2_000,
        }];
        trace
    };
    let job = TracedJob::new((0..3).map(around).collect()).unwrap();
    assert_eq!(job.calls[0].took(), Duration::from_micros(52_010));
}

#[test]
fn a_missing_trace_ends_the_path_and_nothing_else() {
    let mut traces = traces();
    traces.remove(0);
    let job = TracedJob::new(traces).unwrap();
    let report = report::reports(&job, None);
    assert!(report::text(&job, &report).contains("the traces of 1 rank are missing"));
}

#[test]
fn an_export_has_every_send_and_token() {
    let job = TracedJob::new(traces()).unwrap();
    let calls: Vec<_> = job.calls.iter().collect();
    let export = chrome::export(&job, &calls);
    let events = export["traceEvents"].as_array().unwrap();
    let of = |ph: &str| events.iter().filter(|event| event["ph"] == ph).count();
    assert_eq!((of("X"), of("s"), of("f")), (3 + 2 + 2, 1, 1));
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = RankTrace::read(&octets);
    }

    /// Nothing that can be read makes an analysis fail.
    #[test]
    fn any_steps_are_explained(steps in prop::collection::vec((0..3usize, 1..12u8, 0..4u8, 0..3u8, 0..200u64), 0..60)) {
        let mut all = traces();
        for (rank, kind, peer, phase, at) in steps {
            let mut octets = [0; STEP_OCTETS];
            (octets[8], octets[12], octets[22]) = (peer, phase, kind);
            let mut step = TimedStep::from_octets(&octets).unwrap();
            step.at = Duration::from_micros(at * 30);
            let place = all[rank].steps.len() / 2;
            all[rank].steps.insert(place, step);
        }
        let job = TracedJob::new(all).unwrap();
        let reports = report::reports(&job, None);
        report::text(&job, &reports);
        for call in &job.calls {
            chrome::export(&job, &[call]);
        }
    }
}
