//! A trace that anybody may have left: it is refused, or everything that is made of it can be made.
#![no_main]
use drawing::traced_call;
use trace::file::RankTrace;
use trace::job::TracedJob;
use trace::{chrome, report};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(read) = RankTrace::read(bytes) else {
        return;
    };
    let steps = read.steps.iter().map(|step| step.to_octets());
    let again = RankTrace::read(&RankTrace::write(&read.header, steps));
    assert_eq!(again.as_ref(), Ok(&read));
    let Ok(job) = TracedJob::new(vec![read]) else {
        return;
    };
    let reports = report::reports(&job, None);
    report::text(&job, &reports);
    report::json(&job, &reports);
    for call in &job.calls {
        traced_call::picture(&job, call).document(&traced_call::title(call));
        chrome::export(&job, &[call]);
    }
});
