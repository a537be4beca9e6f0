//! Files that a hostile user of a host leaves among the job records.
use directory::job_record::JobRecord;
use inventory::{Millis, Mpi, MpiRoutines};
use policy::learned::RankLayout;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The user nobody, who may write there like all users.
const USER: u32 = 65534;
/// The octets of a fat record: most records are larger than the controller's limit.
const FAT: [usize; 4] = [60_000, 900_000, 2 << 20, 4 << 20];

/// Everything but a job record, and records that are too large, in a few MB. The fat records come
/// on standard input, one a line.
const SCRIPT: &str = r#"umask 0
ln -s /etc/shadow sym.json; ln -s /dev/zero zero.json; ln -s . loop.json
mkfifo fifo.json; mkdir dir.json; truncate -s 8G sparse.json
echo '{}' >"$(printf 'a\nFAKE ERROR epoch lost\n.json')"; echo '{}' >"$(printf '\377\376.json')"; echo '{}' >"$(printf '\033[31m.json')"
head -c 250000 /dev/zero | tr '\0' '[' >deep.json
head -c 100000 /dev/urandom >noise.json
echo '{"id":"dup","id":"dup"}' >dup.json
n=0; while [ $n -lt 300 ]; do echo '{' >f$n.json; : >f$n.txt; n=$((n+1)); done
n=0; while read -r fat; do n=$((n+1)); printf '%s' "$fat" >fat$n.json; cp fat$n.json again$n.json; touch -d 2106-01-01 again$n.json; done
echo '{}' >unread.json; chmod 0 unread.json
"#;

/// Writes the files, as that user.
pub(crate) fn leave(jobs: &Path) {
    let user = USER.to_string();
    let mut command = Command::new("setpriv");
    command
        .args([
            "--reuid",
            &user,
            "--regid",
            &user,
            "--clear-groups",
            "sh",
            "-c",
            SCRIPT,
        ])
        .current_dir(jobs);
    let mut child = command
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("setpriv, of util-linux");
    let mut input = child.stdin.take().unwrap();
    for octets in FAT {
        writeln!(input, "{}", fat(octets)).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let left = left(jobs).len();
    assert!(
        output.status.success() && left > 600,
        "{left} files left: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A record of many hosts, of about this many octets.
fn fat(octets: usize) -> String {
    let hosts = (0..octets / 250)
        .map(|n| format!("h{n:05}{}", "x".repeat(240)))
        .collect();
    let record = JobRecord {
        id: format!("fat{octets}"),
        program: "a.out".to_owned(),
        user: "root".to_owned(),
        started: Millis(1),
        updated: Millis(2),
        hosts,
        ranks: 4,
        layout: RankLayout::default(),
        mpi: MpiRoutines::from(Mpi::Mpich).into(),
        epoch: 1,
        epoch_since: Millis(1),
        aside: None,
        finished: false,
        calls: Vec::new(),
        learned: Vec::new(),
        learning_cost_seconds: None,
        learning_saved_seconds: None,
        watched: None,
        network: None,
        fast_call: None,
    };
    serde_json::to_string(&record).unwrap()
}

/// Removes the user's files that the controller has not removed.
pub(crate) fn clear(jobs: &Path) {
    for path in left(jobs) {
        let is_folder = path.symlink_metadata().is_ok_and(|what| what.is_dir());
        let _ = if is_folder {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
    }
    assert!(left(jobs).is_empty(), "{:?}", left(jobs));
}

fn left(jobs: &Path) -> Vec<PathBuf> {
    fs::read_dir(jobs)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.symlink_metadata().is_ok_and(|what| what.uid() == USER))
        .collect()
}
