//! Which octets of memory a call's blocks touch.
use crate::datatype::TrueExtent;
use crate::elements::{MpiElements, octets_of, room};
use crate::mpi_result::MpiResult;
use std::ops::Range;

/// Elements in memory, and where.
#[derive(Debug, Clone)]
pub(crate) struct Footprint {
    pub(crate) elements: MpiElements,
    /// From the first octet that they touch to the last one.
    pub(crate) stretch: Range<usize>,
    /// How many octets of these they touch; fewer, if there are gaps.
    pub(crate) octets: usize,
}

impl Footprint {
    /// `None` for elements of nothing.
    pub(crate) fn new(elements: MpiElements) -> MpiResult<Option<Footprint>> {
        if elements.count == 0 {
            return Ok(None);
        }
        let layout = TrueExtent::query(elements.datatype)?;
        let count = elements.count as usize;
        Ok((layout.size > 0).then(|| Footprint {
            elements,
            stretch: stretch(elements.at as usize, count, &layout),
            octets: layout.size * count,
        }))
    }
}

/// From the first octet to the last one of so many elements.
fn stretch(at: usize, count: usize, layout: &TrueExtent) -> Range<usize> {
    let first = at.wrapping_add_signed(layout.true_lower);
    let last = first.wrapping_add_signed(layout.extent.wrapping_mul(count as isize - 1));
    first.min(last)..first.max(last).wrapping_add(layout.true_extent)
}

/// Stretches in ascending order, those joined that overlap or touch.
pub(crate) fn joined(stretches: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut stretches: Vec<Range<usize>> = stretches.collect();
    stretches.sort_by_key(|stretch| stretch.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for stretch in stretches {
        match joined.last_mut() {
            Some(last) if stretch.start <= last.end => last.end = last.end.max(stretch.end),
            _ => joined.push(stretch),
        }
    }
    joined
}

/// The octets of a stretch that these elements touch, which do not overlap and lie in it. The gaps
/// between them are not the call's: others may use it in the meantime.
pub(crate) fn touched(
    stretch: &Range<usize>,
    written: &[&Footprint],
) -> MpiResult<Vec<Range<usize>>> {
    let octets: usize = written.iter().map(|written| written.octets).sum();
    let whole = joined(written.iter().map(|written| written.stretch.clone()));
    if octets == whole.iter().map(Range::len).sum::<usize>() {
        return Ok(whole);
    }
    // The library says where elements lie: it unpacks ones among zeros.
    let mut marks = room(stretch.len())?;
    for written in written {
        let mut ones = room(written.octets)?;
        ones.fill(u8::MAX);
        let place = written.elements.at as usize;
        let offset = place.wrapping_sub(stretch.start);
        let marked = MpiElements {
            at: marks.as_mut_ptr().wrapping_add(offset).cast(),
            ..written.elements
        };
        // SAFETY: the elements lie in the stretch, and so many octets as it has are there.
        unsafe { octets_of(&mut ones).copy(marked) }?;
    }
    Ok(marked_runs(&marks, stretch.start))
}

/// The runs of octets that are not 0, of memory that begins at this address.
fn marked_runs(marks: &[u8], begin: usize) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(gap) = marks[at..].iter().position(|&mark| mark != 0) {
        let start = at + gap;
        let run = marks[start..].iter().position(|&mark| mark == 0);
        at = run.map_or(marks.len(), |run| start + run);
        runs.push(begin + start..begin + at);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_elements_before_and_behind_their_address() {
        let layout = |true_lower, true_extent, extent| TrueExtent {
            size: 4,
            true_lower,
            true_extent,
            extent,
        };
        assert_eq!(stretch(1000, 3, &layout(0, 4, 4)), 1000..1012);
        assert_eq!(stretch(1000, 3, &layout(8, 4, 20)), 1008..1052);
        assert_eq!(stretch(1000, 3, &layout(-4, 4, 8)), 996..1016);
        // Backwards, and at an absolute address.
        assert_eq!(stretch(1000, 3, &layout(0, 4, -8)), 984..1004);
        assert_eq!(stretch(0, 1, &layout(5000, 4, 4)), 5000..5004);
    }

    #[test]
    fn stretches_that_touch_are_one() {
        let stretches = [30..40, 0..10, 10..12, 35..36, 39..50, 60..61];
        assert_eq!(joined(stretches.into_iter()), [0..12, 30..50, 60..61]);
        assert_eq!(joined(std::iter::empty()), []);
    }

    #[test]
    fn runs_of_marks() {
        assert_eq!(marked_runs(&[0, 1, 1, 0, 0, 9], 100), [101..103, 105..106]);
        assert_eq!(marked_runs(&[1, 1, 0, 1], 7), [7..9, 10..11]);
        assert_eq!(marked_runs(&[0, 0], 7), []);
    }
}
