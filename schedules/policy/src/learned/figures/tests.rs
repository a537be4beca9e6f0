//! Figures merged, outvoted, bounded, read back.
use super::*;
use crate::decision_table::{Collective, Mpi, Way};
use crate::learned::{RankLayout, size_class};
use inventory::Tree;
use proptest::prelude::*;
use samples::trees::star;

const WAYS: [&str; 4] = ["native", "aapc tcp", "aapc sender tcp", "bundled"];

fn way(name: &str) -> Way {
    name.parse().unwrap()
}

/// The place of a rank on each of these hosts.
fn place(tree: &Tree, hosts: &[&str]) -> LearnedPlace {
    let layout = RankLayout::from_hosts(&(0..hosts.len() as u32).collect::<Vec<_>>());
    LearnedPlace::find(tree, hosts, &layout, Mpi::Mpich)
        .unwrap()
        .0
}

fn here() -> LearnedPlace {
    place(&star(&[2, 2]), &["n0", "n1", "n2"])
}

/// Microseconds of calls of an all-to-all that went these ways.
fn timings(from: u64, ways: &[(&str, u64)]) -> Vec<RecordedTiming> {
    ways.iter()
        .map(|(name, us)| LearnedTiming {
            collective: Collective::Alltoall,
            from: size_class(from),
            way: way(name),
            samples: 20,
            mean_ns: us * 1000,
            error_ns: us * 10,
        })
        .map(RecordedTiming::from)
        .collect()
}

fn lesson(user: &str, job: u64, at: u64, timings: Vec<RecordedTiming>) -> JobLesson {
    JobLesson {
        user: user.to_owned(),
        job,
        at: Millis(at),
        timings,
    }
}

/// The way to go and the mean that is reported, with blocks of 1 kB.
fn decision(figures: &LearnedFigures) -> Option<(Way, u64)> {
    let first = figures.ways().for_place(&here()).into_iter().next()?;
    Some((first.way, first.mean_ns / 1000))
}

fn merged(lessons: &[JobLesson]) -> LearnedFigures {
    let mut figures = LearnedFigures::default();
    for lesson in lessons {
        figures.merge(&here(), lesson.clone());
    }
    figures
}

#[test]
fn one_job_teaches_the_next_and_a_job_that_compared_nothing_teaches_nobody() {
    let mut figures = LearnedFigures::default();
    let alone = lesson("ann", 1, 1, timings(1024, &[("aapc tcp", 80)]));
    assert_eq!(figures.merge(&here(), alone), LessonNews::Figures);
    assert_eq!(decision(&figures), None);
    let compared = |at, us| {
        lesson(
            "ann",
            2,
            at,
            timings(1024, &[("native", 100), ("aapc tcp", us)]),
        )
    };
    assert_eq!(figures.merge(&here(), compared(2, 80)), LessonNews::Ways);
    assert_eq!(figures.merge(&here(), compared(3, 80)), LessonNews::None);
    assert_eq!(decision(&figures), Some((way("aapc tcp"), 80)));
    assert_eq!(figures.merge(&here(), compared(3, 81)), LessonNews::Figures);
    assert_eq!(figures.merge(&here(), compared(4, 99)), LessonNews::Ways);
    assert_eq!(decision(&figures), Some((Way::Native, 100)));
}

