//! Limits of one checkpoint, as a caller may set them.

use std::time::Duration;

use base::limits::checkpoint as limits;

/// How large a checkpoint may be and how long it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Files, directories and links.
    pub files_max: usize,
    /// Bytes of all files.
    pub bytes_max: u64,
    /// Bytes of one file; a larger one is left out.
    pub file_bytes_max: u64,
    /// Bytes of git objects; more are left out.
    pub repository_bytes_max: u64,
    /// Time of the walk.
    pub time_max: Duration,
}

impl Budget {
    /// For a person who waits for something to be brought back, in a workspace that an agent may have filled.
    pub fn patient() -> Budget {
        let (files_max, time_max) = (limits::PATIENT_FILES_MAX, limits::PATIENT_TIME_MAX);
        Budget { files_max, time_max, ..Budget::default() }
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            files_max: limits::FILES_MAX,
            bytes_max: limits::BYTES_MAX,
            file_bytes_max: limits::FILE_BYTES_MAX,
            repository_bytes_max: limits::REPOSITORY_BYTES_MAX,
            time_max: limits::TIME_MAX,
        }
    }
}
