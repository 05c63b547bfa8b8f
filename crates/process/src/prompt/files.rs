//! Prompt texts from the home and the workspace, within a budget of bytes.

use protocol::proc::ContextFile;
use vfs::{FileKind, VPath, View};

/// Files of one directory that are looked at.
const FILES_MAX: usize = 256;

/// The texts of `~/context.d`.
pub(super) async fn of_home(view: &View, budget_bytes: u64) -> Vec<ContextFile> {
    of_directory(view, &format!("{}/context.d", view.who().home), &mut Budget(budget_bytes)).await
}

/// The texts of the workspace's `context.d`; where it has none, its summary.
pub(super) async fn of_workspace(view: &View, budget_bytes: u64) -> Vec<ContextFile> {
    let Some(id) = view.who().workspace_id.clone() else { return Vec::new() };
    let root = workspace(&id);
    let mut budget = Budget(budget_bytes);
    let files = of_directory(view, &format!("{root}/context.d"), &mut budget).await;
    if !files.is_empty() {
        return files;
    }
    let Ok(path) = VPath::absolute(&format!("{root}/summary.md")) else { return Vec::new() };
    let text = read(view, &path).await.filter(|text| budget.takes(text));
    text.map(|text| ContextFile { name: "summary.md".to_string(), text }).into_iter().collect()
}

/// Where a workspace keeps what is for agents.
pub(super) fn workspace(id: &str) -> String {
    format!("/workspaces/{id}/.gsv")
}

async fn of_directory(view: &View, directory: &str, budget: &mut Budget) -> Vec<ContextFile> {
    let mut files = Vec::new();
    let Ok(directory) = VPath::absolute(directory) else { return files };
    let Ok(names) = view.list(&directory).await else { return files };
    let text_files = names.into_iter().filter(|named| {
        named.stat.kind != FileKind::Directory
            && named.name.ends_with(".md")
            && named.name.len() > ".md".len()
    });
    for named in text_files.take(FILES_MAX) {
        let Some(text) = read(view, &directory.join(&named.name)).await else { continue };
        if !budget.takes(&text) {
            tracing::debug!(file = named.name, "a text and those after it exceed the budget of the prompt");
            break;
        }
        files.push(ContextFile { name: named.name, text });
    }
    files
}

/// The trimmed text of a file; nothing when it has none or is no text.
async fn read(view: &View, path: &VPath) -> Option<String> {
    let bytes = match view.read(path).await {
        Ok(bytes) => bytes,
        Err(fault) => {
            tracing::debug!(path = path.as_str(), ?fault, "a text of the prompt cannot be read");
            return None;
        }
    };
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim();
    (!text.is_empty() && !text.contains('\0')).then(|| text.to_string())
}

/// Bytes that are left.
struct Budget(u64);

impl Budget {
    /// Whether a text still fits; if so, its bytes are spent.
    fn takes(&mut self, text: &str) -> bool {
        match self.0.checked_sub(text.len() as u64) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_by_what_fits() {
        let mut budget = Budget(5);
        assert!(budget.takes("abc") && !budget.takes("def") && budget.takes("de") && budget.takes(""));
        assert!(!budget.takes("x"));
        assert!(!Budget(1).takes("ü"), "bytes count, not letters");
    }
}
