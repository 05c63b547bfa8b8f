//! Property test of the run state machine: a run that is stopped anywhere and goes on from its rows ends as one that
//! was never stopped.

use std::collections::BTreeMap;

use proptest::prelude::*;
use protocol::ids::Uid;

use super::step::{Ask, Begin, Drain, End, Nested, Outcome, Refusal, Turn};
use super::*;

fn row() -> RunRow {
    let begun = RunRow::begun("r1".into(), &"p1".into(), Uid(1000), &"default".into(), 1_000);
    RunRow { reason: "proc.send".to_string(), ..begun }
}

/// How each call of a run goes, turn by turn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Runs,
    Refused,
    Approved,
    Denied,
    /// Its device refuses it, and then a person approves it.
    SentBack,
}

fn fate() -> impl Strategy<Value = Fate> {
    let fates = [Fate::Runs, Fate::Refused, Fate::Approved, Fate::Denied, Fate::SentBack];
    proptest::sample::select(fates.to_vec())
}

/// Plays a run: what comes next is asked of `next`, which of several things is done first is `dice`'s.
struct Player {
    turns: Vec<Vec<Fate>>,
    dice: Vec<usize>,
    thrown: usize,
    rows: Vec<StepRow>,
}

impl Player {
    fn throw(&mut self, sides: usize) -> usize {
        self.thrown += 1;
        self.dice[self.thrown % self.dice.len()] % sides
    }

    /// The next step; `None` once the run is over.
    fn step(&mut self, run: &RunState) -> Option<Step> {
        let outcome = |place: usize, ok| {
            let message_id = run.calls[place].message_id;
            Step::Outcome(Outcome { turn: run.turns, place, message_id, ok })
        };
        let step = match next(run) {
            Next::Over => return None,
            Next::Wait => self.answer(run),
            Next::Model if run.steps == 0 => {
                Step::Begin(Begin { reason: "proc.send".to_string(), by_person: true })
            }
            Next::Model => self.model(run),
            Next::Calls(acts) => {
                let asked = run.calls.iter().any(|call| matches!(call.phase, Phase::Asked { .. }));
                if asked && self.throw(3) == 0 {
                    return Some(self.answer(run));
                }
                let (place, act) = acts[self.throw(acts.len())];
                let intent = || {
                    let (call, target) = ("fs.read".to_string(), "gsv".to_string());
                    Step::Intent(Intent {
                        way: Default::default(),
                        hosts: Vec::new(),
                        widening: Default::default(),
                        turn: run.turns,
                        place,
                        request_id: run.request_id(place),
                        call,
                        target,
                    })
                };
                let refusals = run.calls[place].refusals;
                match (act, self.turns[run.turns as usize - 1][place]) {
                    (Act::Judge, Fate::SentBack) if refusals == 0 => intent(),
                    (Act::Await, Fate::SentBack) if refusals == 0 => {
                        Step::Refusal(Refusal { place, why: "no checkpoint".to_string() })
                    }
                    (Act::Judge, Fate::Runs) | (Act::Make, _) => intent(),
                    (Act::Judge, Fate::Refused) => outcome(place, false),
                    (Act::Judge, _) => Step::Ask(Ask { place, request_id: format!("q{place}") }),
                    (Act::Refuse, _) => outcome(place, false),
                    (Act::Await, fate) => outcome(place, fate != Fate::Denied),
                }
            }
        };
        Some(step)
    }

    fn answer(&mut self, run: &RunState) -> Step {
        let waiting: Vec<usize> = (0..run.calls.len())
            .filter(|place| matches!(run.calls[*place].phase, Phase::Asked { .. }))
            .collect();
        let place = waiting[self.throw(waiting.len())];
        let fate = self.turns[run.turns as usize - 1][place];
        let approved = matches!(fate, Fate::Approved | Fate::SentBack);
        let decision = if approved { Decision::Approve } else { Decision::Deny };
        let (request_id, by) = (format!("q{place}"), "ann".to_string());
        let outside = fate == Fate::SentBack;
        Step::Answer(Answer { request_id, decision, outside, by, rehearsal: None })
    }

