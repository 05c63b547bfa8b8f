//! DNS responder (RFC 1035) that forwards nothing: an allowed name gets its own address of the transparent proxy, any
//! other is REFUSED. So a name that carries data out (a DNS tunnel) ends in the log.

mod message;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use base::limits::egress::{ACCEPT_REST, DNS_IDLE_TIMEOUT, DNS_QUESTION_MAX_BYTES};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use crate::gate::Gate;
use message::{Answer, Code, Question, Record};

/// Answers questions that come in packets, for ever.
pub(crate) async fn serve_packets(socket: UdpSocket, gate: Arc<Gate>) {
    let mut buffer = vec![0; DNS_QUESTION_MAX_BYTES];
    loop {
        let answered = match socket.recv_from(&mut buffer).await {
            Ok((count, from)) => match answer(&gate, &buffer[..count]) {
                Some(answer) => socket.send_to(&answer, from).await.map(|_| ()),
                None => Ok(()),
            },
            Err(error) => {
                gate.clock.sleep(ACCEPT_REST).await;
                Err(error)
            }
        };
        if let Err(error) = answered {
            tracing::debug!(%error, "a question for a name was not answered");
        }
    }
}

/// Answers the questions of one connection.
pub(crate) async fn serve_stream(stream: TcpStream, gate: Arc<Gate>) {
    if let Err(error) = answer_stream(stream, &gate).await {
        tracing::debug!(%error, "a connection with questions for names broke off");
    }
}

async fn answer_stream(mut stream: TcpStream, gate: &Gate) -> io::Result<()> {
    let mut buffer = vec![0; DNS_QUESTION_MAX_BYTES];
    loop {
        let asked = async {
            let length = usize::from(stream.read_u16().await?);
            let question = buffer.get_mut(..length).ok_or(io::ErrorKind::InvalidData)?;
            stream.read_exact(question).await?;
            let Some(answer) = answer(gate, question) else { return Err(io::ErrorKind::InvalidData.into()) };
            let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
            stream.write_all(&[&length.to_be_bytes()[..], &answer].concat()).await
        };
        match gate.clock.timeout(DNS_IDLE_TIMEOUT, asked).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Ok(Err(error)) => return Err(error),
            Err(elapsed) => return Err(io::Error::other(elapsed)),
        }
    }
}

/// The answer to one message; `None` when it is not even a question.
fn answer(gate: &Gate, bytes: &[u8]) -> Option<Vec<u8>> {
    match Question::parse(bytes) {
        Ok(question) => Some(question.answered(&decide(gate, &question))),
        Err(message::QuestionError::Unanswerable) => None,
        Err(message::QuestionError::Code(code)) => message::failure(bytes, code),
    }
}

fn decide(gate: &Gate, question: &Question<'_>) -> Answer {
    let name = question.name.as_str();
    // What an address is called is not known here, and asking for it is no attempt to reach somebody.
    if [".in-addr.arpa", ".ip6.arpa"].iter().any(|zone| name.ends_with(zone)) {
        return Answer { code: Code::NoSuchName, record: None };
    }
    if name.is_empty() {
        return Answer { code: Code::Refused, record: None };
    }
    // RFC 6761: the namespace's own loopback.
    let is_local = name == "localhost" || name.ends_with(".localhost");
    if !is_local && !gate.admits(name) {
        return Answer { code: Code::Refused, record: None };
    }
    let record = match question.record_type {
        Some(message::RecordType::A) if is_local => Some(Record::A(Ipv4Addr::LOCALHOST)),
        Some(message::RecordType::Aaaa) if is_local => Some(Record::Aaaa(Ipv6Addr::LOCALHOST)),
        Some(message::RecordType::A) => match gate.names.address(name) {
            Some(address) => Some(Record::A(address)),
            None => return Answer { code: Code::ServerFailure, record: None },
        },
        Some(message::RecordType::Aaaa) | None => None,
    };
    Answer { code: Code::NoError, record }
}
