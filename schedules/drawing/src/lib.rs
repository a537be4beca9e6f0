//! Pictures: networks, schedules and measurements as SVG, in light and dark. Pure: the same input
//! gives the same octets.
//!
//! | module | one idea |
//! |---|---|
//! | [`svg`] | elements, escaped text, the width of texts |
//! | [`palette`] | one colour for each role, in light and dark |
//! | [`network`] | a network as a tree, alone or before and after a change |
//! | [`gantt`] | phases against links |
//! | [`traced_call`] | what ranks did in a call, planned and actual |
//! | [`chart`] | lines and points over axes |
//! | [`tuning_page`] | what `heddle tune` measured, as one HTML file |
pub mod chart;
pub mod gantt;
pub mod network;
pub mod palette;
pub mod svg;
pub mod traced_call;
pub mod tuning_page;
