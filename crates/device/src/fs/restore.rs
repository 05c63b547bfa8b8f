//! `fs.restore`: a file as it was in one of its versions. What is there now is kept first.

use protocol::fs::history::{Restore, Restored};

use super::history::{Content, find};
use crate::files::{Failure, Files};
use crate::overwritten::{Author, Item, Overwritten, Record, State, captured, present_at, put, put_file};

pub(super) fn restore(
    files: &Files,
    store: &Overwritten,
    author: Author,
    request: &str,
    args: &Restore,
) -> Result<Restored, Failure> {
    let place = files.local_path(&args.path)?;
    let failed = |error: std::io::Error| Failure::of("restore", &place, &error);
    let found = find(files, store, &place, &args.version)?;
    let real = files.real_path(&place).map_err(failed)?;
    let bytes = match &found.content {
        Content::Nothing | Content::Link(_) => None,
        content => Some(content.bytes(files, store).map_err(failed)?),
    };
    let wanted = match (&found.content, &bytes) {
        (Content::Link(target), _) => State::Link { target: target.clone() },
        (_, Some(bytes)) => State::file(bytes),
        _ => State::Absent,
    };
    let size = bytes.as_ref().map(|bytes| bytes.len() as u64);
    let _one_at_a_time = files.lock_edit(&real);
    let present = present_at(files, &real).map_err(failed)?;
    if present.is_same(&wanted) {
        return Ok(Restored { path: place.text(), version: None, size });
    }
    if matches!(present, State::Dir { .. }) {
        return Err(failed(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
    }
    let mut batch = store.batch();
    let before = match present {
        State::Absent => Ok(State::Absent),
        _ => files.entry_exactly(&real).map_err(failed).map(|entry| captured(&entry, &mut batch))?,
    };
    let unkept = |why| {
        Failure::Failed(format!(
            "Nothing was changed: what is at '{}' now could not be kept, because {why}",
            place.text()
        ))
    };
    let items = vec![Item { path: real.clone(), before: before.map_err(unkept)?, after: wanted.clone() }];
    let Author { pid, run } = author;
    let (at_ms, call, request) = (store.now_ms(), "fs.restore".to_string(), request.to_string());
    let record = Record { id: 0, at_ms, pid, run, call, request, items, command: None, lost: None };
    let version = store.add(batch, record).map_err(unkept)?;
    match &bytes {
        Some(bytes) => put_file(files, &real, bytes, None),
        None => put(files, store, &real, &wanted),
    }
    .map_err(failed)?;
    Ok(Restored { path: place.text(), version: Some(version.to_string()), size })
}
