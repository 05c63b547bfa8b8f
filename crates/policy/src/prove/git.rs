//! `git` commands that only read, with every option they may have. Programs that a repository's settings name are kept
//! from running by the environment that drivers set for what is proved ([`places::git_environment`]).

use super::grammar::Word;
use super::options::{Operands, Parsed, Row};

const DIFF_SHORT: &str = "pusbwaRzDMCU:S:G:l:";
const DIFF: &str = "stat[= numstat shortstat dirstat[= summary name-only name-status patch no-patch raw minimal patience histogram \
    diff-algorithm= word-diff[= word-diff-regex= color-words[= color[= no-color unified= ignore-all-space ignore-space-change \
    ignore-space-at-eol ignore-blank-lines find-renames[= find-copies[= diff-filter= function-context text full-index abbrev[= \
    compact-summary relative[= no-ext-diff no-textconv cached staged merge-base exit-code quiet inter-hunk-context= pickaxe-all \
    pickaxe-regex src-prefix= dst-prefix= no-prefix binary no-renames cc patch-with-stat no-color-moved color-moved[=";
const LOG_SHORT: &str = "pusbwaRzDMCU:S:G:l:n:giL:mc";
const LOG: &str = "oneline graph all decorate[= no-decorate branches[= tags[= remotes[= author= committer= grep= since= until= after= \
    before= max-count= skip= format= pretty[= date= reverse merges no-merges first-parent follow abbrev-commit no-abbrev-commit \
    topo-order date-order left-right cherry-pick cherry-mark full-history simplify-by-decoration all-match invert-grep \
    regexp-ignore-case extended-regexp fixed-strings perl-regexp boundary source walk-reflogs not no-mailmap no-notes \
    stat[= numstat shortstat summary name-only name-status patch no-patch raw minimal patience histogram diff-algorithm= \
    word-diff[= color-words[= color[= no-color unified= ignore-all-space ignore-space-change find-renames[= find-copies[= \
    diff-filter= function-context full-index abbrev[= compact-summary relative[= no-ext-diff no-textconv pickaxe-all \
    pickaxe-regex no-renames cc";

const MANY: usize = usize::MAX;

const fn row(names: &'static str, short: &'static str, long: &'static str) -> Row {
    Row { names, short, long, numbers: false, operands: Operands::Paths(MANY) }
}

/// Reading commands.
#[rustfmt::skip]
pub(super) const COMMANDS: &[Row] = &[
    row("status", "sbvz", "short branch long verbose porcelain[= untracked-files[= ignored[= show-stash no-renames ahead-behind no-ahead-behind"),
    Row { names: "log show reflog", short: LOG_SHORT, long: LOG, numbers: true, operands: Operands::Paths(MANY) },
    row("diff", DIFF_SHORT, DIFF),
    row("blame annotate", "lswfetncL:CM", "date= porcelain line-porcelain show-email show-name show-number root abbrev= color-lines"),
    row("branch", "arv", "list all remotes verbose show-current contains= no-contains= merged[= no-merged[= sort= format= points-at= color[= no-color ignore-case"),
    row("tag", "li", "list contains= no-contains= merged[= no-merged[= sort= format= points-at= color[= ignore-case"),
    row("remote", "v", "verbose"),
    row("stash worktree", "p", "stat[= patch name-only name-status porcelain oneline"),
    row("rev-parse", "q", "abbrev-ref[= show-toplevel short[= verify git-dir git-common-dir is-inside-work-tree is-bare-repository show-prefix \
         show-cdup absolute-git-dir branches[= tags[= remotes[= all symbolic symbolic-full-name quiet is-shallow-repository is-inside-git-dir"),
    Row { names: "rev-list", short: "n:", long: "all branches[= tags[= remotes[= count max-count= since= until= after= before= author= grep= \
         merges no-merges first-parent reverse left-right oneline abbrev-commit topo-order date-order not", numbers: true, operands: Operands::Paths(MANY) },
    row("ls-files", "cdmoisztukv", "cached deleted modified others ignored stage directory no-empty-directory exclude-standard exclude= full-name \
         unmerged killed error-unmatch abbrev[= eol deduplicate"),
    row("ls-tree", "drtlz", "name-only name-status full-tree full-name long object-only abbrev[="),
    row("describe", "", "all tags contains always long dirty[= abbrev= candidates= exact-match match= exclude= first-parent"),
    row("shortlog", "snec", "numbered summary email committer all since= until= no-merges group="),
    row("merge-base", "a", "all is-ancestor independent octopus fork-point"),
    row("name-rev", "", "tags name-only all always refs="),
    row("for-each-ref", "", "count= sort= format= points-at= merged[= no-merged[= contains[= color[= ignore-case"),
    row("show-ref", "dqs", "head tags heads branches verify quiet hash[= abbrev[= dereference"),
    row("count-objects", "vH", "verbose human-readable"),
    row("cat-file", "ptse", ""),
    row("check-ignore", "vqn", "verbose quiet non-matching no-index"),
    Row { names: "grep", short: "ncilLhHwEFPGoIqvWpA:B:C:m:e:", long: "line-number count ignore-case files-with-matches files-without-match name-only word-regexp \
         extended-regexp fixed-strings perl-regexp basic-regexp cached heading break color[= no-color show-function function-context \
         only-matching max-depth= and or not all-match max-count= column full-name", numbers: true, operands: Operands::PatternThenPaths },
    row("version", "", "build-options"),
];

