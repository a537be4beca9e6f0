//! The sizes of calls of which each rank knows its own lengths only: forecast, or agreed on where no
//! forecast is trusted.
use crate::call_comm::CallComm;
use crate::mpi_result::MpiResult;
use crate::pending_collective::PendingCollective;
use crate::private_comm::PrivateComm;
use policy::decision_table::{Collective, Way};
use runtime::call_forecast::{CallForecast, CallSize, NOT_SERVED, OwnCall};

/// A process set's forecasts, of one collective each.
#[derive(Debug, Default)]
pub(crate) struct LengthForecasts {
    alltoallv: LengthForecast,
    alltoallw: LengthForecast,
}

#[derive(Debug, Default)]
struct LengthForecast {
    calls: CallForecast,
    /// The words of an agreement at the last call, which are read at the next one.
    words: Option<PendingCollective>,
    /// The next call goes only as agreed, and is waited for.
    is_exact: bool,
}

impl LengthForecasts {
    fn forecast(&mut self, collective: Collective) -> Option<&mut LengthForecast> {
        match collective {
            Collective::Alltoallv => Some(&mut self.alltoallv),
            Collective::Alltoallw => Some(&mut self.alltoallw),
            _ => None,
        }
    }

    /// The size of the next call; `way` says how a call of a size goes. With a communicator of the
    /// runtime's own no rank waits for another: an agreement is read at the next call. Collective,
    /// where all ranks have the same forecast.
    pub(crate) fn size(
        &mut self,
        collective: Collective,
        (within, private): (&CallComm, Option<&PrivateComm>),
        own: OwnCall,
        way: impl Fn(u64) -> Way,
    ) -> MpiResult<CallSize> {
        let Some(forecast) = self.forecast(collective) else {
            return Ok(CallSize::NOT_SERVED);
        };
        let way = |block| {
            if block == NOT_SERVED {
                Way::Native
            } else {
                way(block)
            }
        };
        if let Some(words) = forecast.words.take() {
            forecast.calls.hear(&words.octets()?, way);
        }
        if let Some(size) = forecast.calls.count(own) {
            return Ok(size);
        }
        let is_exact = std::mem::take(&mut forecast.is_exact);
        let (word, guess) = (forecast.calls.word(), forecast.calls.guess());
        if let (Some(private), Some(guess), false) = (private, guess, is_exact) {
            let ranks = within.size as usize;
            forecast.words = Some(PendingCollective::gather_all(private, ranks, word)?);
            return Ok(guess);
        }
        Ok(forecast.calls.hear(&within.gather_all(&word)?, way))
    }

    /// The next call is agreed on.
    pub(crate) fn distrust(&mut self, collective: Collective) {
        if let Some(forecast) = self.forecast(collective) {
            forecast.calls.distrust();
            forecast.is_exact = true;
        }
    }

    /// Nobody needs to know for now: what is known grows old.
    pub(crate) fn forget(&mut self, collective: Collective) -> MpiResult<()> {
        let Some(forecast) = self.forecast(collective) else {
            return Ok(());
        };
        std::mem::take(forecast)
            .words
            .map_or(Ok(()), |words| words.octets().map(drop))
    }

    /// The communicator goes on which words may be under way: waits for them, and has them read
    /// later.
    pub(crate) fn wait(&mut self) -> MpiResult<()> {
        let mut outcome = Ok(());
        for forecast in [&mut self.alltoallv, &mut self.alltoallw] {
            if let Some(words) = &mut forecast.words {
                outcome = outcome.and(words.wait());
            }
        }
        outcome
    }
}
