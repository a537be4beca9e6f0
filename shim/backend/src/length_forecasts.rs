//! The sizes of calls of which each rank knows its own lengths only: forecast, or agreed on where no
//! forecast is trusted.
use crate::call_comm::CallComm;
use crate::mpi_result::MpiResult;
use runtime::call_forecast::{CallForecast, CallSize, NOT_SERVED, OwnCall};
use selection::decision_table::{Collective, Way};

/// A process set's forecasts, of one collective each.
#[derive(Debug, Default)]
pub(crate) struct LengthForecasts {
    alltoallv: CallForecast,
    alltoallw: CallForecast,
}

impl LengthForecasts {
    fn of(&mut self, collective: Collective) -> Option<&mut CallForecast> {
        match collective {
            Collective::Alltoallv => Some(&mut self.alltoallv),
            Collective::Alltoallw => Some(&mut self.alltoallw),
            _ => None,
        }
    }

    /// The size of the next call; `way` says how a call of a size goes. Collective, where all ranks
    /// have the same forecast.
    pub(crate) fn size(
        &mut self,
        collective: Collective,
        within: &CallComm,
        own: OwnCall,
        way: impl Fn(u64) -> Way,
    ) -> MpiResult<CallSize> {
        let Some(forecast) = self.of(collective) else {
            return Ok(CallSize::NOT_SERVED);
        };
        if let Some(size) = forecast.count(own) {
            return Ok(size);
        }
        let words = within.gather_all(&forecast.word())?;
        let way = |block| {
            if block == NOT_SERVED {
                Way::Native
            } else {
                way(block)
            }
        };
        Ok(forecast.hear(&words, way))
    }

    /// The next call is agreed on.
    pub(crate) fn distrust(&mut self, collective: Collective) {
        if let Some(forecast) = self.of(collective) {
            forecast.distrust();
        }
    }

    /// Nobody needs to know for now: what is known grows old.
    pub(crate) fn forget(&mut self, collective: Collective) {
        if let Some(forecast) = self.of(collective) {
            *forecast = CallForecast::default();
        }
    }
}
