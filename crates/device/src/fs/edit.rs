//! `fs.edit`: exact text for exact text.

use std::io::{self, Read as _};

use base::limits;
use protocol::fs::{Edit, Edited};

use crate::files::{Failure, Files, Place};
use crate::fs::size_text;

pub(super) fn edit(files: &Files, args: &Edit) -> Result<Edited, Failure> {
    if args.old_string.is_empty() {
        return Err("oldString is empty: use fs.write to write a whole file".to_string().into());
    }
    let place = files.place(&args.path)?;
    let entry = files.entry(&place).map_err(|error| unreadable(&place, &error))?;
    let _one_at_a_time = files.lock_edit(entry.real());
    let file = entry.open().map_err(|error| unreadable(&place, &error))?;
    let text = text_of(file, &place)?;
    let found = text.matches(&args.old_string).count();
    let path = place.text();
    if found == 0 {
        return Err(format!("oldString not found in '{path}'").into());
    }
    if found > 1 && args.replace_all != Some(true) {
        return Err(format!(
            "oldString found {found} times in '{path}'. Use replaceAll: true or provide more context to make it unique."
        )
        .into());
    }
    let edited = text.replace(&args.old_string, &args.new_string);
    entry.replace(edited.as_bytes()).map_err(|error| Failure::of("write", &place, &error))?;
    Ok(Edited { path, replacements: found as u64 })
}

fn text_of(file: std::fs::File, place: &Place) -> Result<String, Failure> {
    let max = limits::READ_TEXT_BYTES_MAX;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes).map_err(|error| unreadable(place, &error))?;
    if bytes.len() as u64 > max {
        let max = size_text(max);
        return Err(format!("File too large to edit: '{}' has more than {max}", place.text()).into());
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::Failed(format!("Failed to edit '{}': not a text file", place.text())))
}

fn unreadable(place: &Place, error: &io::Error) -> Failure {
    Failure::of("read", place, error)
}
