//! Serialisation of names of the operating system, which need not be UTF-8: a string where they are, else bytes.

use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize)]
#[serde(untagged)]
enum Borrowed<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Owned {
    Text(String),
    Bytes(Vec<u8>),
}

impl<'a> From<&'a OsStr> for Borrowed<'a> {
    fn from(name: &'a OsStr) -> Borrowed<'a> {
        name.to_str().map_or_else(|| Borrowed::Bytes(name.as_encoded_bytes()), Borrowed::Text)
    }
}

impl From<Owned> for OsString {
    fn from(name: Owned) -> OsString {
        match name {
            Owned::Text(text) => text.into(),
            Owned::Bytes(bytes) => from_bytes(bytes),
        }
    }
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

pub(super) fn serialize<T: AsRef<OsStr>, S: Serializer>(name: &T, out: S) -> Result<S::Ok, S::Error> {
    Borrowed::from(name.as_ref()).serialize(out)
}

pub(super) fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    Owned::deserialize(from).map(|name| T::from(name.into()))
}

pub(super) mod list {
    use super::*;

    pub(in super::super) fn serialize<T: AsRef<OsStr>, S: Serializer>(
        names: &[T],
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.collect_seq(names.iter().map(|name| Borrowed::from(name.as_ref())))
    }

    pub(in super::super) fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<T>, D::Error> {
        let names = Vec::<Owned>::deserialize(from)?;
        Ok(names.into_iter().map(|name| T::from(name.into())).collect())
    }
}

pub(super) mod pairs {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        pairs: &[(OsString, OsString)],
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.collect_seq(
            pairs
                .iter()
                .map(|(key, value)| (Borrowed::from(key.as_os_str()), Borrowed::from(value.as_os_str()))),
        )
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(OsString, OsString)>, D::Error> {
        let pairs = Vec::<(Owned, Owned)>::deserialize(from)?;
        Ok(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}
