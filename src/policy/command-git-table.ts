import type { OptionShape } from "./command-options.ts";
import type { Power, PowerOptions } from "./command-table.ts";

export interface GitRule extends OptionShape {
  /**
   * What it writes to the work tree, if anything, is tracked content, under tracked names. Start-up files may be
   * among it. What others write is judged like the writes of any command.
   */
  readonly writesTracked?: true;
  /** Whatever it writes, no file of the work tree is changed or removed by it. Of all others that write, any may be. */
  readonly keepsWorkTree?: true;
  /** Its operands are pathspecs, so that it can be told what to leave out: always, or behind `--` alone. */
  readonly pathspecs?: "always" | "after --";
  /** It makes a folder that an argument names. */
  readonly makesFolder?: true;
  readonly always?: readonly Power[];
  /** It starts other git programs to do its work. */
  readonly forks?: true;
  readonly powers?: PowerOptions;
  readonly plain?: string;
  /** It shows differences, through programs that the repository's settings name unless told not to. */
  readonly isDiff?: true;
  /** Values of the argument after the sub-command that only read; `""` stands for no argument. Others need `write`. */
  readonly modes?: readonly string[];
  /** Arguments that turn it into something else, wherever they stand. */
  readonly never?: string;
  /** Operands create something, unless one of these options is given. */
  readonly listsWith?: string;
  readonly maxOperands?: number;
  /**
   * It takes a merge strategy, which may name a program: by `--strategy`, and by `-s` where that is no other option;
   * `values` are the letters that surely take the rest of their argument.
   */
  readonly strategies?: { readonly short: boolean; readonly values: string };
}

/** Can write any content to any path, including hooks and configuration, which amounts to running a program. */
const ANY_FILE = "--output";

const DIFF: GitRule = {
  isDiff: true,
  powers: { run: `--ext-diff --textconv --show-signature --alternate-refs ${ANY_FILE}` },
  plain: "--text",
};

const REWRITES: GitRule = {
  always: ["write"],
  powers: {
    run: `--exec --ext-diff --textconv --upload-pack --receive-pack ${ANY_FILE}`,
    config: "--template",
  },
};

const rewritesAnd = (run: string): PowerOptions => ({
  ...REWRITES.powers,
  run: `${REWRITES.powers?.run} ${run}`,
});

const LISTING = "--contains --no-contains --merged --no-merged --points-at --sort --format";

const READING =
  "status ls-files ls-tree rev-parse rev-list describe name-rev for-each-ref show-ref merge-base count-objects " +
  "check-ignore check-attr check-mailmap check-ref-format cherry show-branch shortlog var version";

const REWRITING = "clean reset sparse-checkout switch";

const REWRITING_THE_REPOSITORY =
  "add commit commit-tree hash-object merge-tree mktag mktree pack-refs prune prune-packed replace stage " +
  "unpack-objects update-index update-ref write-tree";

/** They write what their caller chose, or to paths that their caller chose. */
const REWRITING_ANYWHERE = "format-patch init mv pack-objects";

/** Those of them that do their work by starting other git programs. */
const REWRITING_ANYWHERE_BY_OTHERS = "bundle commit-graph gc merge-file multi-pack-index repack";

const LONG_STRATEGY = { short: false, values: "" };
const MERGE_STRATEGY = { short: true, values: "mFXS" };
const REBASE_STRATEGY = { short: true, values: "XS" };

const shared = (names: string, rule: GitRule): [string, GitRule][] =>
  names.split(" ").map((name) => [name, rule]);

/**
 * Sub-commands that are not here need `git:run`: an alias may stand behind any name, and an alias may start a shell.
 * So a name belongs here only if every git that is in use has it built in; a built-in cannot be aliased.
 */
