//! A rank that comes late to each call.
use std::str::FromStr;
use std::time::Duration;

/// `RANK:MS`: the rank, and how long it sleeps before each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LateRank {
    pub(crate) rank: i32,
    pub(crate) sleep: Duration,
}

impl FromStr for LateRank {
    type Err = String;

    fn from_str(text: &str) -> Result<LateRank, String> {
        const LONGEST: u64 = 60_000;
        let (rank, time) = text.split_once(':').ok_or(
            "expected RANK:MS, such as 3:50 for rank 3 that sleeps 50 ms before each call",
        )?;
        let number = rank.parse().ok().filter(|rank| *rank >= 0).ok_or_else(|| {
            format!("rank \"{rank}\": expected a number from 0 on, as the first part of RANK:MS")
        })?;
        let millis = time.parse().ok().filter(|ms| (1..=LONGEST).contains(ms));
        let sleep = millis.ok_or_else(|| {
            format!(
                "time \"{time}\": expected 1 to {LONGEST} milliseconds without a unit, as the \
                 second part of RANK:MS"
            )
        })?;
        Ok(LateRank {
            rank: number,
            sleep: Duration::from_millis(sleep),
        })
    }
}

impl LateRank {
    /// Checks that a job of so many ranks has this one.
    pub(crate) fn check(&self, ranks: i32) -> Result<(), String> {
        if self.rank < ranks {
            return Ok(());
        }
        Err(format!(
            "--late: rank {} is not in this job, so no rank would be late; its {ranks} ranks are 0 \
             to {}",
            self.rank,
            ranks - 1
        ))
    }

    /// How long this rank sleeps before a call.
    pub(crate) fn sleep_of(&self, rank: i32) -> Option<Duration> {
        (rank == self.rank).then_some(self.sleep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rank_is_late() {
        let late: LateRank = "3:50".parse().unwrap();
        assert_eq!(late.sleep_of(3), Some(Duration::from_millis(50)));
        assert_eq!(late.sleep_of(2), None);
        assert_eq!(late.check(4), Ok(()));
        let error = late.check(3).unwrap_err();
        assert!(
            error.contains("rank 3 is not in this job") && error.ends_with("0 to 2"),
            "{error}"
        );
    }

    #[test]
    fn bad_values_are_refused_with_what_is_expected() {
        for (text, expected) in [
            ("", "RANK:MS, such as 3:50"),
            ("3", "RANK:MS, such as 3:50"),
            (":50", "rank \"\": expected a number"),
            ("-1:50", "rank \"-1\": expected a number"),
            ("n3:50", "rank \"n3\": expected a number"),
            ("3:", "time \"\": expected 1 to 60000"),
            ("3:0", "time \"0\": expected 1 to 60000"),
            ("3:50ms", "milliseconds without a unit"),
            ("3:60001", "time \"60001\": expected 1 to 60000"),
            ("3:50:1", "time \"50:1\""),
        ] {
            let error = text.parse::<LateRank>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