/// What is left of a `git` once its own options are gone.
pub(super) struct Git<'a> {
    /// Where `-C` goes.
    pub(super) directories: Vec<&'a Word>,
    /// The words of the command.
    pub(super) words: &'a [Word],
}

/// Whether a `git` only reads.
pub(super) fn check(words: &[Word]) -> Result<Git<'_>, String> {
    let (mut at, mut directories) = (0, Vec::new());
    let name = loop {
        let word = words.get(at).ok_or("runs git without a command")?;
        at += 1;
        match word.text.as_str() {
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" => {}
            "--version" if words.len() == 1 => return Ok(Git { directories, words: &[] }),
            "-C" => {
                directories.push(words.get(at).ok_or("has git -C without a directory")?);
                at += 1;
            }
            text if text.starts_with('-') => {
                return Err(format!("uses an option of git that is not known to only read: {text}"));
            }
            text => break text,
        }
    };
    let words = &words[at..];
    let row = COMMANDS.iter().find(|row| row.names.split(' ').any(|known| known == name));
    let row =
        row.ok_or_else(|| format!("runs a command of git that is not known to only read: git {name}"))?;
    let parsed = row.parse(&format!("git {name}"), words)?;
    if words.iter().any(|word| word.is_glob) {
        return Err("has a pattern of file names for git".to_string());
    }
    only_reads(name, &parsed)?;
    Ok(Git { directories, words })
}

/// Commands that read or write depending on their words.
fn only_reads(name: &str, parsed: &Parsed<'_>) -> Result<(), String> {
    let first = parsed.operands.first().map(|word| word.text.as_str());
    let is_list = parsed.has(&["list"]) || (name == "tag" && parsed.has(&["l"]));
    let is_fine = match name {
        "branch" | "tag" => first.is_none() || is_list,
        "remote" => first.is_none(),
        "stash" => matches!(first, Some("list" | "show")),
        "worktree" => first == Some("list"),
        "reflog" => matches!(first, None | Some("show")),
        _ => true,
    };
    // `%G?` has a signature checked by a program.
    let formats = parsed.values(&["format", "pretty"]);
    let signs = formats
        .chain(parsed.operands.iter().map(|word| word.text.as_str()))
        .any(|text| text.contains("%G") || text.contains("%(signature"));
    if !is_fine {
        return Err(format!("runs a git {name} that may change something"));
    }
    if signs { Err("has git check signatures, which runs a program".to_string()) } else { Ok(()) }
}
