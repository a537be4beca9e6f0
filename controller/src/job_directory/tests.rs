use super::*;
use crate::jobs::tests::record as job;
use std::os::unix::fs::chown;

fn write(dir: &Path, name: &str, text: &str) {
    let new = dir.join(".new");
    fs::write(&new, text).unwrap();
    fs::rename(new, dir.join(name)).unwrap();
}

fn json(record: &JobRecord) -> String {
    serde_json::to_string(record).unwrap()
}

/// The record as the controller reads it, after this process wrote it.
fn as_read(id: &str, epoch: u64, calls: u64, seconds: f64) -> JobRecord {
    let user = OwnerNames::default().name(nix::unistd::geteuid().as_raw());
    JobRecord {
        user,
        ..job(id, epoch, calls, seconds)
    }
}

fn finished(id: &str) -> String {
    json(&JobRecord {
        finished: true,
        ..job(id, 1, 10, 1.0)
    })
}

fn names(dir: &Path) -> Vec<String> {
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    all.sort();
    all
}

fn ids(scan: &JobScan) -> Vec<&str> {
    scan.records.iter().map(|r| r.id.as_str()).collect()
}

#[test]
fn a_scan_has_changed_records_and_removed_ones() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = JobDirectory::new(dir.path());
    let now = Instant::now();
    assert_eq!(spool.scan(now), JobScan::default());
    write(dir.path(), "a.json", &json(&job("a", 1, 10, 1.0)));
    assert_eq!(spool.scan(now).records, [as_read("a", 1, 10, 1.0)]);
    assert_eq!(spool.scan(now), JobScan::default());
    write(dir.path(), "a.json", &json(&job("a", 2, 11, 1.5)));
    assert_eq!(spool.scan(now).records, [as_read("a", 2, 11, 1.5)]);
    fs::remove_file(dir.path().join("a.json")).unwrap();
    assert_eq!(spool.scan(now).gone, ["a"]);
    assert_eq!(spool.scan(now), JobScan::default());
}

