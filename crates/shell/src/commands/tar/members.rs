//! Codec of archive members: reads them, and writes the header of one.

use std::io::{self, Error, ErrorKind, Read};

use tar::{EntryType, Header, PaxExtensions};

use crate::commands::sink::Source;

/// What archives are counted in.
pub(super) const BLOCK: usize = 512;
/// Archives are filled up to a multiple of this.
pub(super) const RECORD: u64 = 10_240;
/// A name or an extended head is no longer than this.
const EXTRA_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberKind {
    File,
    Directory,
    Link,
    /// The same file as an earlier member.
    Same,
    /// A device or the like.
    Other,
}

/// Header of an archive member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub name: String,
    pub kind: MemberKind,
    pub size: u64,
    pub mode: u32,
    pub modified_s: i64,
    pub uid: u64,
    pub gid: u64,
    pub user: String,
    pub group: String,
    /// Where a link leads.
    pub target: String,
}

impl Member {
    /// Its head, with extra blocks before it when its names are long.
    pub fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        let name = if self.kind == MemberKind::Directory && !self.name.ends_with('/') {
            format!("{}/", self.name)
        } else {
            self.name.clone()
        };
        let mut header = Header::new_gnu();
        for (text, kind, room) in
            [(&name, EntryType::GNULongName, 0), (&self.target, EntryType::GNULongLink, 1)]
        {
            if text.len() > 100 {
                put_long(&mut head, text, kind)?;
            }
            let kept = &text.as_bytes()[..text.len().min(100)];
            let old = header.as_old_mut();
            let field = if room == 0 { &mut old.name } else { &mut old.linkname };
            field[..kept.len()].copy_from_slice(kept);
        }
        header.set_entry_type(match self.kind {
            MemberKind::Directory => EntryType::Directory,
            MemberKind::Link => EntryType::Symlink,
            MemberKind::Same => EntryType::Link,
            MemberKind::File | MemberKind::Other => EntryType::Regular,
        });
        header.set_size(self.size);
        header.set_mode(self.mode);
        header.set_mtime(u64::try_from(self.modified_s).unwrap_or(0));
        header.set_uid(self.uid);
        header.set_gid(self.gid);
        header.set_username(&self.user)?;
        header.set_groupname(&self.group)?;
        header.set_cksum();
        head.extend_from_slice(header.as_bytes());
        Ok(head)
    }
}

fn put_long(head: &mut Vec<u8>, text: &str, kind: EntryType) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_path("././@LongLink")?;
    header.set_entry_type(kind);
    header.set_size(text.len() as u64 + 1);
    header.set_mode(0o644);
    header.set_cksum();
    head.extend_from_slice(header.as_bytes());
    head.extend_from_slice(text.as_bytes());
    head.push(0);
    head.resize(head.len().next_multiple_of(BLOCK), 0);
    Ok(())
}

/// Reads an archive from its beginning.
pub(super) struct Reader {
    from: Source,
    /// Bytes of the current member not yet read.
    left: u64,
    /// What fills its last block.
    padding: u64,
    /// How far the members go: where another could be added.
    pub end: u64,
}

impl Reader {
    pub fn new(from: Source) -> Reader {
        Reader { from, left: 0, padding: 0, end: 0 }
    }

    /// The next member; none at the end.
    pub async fn next(&mut self) -> io::Result<Option<Member>> {
        let (mut name, mut target, mut size, mut modified_s) = (None, None, None, None);
        loop {
            self.skip().await?;
            let Some(header) = self.header()? else { return Ok(None) };
            let kind = header.entry_type();
            let stated = header.entry_size()?;
            match kind {
                EntryType::GNULongName => name = Some(text(&self.extra(stated)?)),
                EntryType::GNULongLink => target = Some(text(&self.extra(stated)?)),
                EntryType::XGlobalHeader => drop(self.extra(stated)?),
                EntryType::XHeader => {
                    let bytes = self.extra(stated)?;
                    for extension in PaxExtensions::new(&bytes).flatten() {
                        let value = String::from_utf8_lossy(extension.value_bytes()).into_owned();
                        match extension.key() {
                            Ok("path") => name = Some(value),
                            Ok("linkpath") => target = Some(value),
                            Ok("size") => size = value.parse().ok(),
                            Ok("mtime") => modified_s = value.split('.').next().and_then(|s| s.parse().ok()),
                            _ => {}
                        }
                    }
                }
                _ => {
                    let mut member = member(&header, name, target, size.unwrap_or(stated))?;
                    member.modified_s = modified_s.unwrap_or(member.modified_s);
                    self.expect(if member.kind == MemberKind::File || kind.is_gnu_sparse() {
                        member.size
                    } else {
                        0
                    });
                    return Ok(Some(member));
                }
            }
        }
    }

