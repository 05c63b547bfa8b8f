//! The table of sensitive places: patterns of paths, what they are, and the words a person is told.

use std::sync::LazyLock;

/// What a path is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// The home directory of the user whose machine it is.
    Home,
    /// The root of the machine.
    System,
    /// Any directory: a project's, a home, wherever.
    Anywhere,
    /// The home of somebody else, as a whole.
    OtherHome,
}

/// Why a place is sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// Whoever reads it can act as its owner: reading and writing are asked about, and it is hidden in the sandbox.
    Credential,
    /// A program runs it later, outside the sandbox: writing is asked about, and it is read-only in the sandbox.
    RunsLater,
    /// Both at once.
    Both,
}

impl Sensitivity {
    /// Whether reading it gives something away.
    pub fn is_secret(self) -> bool {
        self != Sensitivity::RunsLater
    }

    /// Whether what is written there runs one day.
    pub fn runs_later(self) -> bool {
        self != Sensitivity::Credential
    }
}

/// Paths that agents must not touch unasked, by one pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensitivePlace {
    /// What the pattern is relative to.
    pub at: At,
    /// Names separated by `/`; `*` within a name, `**` for any number of names, `$` at the end for the path alone.
    pub pattern: &'static str,
    /// Why it is sensitive.
    pub kind: Sensitivity,
    /// What it is, as it is told to a person: "SSH keys".
    pub words: &'static str,
}