    fn model(&mut self, run: &RunState) -> Step {
        let turn = run.turns as usize;
        if turn > run.absorbed.len() {
            let run_ids = vec![RunId(format!("q{turn}"))];
            return Step::Drain(Drain { run_ids, message_ids: vec![0], by_person: true });
        }
        let Some(fates) = self.turns.get(turn) else {
            let (status, reason) = ("ok".to_string(), "turn.complete".to_string());
            return Step::End(End { status, reason, error: None });
        };
        let call = |place: usize| Named { id: format!("c{place}"), name: "Read".to_string() };
        let calls = (0..fates.len()).map(call).collect();
        Step::Turn(Turn { turn: turn as u64 + 1, message_id: 100 * (turn as i64 + 1), calls })
    }

    /// Plays to the end. Before each step whose number is in `stops` everything but the rows is forgotten.
    fn play(&mut self, stops: &[usize]) -> (RunState, BTreeMap<(u64, usize), bool>) {
        let mut run = RunState::rebuild(&row(), &self.rows).unwrap();
        let mut results = BTreeMap::new();
        while let Some(step) = self.step(&run) {
            if let Step::Outcome(outcome) = &step {
                let before = results.insert((outcome.turn, outcome.place), outcome.ok);
                assert_eq!(before, None, "a call has one result");
            }
            let row = step.row(run.steps + 1, 1_000 + 10 * self.rows.len() as i64);
            assert_eq!(Step::parse(&row), Ok(step));
            run.fold(&row).unwrap();
            self.rows.push(row);
            if stops.contains(&self.rows.len()) {
                let again = RunState::rebuild(&super::tests::row(), &self.rows).unwrap();
                assert_eq!(again, run, "rows tell everything");
                assert_eq!(next(&again), next(&run));
                run = again;
            }
            assert!(self.rows.len() < 1_000, "the run does not end");
        }
        (run, results)
    }
}

proptest! {
    #[test]
    fn a_stopped_run_ends_as_one_that_was_not(
        turns in proptest::collection::vec(proptest::collection::vec(fate(), 1..6), 0..5),
        dice in proptest::collection::vec(0..60usize, 1..40),
        stops in proptest::collection::vec(1..80usize, 0..20),
    ) {
        let player = |stops: &[usize], dice: &[usize]| {
            let mut player =
                Player { turns: turns.clone(), dice: dice.to_vec(), thrown: 0, rows: Vec::new() };
            let (run, results) = player.play(stops);
            (run, results, player.rows)
        };
        let (whole, expected, rows) = player(&[], &dice);
        let (stopped, results, same_rows) = player(&stops, &dice);
        prop_assert_eq!(&results, &expected);
        prop_assert_eq!(&same_rows, &rows);
        prop_assert_eq!(stopped, whole);
        let mut other_dice = dice.clone();
        other_dice.rotate_left(dice.len() / 2);
        let (_, other, _) = player(&stops, &other_dice);
        prop_assert_eq!(other, expected, "the order in which things happen does not matter");
    }

    #[test]
    fn any_prefix_of_a_journal_goes_on_to_the_same_state(
        turns in proptest::collection::vec(proptest::collection::vec(fate(), 1..6), 0..4),
        dice in proptest::collection::vec(0..60usize, 1..40),
        cut in 0..100usize,
    ) {
        let mut player = Player { turns, dice, thrown: 0, rows: Vec::new() };
        let (whole, _) = player.play(&[]);
        let cut = cut.min(player.rows.len());
        let mut run = RunState::rebuild(&row(), &player.rows[..cut]).unwrap();
        for row in &player.rows[cut..] {
            run.fold(row).unwrap();
        }
        prop_assert_eq!(run, whole);
    }
}

