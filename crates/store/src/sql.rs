//! Portable SQL: values, rows, statements and batches that both engines speak.
//!
//! One SQL text runs on both: `$1` placeholders, TEXT ids, BIGINT milliseconds, 0/1 flags, JSON as TEXT, no
//! `LIKE`, no casts. A decision that depends on a row is made inside a statement or by a guarded step.

use protocol::ids::{ConversationId, DeviceId, Gid, Pid, RunId, SessionId, TokenId, Uid};

use crate::changes::{Topic, Topics};
use crate::lease::Lease;
use crate::{Error, Result};

/// A value of a column or a parameter. An absent one keeps its type, so that a statement always has the same
/// parameter types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
}

impl Value {
    /// PostgreSQL cannot keep this character in a text, so neither engine gets to see one.
    fn has_nul(&self) -> bool {
        matches!(self, Value::Text(Some(text)) if text.contains('\0'))
    }
}

/// One SQL text and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub sql: &'static str,
    pub params: Vec<Value>,
}

impl Statement {
    pub fn new(sql: &'static str) -> Statement {
        Statement { sql, params: Vec::new() }
    }

    /// Adds the value of the next placeholder.
    pub fn bind(mut self, value: impl Into<Value>) -> Statement {
        self.params.push(value.into());
        self
    }

    pub fn has_nul(&self) -> bool {
        self.params.iter().any(Value::has_nul)
    }
}

/// A statement of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub statement: Statement,
    /// The whole batch is undone when this step returns no row.
    pub guarded: bool,
}

/// Statements that run in one transaction, all of them or none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub steps: Vec<Step>,
    /// What the change stream tells once it is committed.
    pub topics: Topics,
    /// Nothing is written unless this lease is still held.
    pub lease: Option<Lease>,
    /// The step that returns the names of leases that end with this batch.
    pub ends_leases: Option<usize>,
}

impl Batch {
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Adds a statement.
    pub fn step(mut self, statement: Statement) -> Batch {
        self.steps.push(Step { statement, guarded: false });
        self
    }

    /// Adds a statement that must return a row.
    pub fn guard(mut self, statement: Statement) -> Batch {
        self.steps.push(Step { statement, guarded: true });
        self
    }

    /// Says what it changes that others may keep in memory.
    pub fn changing(mut self, topic: Topic) -> Batch {
        self.topics = self.topics.and(topic);
        self
    }

    /// Adds a statement that returns the names of leases; they end with this batch.
    pub fn end_leases(mut self, statement: Statement) -> Batch {
        self.ends_leases = Some(self.steps.len());
        self.step(statement)
    }

    /// Adds many.
    pub fn steps(mut self, statements: impl IntoIterator<Item = Statement>) -> Batch {
        self.steps.extend(statements.into_iter().map(|statement| Step { statement, guarded: false }));
        self
    }
}

/// How a batch ended.
#[derive(Debug)]
pub(crate) enum Written {
    /// The rows each step returned.
    Done(Vec<Vec<Row>>),
    /// This guarded step returned no row, and nothing was changed.
    Stopped(usize),
}

impl Written {
    /// The rows of the last step, unless a guard stopped the batch.
    pub fn last(self) -> Option<Vec<Row>> {
        match self {
            Written::Done(mut rows) => Some(rows.pop().unwrap_or_default()),
            Written::Stopped(_) => None,
        }
    }
}

/// A row, read column by column from the left.
#[derive(Debug)]
pub(crate) struct Row {
    values: std::vec::IntoIter<Value>,
}

impl Row {
    pub fn new(values: Vec<Value>) -> Row {
        Row { values: values.into_iter() }
    }

    /// The text at its left, if it is one; nothing is read by that.
    pub fn first_text(&self) -> Option<&str> {
        match self.values.as_slice().first() {
            Some(Value::Text(text)) => text.as_deref(),
            _ => None,
        }
    }

    pub fn text(&mut self) -> Result<String> {
        self.text_or_null()?.ok_or_else(|| unexpected("a text", "nothing"))
    }

