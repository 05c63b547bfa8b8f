//! Tests of the incremental serialiser: the text equals what the protocol's types give, at every event and later.

use futures_util::StreamExt;
use proptest::prelude::*;

use crate::fake::{Piece, Script, Turn};
use crate::{Cancel, Event, Message, Model, Provider, ProviderKind, Request};

fn written(event: &Event, mark: Option<&super::Mark>) -> String {
    let mut out = String::new();
    event.partial.write(mark, &mut out);
    out
}

fn piece() -> impl Strategy<Value = Piece> {
    let texts = || prop::collection::vec("[a-c\"\\\\\n\u{1}ä🦀]{0,6}", 0..5);
    prop_oneof![
        texts().prop_map(Piece::Text),
        texts().prop_map(Piece::Thinking),
        "[a-z\"\\{\\}:\\[\\] 0-9]{0,20}".prop_map(|arguments| Piece::Tool {
            id: "c\"1".into(),
            name: "Read".into(),
            arguments
        }),
        Just(Piece::Tool { id: "2".into(), name: "W".into(), arguments: r#"{"a":{"b":[1,"x"]}}"#.into() }),
    ]
}

proptest! {
    #[test]
    fn every_state_is_written_as_it_was(pieces in prop::collection::vec(piece(), 0..5)) {
        let turn = pieces.into_iter().fold(Turn::new().tokens(3, 4), Turn::piece);
        let mut marks = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let script = Script::new([turn]);
            let request = Request::new(Model::find(ProviderKind::Demo, "m"), vec![Message::user("hi")]);
            let mut stream = script.stream(request, Cancel::new());
            while let Some(event) = stream.next().await {
                let exact = serde_json::to_string(&event.partial.message()).unwrap();
                assert_eq!(written(&event, None), exact);
                let mark = event.partial.mark();
                assert_eq!(written(&event, Some(&mark)), exact);
                marks.push((event, mark, exact));
            }
        });
        // Later, in any order, the content is still what it was; only the frame around it has gone on.
        for (event, mark, exact) in marks.iter().rev() {
            let (then, now): (serde_json::Value, serde_json::Value) = (
                serde_json::from_str(exact).unwrap(),
                serde_json::from_str(&written(event, Some(mark))).unwrap(),
            );
            let (then, now) = (&then["content"], &now["content"]);
            prop_assert_eq!(then.as_array().unwrap().len(), now.as_array().unwrap().len());
            for (then, now) in then.as_array().unwrap().iter().zip(now.as_array().unwrap()) {
                if then["type"] == "toolCall" {
                    prop_assert_eq!(&then["id"], &now["id"]);
                } else {
                    prop_assert_eq!(then, now);
                }
            }
        }
    }
}
