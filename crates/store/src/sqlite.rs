//! Single-writer SQLite in WAL mode: one thread with group commit, and a few readers used where they are called.
//!
//! A point read takes a microsecond or two, which is less than handing it to another thread.

mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use base::limits;
use base::sync::lock;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::changes::Changes;
use crate::leases::Fences;
use crate::metrics::Metrics;
use crate::sql::{Batch, Row, Statement, Value, Written, unexpected};
use crate::{Error, OpenError, Result, migrations};
use writer::{Watch, Writer};

/// An open database file.
pub(crate) struct Sqlite {
    path: PathBuf,
    /// Opened when first needed: a quiet gateway needs one.
    readers: Vec<Mutex<Option<Connection>>>,
    next: AtomicUsize,
    fences: Arc<Fences>,
    /// Goes last: the connection that closes last tidies up, and readers are not able to.
    writer: Writer,
}

impl Sqlite {
    pub fn open(
        path: &Path,
        metrics: Arc<Metrics>,
        changes: Changes,
    ) -> std::result::Result<Sqlite, OpenError> {
        let place = path.display().to_string();
        let failed = |error: rusqlite::Error| open_error(&place, error);
        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
        // Until the first write is acknowledged nothing can be lost, so the many steps of a first start need
        // not wait for the disk; the order of writes still keeps the file sound.
        connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON").map_err(failed)?;
        let mode: String =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(failed)?;
        if mode != "wal" {
            let why = "its file system cannot be used by several readers at once (no WAL)";
            return Err(OpenError::Failed(format!("{place}: {why}")));
        }
        migrate(&mut connection, &place)?;
        connection.execute_batch("PRAGMA synchronous = FULL").map_err(failed)?;
        connection.pragma_update(None, "cache_size", -limits::store::WRITER_CACHE_KIB).map_err(failed)?;
        connection.pragma_update(None, "wal_autocheckpoint", limits::store::LOG_PAGES).map_err(failed)?;
        let fences = Arc::new(Fences::default());
        let watch = Watch { metrics, changes, fences: fences.clone() };
        let writer = Writer::start(connection, watch).map_err(|error| {
            OpenError::Failed(format!("no thread can be started for the store's writer: {error}"))
        })?;
        let readers = (0..limits::store::READERS).map(|_| Mutex::new(None)).collect();
        Ok(Sqlite { path: path.to_path_buf(), readers, next: AtomicUsize::new(0), fences, writer })
    }

    pub fn read(&self, statement: &Statement) -> Result<Vec<Row>> {
        let mut reader = self.reader();
        let connection = match reader.take() {
            Some(connection) => connection,
            None => connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(error)?,
        };
        let rows = run(&connection, statement);
        *reader = Some(connection);
        rows
    }

    pub async fn write(&self, batch: Batch) -> Result<Written> {
        self.writer.write(batch).await
    }

    pub async fn checkpoint(&self) -> Result<()> {
        self.writer.checkpoint().await
    }

    /// The leases of this database.
    pub fn fences(&self) -> &Fences {
        &self.fences
    }

    pub fn queue_length(&self) -> usize {
        self.writer.queue_length()
    }

    /// The first free reader, so that few are opened; when all are busy, one of them in turn.
    fn reader(&self) -> MutexGuard<'_, Option<Connection>> {
        for reader in &self.readers {
            match reader.try_lock() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.readers.len();
        lock(&self.readers[turn])
    }
}

fn connect(path: &Path, mode: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(limits::store::BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "cache_size", -limits::store::CACHE_KIB)?;
    Ok(connection)
}

fn migrate(connection: &mut Connection, place: &str) -> std::result::Result<(), OpenError> {
    let failed = |error: rusqlite::Error| open_error(place, error);
    connection.execute_batch(&migrations::for_sqlite(migrations::META)).map_err(failed)?;
    let found = match connection.query_row(migrations::FIND_VERSION, [], |row| row.get(0)) {
        Err(rusqlite::Error::QueryReturnedNoRows) => 0,
        found => found.map_err(failed)?,
    };
    if found > migrations::VERSION {
        return Err(OpenError::Newer { place: place.to_string(), found, ours: migrations::VERSION });
    }
    for (version, text) in migrations::after(found) {
        let transaction = connection.transaction().map_err(failed)?;
        transaction.execute_batch(&migrations::for_sqlite(text)).map_err(failed)?;
        transaction.execute(migrations::SET_VERSION, [version]).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

/// Runs a statement to its end.
fn run(connection: &Connection, statement: &Statement) -> Result<Vec<Row>> {
    let mut prepared = connection.prepare_cached(statement.sql).map_err(error)?;
    for index in 1..=prepared.parameter_count() {
        // SQLite numbers `$2` by where it stands first, so the name tells which value it is.
        let number =
            prepared.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        let value = number.and_then(|number| statement.params.get(number.wrapping_sub(1)));
        match value {
            Some(Value::Int(value)) => prepared.raw_bind_parameter(index, value),
            Some(Value::Text(value)) => prepared.raw_bind_parameter(index, value),
            None => return Err(Error::Failed(format!("a value is missing for: {}", statement.sql))),
        }
        .map_err(error)?;
    }
    let columns = prepared.column_count();
    let mut out = Vec::new();
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next().map_err(error)? {
        let mut values = Vec::with_capacity(columns);
        for column in 0..columns {
            values.push(value(row.get_ref(column).map_err(error)?)?);
        }
        out.push(Row::new(values));
    }
    Ok(out)
}

fn value(value: ValueRef) -> Result<Value> {
    match value {
        ValueRef::Null => Ok(Value::Int(None)),
        ValueRef::Integer(number) => Ok(Value::Int(Some(number))),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::Text(Some(text.to_string()))),
            Err(_) => Err(unexpected("a text", "bytes")),
        },
        ValueRef::Real(_) => Err(unexpected("a number or text", "a fraction")),
        ValueRef::Blob(_) => Err(unexpected("a number or text", "bytes")),
    }
}

/// What a failure means to the caller.
fn error(error: rusqlite::Error) -> Error {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation)
            if extended == Some(ffi::SQLITE_CONSTRAINT_UNIQUE)
                || extended == Some(ffi::SQLITE_CONSTRAINT_PRIMARYKEY) =>
        {
            let text = error.to_string();
            let what = text.rsplit(": ").next().unwrap_or(&text);
            Error::Conflict(what.to_string())
        }
        Some(ErrorCode::DiskFull) => {
            Error::Failed("the disk is full: nothing was written; free some space and try again".to_string())
        }
        Some(ErrorCode::SystemIoFailure) => {
            Error::Failed(format!("the disk refused, nothing was written: {error}"))
        }
        _ => Error::Failed(format!("the database failed: {error}")),
    }
}

fn open_error(place: &str, error: rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::DiskFull,
        ) => OpenError::NotWritable { dir: place.to_string(), why: error.to_string() },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Held(place.to_string()),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            OpenError::Failed(format!("{place} is damaged or not a database: {error}"))
        }
        _ => OpenError::Failed(format!("{place} does not open: {error}")),
    }
}
