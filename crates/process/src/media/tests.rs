//! Tests of media: kept privately, read back, and archived with their messages.

use model::fake::{Reply, Server};
use protocol::ids::{Pid, Uid};
use protocol::outcome::Outcome;
use store::messages::MessageRow;

use super::*;
use crate::fixture::{Fixture, at, user};

fn picture(data: &str) -> MediaInput {
    MediaInput {
        media_type: MediaType::Image,
        mime_type: "image/png".to_string(),
        data: Some(data.to_string()),
        url: None,
        filename: Some("Cat.PNG".to_string()),
        size: Some(4711),
        duration: None,
        transcription: None,
    }
}

fn asked(key: &str, mime_type: Option<&str>) -> MediaRead {
    MediaRead { pid: None, key: key.to_string(), mime_type: mime_type.map(str::to_string) }
}

#[tokio::test]
async fn media_are_kept_privately_and_read_back() {
    let fixture = Fixture::new().await;
    let world = &fixture.host.world;
    let away = MediaInput { data: None, url: Some("https://x/y".to_string()), ..picture("") };
    let kept = keep(world, &fixture.process, vec![picture("aGVsbG8="), away]).await.unwrap();
    let key = kept[0].key.clone().unwrap();
    assert!(key.starts_with("var/media/1000/init:1000/") && key.ends_with(".png"), "{key}");
    assert_eq!((kept[0].size, kept[0].filename.as_deref()), (Some(5), Some("Cat.PNG")));
    assert_eq!((kept[1].key.as_deref(), kept[1].url.as_deref()), (None, Some("https://x/y")));
    let own = fixture.view(fixture.process.uid);
    let stat = own.stat(&at(&format!("/{key}")), Follow::No).await.unwrap();
    assert_eq!((stat.uid, stat.mode & 0o777), (fixture.process.uid, 0o600));
    assert_eq!(own.stat(&at("/var/media/1000"), Follow::No).await.unwrap().mode & 0o777, 0o700);

    let media = fixture.host.media_read(fixture.pid(), &asked(&key, None)).await.unwrap();
    let expected = Media {
        key: key.clone(),
        mime_type: "image/png".to_string(),
        size: 5,
        data_url: "data:image/png;base64,aGVsbG8=".to_string(),
    };
    assert_eq!(media, Outcome::Done(expected));
    let Outcome::Done(media) =
        fixture.host.media_read(fixture.pid(), &asked(&key, Some("image/x"))).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(media.mime_type, "image/x");

    assert_eq!(load(world, &fixture.process, &kept[0]).await.as_deref(), Some("aGVsbG8="));
    assert_eq!(load(world, &fixture.process, &kept[1]).await, None);
    own.remove(&at(&format!("/{key}")), false).await.unwrap();
    assert_eq!(
        load(world, &fixture.process, &kept[0]).await.as_deref(),
        Some("aGVsbG8="),
        "it is remembered"
    );
    clear(world, &fixture.process).await;
    assert_eq!(load(world, &fixture.process, &kept[0]).await, None);
    clear(world, &fixture.process).await;
}

#[tokio::test]
async fn what_cannot_be_read_is_told() {
    let fixture = Fixture::new().await;
    let kept = keep(&fixture.host.world, &fixture.process, vec![picture("aGk")]).await.unwrap();
    let key = kept[0].key.clone().unwrap();
    let other = ProcessRow { pid: "other".into(), ..fixture.process.clone() };
    assert!(fixture.store.processes().create(&other).await.unwrap());
    let read = async |pid: &Pid, key: &str| {
        fixture.host.media_read(pid, &asked(key, None)).await.unwrap().into_result().unwrap_err()
    };
    let outside = "media key is outside this process";
    assert_eq!(read(fixture.pid(), " ").await, "proc.media.read requires key");
    assert_eq!(read(&other.pid, &key).await, outside);
    for odd in [
        "/etc/passwd",
        "var/media/1000/init:1000/",
        "var/media/1000/init:1000/../x",
        "var/media/1000/init:10",
    ] {
        assert_eq!(read(fixture.pid(), odd).await, outside, "{odd}");
    }
    assert_eq!(read(fixture.pid(), "var/media/1000/init:1000/none.png").await, "media not found");
    assert_eq!(read(fixture.pid(), "var/media/1000/init:1000/..").await, outside);
    let large = at("/var/media/1000/init:1000/large");
    let bytes = vec![0; limits::process::MEDIA_MAX_BYTES + 1];
    fixture.view(fixture.process.uid).write(&large, bytes, Writing::default()).await.unwrap();
    let large = "var/media/1000/init:1000/large";
    assert_eq!(read(fixture.pid(), large).await, "media is too large to read inline");
    let medium = StoredMedia { key: Some(large.to_string()), ..kept[0].clone() };
    assert_eq!(load(&fixture.host.world, &fixture.process, &medium).await, None);
    assert_eq!(load(&fixture.host.world, &other, &kept[0]).await, None, "it is not that process's");
    let unknown = fixture.host.media_read(&"none".into(), &asked(&key, None)).await.unwrap_err();
    assert_eq!(unknown.code, 404);
}