    /// Reads from the current member; 0 at its end.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if room == 0 {
            return Ok(0);
        }
        let length = self.from.read(&mut buffer[..room])?;
        if length == 0 {
            return Err(Error::new(ErrorKind::UnexpectedEof, "Unexpected EOF in archive"));
        }
        self.left -= length as u64;
        Ok(length)
    }

    fn expect(&mut self, size: u64) {
        self.left = size;
        self.padding = size.next_multiple_of(BLOCK as u64) - size;
        self.end += BLOCK as u64 + size + self.padding;
    }

    /// Reads what is left of the current member. It can be much, so others have their turn in between.
    async fn skip(&mut self) -> io::Result<()> {
        self.left += std::mem::take(&mut self.padding);
        let mut buffer =
            vec![0; base::limits::files::COPY_BYTES.min(usize::try_from(self.left).unwrap_or(usize::MAX))];
        while self.read(&mut buffer)? > 0 {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn extra(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > EXTRA_BYTES_MAX {
            return Err(Error::new(ErrorKind::InvalidData, "A name in the archive is too long"));
        }
        self.expect(size);
        let (mut bytes, mut buffer) = (Vec::new(), [0; BLOCK]);
        loop {
            match self.read(&mut buffer)? {
                0 => return Ok(bytes),
                length => bytes.extend_from_slice(&buffer[..length]),
            }
        }
    }

    fn header(&mut self) -> io::Result<Option<Header>> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match self.from.read(&mut block[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(not_an_archive()),
                Ok(length) => filled += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let header = Header::from_byte_slice(&block).clone();
        let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
        let is = sum(&block[..148]) + 8 * u32::from(b' ') + sum(&block[156..]);
        if header.cksum().ok() != Some(is) {
            return Err(not_an_archive());
        }
        Ok(Some(header))
    }
}

fn not_an_archive() -> Error {
    Error::new(ErrorKind::InvalidData, "This does not look like a tar archive")
}

fn member(header: &Header, name: Option<String>, target: Option<String>, size: u64) -> io::Result<Member> {
    let name = name.unwrap_or_else(|| text(&header.path_bytes()));
    let kind = match header.entry_type() {
        EntryType::Directory => MemberKind::Directory,
        EntryType::Symlink => MemberKind::Link,
        EntryType::Link => MemberKind::Same,
        // Old archives know a directory by its name.
        EntryType::Regular | EntryType::Continuous if name.ends_with('/') => MemberKind::Directory,
        EntryType::Regular | EntryType::Continuous => MemberKind::File,
        _ => MemberKind::Other,
    };
    let named = |bytes: Option<&[u8]>| bytes.map(text).unwrap_or_default();
    Ok(Member {
        kind,
        size: if kind == MemberKind::File { size } else { 0 },
        mode: header.mode()? & 0o7777,
        modified_s: i64::try_from(header.mtime()?).unwrap_or(0),
        uid: header.uid().unwrap_or(0),
        gid: header.gid().unwrap_or(0),
        user: named(header.username_bytes()),
        group: named(header.groupname_bytes()),
        target: target.unwrap_or_else(|| named(header.link_name_bytes().as_deref())),
        name,
    })
}

/// Text up to the first NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(name: &str, kind: MemberKind, target: &str) -> Member {
        Member {
            name: name.to_string(),
            kind,
            size: if kind == MemberKind::File { 5 } else { 0 },
            mode: 0o640,
            modified_s: 1_700_000_000,
            uid: 1000,
            gid: 100,
            user: "alice".to_string(),
            group: "users".to_string(),
            target: target.to_string(),
        }
    }

    #[tokio::test]
    async fn what_is_written_is_read_again_with_long_names_too() {
        let long = format!("{}/x", "d".repeat(150));
        let members = [
            example("a", MemberKind::File, ""),
            example(&long, MemberKind::Link, &long),
            example("d/", MemberKind::Directory, ""),
        ];
        let mut bytes = Vec::new();
        for member in &members {
            bytes.extend(member.head().unwrap());
            if member.kind == MemberKind::File {
                bytes.extend(b"hello");
                bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
            }
        }
        let length = bytes.len() as u64;
        bytes.resize(bytes.len() + 2 * BLOCK, 0);
        let mut reader = Reader::new(Box::new(io::Cursor::new(bytes)));
        for member in &members {
            assert_eq!(reader.next().await.unwrap().as_ref(), Some(member));
        }
        assert_eq!(reader.next().await.unwrap(), None);
        assert_eq!(reader.end, length);
    }

    #[tokio::test]
    async fn what_is_no_archive_and_what_is_cut_off_is_refused() {
        let mut reader = Reader::new(Box::new(io::Cursor::new(vec![b'x'; 2000])));
        assert_eq!(reader.next().await.unwrap_err().kind(), ErrorKind::InvalidData);
        let mut bytes = example("a", MemberKind::File, "").head().unwrap();
        bytes.extend(b"he");
        let mut reader = Reader::new(Box::new(io::Cursor::new(bytes)));
        assert!(reader.next().await.unwrap().is_some());
        assert_eq!(reader.next().await.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