#[test]
fn refuses_whatever_else_lies_there() {
    let dir = tempfile::tempdir().unwrap();
    let good = json(&job("good", 1, 10, 1.0));
    write(dir.path(), "good.json", &good);
    write(dir.path(), "other.json", &good);
    write(dir.path(), "torn.json", &good[..good.len() / 2]);
    write(dir.path(), "long.json", &" ".repeat(300 << 10));
    write(
        dir.path(),
        "fat.json",
        &json(&JobRecord {
            hosts: vec![String::new(); 60_000],
            ..job("fat", 1, 10, 1.0)
        }),
    );
    write(dir.path(), "deep.json", &"[".repeat(250_000));
    fs::File::create(dir.path().join("sparse.json"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let mut colours = job("esc", 1, 10, 1.0);
    colours.program = "\u{1b}[31m".into();
    write(dir.path(), "esc.json", &json(&colours));
    write(dir.path(), "hidden", &json(&job("hard", 1, 10, 1.0)));
    fs::hard_link(dir.path().join("hidden"), dir.path().join("hard.json")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link.json")).unwrap();
    nix::unistd::mkfifo(&dir.path().join("pipe.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::create_dir(dir.path().join("dir.json")).unwrap();
    let mut spool = JobDirectory::new(dir.path());
    let scan = spool.scan(Instant::now());
    assert_eq!(ids(&scan), ["good"]);
    assert_eq!(scan.refused.as_ref().map(|r| r.0), Some(11), "{scan:?}");
    assert_eq!(spool.scan(Instant::now()).refused.map(|r| r.0), Some(11));
}

#[test]
fn finished_files_go_after_minutes_and_unwritten_ones_after_a_day() {
    let dir = tempfile::tempdir().unwrap();
    for id in ["silent", "written"] {
        write(
            dir.path(),
            &format!("{id}.json"),
            &json(&job(id, 1, 10, 1.0)),
        );
    }
    write(dir.path(), "ended.json", &finished("ended"));
    write(dir.path(), "old.new", "{");
    write(dir.path(), "torn.json", "{");
    write(dir.path(), "notes.txt", "an operator's");
    let mut spool = JobDirectory::new(dir.path());
    let now = Instant::now();
    assert_eq!(spool.scan(now).records.len(), 3);
    assert_eq!(spool.scan(now + FINISHED).gone, [""; 0]);
    let minutes = now + FINISHED + Duration::from_secs(1);
    assert_eq!(spool.scan(minutes).gone, ["ended"]);
    write(
        dir.path(),
        "written.json",
        &json(&job("written", 1, 11, 1.0)),
    );
    spool.scan(minutes);
    let tomorrow = now + OLD + Duration::from_secs(1);
    let scan = spool.scan(tomorrow);
    assert_eq!((scan.gone, scan.refused), (vec!["silent".to_owned()], None));
    assert_eq!(names(dir.path()), ["notes.txt", "written.json"]);
    // A finished file stays if it was written just before the next look at it.
    write(dir.path(), "written.json", &finished("written"));
    assert_eq!(ids(&spool.scan(tomorrow)), ["written"]);
    write(
        dir.path(),
        "written.json",
        &json(&job("written", 2, 12, 1.0)),
    );
    spool.scan(tomorrow + 2 * FINISHED);
    assert_eq!(names(dir.path()), ["notes.txt", "written.json"]);
}

/// A file's age depends neither on its own times nor on the machine's clock.
#[test]
fn times_that_somebody_set_make_nothing_older_or_younger() {
    let dir = tempfile::tempdir().unwrap();
    let day = Duration::from_secs(24 * 3600);
    let wall = std::time::SystemTime::now();
    for (id, time) in [
        ("past", wall - 40 * day),
        ("present", wall),
        ("future", wall + 400 * day),
    ] {
        let name = dir.path().join(format!("{id}.json"));
        fs::write(&name, json(&job(id, 1, 10, 1.0))).unwrap();
        fs::File::options()
            .write(true)
            .open(name)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    let mut spool = JobDirectory::new(dir.path());
    let now = Instant::now();
    assert_eq!(spool.scan(now).records.len(), 3);
    assert_eq!(
        (spool.scan(now + OLD / 2).gone, names(dir.path()).len()),
        (Vec::new(), 3)
    );
    assert_eq!(
        spool.scan(now + OLD + Duration::from_secs(1)).gone,
        ["future", "past", "present"]
    );
}

/// The ended communicators of one program, thousands of them, hide neither its next ones nor those
/// of another user.
#[test]
fn many_records_that_ended_hide_none_that_runs() {
    let dir = tempfile::tempdir().unwrap();
    (0..5000).for_each(|n| {
        fs::write(
            dir.path().join(format!("e{n}.json")),
            finished(&format!("e{n}")),
        )
        .unwrap()
    });
    let mut spool = JobDirectory::new(dir.path());
    let now = Instant::now();
    let first = spool.scan(now);
    let share = jobs::FOLLOWED.each.things;
    assert!(
        first.records.len() <= share && first.unread >= 5000 - share,
        "{} read, {} unread",
        first.records.len(),
        first.unread
    );
    write(dir.path(), "mine.json", &json(&job("mine", 1, 10, 1.0)));
    assert!(
        ids(&spool.scan(now)).contains(&"mine"),
        "the newest is read first"
    );
    // It keeps its place while the others are read, and they go.
    for second in 1..30 {
        let scan = spool.scan(now + Duration::from_secs(second));
        assert!(!scan.gone.contains(&"mine".to_owned()));
    }
    let minutes = now + FINISHED + Duration::from_secs(31);
    let mut last = spool.scan(minutes);
    (0..9).for_each(|_| last = spool.scan(minutes));
    assert!(
        names(dir.path()) == ["mine.json"],
        "{} left",
        names(dir.path()).len()
    );
    assert_eq!(last.unread, 0);
}

/// A user who writes everything possible displaces nobody, gets no memory beyond one share, and
/// cannot use another user's name.
#[test]
fn one_user_crowds_out_no_other_and_speaks_for_none() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "ann.json", &json(&job("ann", 1, 10, 1.0)));
    let fat = vec!["h".repeat(250); 900];
    for n in 0..700 {
        let id = format!("eve{n}");
        let path = dir.path().join(format!("{id}.json"));
        let hosts = if n < 100 {
            fat.clone()
        } else {
            vec!["n0".into()]
        };
        fs::write(
            &path,
            json(&JobRecord {
                user: "root".into(),
                hosts,
                ..job(&id, 1, 10, 1.0)
            }),
        )
        .unwrap();
        chown(path, Some(65_534), None).unwrap();
    }
    let mut spool = JobDirectory::new(dir.path());
    let now = Instant::now();
    let mut followed = HashMap::new();
    for _ in 0..30 {
        let scan = spool.scan(now);
        followed.extend(scan.records.into_iter().map(|r| (r.id.clone(), r)));
        scan.gone.iter().for_each(|id| drop(followed.remove(id)));
    }
    assert_eq!(followed["ann"].user, as_read("ann", 1, 10, 1.0).user);
    let eves: Vec<_> = followed
        .values()
        .filter(|r| r.id.starts_with("eve"))
        .collect();
    let nobody = OwnerNames::default().name(65_534);
    assert!(
        !eves.is_empty() && eves.iter().all(|r| r.user == nobody),
        "a record belongs to the owner of its file"
    );
    assert!(eves.len() <= jobs::FOLLOWED.each.things, "{}", eves.len());
    assert!(eves.iter().map(|r| jobs::cost(r)).sum::<usize>() <= jobs::FOLLOWED.each.bytes);
    assert_eq!(
        spool.scan(now),
        JobScan {
            unread: 701 - followed.len(),
            ..JobScan::default()
        },
        "the followed records stay the same"
    );
}

/// Files with other names cost a bounded number of steps in each scan, and hide no record.
#[test]
fn other_names_without_number_only_delay() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "first.json", &json(&job("first", 1, 10, 1.0)));
    let mut spool = JobDirectory::new(dir.path());
    let now = Instant::now();
    assert_eq!(ids(&spool.scan(now)), ["first"]);
    (0..3 * LISTED)
        .for_each(|n| drop(fs::File::create(dir.path().join(format!("f{n}.txt"))).unwrap()));
    write(dir.path(), "last.json", &json(&job("last", 1, 10, 1.0)));
    write(dir.path(), "first.json", &json(&job("first", 2, 11, 1.0)));
    let mut read = Vec::new();
    for scans in 1..=5 {
        let scan = spool.scan(now);
        assert!(scan.gone.is_empty());
        read.extend(scan.records.into_iter().map(|r| r.id));
        assert!(scans < 4 || read.len() == 2, "{scans} scans: {read:?}");
        assert!(
            read.contains(&"first".to_owned()),
            "a followed file is looked at in every scan"
        );
    }
}
