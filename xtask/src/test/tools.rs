//! Installer of what the tests and the benchmark need besides Rust: PostgreSQL's programs, the programs that the
//! native shell is compared with, libgit2, MCP servers that others wrote, and the TypeScript compiler. Installed when
//! missing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::place;

/// The compiler that checks the generated types.
const TYPESCRIPT: &str = "5.9.3";
/// The library that opens our repositories besides the git program, in the Python package that carries it. Tests look
/// for it under this name.
const PYGIT2: &str = "1.20.1";
/// MCP servers that the gateway's client is tested with: the reference server, and one of the Python SDK.
const MCP_SERVER: &str = "@modelcontextprotocol/server-everything@2026.8.31";
const MCP_PYTHON: &str = "mcp==2.3.0";
/// Where Debian keeps the programs of each PostgreSQL version.
const POSTGRESQL: &str = "/usr/lib/postgresql";
/// Programs that scripts of the native shell's conformance corpus use when bash runs them, shells that proofs of commands
/// are compared with, and their packages.
const COMPARED: [(&str, &str); 8] = [
    ("bash", "bash"),
    ("jq", "jq"),
    ("bc", "bc"),
    ("xxd", "xxd"),
    ("dash", "dash"),
    ("zsh", "zsh"),
    ("git", "git"),
    // Not compared with: the bus of the tests of keyrings.
    ("dbus-daemon", "dbus"),
];

/// Installs what the tests themselves need.
pub fn install() -> Result<()> {
    install_components()?;
    let compared = COMPARED.iter().filter(|(program, _)| place::program(program).is_none());
    let mut missing: Vec<&str> = compared.map(|(_, package)| *package).collect();
    if !has_postgresql() {
        missing.push("postgresql");
    }
    if !missing.is_empty() {
        install_packages(&missing)?;
    }
    install_libgit2()?;
    install_mcp_peers()
}

/// libgit2 with its Python binding, in an environment of its own under the target directory.
fn install_libgit2() -> Result<()> {
    let folder = place::target().join("xtask").join("pygit2");
    let python = folder.join("bin/python");
    let knows = |python: &Path| {
        let asked = format!("import pygit2; assert pygit2.__version__ == '{PYGIT2}'");
        let mut command = place::command(python);
        command.args(["-c", &asked]).output().is_ok_and(|output| output.status.success())
    };
    if knows(&python) {
        return Ok(());
    }
    let made = || place::run(place::command("python3").args(["-m", "venv", "--clear"]).arg(&folder));
    if made().is_err() {
        install_packages(&["python3", "python3-venv"])?;
        made()?;
    }
    let mut pip = place::command(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .arg(format!("pygit2=={PYGIT2}"));
    place::run(&mut pip).context("pygit2 could not be installed; a package index is needed")?;
    if knows(&python) { Ok(()) } else { bail!("pip installed pygit2 {PYGIT2}, but it can not be used") }
}

/// MCP servers under the target directory, where the tests look for them.
fn install_mcp_peers() -> Result<()> {
    let folder = place::target().join("xtask/mcp-peers");
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    if !folder.join("node_modules/@modelcontextprotocol/server-everything").is_dir() {
        install_node()?;
        npm_install(&folder, MCP_SERVER).context("the MCP reference server could not be installed")?;
    }
    let python = folder.join("py");
    let has_sdk = || {
        let found = place::command(python.join("bin/python")).args(["-c", "import mcp"]).output();
        found.is_ok_and(|output| output.status.success())
    };
    if !has_sdk() {
        let hint = "the MCP SDK for Python could not be installed; python3 with venv and pip is needed";
        place::run(place::command("python3").args(["-m", "venv"]).arg(&python)).context(hint)?;
        let mut pip = place::command(python.join("bin/pip"));
        place::run(pip.args(["install", "--quiet", MCP_PYTHON])).context(hint)?;
    }
    Ok(())
}

fn install_node() -> Result<()> {
    match place::program("npm").is_none() || place::program("node").is_none() {
        true => install_packages(&["nodejs", "npm"]),
        false => Ok(()),
    }
}

fn npm_install(folder: &Path, package: &str) -> Result<()> {
    let mut npm = place::command("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--loglevel", "error", "--prefix"])
        .arg(folder);
    place::run(npm.arg(package))
}

/// Installs what the benchmark compares with.
pub fn install_for_bench() -> Result<()> {
    let missing =
        [("rg", "ripgrep"), ("git", "git")].into_iter().filter(|(name, _)| place::program(name).is_none());
    let missing: Vec<&str> = missing.map(|(_, package)| package).collect();
    if missing.is_empty() { Ok(()) } else { install_packages(&missing) }
}

/// rustfmt and clippy, which a minimal toolchain lacks.
fn install_components() -> Result<()> {
    let missing = |name: &str| {
        let mut cargo = place::cargo(&[name, "--version"]);
        !cargo.output().is_ok_and(|output| output.status.success())
    };
    if !missing("fmt") && !missing("clippy") {
        return Ok(());
    }
    if place::program("rustup").is_none() {
        bail!("the tests need rustfmt and clippy: install them beside cargo and run this again");
    }
    place::run(place::command("rustup").args(["component", "add", "rustfmt", "clippy"]))
}

/// The TypeScript compiler's script, installed under the target directory when it is not there.
pub fn typescript_compiler() -> Result<PathBuf> {
    let folder = place::target().join("xtask").join(format!("typescript-{TYPESCRIPT}"));
    let compiler = folder.join("node_modules/typescript/bin/tsc");
    if compiler.is_file() {
        return Ok(compiler);
    }
    install_node()?;
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    npm_install(&folder, &format!("typescript@{TYPESCRIPT}"))
        .context("the TypeScript compiler could not be installed; npm and a package registry are needed")?;
    if !compiler.is_file() {
        bail!("npm installed TypeScript {TYPESCRIPT}, but its compiler is not there");
    }
    Ok(compiler)
}

fn has_postgresql() -> bool {
    let both = |folder: &Path| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    let versions = std::fs::read_dir(POSTGRESQL).into_iter().flatten().flatten();
    let on_path = place::program("initdb").is_some() && place::program("postgres").is_some();
    on_path || versions.map(|version| version.path().join("bin")).any(|folder| both(&folder))
}

/// Installs Debian packages as root, or through sudo where that needs no password.
fn install_packages(packages: &[&str]) -> Result<()> {
    let wanted = packages.join(" ");
    if place::program("apt-get").is_none() {
        bail!("the tests need {wanted}: install them with your system's package manager and run this again");
    }
    let apt = |args: &[&str]| {
        let mut command = if is_root()? {
            place::command("apt-get")
        } else {
            let mut sudo = place::command("sudo");
            sudo.args(["--non-interactive", "apt-get"]);
            sudo
        };
        place::run(command.env("DEBIAN_FRONTEND", "noninteractive").args(args))
    };
    let hint =
        || format!("could not install {wanted}; run `apt-get install {wanted}` as root, then this again");
    apt(&["update", "--quiet"]).with_context(hint)?;
    let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
    apt(&[&install[..], packages].concat()).with_context(hint)
}

fn is_root() -> Result<bool> {
    let output = place::command("id").arg("-u").output().context("could not run `id`")?;
    Ok(output.stdout.trim_ascii() == b"0")
}
