//! How answers are written.

pub mod answer;
pub mod bars;
pub mod story;
