//! Incremental renderer of a run: signals go in, text comes out. What was shown is remembered, so that after a lost
//! connection only what is new is shown.

use std::collections::HashMap;

use protocol::signal::run::{Finished, ToolFinished, ToolStarted};
use protocol::signal::stream::{AssistantContent, AssistantMessage};
use serde::Deserialize;
use serde_json::Value;
use terminal::escape;
use terminal::layout::{Layout, Style};

use super::look::Look;
use super::tools::{self, Args};
use crate::markdown::Markdown;

mod from_history;
mod streamed_text;

use streamed_text::StreamedText;

/// Something to print.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// What the agent says.
    Answer(String),
    /// What happens meanwhile.
    Aside(String),
}

/// An event of a model's answer; those of a compact stream have no `partial`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamEvent {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    content_index: u64,
    delta: Option<String>,
    content: Option<String>,
    partial: Option<AssistantMessage>,
    message: Option<AssistantMessage>,
}

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detail {
    /// Everything, as it comes, for a person.
    Person,
    /// What is said, as it comes, and the names of the tools beside it.
    Pipe,
}

/// What was printed last.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Section {
    Nothing,
    Text,
    Thinking,
    Tool,
    /// Something that is complete.
    Other,
}

/// Shows one run.
pub struct View {
    look: Look,
    detail: Detail,
    /// Only the last answer is shown, when it is complete.
    quiet: bool,
    section: Section,
    markdown: Option<Markdown>,
    thinking_layout: Option<Layout>,
    turn: Turn,
    turns_complete: usize,
    calls: HashMap<String, Call>,
    last_call: Option<String>,
    /// Whether deltas continue what is known of the turn.
    in_sync: bool,
    pieces: Vec<Piece>,
}

/// One answer of the model.
#[derive(Default)]
struct Turn {
    text: StreamedText,
    thinking: StreamedText,
    streamed: bool,
    told: bool,
}

struct Call {
    name: String,
    syscall: String,
    args: Args,
    started: bool,
    finished: bool,
    /// The person saw it when they were asked.
    asked: bool,
}

impl View {
    /// A run of which nothing was shown.
    pub fn new(look: Look, detail: Detail, quiet: bool) -> View {
        View {
            look,
            detail,
            quiet,
            section: Section::Nothing,
            markdown: None,
            thinking_layout: None,
            turn: Turn::default(),
            turns_complete: 0,
            calls: HashMap::new(),
            last_call: None,
            in_sync: true,
            pieces: Vec::new(),
        }
    }

    /// What is to be printed by now.
    pub fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    /// Signals were missed: deltas are not to be trusted before the next whole text.
    pub fn missed(&mut self) {
        self.in_sync = false;
    }

    /// An event of the model's answer.
    pub fn stream(&mut self, event: &StreamEvent) {
        if let Some(partial) = &event.partial {
            self.whole(partial);
            return;
        }
        let block = event.content_index;
        match event.kind.as_str() {
            "start" => {
                if self.turn.streamed || self.turn.told {
                    self.end_turn();
                }
                // The same answer from the start, where it was begun before.
                self.turn.text.begin_again();
                self.turn.thinking.begin_again();
                self.in_sync = true;
            }
            "text_delta" if self.in_sync => {
                self.turn.text.add(block, event.delta.as_deref().unwrap_or_default());
                self.show_text();
            }
            "text_end" => {
                self.turn.text.set(block, event.content.as_deref().unwrap_or_default());
                self.show_text();
            }
            "thinking_delta" if self.in_sync => {
                self.turn.thinking.add(block, event.delta.as_deref().unwrap_or_default());
                self.show_thinking();
            }
            "done" => {
                if let Some(message) = &event.message {
                    self.whole(message);
                }
                self.turn.streamed = true;
            }
            _ => {}
        }
    }

    /// What the model said in a turn.
    pub fn output(&mut self, text: &str) {
        if self.turn.told {
            self.end_turn();
        }
        self.turn.text.replace(text);
        self.show_text();
        self.turn.told = true;
    }

    /// A tool was asked for, and a person is shown all of it.
    pub fn asked(&mut self, call_id: &str, name: &str, syscall: &str, args: &Args) {
        let call = self.call(call_id, name, syscall, args);
        call.asked = true;
        self.close();
        self.section = Section::Tool;
    }

    /// A tool runs.
    pub fn tool_started(&mut self, started: &ToolStarted) {
        let name = shown_name(&started.name, started.parent_call_id.as_deref());
        let call = self.call(&started.call_id, &name, &started.syscall, &started.args);
        if call.started {
            return;
        }
        call.started = true;
        let asked = call.asked;
        self.show_call(&started.call_id, !asked);
    }

    /// A tool ended.
    pub fn tool_finished(&mut self, finished: &ToolFinished) {
        let output = finished.output.as_ref();
        let args = Args::new();
        let name = shown_name(&finished.name, finished.parent_call_id.as_deref());
        let call = self.call(&finished.call_id, &name, &finished.syscall, &args);
        let (was_started, was_finished) = (call.started, call.finished);
        (call.started, call.finished) = (true, true);
        // What a block was answered is the block's: the block says what came of it.
        let is_blocks = finished.parent_call_id.is_some() && finished.ok && was_started;
        if was_finished || is_blocks {
            return;
        }
        if !was_started || self.last_call.as_deref() != Some(&finished.call_id) {
            self.show_call(&finished.call_id, false);
        }
        self.show_result(&finished.name, finished.ok, output, finished.error.as_deref());
    }

