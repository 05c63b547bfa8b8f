//! Tests of DNS messages.

use proptest::prelude::*;

use super::*;

fn ask(labels: &[&[u8]], kind: u16) -> Vec<u8> {
    let mut out = vec![0x12, 0x34, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in labels {
        out.push(label.len() as u8);
        out.extend_from_slice(label);
    }
    out.push(0);
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&[0, 1]);
    out
}

#[test]
fn a_question_is_answered_with_itself_and_the_record() {
    let asked = ask(&[b"WwW", b"example", b"org"], 1);
    let question = Question::parse(&asked).unwrap();
    assert_eq!((question.name.as_str(), question.record_type), ("www.example.org", Some(RecordType::A)));
    let record = Some(Record::A(Ipv4Addr::new(127, 64, 0, 1)));
    let answer = question.answered(&Answer { code: Code::NoError, record });
    assert_eq!(&answer[..12], [0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
    assert_eq!(&answer[12..asked.len()], &asked[12..], "as it was asked, in its case");
    assert!(answer.ends_with(&[0, 4, 127, 64, 0, 1]));
    let refused = question.answered(&Answer { code: Code::Refused, record: None });
    assert_eq!((refused[3] & 15, refused[7]), (5, 0));
}

#[test]
fn what_is_no_question_is_not_taken_for_one() {
    let good = ask(&[b"a", b"example"], 28);
    assert_eq!(Question::parse(&good).unwrap().record_type, Some(RecordType::Aaaa));
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    let cases = [
        (changed(2, 0x81), QuestionError::Unanswerable),
        (changed(2, 0x29), QuestionError::Code(Code::NotImplemented)),
        (changed(5, 0), QuestionError::Code(Code::FormatError)),
        (changed(5, 2), QuestionError::Code(Code::FormatError)),
        (changed(12, 0xc0), QuestionError::Code(Code::FormatError)),
        (changed(good.len() - 1, 3), QuestionError::Code(Code::NotImplemented)),
        (good[..good.len() - 1].to_vec(), QuestionError::Code(Code::FormatError)),
        (good[..11].to_vec(), QuestionError::Code(Code::FormatError)),
        (good[..3].to_vec(), QuestionError::Unanswerable),
        (Vec::new(), QuestionError::Unanswerable),
    ];
    for (bytes, wrong) in cases {
        assert_eq!(Question::parse(&bytes), Err(wrong), "{bytes:?}");
    }
    let long = [b"a".repeat(63), b"a".repeat(63), b"a".repeat(63), b"a".repeat(62)];
    let labels: Vec<&[u8]> = long.iter().map(Vec::as_slice).collect();
    assert!(Question::parse(&ask(&labels, 1)).is_err());
    assert!(Question::parse(&ask(&labels[..3], 1)).is_ok());
}

#[test]
fn a_dot_or_a_control_character_in_a_label_makes_no_other_name() {
    let question = |labels: &[&[u8]]| Question::parse(&ask(labels, 1)).unwrap().name;
    assert_eq!(question(&[b"evil.example", b"org"]), "evil\\.example.org");
    assert_eq!(question(&[b"a\0\x1b", b"example"]), "a\\x00\\x1b.example");
    assert_eq!(question(&[]), "");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        match Question::parse(&bytes) {
            Ok(question) => {
                let answer = question.answered(&Answer { code: Code::Refused, record: None });
                prop_assert_eq!(&answer[..2], &bytes[..2]);
                prop_assert!(answer.len() <= bytes.len().max(HEADER));
            }
            Err(QuestionError::Code(code)) => prop_assert_eq!(failure(&bytes, code).unwrap().len(), HEADER),
            Err(QuestionError::Unanswerable) => {}
        }
    }

    #[test]
    fn a_name_is_read_as_it_was_written(
        labels in proptest::collection::vec("[a-z0-9_-]{1,20}", 1..6), tail in any::<[u8; 7]>()
    ) {
        let bytes: Vec<&[u8]> = labels.iter().map(String::as_bytes).collect();
        let mut asked = ask(&bytes, 1);
        asked.extend_from_slice(&tail);
        prop_assert_eq!(Question::parse(&asked).unwrap().name, labels.join("."));
    }
}
