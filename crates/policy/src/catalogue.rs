//! Programs by name: what they do, and what of their arguments matters when an approval is remembered.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::tags::Tags;

/// How a program stands in a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Its arguments do not matter.
    Free,
    /// Its options, and the directories of its operands.
    Places,
    /// Every word as it is.
    Verbatim,
}

/// What is known of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) tags: Tags,
    pub(super) style: Style,
}

const DESTROY: Tags = Tags::DESTRUCTIVE.and(Tags::MUTATING);
const RULE: Tags = Tags::PRIVILEGED.and(Tags::MUTATING);
const RUIN: Tags = DESTROY.and(Tags::PRIVILEGED);
const FETCH: Tags = Tags::NETWORK.and(Tags::MUTATING);

/// Every program that is known. Those that run other programs have rooms of their own.
#[rustfmt::skip]
const ROWS: &[(Tags, Style, &str)] = &[
    (DESTROY, Style::Places,
        "rm rmdir unlink shred srm mv truncate chmod chown chgrp chattr setfacl trash trash-put trash-empty rimraf \
         del erase rd"),
    (DESTROY, Style::Verbatim, "dd dropdb dropuser kill pkill killall killall5 xkill skill fuser"),
    (RUIN, Style::Verbatim,
        "mkfs newfs fdisk parted sfdisk gdisk sgdisk cfdisk mkswap wipefs cryptsetup lvremove vgremove pvremove lvresize \
         zfs zpool btrfs mdadm blkdiscard hdparm badblocks format diskpart diskutil reboot shutdown halt poweroff init \
         telinit userdel deluser groupdel delgroup flashrom fwupdmgr nvme"),
    (RULE, Style::Verbatim,
        "passwd chpasswd useradd usermod adduser groupadd groupmod gpasswd newusers chsh chfn visudo vipw vigr sudoedit \
         systemctl service rc-service rc-update initctl launchctl loginctl machinectl hostnamectl timedatectl localectl \
         update-rc.d chkconfig mount umount swapon swapoff losetup modprobe insmod rmmod kextload sysctl iptables \
         ip6tables iptables-restore nft ufw firewall-cmd pfctl route ip ifconfig nmcli networksetup netsh crontab \
         setcap setenforce semanage auditctl apt apt-get aptitude dpkg yum dnf rpm zypper pacman apk emerge snap \
         flatpak brew port installer softwareupdate pkgutil dscl dseditgroup spctl csrutil nvram scutil security \
         tccutil systemsetup defaults reg sc schtasks bcdedit icacls takeown update-alternatives ldconfig \
         grub-install update-grub efibootmgr ntpdate hwclock chpass pw sysadminctl"),
    (Tags::NETWORK, Style::Verbatim,
        "curl wget nc ncat netcat telnet ftp tftp sftp scp rsync ping ping6 traceroute tracepath mtr dig nslookup host \
         whois nmap socat http https xh aria2c lftp rclone s3cmd aws gcloud az gsutil gh glab doctl flyctl heroku \
         vercel netlify wscat websocat mail mailx sendmail msmtp mutt rsh rlogin rcp yt-dlp youtube-dl"),
    (FETCH, Style::Verbatim, "npm pnpm yarn pip pip3 pipx gem composer conda mamba"),
    (Tags::MUTATING, Style::Places,
        "cp mkdir touch tee ln link install mkfifo mknod mktemp split csplit gzip gunzip bzip2 bunzip2 xz unxz lzma \
         zstd unzstd compress uncompress zip unzip 7z 7za unrar rar cpio ar patch rename mmv pax ditto sponge \
         iconv dos2unix unix2dos ssh-keygen uudecode"),
    (Tags::NONE, Style::Free,
        "echo printf true false : test [ exit return sleep usleep seq expr pwd whoami id groups uname uptime printenv \
         type which whereis apropos whatis help info tput clear tty arch nproc getconf basename dirname wait jobs set \
         shift break continue umask ulimit times yes cal bc dc factor logname users locale sw_vers let getopts \
         read mapfile readarray fg bg disown suspend dirs shopt stty reset compgen caller free"),
    (Tags::NONE, Style::Places,
        "ls ll dir vdir cat tac head tail less more grep egrep fgrep zgrep ag ack wc cut tr rev nl od hexdump strings \
         file stat du df diff diff3 sdiff colordiff cmp comm md5sum sha1sum sha224sum sha256sum sha384sum sha512sum \
         b2sum md5 shasum cksum sum realpath readlink jq column fold fmt pr paste join expand unexpand base64 base32 \
         zcat bzcat xzcat zless look ps pgrep pstree lsof vmstat iostat last w who finger lscpu lsblk lsusb lspci \
         lsmod findmnt tsort shuf numfmt nm objdump readelf ldd size cloc tokei bat exa eza"),
];

