//! Launchers that answer otherwise than Hydra and Slurm do.
use super::*;
use std::io::{BufRead, BufReader};

const INIT: &str = "cmd=init pmi_version=1 pmi_subversion=1\n";
const BEGUN: &str = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";

/// A launcher that has these answers, one for each line, and then goes away. Gives the lines it got.
fn launcher(answers: &'static [&str], end: UnixStream) -> JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        let (mut lines, mut got) = (BufReader::new(end.try_clone().unwrap()), Vec::new());
        for answer in answers {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            got.push(line);
            (&end).write_all(answer.as_bytes()).unwrap();
        }
        got
    })
}

/// The launcher's lines, the library's answers, and the launcher's protocol if this
/// rank could publish.
fn passed(
    lines: &[&str],
    answers: &'static [&str],
) -> (Vec<String>, Vec<String>, Option<PmiVersion>) {
    let (library, ours) = UnixStream::pair().unwrap();
    let (theirs, end) = UnixStream::pair().unwrap();
    let launcher = launcher(answers, end);
    let passing = Passing {
        library: ours,
        launcher: theirs,
    };
    let relay = std::thread::spawn(move || passing.run(3, "1:text"));
    let mut reader = BufReader::new(library.try_clone().unwrap());
    let received = lines.iter().map(|line| {
        // The launcher may be gone.
        let _ = (&library).write_all(line.as_bytes());
        let mut answer = String::new();
        reader.read_line(&mut answer).unwrap_or(0);
        answer
    });
    let received = received.collect();
    library.shutdown(Shutdown::Both).unwrap();
    (launcher.join().unwrap(), received, relay.join().unwrap())
}

#[test]
fn it_publishes_between_the_librarys_lines() {
    let (got, received, version) = passed(
        &[INIT, "cmd=get_maxes\n"],
        &[
            BEGUN,
            "cmd=my_kvsname kvsname=kvs_7\n",
            "cmd=put_result rc=0 msg=success\n",
            "cmd=maxes\n",
        ],
    );
    let put = "cmd=put kvsname=kvs_7 key=heddle-3 value=1:text\n";
    assert_eq!(got, [INIT, "cmd=get_my_kvsname\n", put, "cmd=get_maxes\n"]);
    assert_eq!(received, [BEGUN, "cmd=maxes\n"]);
    let space = "kvs_7".to_owned();
    assert_eq!(version, Some(PmiVersion::One { space }));
}

#[test]
fn another_protocol_passes_untouched() {
    for init in [
        "cmd=init pmi_version=3 pmi_subversion=0\n",
        "    40cmd=fullinit;pmirank=3;threaded=FALSE;\n",
    ] {
        let (got, received, space) = passed(&[init, "more\n"], &["yes\n", "no\n"]);
        assert_eq!(got, [init, "more\n"]);
        assert_eq!(
            (received, space),
            (vec!["yes\n".into(), "no\n".into()], None)
        );
    }
}

#[test]
fn a_launcher_that_refuses_is_left_to_the_library() {
    let refused: &[&str] = &["cmd=response_to_init rc=-1\n", "no\n"];
    let (got, received, space) = passed(&[INIT, "more\n"], refused);
    assert_eq!(got, [INIT, "more\n"]);
    assert_eq!((received[0].as_str(), space), (refused[0], None));
    let no_put: &[&str] = &[
        BEGUN,
        "cmd=my_kvsname kvsname=kvs_7\n",
        "cmd=put_result rc=-1 msg=full\n",
        "no\n",
    ];
    let (_, received, space) = passed(&[INIT, "more\n"], no_put);
    assert_eq!((received, space), (vec![BEGUN.into(), "no\n".into()], None));
}

#[test]
fn a_launcher_that_goes_is_seen_by_the_library() {
    let gone: [&'static [&str]; 4] = [
        &[],
        &[BEGUN],
        &["half an answer"],
        &[BEGUN, "cmd=my_kvsname kvsname=kvs_7\n"],
    ];
    for answers in gone {
        let (_, received, space) = passed(&[INIT, "more\n"], answers);
        assert_eq!((received[1].as_str(), space), ("", None), "{answers:?}");
    }
}

#[test]
fn in_pmi_2_it_publishes_after_the_first_message() {
    const INIT: &str = "cmd=init pmi_version=2 pmi_subversion=0\n";
    const BEGUN: &str = "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n";
    let framed = |fields: &str| format!("{:<6}{fields}", fields.len());
    let full = framed("cmd=fullinit;pmirank=3;threaded=FALSE;");
    let (fully, put_done, other) = (
        framed("cmd=fullinit-response;rank=3;size=4;rc=0;"),
        framed("cmd=kvs-put-response;rc=0;"),
        framed("cmd=fence-response;rc=0;"),
    );
    let (library, ours) = UnixStream::pair().unwrap();
    let (theirs, mut end) = UnixStream::pair().unwrap();
    let answers = [BEGUN.to_owned(), fully.clone(), put_done, other.clone()];
    let launcher = std::thread::spawn(move || {
        answers.map(|answer| {
            let asked = next_of(&mut end);
            // Slurm writes the length first.
            let (length, fields) = answer.split_at(6);
            end.write_all(length.as_bytes()).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            end.write_all(fields.as_bytes()).unwrap();
            asked
        })
    });
    let passing = Passing {
        library: ours,
        launcher: theirs,
    };
    let relay = std::thread::spawn(move || passing.run(3, "1:text"));
    let output = [INIT.to_owned(), full.clone(), framed("cmd=kvs-fence;")];
    for (output, answer) in output.iter().zip([BEGUN, &fully, &other]) {
        (&library).write_all(output.as_bytes()).unwrap();
        let mut received = vec![0; answer.len()];
        (&library).read_exact(&mut received).unwrap();
        assert_eq!(String::from_utf8(received).unwrap(), answer);
    }
    library.shutdown(Shutdown::Both).unwrap();
    let put = "    38cmd=kvs-put;key=heddle-3;value=1:text;";
    let [init, full, fence] = output;
    let got = launcher.join().unwrap().map(|asked| asked.unwrap());
    assert_eq!(
        got,
        [init, full, put.to_owned(), fence].map(String::into_bytes)
    );
    assert_eq!(relay.join().unwrap(), Some(PmiVersion::Two));
}
