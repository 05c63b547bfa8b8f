//! DNS messages: a strict reader of one question, and the writer of its answer. Pure.

use std::net::{Ipv4Addr, Ipv6Addr};

use base::limits::egress::ADDRESS_TTL_SECONDS;

/// Bytes of the header.
const HEADER: usize = 12;
/// The class of the internet.
const INTERNET: u16 = 1;
/// Bit of the flags: a response.
const RESPONSE: u16 = 0x8000;
/// Bits of the flags that an answer repeats: what kind of question it was, and whether recursion was desired.
const REPEATED: u16 = 0x7900;
/// Bit of the flags: recursion is available. Resolvers of the C library want to see it.
const RECURSION: u16 = 0x0080;

/// A question for the records of one name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Question<'a> {
    /// In lower case, without the dot at its end. What is no text of a host's name is escaped.
    pub(crate) name: String,
    /// Which records; `None` for types that no name here has.
    pub(crate) record_type: Option<RecordType>,
    id: u16,
    flags: u16,
    /// The question as it was asked, to be repeated in the answer: programs compare it, also in its case.
    asked: &'a [u8],
}

/// The types of records that are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordType {
    A,
    Aaaa,
}

/// What is said to a question.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Code,
    pub(crate) record: Option<Record>,
}

/// One record of the name that was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Record {
    A(Ipv4Addr),
    Aaaa(Ipv6Addr),
}

/// How it went, as the wire says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    NoError = 0,
    FormatError = 1,
    ServerFailure = 2,
    NoSuchName = 3,
    NotImplemented = 4,
    Refused = 5,
}

/// Why a message is not a question that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionError {
    /// It is answered with this.
    Code(Code),
    /// It is no question at all, and to answer it would invite a loop.
    Unanswerable,
}

impl<'a> Question<'a> {
    /// Reads a message with exactly one question.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Question<'a>, QuestionError> {
        let (id, flags) = head(bytes).ok_or(QuestionError::Unanswerable)?;
        let malformed = QuestionError::Code(Code::FormatError);
        if flags & 0x7800 != 0 {
            return Err(QuestionError::Code(Code::NotImplemented));
        }
        let (count, rest) = (number(bytes, 4).ok_or(malformed)?, bytes.get(HEADER..).ok_or(malformed)?);
        if count != 1 {
            return Err(malformed);
        }
        let (name, length) = name(rest).ok_or(malformed)?;
        let kind = number(rest, length).ok_or(malformed)?;
        let class = number(rest, length + 2).ok_or(malformed)?;
        let asked = rest.get(..length + 4).ok_or(malformed)?;
        if class != INTERNET {
            return Err(QuestionError::Code(Code::NotImplemented));
        }
        let record_type = match kind {
            1 => Some(RecordType::A),
            28 => Some(RecordType::Aaaa),
            _ => None,
        };
        Ok(Question { name, record_type, id, flags, asked })
    }

    /// The message that answers it.
    pub(crate) fn answered(&self, answer: &Answer) -> Vec<u8> {
        let mut out = header(self.id, self.flags, answer.code, 1, u16::from(answer.record.is_some()));
        out.extend_from_slice(self.asked);
        let (kind, data) = match answer.record {
            Some(Record::A(address)) => (1u16, address.octets().to_vec()),
            Some(Record::Aaaa(address)) => (28, address.octets().to_vec()),
            None => return out,
        };
        // The name is where the question has it.
        out.extend_from_slice(&[0xc0, HEADER as u8]);
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&INTERNET.to_be_bytes());
        out.extend_from_slice(&ADDRESS_TTL_SECONDS.to_be_bytes());
        out.extend_from_slice(&(data.len() as u16).to_be_bytes());
        out.extend_from_slice(&data);
        out
    }
}

/// The answer to a message that could not be read.
pub(crate) fn failure(bytes: &[u8], code: Code) -> Option<Vec<u8>> {
    let (id, flags) = head(bytes)?;
    Some(header(id, flags, code, 0, 0))
}

/// Number and flags of a message that is not itself an answer.
fn head(bytes: &[u8]) -> Option<(u16, u16)> {
    let (id, flags) = (number(bytes, 0)?, number(bytes, 2)?);
    (flags & RESPONSE == 0).then_some((id, flags))
}

fn header(id: u16, flags: u16, code: Code, questions: u16, answers: u16) -> Vec<u8> {
    let flags = RESPONSE | RECURSION | (flags & REPEATED) | code as u16;
    [id, flags, questions, answers, 0, 0].iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*pair))
}

/// A name and how many bytes it takes. Pointers have no place in a question.
fn name(bytes: &[u8]) -> Option<(String, usize)> {
    let mut labels = Vec::new();
    let mut at = 0;
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        let label = bytes.get(at..at + length).filter(|_| length <= 63)?;
        at += length;
        // RFC 1035: a name has at most 255 bytes.
        if at > 254 {
            return None;
        }
        // A dot inside a label is none between two; escaped, it makes no name of a host.
        let escaped = label.iter().flat_map(|byte| match byte {
            b'.' => vec!['\\', '.'],
            _ => std::ascii::escape_default(byte.to_ascii_lowercase()).map(char::from).collect(),
        });
        labels.push(escaped.collect::<String>());
    }
    Some((labels.join("."), at))
}

#[cfg(test)]
mod tests;