#[tokio::test]
async fn all_media_of_a_message_are_kept_or_none() {
    let fixture = Fixture::new().await;
    let world = &fixture.host.world;
    let bad = keep(world, &fixture.process, vec![picture("aGk"), picture("*")]).await.unwrap_err();
    assert_eq!(bad, "media[1]: data is not base64");
    fixture.store.config().set("users/1000/files/quota_bytes", "100").await.unwrap();
    let large = STANDARD.encode(vec![7; 1000]);
    let full = keep(world, &fixture.process, vec![picture("aGk"), picture(&large)]).await.unwrap_err();
    assert!(full.starts_with("a medium could not be kept: EDQUOT"), "{full}");
    let left = fixture.view(Uid::ROOT).list(&at("/var/media/1000/init:1000")).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn what_was_archived_keeps_its_media() {
    let fixture = Fixture::new().await;
    let world = &fixture.host.world;
    let kept = keep(world, &fixture.process, vec![picture("aGVsbG8=")]).await.unwrap();
    let said = MessageRow { media: Some(protocol::frame::to_json(&kept)), ..user("look") };
    fixture.say("default", vec![said]).await;
    let archived = archive::archive_all(world, &fixture.process).await.unwrap();
    clear(world, &fixture.process).await;
    assert_eq!(load(world, &fixture.process, &kept[0]).await.as_deref(), Some("aGVsbG8="));
    let args = asked(kept[0].key.as_deref().unwrap(), None);
    let media = fixture.host.media_read(fixture.pid(), &args).await.unwrap().into_result().unwrap();
    assert_eq!((media.size, media.mime_type.as_str()), (5, "image/png"));
    let directory = format!("{}media", archived.directory.unwrap());
    assert_eq!(fixture.view(fixture.process.uid).list(&at(&directory)).await.unwrap().len(), 1);
    let new = keep(world, &fixture.process, vec![picture("aGk")]).await.unwrap();
    clear(world, &fixture.process).await;
    assert_eq!(load(world, &fixture.process, &new[0]).await, None, "what is in no archive is gone");
}

#[tokio::test]
async fn sound_is_written_down_where_somebody_can() {
    let fixture = Fixture::new().await;
    let world = &fixture.host.world;
    let sound = |transcription: Option<&str>| MediaInput {
        media_type: MediaType::Audio,
        mime_type: "audio/ogg".to_string(),
        filename: None,
        transcription: transcription.map(str::to_string),
        ..picture("aGVsbG8=")
    };
    let words =
        async |media| keep(world, &fixture.process, vec![media]).await.unwrap().remove(0).transcription;
    assert_eq!(words(sound(None)).await, None, "nobody is configured");
    let server = Server::start(|_| Reply::json(200, serde_json::json!({ "text": " hello " }))).await.unwrap();
    for (key, value) in [("model", "w"), ("api_key", "k"), ("base_url", &server.base_url())] {
        fixture.store.config().set(&format!("config/ai/transcription/{key}"), value).await.unwrap();
    }
    assert_eq!(words(sound(None)).await.as_deref(), Some("hello"));
    assert_eq!(words(sound(Some("given"))).await.as_deref(), Some("given"));
    assert_eq!(words(MediaInput { media_type: MediaType::Document, ..sound(None) }).await, None);
    assert_eq!(server.received().len(), 1);
}
