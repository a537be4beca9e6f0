//! How a port sends: frame by frame, or several frames of a stream as one segment where frames
//! alone are more than the processors can move (pure).
//!
//! A segment is a packet of up to 64 kB that a host's TCP makes, as it does for a card that divides
//! it. Here nobody divides it on the way: queues and filters take it as a whole, and the receiver
//! gets it as from a card that collects frames. So it must be short in time, or a switch would hold
//! whole blocks back.
use crate::plan::{LabCable, LabOptions, SegmentChoice};
use inventory::BitsPerSec;
use std::time::Duration;

/// An Ethernet frame of 1,500 octets as the kernel counts it, and as it is on the wire: with
/// preamble and start delimiter 8, FCS 4, gap 12 (IEEE 802.3-2018, 3.1.1 and 4.4.2).
const FRAME: u32 = 1514;
const WIRE: u32 = FRAME + FRAME_OVERHEAD as u32;
/// The octets of a frame that the kernel does not count.
const FRAME_OVERHEAD: u16 = 24;
/// A segment takes no longer than this on its cable.
const SEGMENT_TIME: Duration = Duration::from_micros(100);
/// From this rate on a segment of that time has four frames.
const FAST: BitsPerSec = BitsPerSec::mega(500);
/// The largest packet of IPv4.
const LARGEST: u64 = 65_535;
/// The bucket holds so many packets: with less, timer jitter would leave the cable idle.
const PACKETS: u32 = 2;
/// A switch port's queue, unless somebody says otherwise: 128 kB, and at high rates what the cable
/// carries in this time.
const BUFFER: u32 = 131_072;
const BUFFER_TIME: Duration = Duration::from_millis(1);

/// The numbers of a token bucket filter, and the segments before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortShape {
    /// The rate at which the kernel counts octets.
    pub(crate) rate: BitsPerSec,
    /// Octets that each packet counts more than the kernel knows.
    pub(crate) overhead: u16,
    /// The bucket, in octets.
    pub(crate) burst: u32,
    /// The queue, in octets.
    pub(crate) queue: u32,
    /// The longest segment; `None`: every packet is a frame.
    pub(crate) segment: Option<u32>,
}

impl PortShape {
    /// The shape of both ends of a cable. The relay carries frames only.
    pub(crate) fn for_cable(cable: &LabCable, options: &LabOptions) -> PortShape {
        let frames = PortShape::of_frames(cable.rate, buffer(cable.rate, options));
        let segments = match options.segments {
            SegmentChoice::ByRate => cable.rate >= FAST,
            SegmentChoice::Always => true,
            SegmentChoice::Never => false,
        };
        if !segments || !cable.delay.is_zero() {
            return frames;
        }
        let segment = octets(cable.rate, SEGMENT_TIME).clamp(u64::from(FRAME), LARGEST) as u32;
        PortShape {
            // The kernel counts the headers of all frames of a segment, but would add the overhead
            // once only. So full frames have their part of it in the rate.
            rate: BitsPerSec(
                (u128::from(cable.rate.0) * u128::from(FRAME) / u128::from(WIRE)) as u64,
            ),
            overhead: 0,
            burst: PACKETS * (segment + segment / 8),
            segment: Some(segment),
            ..frames
        }
    }

    /// The shape of a port that sends frame by frame.
    pub(crate) fn of_frames(rate: BitsPerSec, queue: u32) -> PortShape {
        PortShape {
            rate,
            overhead: FRAME_OVERHEAD,
            burst: 3100,
            queue,
            segment: None,
        }
    }
}

fn buffer(rate: BitsPerSec, options: &LabOptions) -> u32 {
    options.port_buffer.unwrap_or_else(|| {
        u32::try_from(octets(rate, BUFFER_TIME)).map_or(u32::MAX, |octets| octets.max(BUFFER))
    })
}

fn octets(rate: BitsPerSec, time: Duration) -> u64 {
    (u128::from(rate.0) * time.as_nanos() / 8_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PortEnd;

    fn shape(mega: u64, segments: SegmentChoice, delay: Duration) -> PortShape {
        let cable = LabCable::new(end("n0"), end("s0"), BitsPerSec::mega(mega), delay);
        let options = LabOptions {
            segments,
            ..LabOptions::default()
        };
        PortShape::for_cable(&cable, &options)
    }

    fn end(node: &str) -> PortEnd {
        PortEnd {
            node: node.into(),
            port: "eth0".into(),
        }
    }

    #[test]
    fn segments_are_long_in_octets_and_short_in_time() {
        assert_eq!(by_rate(100).segment, None);
        assert_eq!(by_rate(1_000).segment, Some(12_500));
        assert_eq!(by_rate(2_500).segment, Some(31_250));
        assert_eq!(by_rate(10_000).segment, Some(65_535));
        for mega in [500, 1_000, 10_000, 100_000] {
            let shape = by_rate(mega);
            let segment = shape.segment.unwrap();
            assert!(shape.burst >= 2 * segment && shape.queue >= 2 * segment);
            assert!(segment > 4 * 1514 || mega == 500, "{segment}");
        }
    }

    fn by_rate(mega: u64) -> PortShape {
        shape(mega, SegmentChoice::ByRate, Duration::ZERO)
    }

    #[test]
    fn who_asks_decides_but_the_relay_carries_frames() {
        assert_eq!(always(Duration::ZERO), Some(1514));
        assert_eq!(always(Duration::from_millis(10)), None);
        let never = shape(10_000, SegmentChoice::Never, Duration::ZERO);
        assert_eq!((never.segment, never.burst), (None, 3100));
    }

    fn always(delay: Duration) -> Option<u32> {
        shape(100, SegmentChoice::Always, delay).segment
    }

    /// A full frame takes as long as on the wire, alone or among others.
    #[test]
    fn full_frames_take_their_time_either_way() {
        let wire = f64::from(WIRE) * 8.0 / 1e9;
        let frames = shape(1_000, SegmentChoice::Never, Duration::ZERO);
        let segments = shape(1_000, SegmentChoice::ByRate, Duration::ZERO);
        assert!((time(frames, 1) / wire - 1.0).abs() < 1e-6);
        assert!((time(segments, 8) / wire / 8.0 - 1.0).abs() < 1e-6);
    }

    fn time(shape: PortShape, frames: u64) -> f64 {
        let counted = frames * u64::from(FRAME) + u64::from(shape.overhead);
        counted as f64 * 8.0 / shape.rate.0 as f64
    }
}
