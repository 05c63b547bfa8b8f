//! Reader of overlays.