#[test]
fn other_hosts_with_the_same_cables_profit() {
    let tree = star(&[4, 4]);
    let mut figures = LearnedFigures::default();
    let teach = |figures: &mut LearnedFigures, hosts: &[&str], job, us| {
        let compared = timings(1024, &[("native", 100), ("aapc tcp", us)]);
        figures.merge(&place(&tree, hosts), lesson("ann", job, job, compared))
    };
    teach(&mut figures, &["n0", "n1", "n4", "n5"], 1, 50);
    teach(&mut figures, &["n7", "n6", "n1", "n2"], 2, 60);
    let mean_of = |figures: &LearnedFigures, hosts: &[&str]| {
        let ways = figures.ways().for_place(&place(&tree, hosts));
        ways.first().map(|timing| timing.mean_ns / 1000)
    };
    assert_eq!(mean_of(&figures, &["n0", "n1", "n4", "n5"]), Some(50));
    assert_eq!(
        mean_of(&figures, &["n2", "n3", "n6", "n5"]),
        Some(60),
        "the slower of two"
    );
    assert_eq!(
        mean_of(&figures, &["n2", "n6", "n3", "n5"]),
        None,
        "other cables"
    );
    let known = place(&tree, &["n2", "n3", "n6", "n5"]);
    let unknown = place(&tree, &["n2", "n6", "n3", "n5"]);
    let lean = figures.ways().restricted_to(&known);
    assert_eq!(lean.for_place(&known), figures.ways().for_place(&known));
    assert!(figures.ways().restricted_to(&unknown).is_empty());
}

/// Times that jobs learned of a library's routines hold for its major version. A file of a time when
/// versions were not distinguished is for all of them.
#[test]
fn figures_are_of_a_library_and_its_major_version() {
    let of = |mpi: &str| LearnedPlace {
        mpi: mpi.parse().unwrap(),
        ..here()
    };
    let mut figures = LearnedFigures::default();
    let learned = [("mpich", 40), ("mpich-4", 50), ("intel-2021", 60)];
    for (mpi, us) in learned {
        let timings = timings(1024, &[("native", 100), ("aapc tcp", us)]);
        figures.merge(&of(mpi), lesson("anna", us, 0, timings));
    }
    let json = figures.to_json();
    for (mpi, _) in learned {
        assert!(json.contains(&format!("\"mpi\":\"{mpi}\"")), "{json}");
    }
    let read = LearnedFigures::from_json(json.as_bytes()).unwrap();
    let asked = [
        "mpich-4",
        "mpich-5",
        "intel-2021",
        "intel-2022",
        "openmpi-4",
    ];
    let answers = asked.map(|mpi| {
        let ways = read.ways().for_place(&of(mpi));
        ways.first().map(|timing| timing.mean_ns / 1000)
    });
    assert_eq!(answers, [Some(50), Some(40), Some(60), None, None]);
}