export const GIT_COMMANDS: ReadonlyMap<string, GitRule> = new Map<string, GitRule>([
  ...shared("diff log show whatchanged diff-tree diff-index diff-files blame annotate", DIFF),
  ["range-diff", { ...DIFF, forks: true }],
  ...shared(READING, {
    powers: { run: `--alternate-refs --help ${ANY_FILE}`, read: "--pathspec-from-file" },
  }),
  ["verify-pack", { forks: true }],
  ["reflog", { ...DIFF, writesTracked: true, keepsWorkTree: true, never: "expire delete drop write" }],
  ["stash", { ...DIFF, writesTracked: true, forks: true, modes: ["list", "show"] }],
  ["grep", { powers: { run: "-O --open-files-in-pager --textconv" }, plain: "--text", values: "ABCefm" }],
  ["cat-file", { powers: { run: "--textconv --filters" } }],
  [
    "branch",
    {
      writesTracked: true,
      keepsWorkTree: true,
      flags: "avrqil --all --remotes --verbose --ignore-case --show-current --list",
      longValues: LISTING,
      listsWith: "-l --list --contains --no-contains --merged --no-merged --points-at",
      powers: {
        write:
          "-d -D --delete -m -M --move -c -C --copy -f --force -u --set-upstream-to --unset-upstream --track -t " +
          "--create-reflog",
        run: "--edit-description",
      },
    },
  ],
  [
    "tag",
    {
      writesTracked: true,
      keepsWorkTree: true,
      flags: "lni0123456789 --list --ignore-case",
      longValues: LISTING,
      listsWith: "-l --list -n --contains --no-contains --merged --no-merged --points-at",
      powers: {
        write:
          "-a --annotate -s --sign -u --local-user -d --delete -f --force -m --message -F --file -e --edit " +
          "--cleanup --create-reflog --trailer",
        run: "-v --verify",
      },
    },
  ],
  ["remote", { writesTracked: true, keepsWorkTree: true, modes: ["", "get-url"] }],
  ["worktree", { writesTracked: true, makesFolder: true, modes: ["list"], forks: true }],
  ["notes", { writesTracked: true, keepsWorkTree: true, modes: ["", "list", "show"] }],
  [
    "symbolic-ref",
    { writesTracked: true, keepsWorkTree: true, maxOperands: 1, powers: { write: "-d --delete -m" } },
  ],
  ["config", {}],
  ...shared(REWRITING, { ...REWRITES, writesTracked: true }),
  ...shared(REWRITING_THE_REPOSITORY, { ...REWRITES, writesTracked: true, keepsWorkTree: true }),
  ...shared("restore rm", { ...REWRITES, writesTracked: true, pathspecs: "always" }),
  ["checkout", { ...REWRITES, writesTracked: true, pathspecs: "after --" }],
  ...shared(REWRITING_ANYWHERE, REWRITES),
  ...shared(REWRITING_ANYWHERE_BY_OTHERS, { ...REWRITES, forks: true }),
  ["read-tree", { ...REWRITES, writesTracked: true, powers: rewritesAnd("--index-output") }],
  ["am", { ...REWRITES, writesTracked: true, forks: true }],
  ["fsck", { ...REWRITES, writesTracked: true, keepsWorkTree: true, forks: true }],
  ...shared("cherry-pick revert", {
    ...REWRITES,
    writesTracked: true,
    forks: true,
    strategies: LONG_STRATEGY,
  }),
  ["merge", { ...REWRITES, writesTracked: true, forks: true, strategies: MERGE_STRATEGY }],
  // The paths are in the patch, where no check of the arguments sees them.
  ["apply", { ...REWRITES, powers: rewritesAnd("--unsafe-paths") }],
  [
    "rebase",
    {
      writesTracked: true,
      forks: true,
      always: ["write"],
      powers: { run: `-x --exec ${ANY_FILE}` },
      strategies: REBASE_STRATEGY,
    },
  ],
  ["ls-remote", { forks: true, always: ["network"], powers: { run: "--upload-pack --exec" } }],
  ["push", { forks: true, always: ["network"], powers: { run: "--receive-pack --exec" } }],
  [
    "fetch",
    {
      writesTracked: true,
      keepsWorkTree: true,
      forks: true,
      always: ["network", "write"],
      powers: { run: "--upload-pack" },
    },
  ],
  [
    "pull",
    {
      writesTracked: true,
      forks: true,
      always: ["network", "write"],
      powers: { run: "--upload-pack --exec" },
      strategies: REBASE_STRATEGY,
    },
  ],
  [
    "clone",
    {
      writesTracked: true,
      makesFolder: true,
      forks: true,
      always: ["network", "write"],
      powers: { run: "--upload-pack -u", config: "-c --config --template" },
    },
  ],
]);