#[test]
fn steps_that_do_not_fit_are_refused() {
    let begin = Step::Begin(Begin { reason: "x".to_string(), by_person: true });
    let mut run = RunState::new(&row());
    assert!(run.fold(&begin.row(2, 0)).is_err(), "a gap");
    run.fold(&begin.row(1, 0)).unwrap();
    let outcome = Step::Outcome(Outcome { turn: 1, place: 0, message_id: 2, ok: true });
    assert!(run.fold(&outcome.row(2, 0)).is_err(), "no such call");
    let calls = vec![Named { id: "a".to_string(), name: "Read".to_string() }];
    run.fold(&Step::Turn(Turn { turn: 1, message_id: 1, calls: calls.clone() }).row(2, 0)).unwrap();
    assert!(run.fold(&Step::Turn(Turn { turn: 2, message_id: 3, calls }).row(3, 0)).is_err(), "an open call");
    run.fold(&outcome.row(3, 0)).unwrap();
    assert!(run.fold(&outcome.row(4, 0)).is_err(), "a second result");
    let end = Step::End(End { status: "ok".to_string(), reason: "x".to_string(), error: None });
    run.fold(&end.row(4, 0)).unwrap();
    assert!(run.fold(&begin.row(5, 0)).is_err(), "after the end");
    assert_eq!(next(&run), Next::Over);
}

#[test]
fn a_refused_call_is_decided_on_again_under_another_id() {
    let mut run = RunState::new(&row());
    let calls = vec![Named { id: "a".to_string(), name: "Shell".to_string() }];
    run.fold(&Step::Turn(Turn { turn: 1, message_id: 1, calls }).row(1, 0)).unwrap();
    let refusal = Step::Refusal(Refusal { place: 0, why: "no checkpoint".to_string() });
    assert!(run.fold(&refusal.row(2, 0)).is_err(), "it was not sent");
    let intent = Intent {
        turn: 1,
        place: 0,
        request_id: run.request_id(0),
        call: "shell.exec".to_string(),
        target: "mac".to_string(),
        way: Way::Confined,
        hosts: Vec::new(),
        widening: Widening::default(),
    };
    run.fold(&Step::Intent(intent).row(2, 0)).unwrap();
    let first = run.request_id(0);
    assert_eq!(next(&run), Next::Calls(vec![(0, Act::Await)]));
    run.fold(&refusal.row(3, 0)).unwrap();
    assert_eq!(next(&run), Next::Calls(vec![(0, Act::Judge)]));
    assert_ne!(run.request_id(0), first);
    assert!(run.fold(&refusal.row(4, 0)).is_err(), "it is refused once for each time it is sent");
}

#[test]
fn steps_from_before_there_were_widenings_are_read() {
    let body =
        r#"{"turn":1,"place":0,"requestId":"r/1/0","call":"shell.exec","target":"mac","way":"approved"}"#;
    let old = StepRow { number: 1, kind: "intent".to_string(), body: body.to_string(), created_at: 0 };
    assert!(matches!(Step::parse(&old), Ok(Step::Intent(intent)) if intent.widening.is_empty()));
    let body = r#"{"requestId":"q","decision":"approve","by":"ann"}"#;
    let old = StepRow { number: 1, kind: "answer".to_string(), body: body.to_string(), created_at: 0 };
    assert!(matches!(Step::parse(&old), Ok(Step::Answer(answer)) if !answer.outside));
}

#[test]
fn waiting_for_a_person_does_not_count_as_time() {
    let mut run = RunState::new(&row());
    let calls = vec![Named { id: "a".to_string(), name: "Delete".to_string() }];
    run.fold(&Step::Turn(Turn { turn: 1, message_id: 1, calls }).row(1, 2_000)).unwrap();
    assert_eq!(run.deadline_ms(5_000), Some(6_000));
    run.fold(&Step::Ask(Ask { place: 0, request_id: "q".to_string() }).row(2, 3_000)).unwrap();
    assert_eq!((run.deadline_ms(5_000), run.state()), (None, ProcessState::WaitingHil));
    let (request_id, by) = ("q".to_string(), "ann".to_string());
    let yes = Answer { request_id, decision: Decision::Approve, outside: false, by, rehearsal: None };
    run.fold(&Step::Answer(yes).row(3, 90_000)).unwrap();
    assert_eq!(run.deadline_ms(5_000), Some(6_000 + 87_000));
    assert_eq!(next(&run), Next::Calls(vec![(0, Act::Make)]));
}