/// Words after an unknown program that mean no good.
pub(super) const DESTROYING: &[&str] = &[
    "delete",
    "del",
    "destroy",
    "remove",
    "rm",
    "rmi",
    "purge",
    "prune",
    "drop",
    "kill",
    "terminate",
    "uninstall",
    "reset",
    "wipe",
    "erase",
    "flush",
    "flushall",
    "truncate",
    "nuke",
    "rb",
    "clean",
    "unpublish",
    "rollback",
];

/// Options after which unknown programs are often given a script.
pub(super) const INTRODUCING: &[&str] =
    &["-c", "--command", "-e", "--exec", "--execute", "-x", "--run", "--eval", "--shell", "--cmd"];

/// Variables that are orders: programs run what they say, or read their orders where they say.
#[rustfmt::skip]
const OBEYED: &[&str] = &[
    "PATH", "HOME", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "PAGER",
    "MANPAGER", "EDITOR", "VISUAL", "FCEDIT", "BROWSER", "LESSOPEN", "LESSCLOSE", "RSYNC_RSH", "CVS_RSH",
    "SSH_ASKPASS", "SUDO_ASKPASS", "MAKEFLAGS", "MFLAGS", "FPATH", "ZDOTDIR", "NODE_OPTIONS", "NODE_PATH",
    "JAVA_TOOL_OPTIONS", "TAR_OPTIONS", "XDG_CONFIG_HOME", "GCONV_PATH", "CURL_HOME", "WGETRC", "AWKPATH",
    "RIPGREP_CONFIG_PATH", "OPENSSL_CONF", "MANOPT", "SHELL", "TERMINFO", "HISTFILE", "MAILPATH", "EXECIGNORE",
];
/// Beginnings of such variables.
const OBEYED_FROM: &[&str] = &[
    "LD_",
    "DYLD_",
    "GIT_",
    "BASH_",
    "PYTHON",
    "PERL5",
    "RUBY",
    "LUA_",
    "PHP",
    "NPM_CONFIG_",
    "npm_config_",
    "DOCKER_",
];

const SHELLS: &[&str] =
    &["sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "zsh", "rbash", "busybox-sh", "posh"];

#[rustfmt::skip]
const INTERPRETERS: &[&str] = &[
    "perl", "ruby", "irb", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh", "wish", "expect",
    "rscript", "r", "julia", "guile", "racket", "scheme", "sbcl", "clisp", "emacs", "emacsclient", "vim", "vi", "nvim",
    "view", "ex", "ed", "nano", "osascript", "jshell", "groovy", "scala", "kotlinc", "ghci", "runghc", "swift", "erl",
    "elixir", "iex", "fish", "csh", "tcsh", "nu", "xonsh", "elvish", "pwsh", "powershell", "cmd", "wscript", "cscript",
    "mshta", "psql", "mysql", "mariadb", "sqlite3", "sqlite", "mongo", "mongosh", "redis-cli", "gdb", "lldb", "npx",
    "uvx", "bunx", "pnpx", "tmux", "screen", "at", "batch", "m4", "dot", "coffee", "ts-node", "tsx", "systemd-run",
    "unshare", "nsenter", "capsh", "setpriv", "start-stop-daemon", "expect-dev", "ansible", "ansible-playbook", "salt",
    "open", "xdg-open", "gio", "start", "explorer",
];

static KNOWN: LazyLock<HashMap<&'static str, Known>> = LazyLock::new(|| {
    let row = |(tags, style, names): &(Tags, Style, &'static str)| {
        let known = Known { tags: *tags, style: *style };
        names.split_whitespace().map(move |name| (name, known)).collect::<Vec<_>>()
    };
    ROWS.iter().flat_map(row).collect()
});

/// A program as it was called.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Its name without directories, in small letters.
    pub(super) base: String,
    /// Whether it is a file of somebody's, not a program of the system.
    pub(super) is_file: bool,
}

