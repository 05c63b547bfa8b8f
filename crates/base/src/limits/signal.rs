//! Limits of signals that are kept for connections that come back.

use std::time::Duration;

/// Runs whose route to a connection is remembered.
pub const RUN_ROUTES_MAX: usize = 65_536;
/// How many of one user's newest signals are kept for connections that come back.
pub const KEPT: usize = 4_096;
/// Bytes of one user's signals that are kept.
pub const KEPT_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of all users' signals that are kept together; those of whoever was quiet longest go first.
pub const KEPT_ALL_BYTES: usize = 256 * 1024 * 1024;
/// Users whose signals are kept; the one that was quiet longest goes first.
pub const USERS_MAX: usize = 4_096;
/// Bytes of a model's answer that are kept in one piece.
pub const PIECE_BYTES: usize = 64 * 1024;
/// For one user, places in the order of signals that a client cannot go on from.
pub const RESUME_GAPS_MAX: usize = 4_096;
/// Answers of models, of one user, whose text so far is at hand for connections that come back.
pub const ANSWERS_MAX: usize = 1_024;
/// With more frames than this waiting, deltas are merged past signals of other runs too.
pub const WAITING_MANY: usize = 32;
/// How many waiting frames are looked through for one to merge with.
pub const LOOK_BACK_MAX: usize = 512;
/// How long the signals of a run go to the connection that started it.
pub const RUN_ROUTE_KEPT: Duration = Duration::from_secs(30 * 60);