/** Further commands of git, which start programs or scripts of their own: they take `git:run`, and are no aliases. */
export const GIT_RUNS: ReadonlySet<string> = new Set(
  (
    "archive bisect citool cvsimport daemon difftool fast-export fast-import filter-branch gui help http-fetch http-push " +
    "imap-send instaweb interpret-trailers maintenance mergetool p4 quiltimport request-pull rerere send-email shell " +
    "submodule subtree svn upload-archive upload-pack receive-pack verify-commit verify-tag web--browse"
  ).split(" "),
);

/** Global options that change nothing but the form of the output, or make git more careful. */
export const GIT_PLAIN_GLOBALS = new Set(
  (
    "-v --version --build-options -h --exec-path --html-path --man-path --info-path -P --no-pager --no-replace-objects " +
    "--no-lazy-fetch --no-optional-locks --no-advice --literal-pathspecs --glob-pathspecs --noglob-pathspecs " +
    "--icase-pathspecs"
  ).split(" "),
);

export const GIT_GLOBAL_POWERS: ReadonlyMap<string, Power> = new Map<string, Power>([
  ["-c", "config"],
  ["--config-env", "config"],
  ["--exec-path", "config"],
  ["--git-dir", "config"],
  ["--bare", "config"],
  ["--attr-source", "config"],
  ["--work-tree", "read"],
  ["--namespace", "read"],
  ["--super-prefix", "read"],
  ["-p", "run"],
  ["--paginate", "run"],
  // Opens a manual page, in a program of the configuration's choice.
  ["--help", "run"],
]);

/** Global options that take the next argument as their value if they have no `=`. */
export const GIT_GLOBAL_VALUES = new Set(
  "-c -C --config-env --git-dir --work-tree --namespace --super-prefix --attr-source".split(" "),
);

/**
 * Settings of a repository that name programs. They win over the repository's own, so that what was planted there
 * earlier does not fire. `diff.external` cannot be unset this way (git would try to run ""): sub-commands that
 * heed it get `--no-ext-diff`. Filters and drivers have free names: they are switched off by the names in the repository.
 */
export const GIT_NO_PROGRAMS = [
  "core.fsmonitor=false",
  // Housekeeping after a commit or a merge would be another program.
  "gc.auto=0",
  "maintenance.auto=false",
  // A work tree that cannot be seen from here is not gone.
  "gc.worktreePruneExpire=never",
  // Git starts another git process to inspect a submodule.
  "diff.ignoreSubmodules=dirty",
  "status.submoduleSummary=false",
  // Upstream settings go to the configuration, which nobody changes through us.
  "branch.autoSetupMerge=false",
  "core.hooksPath=/dev/null",
  "core.pager=cat",
  // Git starts nothing for this one, and takes the message as it is. A plan that nobody edits would only seem to be done.
  "core.editor=:",
  "sequence.editor=false",
  "core.askPass=false",
  "credential.helper=",
  "gpg.program=false",
  "gpg.openpgp.program=false",
  "gpg.x509.program=false",
  "gpg.ssh.program=false",
  "interactive.diffFilter=cat",
  "log.showSignature=false",
  "commit.gpgSign=false",
  // The answer to a commit that would change nothing is a status, and with this one the changed lines.
  "commit.verbose=false",
  "tag.gpgSign=false",
  "protocol.ext.allow=never",
  // From another directory, a remote's settings name the program to run.
  "protocol.file.allow=never",
] as const;

/** Objects that are missing are fetched without being asked for, from wherever the settings say. */
export const GIT_NO_NETWORK = [
  "core.sshCommand=false",
  "protocol.allow=never",
  "protocol.git.allow=never",
  "protocol.ssh.allow=never",
  "protocol.http.allow=never",
  "protocol.https.allow=never",
] as const;