impl Program {
    /// What a name means; `None` for what is no plain name.
    pub(super) fn named(name: &str) -> Option<Program> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./+:@%,^~".contains(&byte);
        let is_name =
            name == "[" || (!name.is_empty() && !name.starts_with('-') && name.bytes().all(is_plain));
        if !is_name {
            return None;
        }
        let (directory, base) = name.rsplit_once('/').unwrap_or(("", name));
        let is_of_the_system = matches!(
            directory,
            "/bin"
                | "/sbin"
                | "/usr/bin"
                | "/usr/sbin"
                | "/usr/local/bin"
                | "/usr/local/sbin"
                | "/opt/homebrew/bin"
        );
        let base = base.to_ascii_lowercase();
        let base = base.strip_suffix(".exe").unwrap_or(&base).to_string();
        Some(Program { is_file: (name.contains('/') && !is_of_the_system) || base.is_empty(), base })
    }
}

/// What is known of a program.
pub(super) fn find(base: &str) -> Known {
    let is_family = |family: &str| base.strip_prefix(family).is_some_and(|rest| rest.starts_with('.'));
    match KNOWN.get(base) {
        Some(known) => *known,
        None if is_family("mkfs") || is_family("newfs") || is_family("fsck") => {
            Known { tags: RUIN, style: Style::Verbatim }
        }
        None => Known { tags: Tags::NONE, style: Style::Verbatim },
    }
}

/// Programs that have no row because their words decide, and commands of the native shell.
const ELSEWHERE: &[&str] = &["man", "skills", "devices", "targets", "notify", "timeout", "unset", "local"];

/// Whether anything is known of a program that does only its own work.
pub(super) fn is_known(base: &str) -> bool {
    KNOWN.contains_key(base) || ELSEWHERE.contains(&base)
}

/// Names of programs that are orders to others far more often: `npm init`, `ruff format`, `npm start`.
#[rustfmt::skip]
const ORDERS: &[&str] = &[
    "format", "init", "start", "open", "service", "port", "route", "security", "defaults", "host", "view", "at",
    "screen", "batch", "dot", "r", "ex", "ed", "ip",
];

/// Whether a word may well be a program that one would want to know of.
pub(super) fn is_worth_a_look(word: &str) -> bool {
    let Some(program) = Program::named(word) else { return false };
    let base = program.base.as_str();
    if ORDERS.contains(&base) {
        return false;
    }
    let bad = Tags::DESTRUCTIVE | Tags::PRIVILEGED;
    find(base).tags.intersects(bad)
        || is_shell(base)
        || is_interpreter(base)
        || matches!(base, "sudo" | "doas" | "su" | "env" | "xargs" | "pkexec" | "chroot" | "eval" | "ssh")
}

/// Whether a program runs shell text.
pub(super) fn is_shell(base: &str) -> bool {
    SHELLS.contains(&base)
}

/// Whether a program runs text of its own kind, or something else that cannot be seen.
pub(super) fn is_interpreter(base: &str) -> bool {
    // `python3.12`, `pypy3`, `lua5.4`, `ruby3.2`
    let plain = base.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    INTERPRETERS.contains(&base)
        || INTERPRETERS.contains(&plain)
        || matches!(plain, "python" | "pypy" | "ipython")
}

/// Whether programs take orders from a variable.
pub(super) fn is_obeyed(name: &str) -> bool {
    let is_author = name.starts_with("GIT_AUTHOR_") || name.starts_with("GIT_COMMITTER_");
    !is_author
        && (OBEYED.contains(&name)
            || OBEYED_FROM.iter().any(|start| name.starts_with(start))
            || name.ends_with("_PAGER")
            || name.ends_with("_EDITOR"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_files() {
        let named = |name: &str| Program::named(name).map(|program| (program.base, program.is_file));
        assert_eq!(named("rm"), Some(("rm".into(), false)));
        assert_eq!(named("/bin/RM"), Some(("rm".into(), false)));
        assert_eq!(named("./rm"), Some(("rm".into(), true)));
        assert_eq!(named("/bin/../tmp/ls"), Some(("ls".into(), true)));
        assert_eq!(named("~/bin/x"), Some(("x".into(), true)));
        assert_eq!(named("["), Some(("[".into(), false)));
        for odd in ["", "-x", "r*", "a b", "ｒｍ", "a=b", "{x}", "!(rm)", "a\\b"] {
            assert_eq!(named(odd), None, "{odd}");
        }
    }

    #[test]
    fn no_program_is_listed_twice() {
        let all: Vec<&str> = ROWS.iter().flat_map(|(_, _, names)| names.split_whitespace()).collect();
        for (at, name) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(name), "{name}");
            assert!(!is_shell(name) && !is_interpreter(name), "{name}");
        }
    }
}
