//! Generator of a small crate with one path dependency, which needs nothing from a registry.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;

/// Source files of the dependency besides its root.
const MODULES: usize = 40;
/// Types in each of them.
const TYPES: usize = 25;
/// Source files of both crates.
pub(super) const FILES: usize = MODULES + 2;

/// Writes it into a directory. It is a workspace of its own, whatever lies above.
pub(super) fn write(root: &Path) -> Result<()> {
    fs::create_dir_all(root.join("src"))?;
    fs::create_dir_all(root.join("parts/src"))?;
    let package = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\npublish = false\n")
    };
    let more = "\n[workspace]\n\n[dependencies]\nparts = { path = \"parts\" }\n";
    fs::write(root.join("Cargo.toml"), package("whole") + more)?;
    fs::write(root.join("parts/Cargo.toml"), package("parts"))?;
    let (mut library, mut program) = (String::new(), String::new());
    for number in 0..MODULES {
        writeln!(library, "pub mod m{number};")?;
        writeln!(program, "    total += parts::m{number}::Part0::default().total();")?;
        fs::write(root.join(format!("parts/src/m{number}.rs")), module()?)?;
    }
    fs::write(root.join("parts/src/lib.rs"), library)?;
    let program =
        format!("fn main() {{\n    let mut total = 0;\n{program}    println!(\"{{total}}\");\n}}\n");
    fs::write(root.join("src/main.rs"), program)?;
    Ok(())
}

/// Types with derived and written code, so that there is something to check.
fn module() -> Result<String> {
    let mut text = String::new();
    for number in 0..TYPES {
        write!(
            text,
            "#[derive(Clone, Debug, Default, PartialEq, PartialOrd)]
pub struct Part{number} {{
    pub name: String,
    pub sizes: Vec<u64>,
    pub weight: f64,
    pub next: Option<Box<Part{number}>>,
}}

impl Part{number} {{
    pub fn total(&self) -> u64 {{
        let own: u64 = self.sizes.iter().filter(|size| **size > {number}).map(|size| size * 2).sum();
        own + self.next.as_ref().map_or(0, |next| next.total())
    }}
}}

"
        )?;
    }
    Ok(text)
}