#[test]
fn figures_age_and_one_users_flood_leaves_the_others_theirs() {
    let mut figures = LearnedFigures::default();
    figures.merge(
        &here(),
        lesson(
            "ann",
            1,
            1,
            timings(1024, &[("native", 100), ("aapc tcp", 50)]),
        ),
    );
    let sizes: Vec<RecordedTiming> = (0..60)
        .flat_map(|exponent| timings(1 << exponent, &WAYS.map(|way| (way, 7))))
        .collect();
    for job in 0..100 {
        figures.merge(&here(), lesson("eve", job, 2, sizes.clone()));
    }
    assert!(figures.to_json().len() < MOST_BYTES as usize / 4);
    let hosts: Vec<String> = (0..24).map(|n| format!("n{n}")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let tree = star(&[12, 12]);
    for job in 0..300 {
        let (a, b) = (job as usize % 24, job as usize / 24 % 24);
        let order: Vec<&str> = std::iter::once(hosts[a])
            .chain((a != b).then_some(hosts[b]))
            .collect();
        figures.merge(&place(&tree, &order), lesson("eve", job, 3, sizes.clone()));
    }
    let bytes = figures.to_json().len();
    assert!(bytes < MOST_BYTES as usize / 3, "{bytes}");
    let of_ann = |figures: &LearnedFigures| {
        let mut lessons = figures.places.iter().flat_map(|known| &known.lessons);
        lessons.any(|lesson| lesson.user == "ann")
    };
    assert!(of_ann(&figures));
    figures.forget_old(Millis(1).after(OLD));
    assert!(!of_ann(&figures));
}

#[test]
fn what_another_version_wrote_is_kept_and_nonsense_refused() {
    let figures = merged(&[lesson(
        "ann",
        1,
        1,
        timings(1024, &[("native", 9), ("aapc tcp", 5)]),
    )]);
    let json = figures.to_json().replace("aapc tcp", "spiral");
    let foreign = LearnedFigures::from_json(json.as_bytes()).unwrap();
    assert_eq!((decision(&foreign), foreign.to_json()), (None, json));
    let layout = figures.to_json().replace("[[0,3,1]]", "[[0,3,4294967295]]");
    assert!(LearnedFigures::from_json(layout.as_bytes()).is_err());
    let long = vec![b' '; MOST_BYTES as usize + 1];
    assert!(
        LearnedFigures::from_json(&long)
            .unwrap_err()
            .0
            .contains("more than")
    );
}

/// An honest job's timings: the library's own routine takes 100 us on a network that is as busy as
/// it may be, and aapc over TCP is the fastest of some ways.
fn honest() -> impl Strategy<Value = Vec<RecordedTiming>> {
    (50u64..200, prop::collection::vec(130u64..300, 2), 0usize..4).prop_map(
        |(busy, others, tried)| {
            let mut ways = vec![("native", 100 * busy), ("aapc tcp", 60 * busy)];
            ways.extend(
                WAYS[2..]
                    .iter()
                    .zip(&others)
                    .map(|(way, us)| (*way, us * busy)),
            );
            ways.truncate(2 + tried.min(2));
            timings(1024, &ways)
        },
    )
}

/// The figures of a liar.
fn hostile() -> impl Strategy<Value = Vec<RecordedTiming>> {
    prop::collection::vec(
        (prop::sample::select(&WAYS[..]), 1u64..u64::MAX / 2000),
        0..6,
    )
    .prop_map(|ways| timings(1024, &ways))
}

proptest! {
    #[test]
    fn no_liar_moves_what_three_jobs_of_two_users_found(
        found in prop::collection::vec(honest(), 3..6),
        lies in prop::collection::vec(hostile(), 1..9),
        user in prop::sample::select(&["ann", "bob", "eve"][..]),
    ) {
        // Ann has all jobs but one.
        let honest: Vec<JobLesson> = (0u64..)
            .zip(found)
            .map(|(n, ways)| lesson(if n == 0 { "bob" } else { "ann" }, n, n, ways))
            .collect();
        // Under their own names they lie once, under another name as often as it goes.
        let count = if user == "eve" { lies.len() } else { 1 };
        let lies = (100u64..).zip(lies).map(|(n, ways)| lesson(user, n, n, ways));
        let both: Vec<JobLesson> = honest.iter().cloned().chain(lies.take(count)).collect();
        let decided = decision(&merged(&both)).unwrap();
        prop_assert_eq!(decided.0, way("aapc tcp"));
        let found: Vec<u64> = honest.iter().map(|job| job.timings[1].mean_ns / 1000).collect();
        let (least, most) = (found.iter().min().unwrap(), found.iter().max().unwrap());
        prop_assert!((least..=most).contains(&&decided.1), "{decided:?} {found:?}");
        let all = merged(&both).ways().for_place(&here());
        prop_assert!(all.iter().all(|timing| timing.mean_ns >= all[0].mean_ns));
    }

    #[test]
    fn the_order_of_records_does_not_matter(
        lessons in prop::collection::vec(
            (prop::sample::select(&["ann", "bob", "cat"][..]), hostile()), 1..16),
        turn in 0usize..16,
    ) {
        let lessons: Vec<JobLesson> = (0u64..)
            .zip(lessons)
            .map(|(n, (user, ways))| lesson(user, n, n, ways))
            .collect();
        let mut turned = lessons.clone();
        turned.rotate_left(turn % lessons.len());
        turned.reverse();
        let figures = merged(&lessons);
        prop_assert_eq!(&merged(&turned), &figures);
        prop_assert_eq!(LearnedFigures::from_json(figures.to_json().as_bytes()), Ok(figures));
    }
}