type Row = (At, Sensitivity, &'static str, &'static [&'static str]);

/// Every place, one pattern each, in the order of the rows below.
pub static PLACES: LazyLock<Vec<SensitivePlace>> = LazyLock::new(|| {
    let places = |(at, kind, words, patterns): &Row| {
        let (at, kind, words) = (*at, *kind, *words);
        patterns.iter().map(move |pattern| SensitivePlace { at, pattern, kind, words }).collect::<Vec<_>>()
    };
    ROWS.iter().flat_map(places).collect()
});

/// Names that look like a place of the table and are not: they are made to be read.
pub(crate) const HARMLESS: &[&str] =
    &[".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".git/hooks/*.sample"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Credentials below the home.
    (At::Home, Sensitivity::Credential, "SSH keys", &[".ssh", ".ssh2", ".putty", ".config/putty"]),
    (At::Home, Sensitivity::Credential, "GnuPG keys", &[".gnupg", ".gnupg2", ".local/share/gnupg"]),
    (At::Home, Sensitivity::Credential, "the login to this gateway", &[
        ".config/gsv", ".local/share/gsv", ".local/state/gsv", ".cache/gsv", ".gsv", "Library/Application Support/gsv",
        "Library/Caches/gsv", "AppData/Roaming/gsv", "AppData/Local/gsv",
    ]),
    (At::Home, Sensitivity::Credential, "cloud credentials", &[
        ".aws", ".azure", ".config/gcloud", ".config/doctl", ".oci", ".bluemix", ".aliyun", ".config/scw", ".config/scaleway",
        ".config/hcloud", ".config/linode-cli", ".config/rclone", ".rclone.conf", ".boto", ".s3cfg", ".mc", ".kube",
        ".config/k9s", ".config/helm", ".fly", ".config/fly", ".vercel", ".local/share/com.vercel.cli",
        "Library/Application Support/com.vercel.cli", ".config/netlify", ".netlify", ".config/heroku", ".wrangler",
        ".config/.wrangler", ".config/configstore", ".terraform.d", ".terraformrc", ".pulumi", ".vault-token", ".config/vault",
        ".config/ngrok", ".ngrok2", ".config/railway", ".railway", ".config/supabase", ".supabase", ".config/stripe",
        ".config/cloudflared", ".cloudflared", ".config/tailscale", ".snowflake", ".snowsql", ".config/snowflake",
        ".databrickscfg", ".config/databricks", ".sentryclirc", ".kaggle", ".huggingface", ".cache/huggingface/token",
        ".cache/huggingface/stored_tokens", ".config/wandb", ".modal.toml", ".runpod",
    ]),
    (At::Home, Sensitivity::Credential, "logins to code hosts", &[
        ".git-credentials", ".config/git/credentials", ".config/gh", ".config/glab-cli", ".config/hub", ".config/tea",
        ".config/git-credential-manager", ".gcm", ".cache/git", ".subversion/auth", ".config/gitea", ".gitcookies", ".hgrc.d",
    ]),
    (At::Home, Sensitivity::Credential, "tokens of package managers", &[
        ".pypirc", ".config/pip", ".pip", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
        ".local/share/gem/credentials", ".bundle/config", ".docker", ".config/containers", ".local/share/containers/auth.json",
        ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/NuGet", ".config/NuGet",
        ".composer/auth.json", ".config/composer/auth.json", ".config/pypoetry", ".config/uv/credentials.toml",
        ".local/share/uv/credentials", ".condarc", ".config/conda", ".conda", ".hex", ".config/hatch", ".sbt/credentials",
        ".sbt/.credentials", ".ivy2/.credentials", ".cabal/config", ".config/pnpm", ".config/jsr", ".config/turborepo",
        ".jfrog", ".config/poetry",
    ]),
    (At::Home, Sensitivity::Both, "settings and tokens of npm and yarn", &[".npmrc", ".yarnrc", ".yarnrc.yml"]),
    (At::Home, Sensitivity::Credential, "logins to machines and databases", &[
        "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".dbeaver", ".dbeaver4", ".local/share/DBeaverData", ".config/mycli",
        ".config/pgcli", ".config/filezilla", ".filezilla", ".config/remmina", ".local/share/remmina", ".config/openvpn",
        ".config/wireguard", ".cisco", ".vpnc", ".local/share/networkmanagement", ".cert", ".config/lftp", ".smbcredentials",
        ".config/winscp", ".ICEauthority", ".Xauthority", ".config/sops", ".config/age", ".step", ".mitmproxy", ".config/syncthing",
        ".local/state/syncthing", ".config/rbw", ".config/teleport", ".tsh", ".k5login", ".krb5",
    ]),
    (At::Home, Sensitivity::Credential, "a keyring or password store", &[
        ".local/share/keyrings", ".local/share/kwalletd", ".kde/share/apps/kwallet", ".kde4/share/apps/kwallet", ".password-store",
        ".local/share/gopass", ".config/gopass", ".config/keepassxc", ".cache/keepassxc", ".local/share/secrets", ".pki",
        ".config/op", ".op", ".config/1Password", ".config/Bitwarden", ".config/Bitwarden CLI", ".config/Enpass", ".config/Authy",
        ".authenticator", "Library/Keychains", "Library/Application Support/1Password", "Library/Application Support/Bitwarden",
        "Library/Group Containers/*.com.1password", "Library/Group Containers/*.com.agilebits", "AppData/Roaming/Microsoft/Credentials",
        "AppData/Roaming/Microsoft/Protect", "AppData/Local/Microsoft/Credentials", "AppData/Local/Microsoft/Vault",
    ]),
    (At::Home, Sensitivity::Credential, "a wallet", &[
        ".bitcoin", ".electrum", ".ethereum", ".config/solana", ".monero", ".litecoin", ".dogecoin", ".exodus", ".config/Exodus",
        ".config/Ledger Live", ".foundry/keystores", ".brownie/accounts",
    ]),
    (At::Home, Sensitivity::Credential, "a browser's profile", &[
        ".mozilla", ".config/mozilla", ".librewolf", ".waterfox", ".zen", ".tor-browser", ".local/share/torbrowser",
        ".config/google-chrome*", ".config/chromium*", ".config/BraveSoftware", ".config/microsoft-edge*", ".config/vivaldi*",
        ".config/opera*", ".config/yandex-browser*", ".config/qutebrowser", ".local/share/qutebrowser", ".config/epiphany",
        ".local/share/epiphany", ".config/falkon", ".config/Arc", ".cache/mozilla", ".cache/google-chrome*", ".cache/chromium*",
        ".cache/BraveSoftware", ".cache/microsoft-edge*", ".cache/vivaldi*", ".cache/opera*", "snap/firefox", "snap/chromium",
        "snap/brave", "snap/opera", ".var/app/org.mozilla.*", ".var/app/com.google.Chrome*", ".var/app/org.chromium.*",
        ".var/app/com.brave.*", ".var/app/com.microsoft.Edge*", ".var/app/io.gitlab.librewolf*", "Library/Safari", "Library/Cookies",
        "Library/Containers/com.apple.Safari*", "Library/Application Support/Firefox", "Library/Application Support/Google",
        "Library/Application Support/Chromium", "Library/Application Support/BraveSoftware",
        "Library/Application Support/Microsoft Edge*", "Library/Application Support/Arc", "Library/Application Support/Vivaldi",
        "Library/Application Support/com.operasoftware*", "AppData/Local/Google/Chrome", "AppData/Local/Microsoft/Edge",
        "AppData/Roaming/Mozilla",
    ]),
    (At::Home, Sensitivity::Credential, "mail and messages", &[
        ".thunderbird", ".config/evolution", ".local/share/evolution", ".local/share/geary", ".mutt", ".muttrc", ".config/mutt",
        ".config/neomutt", ".msmtprc", ".config/msmtp", ".mbsyncrc", ".offlineimaprc", ".fetchmailrc", ".getmail", "Maildir",
        "Mail$", ".config/himalaya", ".config/aerc", "Library/Mail", "Library/Messages", "Library/Calendars", ".config/Slack",
        ".config/discord*", ".config/Signal*", ".config/Element*", ".local/share/TelegramDesktop", ".config/teams*",
        ".config/Microsoft", ".config/whatsapp*", ".weechat", ".config/weechat", ".irssi", ".purple", "Library/Application Support/Slack",
        "Library/Application Support/discord", "Library/Application Support/Signal", "snap/thunderbird", "snap/slack",
        "Library/Application Support/AddressBook", "Library/IdentityServices", "Library/Accounts",
    ]),
    (At::Home, Sensitivity::Credential, "what was typed in a shell before", &[
        ".bash_history", ".zsh_history", ".zhistory", ".histfile", ".history", ".ash_history", ".ksh_history", ".sh_history",
        ".local/share/fish/fish_history", ".config/nushell/history*", ".python_history", ".node_repl_history", ".psql_history",
        ".mysql_history", ".sqlite_history", ".rediscli_history", ".mongo_history", ".mongosh", ".dbshell", ".irb_history",
        ".pry_history", ".lesshst", ".viminfo", ".local/share/atuin", ".zsh_sessions", ".bash_sessions", ".Rhistory",
    ]),
    (At::Home, Sensitivity::Both, "settings and logins of other agents", &[
        ".claude", ".claude.json", ".config/claude", ".codex", ".config/codex", ".gemini", ".config/goose", ".config/opencode",
        ".local/share/opencode", ".config/anthropic", ".config/openai", ".config/github-copilot", ".copilot", ".cursor", ".config/Cursor",
        ".continue", ".aider*", ".config/io.datasette.llm", ".openclaw", ".zeroclaw", ".ollama/id_ed25519", ".config/Claude",
        "Library/Application Support/Claude", "Library/Application Support/Cursor", ".agents",
    ]),
    // Credentials of the machine.
    (At::System, Sensitivity::Credential, "password hashes", &[
        "etc/shadow*", "etc/gshadow*", "etc/master.passwd", "etc/spwd.db", "etc/security/opasswd", "var/backups", "var/lib/shadow*",
        "private/etc/master.passwd", "private/var/db/dslocal", "var/db/dslocal", "etc/tcb",
    ]),
    (At::System, Sensitivity::Credential, "keys of this machine", &[
        "etc/ssh/ssh_host_*_key", "private/etc/ssh/ssh_host_*_key", "etc/dropbear", "etc/ssl/private", "etc/pki/tls/private",
        "etc/pki/private", "etc/letsencrypt", "etc/wireguard", "etc/openvpn", "etc/ipsec.secrets", "etc/ipsec.d", "etc/swanctl",
        "etc/krb5.keytab", "etc/ppp/*-secrets", "etc/NetworkManager/system-connections", "etc/netplan", "etc/wpa_supplicant",
        "var/lib/iwd", "etc/kubernetes", "etc/rancher", "var/lib/rancher", "var/lib/kubelet", "etc/credstore*",
        "var/lib/systemd/credential.secret", "run/credentials", "run/secrets", "var/run/secrets", "etc/sops", "etc/vault*",
        "etc/consul*", "etc/gitlab", "etc/gitlab-runner", "etc/cups/ssl", "var/lib/tailscale",
        "var/lib/NetworkManager", "etc/docker/key.json", "etc/luks", "etc/cryptsetup-keys.d", "etc/gsv", "var/lib/gsv",
        "Library/Keychains", "private/var/db/SystemKey", "etc/mysql/debian.cnf", "etc/exim4/passwd.client", "etc/postfix/sasl*",
    ]),
    (At::System, Sensitivity::Credential, "data of the machine's services", &[
        "var/lib/docker", "var/lib/containerd", "var/lib/postgresql", "var/lib/pgsql", "var/lib/mysql", "var/lib/mongodb",
        "var/lib/redis", "var/lib/samba", "var/lib/sss", "var/lib/jenkins", "var/lib/vault", "var/mail", "var/spool/mail",
        "var/lib/lightdm", "var/lib/gdm*", "var/spool/cups", "var/log/btmp*", "var/log/auth.log*", "var/log/secure*", "var/log/audit",
    ]),
    (At::System, Sensitivity::Credential, "the memory, variables and files of running programs", &[
        "proc/*/environ", "proc/*/mem", "proc/*/fd", "proc/*/fdinfo", "proc/*/root", "proc/*/cwd", "proc/*/map_files", "proc/*/task",
        "proc/*/maps", "proc/*/smaps", "proc/*/exe", "proc/*/auxv", "proc/*/stack", "proc/*/syscall", "proc/*/io", "proc/kcore",
        "proc/keys", "proc/key-users", "proc/kallsyms", "proc/sysrq-trigger", "sys/kernel/security", "sys/kernel/debug",
        "sys/firmware/efi/efivars", "run/user", "var/lib/systemd/coredump", "var/crash", "cores", "tmp/ssh-*", "tmp/.X11-unix",
        "tmp/gsv-*",
    ]),
    (At::System, Sensitivity::Credential, "the disk or the memory itself", &[
        "dev/mem", "dev/kmem", "dev/port", "dev/sd*", "dev/hd*", "dev/vd*", "dev/xvd*", "dev/nvme*", "dev/mmcblk*", "dev/disk*",
        "dev/rdisk*", "dev/mapper", "dev/dm-*", "dev/md*", "dev/loop*", "dev/raw", "dev/sg*", "dev/sr*", "dev/input", "dev/uinput",
        "dev/hidraw*", "dev/bus", "dev/kvm", "dev/fuse", "dev/tpm*", "dev/video*", "dev/snd", "dev/vcs*", "dev/fb*",
    ]),
    (At::OtherHome, Sensitivity::Credential, "the home of another user", &[""]),
    // Credentials in any directory. Confined commands may read them in the workspace: there is no network.
    (At::Anywhere, Sensitivity::Credential, "an .env file", &[".env", ".env.*", ".flaskenv", ".dev.vars"]),
    (At::Anywhere, Sensitivity::Both, "the .envrc that direnv runs", &[".envrc"]),
    (At::Anywhere, Sensitivity::Credential, "a private key", &[
        "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "*.ppk", "*.kdbx", "*.agekey",
    ]),
    (At::Anywhere, Sensitivity::Credential, "logins to machines", &[".netrc", ".pgpass", ".htpasswd", ".git-credentials", ".pypirc"]),
    (At::Anywhere, Sensitivity::Both, "settings and tokens of npm and yarn", &[".npmrc", ".yarnrc", ".yarnrc.yml"]),
    // Code that runs later, below the home.
    (At::Home, Sensitivity::RunsLater, "a shell's start-up file", &[
        ".config/fish", ".config/zsh", ".zsh", ".zsh.d", ".zshrc.d", ".bashrc.d", ".oh-my-zsh", ".oh-my-bash", ".bash_it", ".zinit",
        ".config/bash", ".config/nushell", ".config/powershell", ".config/xonsh", ".config/elvish", ".config/sheldon",
        ".config/environment.d", ".config/direnv", ".config/starship.toml", ".pam_environment", ".xprofile", ".xinitrc", ".xsession",
        ".xsessionrc", ".Xresources", ".Xdefaults", ".inputrc", ".config/readline", "Documents/PowerShell", ".config/atuin",
    ]),
    (At::Home, Sensitivity::RunsLater, "a program that starts by itself", &[
        ".config/autostart", ".config/autostart-scripts", ".config/systemd", ".local/share/systemd", ".config/plasma-workspace",
        ".config/upstart", ".kde/Autostart", ".local/share/applications", ".local/share/dbus-1", ".local/share/nautilus",
        ".local/share/kservices5", ".local/share/kio", ".local/share/thumbnailers", ".local/share/gnome-shell", ".config/hypr",
        ".config/sway", ".config/i3", ".i3", ".config/awesome", ".config/bspwm", ".config/openbox", ".config/mimeapps.list",
        ".mailcap", "Library/LaunchAgents", "Library/LaunchDaemons", "Library/StartupItems", "Library/Services",
        "Library/Application Scripts", "Library/Scripts", "Library/PreferencePanes", "Library/QuickLook", "Library/Input Methods",
        ".config/cron", ".crontab", "Desktop/*.desktop", "AppData/Roaming/Microsoft/Windows/Start Menu",
    ]),
    (At::Home, Sensitivity::RunsLater, "programs on the PATH", &[
        "bin", "sbin", ".bin", ".local/bin", ".local/sbin", ".local/lib", ".cargo/bin", ".cargo/env", "go/bin", ".go/bin",
        ".npm-global", ".npm-packages", ".bun", ".deno/bin", ".volta", ".nvm", ".fnm", ".local/share/fnm", ".nodenv", ".rbenv",
        ".pyenv", ".asdf", ".sdkman", ".jenv", ".rvm", ".gem", ".local/share/gem", ".rustup", ".local/share/mise", ".config/mise",
        ".mise", ".pnpm", ".local/share/pnpm", "Library/pnpm", ".yarn", ".config/yarn", ".composer", ".config/composer",
        ".dotnet", ".krew", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/virtualenvs", ".virtualenvs",
        ".linuxbrew", ".nix-profile", ".local/state/nix", ".nix-defexpr", ".opam", ".ghcup", ".cabal", ".local/share/cabal", ".stack",
        ".luarocks", ".pub-cache", ".elan", ".juliaup", ".julia", ".wasmer", ".wasmtime", ".foundry", ".local/opt", ".local/share/flatpak",
        "Applications", "Library/Python", "miniconda3", "anaconda3", "miniforge3", ".local/share/coursier",
    ]),
    (At::Home, Sensitivity::RunsLater, "a cache of packages that are run", &[
        ".cargo/registry", ".cargo/git", ".npm", ".m2", ".gradle", "go/pkg", ".ivy2", ".sbt", ".cache/pip", ".cache/uv", ".cache/yarn",
        ".cache/pnpm", ".cache/go-build", ".cache/ms-playwright", ".cache/puppeteer", ".cache/deno", ".cache/bazel", ".cache/pre-commit",
        ".cache/node", ".cache/coursier", ".nuget", ".hunter", ".conan", ".conan2", ".cache/vcpkg", "Library/Caches",
    ]),
    (At::Home, Sensitivity::RunsLater, "settings that make a program run others", &[
        ".config/git", ".hgrc", ".config/hg", ".vim", ".config/vim", ".config/nvim", ".local/share/nvim", ".nvim", ".emacs*",
        ".config/emacs", ".doom.d", ".config/doom", ".spacemacs", ".nanorc", ".config/Code*", ".config/VSCodium", ".vscode*", ".vscode-server",
        ".config/zed", ".config/JetBrains", ".local/share/JetBrains", ".config/sublime-text*", ".config/helix", ".config/kak", ".gdbinit*",
        ".config/gdb", ".lldbinit*", ".pdbrc", ".pythonrc*", ".config/python", ".ipython", ".jupyter", ".local/share/jupyter", ".irbrc",
        ".pryrc", ".Rprofile", ".Renviron", ".perldb", ".psqlrc", ".sqliterc", ".mongorc.js", ".curlrc", ".config/curlrc", ".wgetrc",
        ".ackrc", ".tigrc", ".lesskey", ".lessfilter", ".config/lesspipe", ".screenrc", ".config/tmux", ".tmux", ".config/kitty",
        ".config/alacritty", ".config/wezterm", ".wezterm.lua", ".config/ghostty", ".config/ranger", ".config/nnn", ".config/mc",
        ".config/lf", ".config/yazi", ".config/mpv", ".cargo/config", ".cargo/config.toml", ".bazelrc", ".gradle/init.d", ".buckconfig",
        ".config/containers", ".config/nix", ".config/nixpkgs", ".config/home-manager", ".config/pre-commit", ".pylintrc", ".config/bat",
        ".makerc", ".gnumakefile", ".config/fontconfig", ".config/gtk-*", ".local/share/themes", "Library/Preferences",
        "Library/Application Support/Code", ".config/ripgrep", ".config/fd", ".config/lazygit", ".config/htop", ".ctags", ".ctags.d",
    ]),
    // Code that runs later, of the machine.
    (At::System, Sensitivity::RunsLater, "programs and settings of the system", &[
        "etc", "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "boot", "opt", "snap", "nix", "gnu", "sys", "proc", "dev",
        "System", "Library", "Applications", "private/etc", "cores", "var/lib", "var/db", "var/spool", "var/cache", "var/www", "srv",
        "run", "var/run", "private/var/db", "private/var/at", "Windows", "Program Files*", "ProgramData", "var/cron",
    ]),
    // Code that runs later, in any directory.
    (At::Anywhere, Sensitivity::RunsLater, "git's hooks and settings", &[
        ".git$", ".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/info/attributes", ".git/info/sparse-checkout$",
        ".git/modules/**/hooks", ".git/modules/**/config", ".git/modules/**/config.worktree", ".git/modules/**/commondir",
        ".git/worktrees/*/config.worktree", ".git/worktrees/*/commondir", ".git/worktrees/*/gitdir", ".git/objects/info/alternates",
        "*.git/hooks", "*.git/config", ".githooks", ".husky", ".gitmodules", ".gitconfig*", ".hg/hgrc", ".jj/repo/config.toml", ".bzr/branch/branch.conf",
        ".lefthook*",
    ]),
    (At::Anywhere, Sensitivity::RunsLater, "an editor's tasks and settings", &[
        ".vscode", ".idea", ".vs", ".zed", ".fleet", ".devcontainer*", ".gitpod.yml", "*.code-workspace", "*.sublime-project", ".nvim.lua", ".nvimrc",
        ".exrc", ".vimrc", ".gvimrc", ".lvimrc", ".ideavimrc", ".dir-locals*.el", ".emacs.d", ".helix", ".nova", ".theia", ".kakrc", ".projectile$",
    ]),
    (At::Anywhere, Sensitivity::RunsLater, "orders to other agents", &[
        ".mcp.json", ".claude", ".codex", ".agents", ".cursor", ".gemini", ".goose", ".continue", ".windsurf", ".roo", ".clinerules", ".aider.conf.yml",
        ".opencode", ".amazonq", ".kiro", ".junie", ".zeroclaw", ".gsv",
    ]),
    (At::Anywhere, Sensitivity::RunsLater, "a shell's start-up file", &[
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bash_env", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
        ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login$", ".logout$", ".xonshrc", ".ripgreprc", ".tmux.conf", ".mise.toml", ".mise", "mise.toml",
        ".mise.local.toml", "mise.local.toml",
    ]),
];
