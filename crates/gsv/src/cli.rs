//! Command-line definition: every verb, the flags they share, and which file carries a verb out.

use clap::{Parser, Subcommand};
use terminal::failure::Result;

use crate::context::Context;
use crate::globals::Globals;
use crate::session;

pub mod approvals;
pub mod auth;
pub mod call;
pub mod capabilities;
pub mod codemode;
pub mod completions;
pub mod config;
pub mod cost;
pub mod cp;
pub mod device;
pub mod devices;
pub mod groups;
pub mod mcp;
pub mod policy;
pub mod proc;
pub mod repo;
pub mod run;
pub mod serve;
pub mod shell;
pub mod undo;
pub mod users;
pub mod version;
pub mod versions;
pub mod workspace;

/// One computer made of all your machines.
#[derive(Debug, Parser)]
#[command(name = "gsv", version = version::VERSION, about, propagate_version = false)]
pub struct Cli {
    /// The flags that every client command has.
    #[command(flatten)]
    pub globals: Globals,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the gateway.
    Serve(serve::Serve),
    /// Set up a gateway, log in and out, manage tokens.
    #[command(subcommand)]
    Auth(auth::Auth),
    /// Read and change configuration.
    Config(config::Config),
    /// Make this machine a device of the gateway.
    #[command(subcommand)]
    Device(device::Device),
    /// List devices, describe them, say who may use them.
    Devices(devices::Devices),
    /// Manage accounts (root).
    #[command(subcommand)]
    Users(users::Users),
    /// Manage groups (root).
    #[command(subcommand)]
    Groups(groups::Groups),
    /// Manage what groups may call (root).
    #[command(subcommand)]
    Capabilities(capabilities::Capabilities),
    /// Talk to an agent.
    ///
    /// On a terminal tool calls are shown as they run, and you are asked before a risky one. Elsewhere the answer goes
    /// to stdout as plain text and everything else to stderr. With --json each signal is a line, and the last line is
    /// the result.
    Chat(chat::ChatArgs),
    /// Manage agents and their conversations.
    #[command(subcommand)]
    Proc(proc::Proc),
    /// List and answer the tool calls that wait for you.
    Approvals(approvals::Approvals),
    /// Test how commands of agents would be judged.
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Show what agents have used, in tokens and money.
    Cost(cost::CostArgs),
    /// Open a prompt whose commands run on a target.
    Shell(shell::Shell),
    /// Run one command on a target, to its end.
    ///
    /// Its input and output travel as text: output that is not UTF-8 is shown with replacement characters, input
    /// that is not UTF-8 ends the command. `gsv cp` copies any bytes.
    Run(run::Run),
    /// Run a script over files, commands and devices, in the gateway's sandbox.
    #[command(name = "codemode")]
    CodeMode(codemode::CodeModeArgs),
    /// Copy files between this machine and targets.
    Cp(cp::Cp),
    /// Manage repositories: history, changes, content.
    #[command(subcommand)]
    Repo(repo::RepoVerb),
    /// Manage workspaces: directories for a piece of work that keep their versions.
    #[command(subcommand)]
    Workspace(workspace::WorkspaceVerb),
    /// Take back what a run of an agent did to files.
    ///
    /// It shows what will be taken back, on the gateway and on each device that the run used, and what can not be, and
    /// asks first.
    Undo(undo::UndoArgs),
    /// List the versions of a file, or bring one back.
    Log(versions::Log),
    /// Show what is different between versions of a file.
    Diff(versions::Diff),
    /// Manage MCP servers and call their tools; `gsv mcp` alone shows them.
    Mcp(mcp::Mcp),
    /// Make any call of the protocol.
    Call(call::Call),
    /// Print completions for a shell.
    Completions(completions::Completions),
    /// Print the version.
    Version,
}

/// Carries a verb out and gives the program's exit code.
pub async fn dispatch(context: &Context, command: Command) -> Result<u8> {
    match command {
        Command::Serve(args) => serve::run(context, args).await,
        Command::Auth(args) => auth::run(context, args).await,
        Command::Config(args) => config::run(context, args).await,
        Command::Device(args) => device::run(context, args).await,
        Command::Devices(args) => devices::run(context, args).await,
        Command::Users(args) => users::run(context, args).await,
        Command::Groups(args) => groups::run(context, args).await,
        Command::Capabilities(args) => capabilities::run(context, args).await,
        Command::Chat(args) => chat::run(&context.output, args, async || session::open(context).await).await,
        Command::Proc(args) => proc::run(context, args).await,
        Command::Approvals(args) => approvals::run(context, args).await,
        Command::Policy(args) => policy::run(context, args).await,
        Command::Cost(args) => cost::run(context, args).await,
        Command::Shell(args) => shell::run(context, args).await,
        Command::Run(args) => run::run(context, args).await,
        Command::CodeMode(args) => codemode::run(context, args).await,
        Command::Cp(args) => cp::run(context, args).await,
        Command::Repo(verb) => repo::run(context, verb).await,
        Command::Workspace(verb) => workspace::run(context, verb).await,
        Command::Undo(args) => undo::run(context, args).await,
        Command::Log(args) => versions::log(context, args).await,
        Command::Diff(args) => versions::diff(context, args).await,
        Command::Mcp(args) => mcp::run(context, args).await,
        Command::Call(args) => call::run(context, args).await,
        Command::Completions(args) => completions::run(context, args),
        Command::Version => version::run(context),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_sound() {
        super::Cli::command().debug_assert();
    }
}
