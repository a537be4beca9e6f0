//! The gain: the same job with the library's own routines and with heddle, measured here.
use api::JobStatus;
use inventory::counted;
use policy::decision_table::Collective;
use std::time::Duration;

/// The time of a job's calls, on average over all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct JobPace {
    alltoall: CallPace,
    allgather: CallPace,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct CallPace {
    calls: u64,
    each: Duration,
}

impl JobPace {
    /// The pace of a job that has called each collective at least so often; `None` before.
    pub(crate) fn measured(job: &JobStatus, least: u64) -> Option<JobPace> {
        Some(JobPace {
            alltoall: CallPace::measured(job, Collective::Alltoall, least)?,
            allgather: CallPace::measured(job, Collective::Allgather, least)?,
        })
    }

    /// Both paces side by side, a line for each collective.
    pub(crate) fn against(&self, own: &JobPace) -> [String; 2] {
        [
            self.alltoall.against(&own.alltoall, "all-to-all"),
            self.allgather.against(&own.allgather, "allgather"),
        ]
    }
}

impl CallPace {
    fn measured(job: &JobStatus, collective: Collective, least: u64) -> Option<CallPace> {
        let own = || {
            let totals = job.record.calls.iter();
            totals.filter(move |total| total.collective == collective.into())
        };
        let calls: u64 = own().map(|total| total.calls).sum();
        let seconds: f64 = own().map(|total| total.seconds).sum();
        let each = Duration::try_from_secs_f64(seconds / calls.max(1) as f64).ok()?;
        (calls >= least && !each.is_zero()).then_some(CallPace { calls, each })
    }

    fn against(&self, own: &CallPace, name: &str) -> String {
        let faster = own.each.as_secs_f64() / self.each.as_secs_f64();
        format!(
            "{name}: without heddle {}, with heddle {}: {faster:.2} times as fast",
            shown(own),
            shown(self)
        )
    }
}

fn shown(pace: &CallPace) -> String {
    format!(
        "{:.3} s a call ({})",
        pace.each.as_secs_f64(),
        counted(pace.calls, "call")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces_stand_side_by_side() {
        let lines = job_pace(1000).against(&job_pace(1500));
        assert_eq!(
            lines[0],
            "all-to-all: without heddle 1.500 s a call (8 calls), with heddle 1.000 s a call (8 calls): 1.50 times as fast"
        );
    }

    fn pace(ms: u64) -> CallPace {
        CallPace {
            calls: 8,
            each: Duration::from_millis(ms),
        }
    }

    fn job_pace(ms: u64) -> JobPace {
        JobPace {
            alltoall: pace(ms),
            allgather: pace(ms / 2),
        }
    }
}
