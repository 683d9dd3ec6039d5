import { flag, list, oneOf, section, whole } from "../base/option.ts";
import { POWERS } from "../policy/powers.ts";

const STARTUP_GLOBS: readonly string[] = [
  // Editors and IDEs.
  ...[".vscode/", ".idea/", ".fleet/", ".zed/", ".devcontainer/", ".vs/", ".theia/"],
  ...[".devcontainer.json", "*.code-workspace", ".dir-locals.el", ".lazy.lua"],
  ...[".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".gvimrc", ".emacs", ".emacs.d/"],
  ...[".helix/", "*.sublime-project"],
  // Agents.
  ...[".claude/", ".cursor/", ".codex/", ".gemini/", ".windsurf/", ".opencode/", ".continue/", ".cline/"],
  ...[".roo/", ".kiro/", ".amazonq/", ".qwen/", ".trae/", ".factory/", ".cursorrules", ".clinerules"],
  ...[".mcp.json", "opencode.json", "opencode.jsonc", ".aider.conf.yml"],
  // Shells and environment managers.
  ...[".envrc", ".autoenv", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc"],
  ...[".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc"],
  ...["**/.config/fish/**", ".tmux.conf", ".screenrc", ".mise/", ".tool-versions"],
  ...[".mise.toml", ".mise.*.toml", "mise.toml", "mise.*.toml", "**/.config/mise/**", "**/.config/mise.toml"],
  ...["mise/config.toml", ".miserc.toml", ".bsp/", ".crush.json"],
  // Debuggers, interpreters and package managers that read a file of the folder they are started in.
  ...[".gdbinit", ".lldbinit", ".pdbrc", ".pdbrc.py", ".irbrc", ".pryrc", ".Rprofile"],
  ...[".Renviron", ".RData", ".iex.exs", ".ghci", ".ocamlinit"],
  ...[
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".pnpmfile.mjs",
    "**/.cargo/config",
    "**/.cargo/config.toml",
  ],
  ...[
    "**/.bundle/config",
    "**/.mvn/extensions.xml",
    "**/.mvn/maven.config",
    "**/.mvn/jvm.config",
    ".bazelrc",
  ],
  // Git, where the workspace is somebody's home, and other programs that keep versions.
  ...[".gitconfig", "**/.config/git/**"],
  // CI and hook managers.
  ...["**/.github/workflows/**", "**/.github/actions/**", ".circleci/", ".buildkite/", ".woodpecker/"],
  ...[
    "**/.gitea/workflows/**",
    "**/.forgejo/workflows/**",
    ".semaphore/",
    ".cirrus.yml",
    ".builds/",
    ".build.yml",
  ],
  ...[".buildkite.yml", ".buildkite.yaml"],
  ...[".gitlab-ci.yml", ".travis.yml", ".drone.yml", ".woodpecker.yml", "azure-pipelines.yml", "Jenkinsfile"],
  ...["bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml"],
  ...[
    ".husky/",
    ".githooks/",
    ".lefthook/",
    "lefthook.{yml,yaml,toml,json}",
    "lefthook-local.{yml,yaml,toml,json}",
    ".lefthook.{yml,yaml,toml,json}",
    ".lefthook-local.{yml,yaml,toml,json}",
    ".pre-commit-config.yaml",
    "prek.toml",
  ],
];

/** Every name in the roots is matched against these, and a workspace's own file may add some: matching must stay fast. */
const SIMPLE_GLOB = {
  pattern: /^(?!.*\()(?!.*\{[^,{}]*\})(?!.*(?:\*[^*/]+){4})(?!(?:.*\*\*){4})[^\0]{1,200}$/s,
  expected:
    "expected a glob of at most 200 characters with at most three * in a name, three ** and no ( ) or {a..z}",
};

/** What is renamed because it has such a name must not have it still: the new name only gets longer. */
const STARTUP_GLOB = {
  pattern: new RegExp(`^(?!.*[^/*]\\*$)${SIMPLE_GLOB.pattern.source.slice(1)}`, "s"),
  expected: `${SIMPLE_GLOB.expected}, and no * at the end of a name`,
};

export const hostSections = [
  section("mcp.tools", "What tools may touch.", {
    enable_run_cmd: flag(
      true,
      true,
      "Offer run_cmd and the other tools that run programs; false hides and refuses them.",
    ),
    allowed_roots: list(
      ["."],
      "roots",
      'Directories that file tools may reach, relative to the workspace. An empty list denies everything; ["/"] must be written out.',
      { path: { noEntry: "what callers may reach" } },
    ),
    allow_outbound_network: flag(false, true, "Let commands use the network."),
    run_cmd_allowlist: list(
      "ls cat head tail wc stat file find grep rg sort uniq diff tree git pytest".split(" "),
      "additions",
      "Programs that run_cmd may start. Shells and interpreters are allowed only where the operator lists them.",
      { path: { noEntry: "programs that callers start, confined as any other" } },
    ),
    command_powers: list(
      [],
      "additions",
      "Powers that arguments may use, as PROGRAM:POWER (find:run, git:write, sort:write, …); a refusal names the one it needs.",
      {
        shape: {
          pattern: new RegExp(`^[^:\\s]+:(?:${POWERS.join("|")})$`),
          expected: `expected PROGRAM:POWER, where POWER is one of ${POWERS.join(", ")}`,
        },
      },
    ),
    command_read_paths: list(
      [],
      "roots",
      "Folders that commands may read besides the roots, such as a tool chain in your home (`llmc allow` adds them); programs in them or in their bin folders are found by other programs. Only names at the top of such a folder are checked against denylist_globs.",
      { path: { noEntry: "lent to commands, which only read them" } },
    ),
    git_directories: list(
      [],
      "roots",
      "Git directories outside the roots that git may use for work trees in the roots, as `git worktree add` makes them (`llmc allow --repository` adds the one of this workspace). Git alone gets them, within the same rules as a git directory in a root; no tool reads them.",
      { path: { noEntry: "judged as git directories, wherever they lie" } },
    ),
    command_memory_mb: whole(
      2048,
      64,
      1_048_576,
      "more",
      "Maximum memory, in MiB, of a command and everything it starts.",
    ),
    command_processes: whole(
      256,
      8,
      100_000,
      "more",
      "Maximum number of processes and threads of a command.",
    ),
    command_file_mb: whole(
      1024,
      1,
      1_048_576,
      "more",
      "Maximum size, in MiB, of a file that a command writes.",
    ),
    exec_timeout: whole(
      30,
      1,
      86_400,
      "more",
      "Timeout in seconds of a command whose call names none; a call may ask for up to max_exec_timeout.",
    ),
    max_exec_timeout: whole(
      600,
      1,
      86_400,
      "more",
      "The longest timeout in seconds that a call may ask for; exec_timeout counts where it is greater.",
    ),
    read_timeout: whole(10, 1, 3600, "more", "Timeout of a file or search operation, in seconds."),
    idle_timeout: whole(
      60,
      1,
      86_400,
      "more",
      "Seconds that an HTTP connection may stay open between requests; mcp.limits.idle_timeout_seconds applies where it is smaller.",
      { restart: true },
    ),
    process_idle_seconds: whole(
      1800,
      1,
      604_800,
      "more",
      "Seconds after which an idle process of linux_proc_start is ended: nobody read from it or sent to it, and it wrote nothing.",
    ),
    max_processes: whole(32, 0, 1000, "more", "Maximum number of running processes of all clients together."),
    max_processes_per_session: whole(
      8,
      0,
      1000,
      "more",
      "Maximum number of running processes of one token or connection.",
    ),
    kill_foreign_processes: flag(
      false,
      true,
      "Let linux_proc_kill signal any process of the server's user, not only those that it started.",
    ),
    command_sandbox: oneOf(
      ["auto", "require", "off"],
      "auto",
      ["require", "auto", "off"],
      "Sandbox for commands: auto uses the best tier that works on this machine, require refuses commands where no sandbox works, off uses none.",
    ),
    denylist_globs: list(
      `
        **/.env **/.env.* **/*.env **/*.pem **/*.key **/*.p12 **/*.pfx **/*.kdbx **/id_rsa* **/id_dsa*
        **/id_ecdsa* **/id_ed25519* **/.npmrc **/.pypirc **/.netrc **/.pgpass **/.htpasswd **/.git-credentials
        **/.aws/** **/.ssh/** **/.gnupg/** **/.kube/config **/.docker/config.json
        **/*credential* **/*token* **/*secret*`
        .trim()
        .split(/\s+/),
      "removals",
      "Files whose content no tool returns, whatever the roots; matched on the real name, ignoring case. Patterns of the form *word* do not apply to source code and prose (tokenizer.ts, tokens.md). A folder is withheld by a pattern that ends in / or /** (secrets/), with everything in it; other patterns are about files, wherever they lie.",
      { shape: SIMPLE_GLOB },
    ),
    startup_globs: list(
      STARTUP_GLOBS,
      "removals",
      "Start-up files of editors, shells, agents and CI, which the user's programs execute or obey. File tools may write them; commands may not (except git with git:write).",
      { shape: STARTUP_GLOB },
    ),
  }),
  section("mcp.linux_ops.roots", "Roots of the linux_* tools.", {
    allowed_roots: list(
      null,
      "roots",
      "Roots of the linux_* tools. If left out, those of mcp.tools apply. An empty list denies everything.",
      { path: { noEntry: "what callers may reach" } },
    ),
    enforce_roots: flag(
      true,
      false,
      'false opens the linux_* tools to the whole file system ("/"), and is announced at start.',
    ),
  }),
  section("mcp.handles", "Large results that are kept in .llmc to be read later.", {
    ttl_seconds: whole(86_400, 60, 31_536_000, "more", "How long a handle can be read after its creation."),
    max_total_mb: whole(
      256,
      1,
      65_536,
      "more",
      "Maximum disk space, in MiB, of all handles together; beyond it, the principal that uses the most loses its oldest.",
    ),
    max_each_mb: whole(
      64,
      1,
      65_536,
      "more",
      "Maximum size, in MiB, of the result behind one handle; the rest is dropped, and the last line says so.",
    ),
  }),
  section("mcp.locks", "Locks between calls and processes that write the same file.", {
    wait_seconds: whole(
      10,
      0,
      600,
      "more",
      "How long a write waits for the lock before it is refused as busy.",
    ),
    lease_seconds: whole(
      15,
      1,
      600,
      "more",
      "How long a process that hangs can hold a lock; the locks of a process that has died are free at once.",
    ),
  }),
  section("mcp.audit", "The signed record of every call and decision, in .llmc/audit.", {
    enabled: flag(true, false, "Record every call and decision; llmc audit shows and verifies the records."),
    unaudited_reads: flag(
      false,
      true,
      "Answer calls that only read when they cannot be recorded, as on a full disk. All other calls are refused then.",
    ),
    sync: flag(
      false,
      false,
      "Write every record before its answer leaves, and wait for the disk, so that nothing is lost when the server is killed or the power fails. Costs milliseconds a call; without it, reads of the last 20 ms can be lost.",
    ),
    max_file_mb: whole(16, 1, 1024, "any", "Size, in MiB, at which a chain goes on in a new file."),
    max_total_mb: whole(
      0,
      0,
      1_048_576,
      "less",
      "Maximum size, in MiB, of all records together; beyond it the oldest files are removed. 0 is unlimited.",
      { unlimited: 0 },
    ),
    retention_days: whole(
      365,
      0,
      36_500,
      "less",
      "Days that records are kept, by file, so some stay up to 30 days longer; 0 keeps them forever.",
      { unlimited: 0 },
    ),
  }),
] as const;
