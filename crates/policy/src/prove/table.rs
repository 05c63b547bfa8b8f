//! The reviewed table of programs that only read, with every option they may have.
//!
//! An option is here only if it makes the program neither write, run, wait for a person, nor send anything, in the GNU, BSD
//! and busybox versions alike. Options that take a path that is read are allowed: every word of such a program is looked
//! up among the sensitive places. Programs that print variables (`env`, `printenv`, `set`) are missing on purpose.

use super::options::{Operands, Row};

/// Any number of operands.
const MANY: usize = usize::MAX;

/// A row with options `-20`.
const fn counted(names: &'static str, short: &'static str, long: &'static str, operands: Operands) -> Row {
    Row { names, short, long, numbers: true, operands }
}

const fn row(names: &'static str, short: &'static str, long: &'static str, operands: Operands) -> Row {
    Row { names, short, long, numbers: false, operands }
}

/// Programs whose declaration says everything. Those that need a look at their words are in `special`, `git` has its own.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("ls", "aAbBcCdfFgGhHiklLmnNopqQrRsStuUxXZ1@e",
        "all almost-all human-readable recursive reverse sort= time= time-style= color[= group-directories-first classify[= \
         directory size inode full-time si hide= ignore= no-group numeric-uid-gid file-type escape quote-name literal \
         dereference",
        Operands::Paths(MANY)),
    row("tree", "adfhspugDinCL:I:P:r", "dirsfirst noreport du si prune matchdirs gitignore", Operands::Paths(MANY)),
    row("cat", "AbeEnstTuv", "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting", Operands::Paths(MANY)),
    row("tac", "br", "before regex", Operands::Paths(MANY)),
    row("rev", "", "", Operands::Paths(MANY)),
    counted("head", "n:c:qvz", "lines= bytes= quiet silent verbose zero-terminated", Operands::Paths(MANY)),
    counted("tail", "n:c:qvzfF", "lines= bytes= quiet silent verbose zero-terminated follow[=", Operands::Paths(MANY)),
    row("nl", "pb:d:f:h:i:l:n:s:v:w:", "body-numbering= number-format= number-width= starting-line-number= number-separator=", Operands::Paths(MANY)),
    row("wc", "clmwL", "bytes lines chars words max-line-length", Operands::Paths(MANY)),
    row("sort", "bdfghiMnRrVcCmsuzk:t:",
        "reverse numeric-sort unique key= field-separator= human-numeric-sort general-numeric-sort version-sort ignore-case \
         stable check[= dictionary-order ignore-leading-blanks month-sort zero-terminated merge ignore-nonprinting",
        Operands::Paths(MANY)),
    row("uniq", "cdDiuzf:s:w:", "count repeated unique ignore-case skip-fields= skip-chars= check-chars= zero-terminated", Operands::Paths(1)),
    row("cut", "snzd:f:c:b:", "delimiter= fields= characters= bytes= only-delimited complement output-delimiter= zero-terminated", Operands::Paths(MANY)),
    row("paste", "szd:", "serial delimiters= zero-terminated", Operands::Paths(MANY)),
    row("comm", "123iz", "check-order nocheck-order total zero-terminated", Operands::Paths(2)),
    row("join", "ia:e:j:o:t:v:1:2:z", "ignore-case header check-order nocheck-order", Operands::Paths(2)),
    row("column", "txs:c:", "table separator= columns=", Operands::Paths(MANY)),
    row("fold", "bsw:", "bytes spaces width=", Operands::Paths(MANY)),
    row("expand unexpand", "ait:", "all initial tabs=", Operands::Paths(MANY)),
    row("tr", "cCdst", "complement delete squeeze-repeats truncate-set1", Operands::Text),
    row("od", "abcdfiloxvA:j:N:t:w:", "address-radix= skip-bytes= read-bytes= format= output-duplicates", Operands::Paths(MANY)),
    row("hexdump", "bcCdovxn:s:", "canonical length= skip= no-squeezing", Operands::Paths(MANY)),
    row("xxd", "bpuieg:c:l:s:", "", Operands::Paths(1)),
    row("base64 base32", "dw:", "decode wrap=", Operands::Paths(1)),
    row("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum", "btz", "binary text tag zero", Operands::Paths(MANY)),
    row("cksum", "a:", "algorithm=", Operands::Paths(MANY)),
    row("shasum", "a:bt", "algorithm=", Operands::Paths(MANY)),
    counted("grep egrep fgrep", "abcEFGhHiIlLnoPqrRsUvwxyzZA:B:C:e:f:m:d:",
        "color[= colour[= include= exclude= exclude-dir= line-number ignore-case no-ignore-case recursive count \
         files-with-matches files-without-match only-matching invert-match word-regexp line-regexp extended-regexp \
         fixed-strings basic-regexp perl-regexp no-filename with-filename quiet silent max-count= context= after-context= \
         before-context= text null no-messages regexp= file= binary-files= byte-offset initial-tab directories=",
        Operands::PatternThenPaths),
    counted("rg", "acFHIilnNopPqSsUvwx0A:B:C:e:g:m:M:r:d:t:T:E:j:f:",
        "text count count-matches fixed-strings with-filename no-filename ignore-case files-with-matches files-without-match \
         line-number no-line-number only-matching pretty pcre2 quiet smart-case case-sensitive multiline multiline-dotall \
         invert-match word-regexp line-regexp null after-context= before-context= context= regexp= glob= max-count= \
         max-columns= max-columns-preview replace= max-depth= type= type-not= encoding= threads= color= colors= heading \
         no-heading column no-column trim vimgrep json stats sort= sortr= files type-list passthru no-messages crlf \
         byte-offset include-zero max-filesize= one-file-system no-config engine= context-separator= no-ignore-case line-buffered",
        Operands::PatternThenPaths),
    row("diff", "uqswbBiyNatdEZU:C:W:I:F:rc",
        "unified[= context[= brief recursive report-identical-files ignore-all-space ignore-space-change ignore-blank-lines \
         ignore-case ignore-trailing-space side-by-side width= new-file text expand-tabs minimal color[= suppress-common-lines \
         strip-trailing-cr label= show-c-function left-column",
        Operands::Paths(2)),
    row("cmp", "lsbn:i:", "verbose silent quiet print-bytes bytes= ignore-initial=", Operands::Paths(2)),
    row("stat", "LtxlsnqrFzfc:", "dereference format= printf= terse file-system", Operands::Paths(MANY)),
    row("file", "biLhkrN0", "brief mime mime-type mime-encoding dereference no-dereference extension", Operands::Paths(MANY)),
    row("du", "achkmsxLSbDHlP0d:B:t:",
        "all total human-readable summarize max-depth= apparent-size bytes block-size= one-file-system threshold= exclude= si \
         inodes separate-dirs dereference",
        Operands::Paths(MANY)),
    row("df", "ahHiklmPTB:t:x:", "all human-readable inodes local portability print-type si total block-size= type= exclude-type=", Operands::Paths(MANY)),
    row("realpath", "emLPqsz", "canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks relative-to= relative-base=", Operands::Paths(MANY)),
    row("readlink", "femnqsvz", "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose", Operands::Paths(MANY)),
    row("basename", "azs:", "multiple suffix= zero", Operands::Text),
    row("dirname", "z", "zero", Operands::Text),
    row("echo", "neE", "", Operands::Text),
    row("which", "a", "all", Operands::Text),
    row("type", "atpPf", "", Operands::Text),
    row("pwd", "LP", "", Operands::None),
    row("id", "ugGnrz", "user group groups name real", Operands::Text),
    row("groups", "", "", Operands::Text),
    row("whoami logname tty arch true false", "", "", Operands::None),
    row("uname", "asnrvmpio", "all kernel-name nodename kernel-release kernel-version machine processor operating-system", Operands::None),
    row("hostname", "sfiIdA", "short fqdn long ip-address all-ip-addresses domain", Operands::None),
    row("nproc", "", "all ignore=", Operands::None),
    row("uptime", "ps", "pretty since", Operands::None),
    row("free", "bkmghtwl", "bytes kibi mebi gibi human total wide", Operands::None),
    row("lscpu", "aebcJp", "all online json", Operands::None),
    row("sw_vers", "", "productName productVersion buildVersion", Operands::None),
];

/// The row of a program.
pub(super) fn find(program: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.names.split(' ').any(|name| name == program))
}

/// Programs that tell about files without opening them.
pub(super) fn only_names(program: &str) -> bool {
    matches!(program, "ls" | "tree" | "stat" | "du" | "df" | "realpath" | "readlink" | "find")
}
