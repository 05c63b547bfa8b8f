//! Dialects of the two targets: their limits and words differ a little, and clients know both.

use base::limits;

/// Which target speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A machine with a driver.
    Device,
    /// The gateway itself.
    Native,
}

impl Side {
    /// Largest picture that is shown.
    pub(crate) fn image_bytes_max(self) -> u64 {
        match self {
            Side::Device => limits::device_files::READ_IMAGE_MAX_BYTES,
            Side::Native => limits::files::IMAGE_MAX_BYTES,
        }
    }

    pub(crate) fn image_too_large(self, size: u64) -> String {
        let (size, max) = (size_text(size), size_text(self.image_bytes_max()));
        match self {
            Side::Device => format!("Image file too large ({size}, max {max})"),
            Side::Native => format!("Image too large ({size}, max {max})"),
        }
    }

    pub(crate) fn binary(self, mime: Option<&str>, size: u64) -> String {
        let size = size_text(size);
        match self {
            Side::Device => {
                format!("Binary file ({}, {size}) - not a text file", mime.unwrap_or("unknown type"))
            }
            Side::Native => {
                let mime = mime.unwrap_or("application/octet-stream");
                format!("Binary file ({mime}, {size}) — not readable as text")
            }
        }
    }

    pub(crate) fn not_found(self, path: &str) -> String {
        match self {
            Side::Device => format!("oldString not found in '{path}'"),
            Side::Native => format!("oldString not found in {path}"),
        }
    }

    pub(crate) fn ambiguous(self, found: usize, path: &str) -> String {
        match self {
            Side::Device => format!(
                "oldString found {found} times in '{path}'. Use replaceAll: true or provide more context to make it unique."
            ),
            Side::Native => {
                format!("oldString found {found} times in {path}. Use replaceAll or provide more context.")
            }
        }
    }

    pub(crate) fn query_required(self) -> &'static str {
        match self {
            Side::Device => "query is required",
            Side::Native => "Search query is required.",
        }
    }
}

/// `12 bytes`, `1.5 KB`, `2.0 MB`
pub fn size_text(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}