    /// The run is over.
    pub fn finished(&mut self, finished: &Finished) {
        let quiet = std::mem::take(&mut self.quiet);
        if let Some(text) = finished.text.as_deref().filter(|text| !text.is_empty())
            && (quiet || self.turn.text.is_empty())
        {
            self.turn.text.replace(text);
            self.show_text();
        }
        self.close();
        for notice in &finished.notices {
            self.aside(format!("[note] {}\n", escape::line(notice)));
        }
    }

    /// Ends an open line, so that something else can be printed.
    pub fn close(&mut self) {
        if let Some(mut markdown) = self.markdown.take() {
            let rest = markdown.finish();
            self.answer(rest);
        } else if self.section == Section::Text && !self.turn.text.ends_line() {
            self.answer("\n".to_string());
        }
        if let Some(mut layout) = self.thinking_layout.take() {
            layout.end_line();
            let rest = layout.take();
            self.aside(rest);
        }
        if self.section == Section::Text || self.section == Section::Thinking {
            self.section = Section::Other;
        }
    }

    fn whole(&mut self, message: &AssistantMessage) {
        self.in_sync = true;
        for (block, content) in (0..).zip(&message.content) {
            match content {
                AssistantContent::Text(text) => self.turn.text.set(block, &text.text),
                AssistantContent::Thinking(thinking) => self.turn.thinking.set(block, &thinking.thinking),
                AssistantContent::ToolCall(_) => {}
            }
        }
        self.show_thinking();
        self.show_text();
    }

    fn end_turn(&mut self) {
        self.close();
        self.turn = Turn::default();
        self.turns_complete += 1;
    }

    fn call(&mut self, id: &str, name: &str, syscall: &str, args: &Args) -> &mut Call {
        self.calls.entry(id.to_string()).or_insert_with(|| Call {
            name: name.to_string(),
            syscall: syscall.to_string(),
            args: args.clone(),
            started: false,
            finished: false,
            asked: false,
        })
    }

    fn show_call(&mut self, id: &str, with_changes: bool) {
        let Some(call) = self.calls.get(id) else { return };
        let text = match self.detail {
            Detail::Pipe => {
                let target = tools::target(&call.syscall, &call.args);
                let on = target.map_or_else(String::new, |target| format!(" on {}", escape::line(target)));
                let summary = tools::summary(&call.syscall, &call.args);
                format!("[tool] {}{on}: {summary}\n", escape::line(&call.name))
            }
            Detail::Person => {
                let heading = tools::heading(&call.name, &call.syscall, &call.args, self.look);
                let changes = if with_changes {
                    tools::changes(&call.syscall, &call.args, self.look)
                } else {
                    String::new()
                };
                format!("{heading}\n{changes}")
            }
        };
        self.last_call = Some(id.to_string());
        self.go_to(Section::Tool);
        self.aside(text);
    }

    fn show_result(&mut self, name: &str, ok: bool, output: Option<&Value>, error: Option<&str>) {
        let text = match self.detail {
            Detail::Pipe => {
                let how = tools::ending(ok, output, error);
                format!("[tool result] {}: {}\n", escape::line(name), escape::line(&how))
            }
            Detail::Person => tools::result(ok, output, error, self.look),
        };
        self.go_to(Section::Tool);
        self.aside(text);
    }

    fn show_text(&mut self) {
        if self.quiet {
            return;
        }
        let (again, new) = self.turn.text.show();
        if new.is_empty() {
            return;
        }
        if again {
            self.close();
            self.aside(self.look.paint(Style::DIM, "(the answer was begun again)") + "\n");
        }
        self.go_to(Section::Text);
        if self.look.colour && self.detail == Detail::Person {
            let columns = self.look.columns.unwrap_or(80);
            let rendered = self.markdown.get_or_insert_with(|| Markdown::new(columns)).push(&new);
            self.answer(rendered);
        } else {
            self.answer(escape::block(&new));
        }
    }

    fn show_thinking(&mut self) {
        let (_, new) = self.turn.thinking.show();
        if new.is_empty() || self.quiet || self.detail != Detail::Person {
            return;
        }
        self.go_to(Section::Thinking);
        let columns = self.look.columns.unwrap_or(80);
        let layout = self.thinking_layout.get_or_insert_with(|| Layout::new(columns));
        let style = if self.look.colour { Style { italic: true, ..Style::DIM } } else { Style::PLAIN };
        for c in new.chars().filter_map(escape::character) {
            layout.push(c, style);
        }
        let rendered = layout.take();
        self.aside(rendered);
    }

    /// Begins another kind of text, with a line between the two.
    fn go_to(&mut self, section: Section) {
        if self.section == section {
            return;
        }
        let first = self.section == Section::Nothing;
        self.close();
        self.section = section;
        if !first && self.detail == Detail::Person {
            self.aside("\n".to_string());
        }
    }

    fn answer(&mut self, text: String) {
        self.print(Piece::Answer(text));
    }

    fn aside(&mut self, text: String) {
        if self.quiet {
            return;
        }
        self.print(Piece::Aside(text));
    }

    fn print(&mut self, piece: Piece) {
        match (self.pieces.last_mut(), piece) {
            (_, Piece::Answer(text) | Piece::Aside(text)) if text.is_empty() => {}
            (Some(Piece::Answer(before)), Piece::Answer(text)) => before.push_str(&text),
            (Some(Piece::Aside(before)), Piece::Aside(text)) => before.push_str(&text),
            (_, piece) => self.pieces.push(piece),
        }
    }
}

/// A call of a block is shown as such.
fn shown_name<'n>(name: &'n str, parent_call_id: Option<&str>) -> std::borrow::Cow<'n, str> {
    match parent_call_id {
        Some(_) => format!("CodeMode > {name}").into(),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests;
