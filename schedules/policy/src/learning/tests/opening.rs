//! The first calls of a job, and those after a change: no slow way lasts longer than a call or two.
use super::*;

fn candidate(way: Way, expected: f64, is_known: bool) -> CandidateWay {
    CandidateWay {
        way,
        expected,
        is_known,
    }
}

/// So many calls where the table says TCP.
fn call(job: &mut SimulatedJob, calls: usize) {
    let [native, tcp, mpi] = ways();
    let candidates = [(tcp, 1.0), (native, 3.0), (mpi, 3.75)]
        .map(|(way, expected)| candidate(way, expected, false));
    (0..calls).for_each(|_| job.call_with(&candidates));
}

/// A job after so many calls.
fn job_of(seconds: [f64; 3], calls: usize) -> SimulatedJob {
    let mut job = SimulatedJob::new(seconds, 3);
    call(&mut job, calls);
    job
}

#[test]
fn the_librarys_routine_is_among_the_first_calls_and_a_way_that_loses_is_left_at_once() {
    for own in [1e-3, 30e-3, 0.5] {
        for ratio in [1.3, 2.0, 5.0, 200.0] {
            let job = job_of([own, ratio * own, own], 20);
            assert_eq!(job.calls[1..], [1, 0], "{own} s, {ratio}");
        }
        let job = job_of([own, 0.4 * own, own], 20);
        assert!(job.calls[0] <= 2, "{own} s: {:?}", job.calls);
    }
}

/// Where the library connects in the first call by its messages, that call takes longer.
#[test]
fn the_first_call_by_the_librarys_messages_is_measured_again() {
    let [native, _, mpi] = ways();
    let candidates = [(mpi, 1.0), (native, 2.0)].map(|(way, much)| candidate(way, much, false));
    let mut job = SimulatedJob::new([0.1, 1.0, 0.12], 3);
    (0..2).for_each(|_| job.call_with(&candidates));
    job.seconds[2] = 0.08;
    (0..20).for_each(|_| job.call_with(&candidates));
    assert_eq!(job.fastest(), mpi);
    assert!(job.calls[0] <= 2, "{:?}", job.calls);
    let mut hopeless = SimulatedJob::new([0.1, 1.0, 0.4], 3);
    (0..20).for_each(|_| hopeless.call_with(&candidates));
    assert_eq!(hopeless.calls[2], 1);
}

/// A block that has come before the last rank came is not in the time since then.
#[test]
fn a_first_call_to_which_ranks_came_one_after_the_other_is_measured_again() {
    let [native, tcp, _] = ways();
    let class = CallClass::new(Collective::Alltoall, BLOCK);
    let mut learner = CallLearner::default();
    let mut call = |since_last, since_first| {
        let way = learner.way(class, || {
            vec![candidate(tcp, 1.0, false), candidate(native, 2.0, false)]
        });
        learner.count(class, BLOCK);
        let [since_last, since_first] = [since_last, since_first].map(Duration::from_millis);
        learner.end_row(
            class,
            RowTimes {
                since_last,
                since_first,
            },
            Duration::ZERO,
        );
        way.unwrap()
    };
    let ways = [call(46, 90), call(95, 96), call(80, 80), call(80, 80)];
    assert_eq!(ways, [native, native, tcp, tcp]);
}

#[test]
fn a_figure_of_earlier_jobs_stands_for_the_first_call() {
    let [native, tcp, _] = ways();
    let mut job = SimulatedJob::new([0.5, 0.2, 0.5], 3);
    let known = [candidate(tcp, 1.0, false), candidate(native, 2.5, true)];
    (0..20).for_each(|_| job.call_with(&known));
    assert_eq!(job.calls, [0, 20, 0]);
}

#[test]
fn a_neighbour_that_comes_makes_the_calls_change_their_way_within_three() {
    for own in [30e-3, 0.2, 0.5] {
        let mut job = job_of([own, 0.5 * own, own], 400);
        assert_eq!(job.fastest(), ways()[1]);
        job.seconds = [2.0 * own, 4.0 * own, 2.0 * own];
        let before = job.calls[1];
        // A row may be under way that was to last for 120 ms, or for one part in fifty of the job.
        let row = (job.elapsed / 50.0).max(0.12) / (0.5 * own);
        call(&mut job, 20);
        let slow = job.calls[1] - before;
        assert!(
            slow as f64 <= 1.0 + row,
            "{own} s: {slow} calls, {:?}",
            job.calls
        );
        // It goes again.
        job.seconds = [own, 0.5 * own, own];
        call(&mut job, 60);
        assert_eq!(job.fastest(), ways()[1], "{own} s: {:?}", job.calls);
    }
}

#[test]
fn calls_that_are_kept_steady_change_their_way_only_when_the_question_opens() {
    let [native, tcp, _] = ways();
    let class = CallClass::new(Collective::Allreduce, 1 << 20);
    let mut learner = CallLearner::default();
    let (mut gone, mut row) = (Vec::new(), Duration::ZERO);
    for _ in 0..500 {
        let way = learner.steady_way(class, || {
            vec![candidate(tcp, 1.0, false), candidate(native, 1.3, false)]
        });
        gone.extend(way);
        let took = if way == Some(tcp) { 100 } else { 130 };
        let counted = learner.count(class, 1 << 20).unwrap();
        row += Duration::from_millis(took) * u32::from(counted.is_timed);
        if counted.ends_row {
            learner.end_row(class, together(std::mem::take(&mut row)), Duration::ZERO);
        }
    }
    assert_eq!(gone.iter().position(|&way| way == native), Some(0));
    assert_eq!(gone.iter().filter(|&&way| way == native).count(), 1);
}

/// Calls of exact and of other operations share a class.
#[test]
fn calls_that_are_kept_steady_end_a_trial_of_others() {
    let [native, tcp, mpi] = ways();
    let class = CallClass::new(Collective::Allreduce, 1 << 20);
    let mut learner = CallLearner::default();
    let all = || {
        let known = |way, expected| candidate(way, expected, true);
        vec![known(tcp, 1.0), known(native, 1.3), known(mpi, 1.1)]
    };
    let mut call = |is_steady: bool| {
        let way = if is_steady {
            learner.steady_way(class, all)
        } else {
            learner.way(class, all)
        };
        let counted = learner.count(class, 1 << 20).unwrap();
        if counted.ends_row {
            learner.end_row(class, together(Duration::from_millis(1)), Duration::ZERO);
        }
        way.unwrap()
    };
    let tried = (0..100_000).find(|_| call(false) != tcp);
    assert!(tried.is_some());
    let steady: Vec<Way> = (0..10_000).map(|_| call(true)).collect();
    assert!(steady.iter().all(|way| *way == steady[0]), "{steady:?}");
}