    pub fn text_or_null(&mut self) -> Result<Option<String>> {
        match self.values.next() {
            Some(Value::Text(text)) => Ok(text),
            // SQLite does not know the type of a NULL.
            Some(Value::Int(None)) => Ok(None),
            other => Err(unexpected("a text", &format!("{other:?}"))),
        }
    }

    pub fn int(&mut self) -> Result<i64> {
        self.int_or_null()?.ok_or_else(|| unexpected("a number", "nothing"))
    }

    pub fn int_or_null(&mut self) -> Result<Option<i64>> {
        match self.values.next() {
            Some(Value::Int(number)) => Ok(number),
            Some(Value::Text(None)) => Ok(None),
            other => Err(unexpected("a number", &format!("{other:?}"))),
        }
    }

    pub fn flag(&mut self) -> Result<bool> {
        Ok(self.int()? != 0)
    }

    pub fn uid(&mut self) -> Result<Uid> {
        narrow(self.int()?).map(Uid)
    }

    pub fn gid(&mut self) -> Result<Gid> {
        narrow(self.int()?).map(Gid)
    }

    pub fn gid_or_null(&mut self) -> Result<Option<Gid>> {
        self.int_or_null()?.map(|number| narrow(number).map(Gid)).transpose()
    }

    pub fn i32_or_null(&mut self) -> Result<Option<i32>> {
        self.int_or_null()?.map(narrow).transpose()
    }
}

fn narrow<T: TryFrom<i64>>(number: i64) -> Result<T> {
    T::try_from(number).map_err(|_| unexpected("a smaller number", &number.to_string()))
}

/// A row is not what this version writes: somebody else changed the database.
pub(crate) fn unexpected(wanted: &str, found: &str) -> Error {
    Error::Failed(format!("the database holds something unexpected: {found} instead of {wanted}"))
}

macro_rules! values {
    ($($from:ty, $value:ident => $to:expr;)*) => {$(
        impl From<$from> for Value {
            fn from($value: $from) -> Value {
                $to
            }
        }
    )*};
}

values! {
    i64, value => Value::Int(Some(value));
    Option<i64>, value => Value::Int(value);
    Option<i32>, value => Value::Int(value.map(i64::from));
    bool, value => Value::Int(Some(i64::from(value)));
    Uid, value => Value::Int(Some(i64::from(value.0)));
    Option<Uid>, value => Value::Int(value.map(|uid| i64::from(uid.0)));
    Gid, value => Value::Int(Some(i64::from(value.0)));
    &str, value => Value::Text(Some(value.to_string()));
    String, value => Value::Text(Some(value));
    Option<String>, value => Value::Text(value);
    Option<&str>, value => Value::Text(value.map(str::to_string));
    &DeviceId, value => Value::Text(Some(value.0.clone()));
    &SessionId, value => Value::Text(Some(value.0.clone()));
    &TokenId, value => Value::Text(Some(value.0.clone()));
    &Pid, value => Value::Text(Some(value.0.clone()));
    &RunId, value => Value::Text(Some(value.0.clone()));
    &ConversationId, value => Value::Text(Some(value.0.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_wrong_shape_is_an_error_not_a_panic() {
        let row = || Row::new(vec![Value::Int(Some(-1)), Value::Text(None)]);
        assert!(row().text().is_err());
        assert!(row().uid().is_err());
        let mut row = row();
        assert_eq!(row.int().unwrap(), -1);
        assert!(row.text().is_err());
        assert!(row.int().is_err(), "there is no third column");
    }

    #[test]
    fn numbers_that_do_not_fit_are_errors() {
        assert!(Row::new(vec![Value::Int(Some(1 << 40))]).gid().is_err());
        assert!(Row::new(vec![Value::Int(Some(1 << 40))]).i32_or_null().is_err());
    }

    #[test]
    fn a_nul_character_is_noticed() {
        assert!(Statement::new("").bind("a\0b").has_nul());
        assert!(!Statement::new("").bind("ab").bind(7i64).has_nul());
    }
}
