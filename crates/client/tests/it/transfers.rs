//! Tests of transfers between two connections, with the test as the gateway between them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use base::limits;
use client::{Connection, Events};
use futures_util::{SinkExt, StreamExt};
use protocol::transfer::FailReason;
use sha2::Digest;
use tokio::io::AsyncWrite;
use tokio_tungstenite::tungstenite::Message;
use transfer::{Error, Sha256, hex};

use crate::gateway::{Peer, pair};

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n.wrapping_mul(2_654_435_761) >> 7) as u8).collect()
}

fn digest(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

struct Pair {
    left: Connection,
    right: Connection,
    relay: tokio::task::JoinHandle<()>,
    _events: [Events; 2],
}

/// Two connections whose binary messages reach each other. Those of the left pass through
/// `spoil` first.
async fn linked(spoil: impl Fn(usize, Message) -> Option<Message> + Send + Sync + 'static) -> Pair {
    let (left, left_events, left_peer) = pair().await;
    let (right, right_events, right_peer) = pair().await;
    let relay = tokio::spawn(relay(left_peer, right_peer, spoil));
    Pair { left, right, relay, _events: [left_events, right_events] }
}

async fn relay(left: Peer, right: Peer, spoil: impl Fn(usize, Message) -> Option<Message>) {
    let (mut left_out, mut left_in) = left.socket.split();
    let (mut right_out, mut right_in) = right.socket.split();
    let forward = async {
        let mut count = 0;
        while let Some(Ok(message)) = left_in.next().await {
            let Some(message) = spoil(count, message) else { break };
            count += 1;
            if right_out.send(message).await.is_err() {
                break;
            }
        }
    };
    let back = async {
        while let Some(Ok(message)) = right_in.next().await {
            if left_out.send(message).await.is_err() {
                break;
            }
        }
    };
    tokio::select! { () = forward => {}, () = back => {} }
}

#[tokio::test]
async fn bytes_arrive_whole_and_checked() {
    for (size, offset) in
        [(0, 0), (1, 0), (262_144, 0), (9 * 1024 * 1024 + 17, 0), (700_001, 300_000), (5, 5)]
    {
        let both = linked(|_, message| Some(message)).await;
        let bytes = content(size);
        let send = async {
            let mut link = both.left.link(7);
            let mut file = &bytes[..];
            let hash = transfer::hash(&mut file, offset as u64).await.unwrap();
            let mut seen = 0;
            let sent =
                transfer::send(&mut link, &mut file, offset as u64, size as u64, hash, |at| seen = at).await;
            assert_eq!(seen, size as u64);
            sent
        };
        let receive = async {
            let mut link = both.right.link(7);
            let mut file = bytes[..offset].to_vec();
            let hash =
                transfer::hash_before_receiving(&link, &mut &bytes[..offset], offset as u64).await.unwrap();
            let sha256 = transfer::receive(&mut link, &mut file, offset as u64, size as u64, hash, |_| {})
                .await
                .unwrap();
            link.stored(&sha256).await.unwrap();
            file
        };
        let (sent, file) = tokio::join!(send, receive);
        assert_eq!(sent.unwrap(), digest(&bytes));
        assert!(file == bytes);
    }
}

#[tokio::test]
async fn bytes_that_were_changed_on_the_way_are_noticed() {
    let both = linked(|count, message| match (count, message) {
        (1, Message::Binary(bytes)) => {
            let mut bytes = bytes.to_vec();
            bytes[9] ^= 1;
            Some(Message::binary(bytes))
        }
        (_, message) => Some(message),
    })
    .await;
    let bytes = content(600_000);
    let mut left = both.left.link(1);
    let mut right = both.right.link(1);
    let (mut file, mut copy) = (&bytes[..], Vec::new());
    let (sent, received) = tokio::join!(
        transfer::send(&mut left, &mut file, 0, 600_000, Sha256::new(), |_| {}),
        transfer::receive(&mut right, &mut copy, 0, 600_000, Sha256::new(), |_| {})
    );
    assert!(matches!(received, Err(Error::Corrupt { .. })), "{received:?}");
    assert!(matches!(sent, Err(Error::Peer(why)) if why.reason() == Some(FailReason::DigestMismatch)));
}

#[tokio::test]
async fn a_file_that_shrinks_fails_on_both_ends() {
    let both = linked(|_, message| Some(message)).await;
    let bytes = content(1000);
    let (mut left, mut right) = (both.left.link(1), both.right.link(1));
    let (mut file, mut copy) = (&bytes[..], Vec::new());
    let (sent, received) = tokio::join!(
        transfer::send(&mut left, &mut file, 0, 2000, Sha256::new(), |_| {}),
        transfer::receive(&mut right, &mut copy, 0, 2000, Sha256::new(), |_| {})
    );
    assert!(matches!(sent, Err(Error::Shrunk)));
    assert!(matches!(received, Err(Error::Peer(why)) if why.error.contains("shorter")));
}

#[tokio::test]
async fn a_cut_connection_ends_both_ends() {
    let both = linked(|count, message| (count < 3).then_some(message)).await;
    let bytes = content(8 * 1024 * 1024);
    let (mut left, mut right) = (both.left.link(1), both.right.link(1));
    let (mut file, mut copy) = (&bytes[..], Vec::new());
    let size = bytes.len() as u64;
    let (sent, received) = tokio::join!(
        transfer::send(&mut left, &mut file, 0, size, Sha256::new(), |_| {}),
        transfer::receive(&mut right, &mut copy, 0, size, Sha256::new(), |_| {})
    );
    assert!(matches!(sent, Err(Error::Closed)) && matches!(received, Err(Error::Closed)));
    assert!(copy == bytes[..copy.len()] && copy.len() == 3 * limits::transfer::CHUNK_MAX_BYTES);
}

/// A disk that takes nothing until told to.
struct Stuck;

impl AsyncWrite for Stuck {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_slow_end_gets_one_window_and_slows_only_itself() {
    let both = linked(|_, message| Some(message)).await;
    let bytes = content(8 * 1024 * 1024);
    let size = bytes.len() as u64;
    let stuck = tokio::spawn({
        let right = both.right.clone();
        async move {
            let mut link = right.link(1);
            transfer::receive(&mut link, &mut Stuck, 0, size, Sha256::new(), |_| {}).await
        }
    });
    let (at, mut position) = tokio::sync::watch::channel(0);
    let sending = tokio::spawn({
        let (left, bytes) = (both.left.clone(), bytes.clone());
        async move {
            let mut link = left.link(1);
            transfer::send(&mut link, &mut &bytes[..], 0, size, Sha256::new(), move |n| {
                at.send_replace(n);
            })
            .await
        }
    });
    position.wait_for(|at| *at == limits::transfer::WINDOW_BYTES).await.unwrap();
    // Another transfer on the same sockets goes through while the first one hangs.
    let (mut left, mut right) = (both.left.link(2), both.right.link(2));
    let (mut file, mut copy) = (&bytes[..], Vec::new());
    let receive = async {
        let sha256 = transfer::receive(&mut right, &mut copy, 0, size, Sha256::new(), |_| {}).await.unwrap();
        right.stored(&sha256).await.unwrap();
    };
    let (sent, ()) =
        tokio::join!(transfer::send(&mut left, &mut file, 0, size, Sha256::new(), |_| {}), receive);
    assert_eq!(sent.unwrap(), digest(&copy));
    assert_eq!(*position.borrow(), limits::transfer::WINDOW_BYTES);
    stuck.abort();
    sending.abort();
    both.relay.abort();
}

/// The clock runs by itself while nothing happens.
#[tokio::test]
async fn a_slow_end_says_that_it_is_alive() {
    let both = linked(|_, message| Some(message)).await;
    let link = both.left.link(7);
    let mut heard = both.right.transfer(7);
    tokio::time::pause();
    let signs = limits::transfer::IDLE.as_secs() / limits::transfer::SIGN_OF_LIFE.as_secs();
    let storing = tokio::time::sleep(limits::transfer::IDLE + limits::transfer::SIGN_OF_LIFE / 2);
    link.say_alive_during(5, storing).await.unwrap();
    tokio::time::resume();
    link.stored("x").await.unwrap();
    for _ in 0..signs {
        assert_eq!(heard.recv().await.unwrap(), r#"{"ack":5}"#);
    }
    assert_eq!(heard.recv().await.unwrap(), r#"{"stored":"x"}"#);
}