fn sent(place: usize, call: &str) -> Step {
    Step::Intent(Intent {
        way: Default::default(),
        hosts: Vec::new(),
        widening: Default::default(),
        turn: 1,
        place,
        request_id: format!("r1/1/{place}"),
        call: call.to_string(),
        target: "gsv".to_string(),
    })
}

fn nested(place: usize, parent: usize) -> Step {
    let (id, name) = (format!("codemode-{place}"), "Write".to_string());
    Step::Nested(Nested { place, parent, id, name, args: "{}".to_string() })
}

/// A run whose model made a block that is under way.
fn with_block() -> (RunState, Vec<StepRow>) {
    let call = Named { id: "t1".to_string(), name: "CodeMode".to_string() };
    let steps = [
        Step::Begin(Begin { reason: "proc.send".to_string(), by_person: true }),
        Step::Turn(Turn { turn: 1, message_id: 5, calls: vec![call] }),
        sent(0, "codemode.exec"),
    ];
    let (mut run, mut rows) = (RunState::new(&row()), Vec::new());
    for step in steps {
        fold(&mut run, &mut rows, step).unwrap();
    }
    (run, rows)
}

fn fold(run: &mut RunState, rows: &mut Vec<StepRow>, step: Step) -> Result<(), String> {
    let step = step.row(run.steps + 1, 1_000 + run.steps * 10);
    run.fold(&step)?;
    rows.push(step);
    Ok(())
}

#[test]
fn what_a_block_calls_are_calls_of_the_turn_and_end_with_it() {
    let (mut run, mut rows) = with_block();
    for step in [nested(1, 0), sent(1, "fs.write"), nested(2, 0), nested(3, 0), sent(3, "shell.exec")] {
        fold(&mut run, &mut rows, step).unwrap();
    }
    let outcome = |place, ok| Step::Outcome(Outcome { turn: 1, place, message_id: 0, ok });
    fold(&mut run, &mut rows, outcome(1, true)).unwrap();
    let ask = Step::Ask(Ask { place: 2, request_id: "a1".to_string() });
    fold(&mut run, &mut rows, ask).unwrap();
    assert_eq!(run.state(), ProcessState::WaitingTool, "another call of the block is under way");
    fold(&mut run, &mut rows, outcome(3, false)).unwrap();
    assert_eq!(run.state(), ProcessState::WaitingHil, "a block waits for its question");
    assert_eq!(run.deadline_ms(1_000), None, "that time does not count");
    assert_eq!((run.under_way(), run.tool_calls), (1, 1));
    fold(&mut run, &mut rows, outcome(0, true)).unwrap();
    assert_eq!(next(&run), Next::Model, "the question is nobody's any more");
    assert_eq!(RunState::rebuild(&row(), &rows).unwrap(), run, "the journal tells the same");
}

#[test]
fn only_a_block_that_is_under_way_makes_calls() {
    let (mut run, mut rows) = with_block();
    assert!(fold(&mut run, &mut rows, nested(2, 0)).is_err(), "places follow each other");
    fold(&mut run, &mut rows, nested(1, 0)).unwrap();
    fold(&mut run, &mut rows, sent(1, "fs.write")).unwrap();
    assert!(fold(&mut run, &mut rows, nested(2, 1)).is_err(), "what a block called is no block");
    let outcome = Step::Outcome(Outcome { turn: 1, place: 0, message_id: 6, ok: true });
    fold(&mut run, &mut rows, outcome).unwrap();
    assert!(fold(&mut run, &mut rows, nested(2, 0)).is_err(), "it is over");
}

#[test]
fn journals_from_before_there_were_blocks_are_read() {
    let (run, rows) = with_block();
    for row in &rows {
        assert!(!row.body.contains("parent"), "what has no parent says nothing about one: {}", row.body);
    }
    let intent = r#"{"turn":1,"place":0,"requestId":"r1/1/0","call":"fs.read","target":"gsv"}"#;
    let old = [rows[0].clone(), rows[1].clone(), StepRow { body: intent.to_string(), ..rows[2].clone() }];
    assert_eq!(RunState::rebuild(&self::row(), &old).unwrap().calls.len(), run.calls.len());
}
