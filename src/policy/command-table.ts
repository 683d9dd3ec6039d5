import type { OptionShape } from "./command-options.ts";
import type { Power } from "./powers.ts";

export type { Power } from "./powers.ts";

/**
 * What an option can give a program beyond its plain work, granted by the operator as `program:power`:
 * `run` other programs or code, `write` files, `read` names or settings from a file that no check of the arguments
 * sees, reach the `network`, or replace its `config`uration, which mostly comes to the same as `run`.
 *
 * An option that reads a file just as an operand would (`grep -f`, `diff --from-file`, `sort --random-source`) is not a
 * power: the sandbox decides where files are read from, for operands and options alike.
 */
export type PowerOptions = Partial<Record<Power, string>>;

export interface ProgramRule extends OptionShape {
  /** Changing files is part of its plain work; the others write only with a power, and get no writable folder. */
  readonly writes?: true;
  /** It runs any code, or the repository's own, by design: no variable gives it more than it has. */
  readonly runsCode?: true;
  /** Needed to start it at all. */
  readonly always?: readonly Power[];
  /** The options that need each power. */
  readonly powers?: PowerOptions;
  /** Harmless long options whose whole name is the beginning of one in `powers`. */
  readonly plain?: string;
  /**
   * If given, an option needs `run` unless it is known: here, or among `flags`, `values`, `longValues` and `powers`. For
   * programs with so many options that a list of the dangerous ones would always be a version behind.
   */
  readonly known?: string;
  /** Options have one dash and a whole name, may stand anywhere, and `--` does not end them. */
  readonly isExpression?: true;
  /** The first argument may be option letters without a dash. */
  readonly isBundled?: true;
  /** Operands beyond these are files that it writes. */
  readonly maxOperands?: number;
  /**
   * It writes unless one of the options of a row comes before its operands, and no other than those and the ones beside
   * them stands anywhere: a later one may take it back (`xz -t -z`).
   */
  readonly readsWith?: readonly (readonly [oneOf: string, beside: string])[];
  /** Options and operands that need a power because of what they say. */
  readonly patterns?: readonly (readonly [Power, RegExp])[];
  /** Options whose value is a path, which needs the power only where it leads outside. */
  readonly paths?: PowerOptions;
  /** The first operand, and the values of `scriptOptions`, are code in this language. */
  readonly script?: "awk" | "sed";
  readonly scriptOptions?: string;
  /** The first argument decides: those in `free` need nothing, those in `needs` that power, and others `rest`. */
  readonly subcommands?: { readonly free?: string; readonly needs?: PowerOptions; readonly rest?: Power };
  /** Put in front of the arguments: settings from elsewhere must not take effect. */
  readonly front?: readonly string[];
}

const each = (names: string, rule: ProgramRule): [string, ProgramRule][] =>
  names.split(" ").map((name) => [name, rule]);

/** They start another program that is named in their arguments, so allowing one of them would allow everything. */
const LAUNCHERS =
  "xargs env nice nohup timeout setsid stdbuf time watch sudo doas su runuser pkexec gosu su-exec chroot unshare " +
  "nsenter ionice chrt taskset flock script scriptreplay strace ltrace gdb lldb perf valgrind parallel entr busybox " +
  "toybox coreutils start-stop-daemon systemd-run systemd-nspawn expect unbuffer screen tmux at batch crontab " +
  "dbus-run-session ssh-agent faketime proxychains proxychains4 torsocks bwrap firejail prlimit setarch linux32 " +
  "linux64 i386 x86_64 numactl capsh setpriv choom rlwrap fakeroot xvfb-run run-parts logsave newgrp sg tini " +
  "dumb-init eatmydata docker podman nerdctl kubectl lxc-attach machinectl npx bunx uvx pipx pnpx corepack " +
  "git-shell multitime hyperfine ld.so ld-linux.so ld-linux-x86-64.so ld-linux-aarch64.so ld-musl-x86_64.so " +
  "ld-musl-aarch64.so";

/** Pagers, editors and pickers: each has a key or a command that starts a shell. */
const PAGERS =
  "less more most pg vim vim.basic vim.tiny vim.nox vi view nvim rvim ex ed red nano pico emacs emacsclient joe mcedit fzf lesspipe";

/**
 * Interpreters, shells, and tools that run the repository's own code: they can do anything, so the operator who puts
 * one on the allowlist has granted everything (REQ-D15). Listed so that nobody adds option rules that would stop
 * nothing.
 */
const ALL_POWER =
  "bash sh zsh dash ash ksh mksh fish csh tcsh rbash python pypy node nodejs deno bun tsx ts-node perl ruby irb php " +
  "lua luajit tclsh Rscript R java jshell scala guile make gmake cmake ninja gradle mvn ant rake tox nox vitest jest " +
  "mocha";

/** Their whole work is to change files, so the operator who lists one has granted that. */
const WRITERS = "cp mv rm rmdir mkdir touch chmod chown chgrp ln tee truncate shred mkfifo mktemp";

const HARMLESS =
  "ls cat head tail stat grep egrep fgrep printf echo true false pwd basename dirname realpath readlink sleep seq cut " +
  "tr tac rev paste comm cmp fold uname whoami id nproc";

const AWK: ProgramRule = {
  flags: "bcCghIkMnNOPrsStV",
  values: "Fvfe",
  script: "awk",
  scriptOptions: "-e --source",
  powers: {
    run: "-f --file -E --exec -i --include -l --load -D --debug -W",
    write: "-o --pretty-print -p --profile -d --dump-variables",
  },
  longValues: "--field-separator --assign",
};

const PYTEST: ProgramRule = {
  writes: true,
  runsCode: true,
  // Test runs execute the repository's code by design, so options that load code (-p, conftest) add nothing.
  values: "cokmpWr",
  paths: {
    read: "-c --config-file --rootdir --confcutdir",
    write: "--basetemp --junitxml --junit-xml --log-file --report-log --result-log --resultlog --debug",
  },
  longValues:
    "--config-file --rootdir --confcutdir --basetemp --junitxml --junit-xml --log-file --report-log",
  powers: { read: "--pyargs", network: "--pastebin" },
  patterns: [
    [
      "write",
      /^(-o|--override-ini=)?((cache_dir|log_file|pythonpath|testpaths)\s*=\s*(\/|.*\.\.)|addopts\s*=)/,
    ],
  ],
};

const CURL: ProgramRule = {
  always: ["network"],
  known: "-h --help",
  flags:
    "0123469aBfgGiIjkLNpqRsSvVZ# --silent --show-error --fail --fail-with-body --fail-early --location " +
    "--location-trusted --include --head --show-headers --insecure --verbose --get --compressed --no-buffer --globoff " +
    "--http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 --ipv4 --ipv6 --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 " +
    "--tlsv1.3 --progress-bar --no-progress-meter --path-as-is --post301 --post302 --post303 --raw --version --disable " +
    "--basic --digest --anyauth --ssl-reqd --retry-connrefused --retry-all-errors --parallel --no-keepalive " +
    "--remote-name --remote-name-all --remote-header-name --create-dirs --netrc",
  values: "AbcCdDeEFHKmoPQrtTuUwxXyYz",
  longValues:
    "--request --header --data --data-raw --data-binary --data-ascii --json --form --form-string --user --user-agent " +
    "--referer --cookie --url --max-time --connect-timeout --retry --retry-delay --retry-max-time --max-redirs --range " +
    "--write-out --proxy --proxy-user --noproxy --resolve --connect-to --limit-rate --cacert --capath --max-filesize " +
    "--time-cond --oauth2-bearer --continue-at --speed-limit --speed-time --output --dump-header --cookie-jar --config " +
    "--upload-file --output-dir --cert --key --data-urlencode --url-query",
  powers: {
    config: "-K --config",
    write:
      "-o --output -O --remote-name --remote-name-all -J --remote-header-name -D --dump-header -c --cookie-jar " +
      "--trace --trace-ascii --output-dir --stderr --etag-save --hsts --alt-svc --libcurl --create-dirs",
    // `NAME@FILE` is a value of the last three.
    read:
      "-T --upload-file -n --netrc --netrc-file --unix-socket --abstract-unix-socket -E --cert --key " +
      "--data-urlencode --url-query --variable",
  },
  plain: "--data --url --cookie",
  patterns: [
    ["read", /^(--url=)?\s*file:|^(-\w+|--[\w-]+=)?@|=[@<]/i],
    ["write", /%output\{/],
  ],
  // A pattern in an address may spell `file:` in many ways.
  front: ["-q", "--globoff"],
};

const PIP: ProgramRule = {
  subcommands: { free: "list show freeze check inspect debug hash help", rest: "run" },
  powers: { run: "--python", write: "--log --log-file --cache-dir --report" },
};

export const PROGRAMS: ReadonlyMap<string, ProgramRule> = new Map<string, ProgramRule>([
  ...each(HARMLESS, {}),
  ...each(ALL_POWER, { writes: true, runsCode: true }),
  ...each(WRITERS, { writes: true }),
  ...each(LAUNCHERS, { always: ["run"] }),
  ...each(PAGERS, { always: ["run"] }),
  ...each("awk gawk mawk nawk original-awk igawk", AWK),
  ...each("pytest py.test", PYTEST),
  ...each("pip", PIP),

  ["wc", { powers: { read: "--files0-from" } }],
  ["du", { powers: { read: "--files0-from" } }],
  [
    "file",
    {
      flags: "bcdDEhiklLnNprsv0 --brief --mime --mime-type --mime-encoding --dereference",
      values: "eFP",
      // Error messages quote the lines of a magic file; -z and -Z start decompressors.
      powers: {
        read: "-m --magic-file -f --files-from",
        write: "-C --compile",
        run: "-z --uncompress -Z --uncompress-noreport -S --no-sandbox",
      },
    },
  ],
  [
    "find",
    {
      isExpression: true,
      powers: {
        run: "-exec -execdir -ok -okdir",
        write: "-delete -fprint -fprint0 -fprintf -fls",
        read: "-files0-from",
      },
    },
  ],
  [
    "rg",
    {
      flags:
        "sFivxUPSawLu.bhnNoqHIcl0pV --hidden --no-ignore --files --json --fixed-strings --ignore-case --line-number " +
        "--no-heading --heading --count --multiline --word-regexp --files-with-matches --no-config --smart-case",
      values: "ABCEMTefgjmrt",
      longValues: "--regexp --glob --iglob --type --type-not --replace --max-count --context",
      powers: { run: "--pre --pre-glob --hostname-bin -z --search-zip" },
      front: ["--no-config"],
    },
  ],
  [
    "sort",
    {
      flags:
        "bdfghiMnRrVcCmsuz --reverse --unique --numeric-sort --ignore-case --human-numeric-sort --version-sort",
      values: "kStoT",
      longValues: "--key --field-separator --output --temporary-directory --buffer-size --parallel",
      powers: {
        write: "-o --output -T --temporary-directory",
        run: "--compress-program",
        read: "--files0-from",
      },
    },
  ],
  ["uniq", { flags: "cdDiuz --count --repeated --unique --ignore-case", values: "fsw", maxOperands: 1 }],
  [
    "diff",
    {
      flags: "abBcdeEHinNpqrstTuvwyZ --recursive --brief --unified --text",
      values: "CDFILSUWxX",
      powers: { run: "-l --paginate" },
    },
  ],
  ["diff3", { powers: { run: "--diff-program" } }],
  ["sdiff", { powers: { run: "--diff-program", write: "-o --output" } }],
  // Its letters take their values from the arguments after the whole group, so no letter is the value of another.
  ["tree", { powers: { write: "-o -R", read: "--fromfile --fromtabfile" } }],

  [
    "tar",
    {
      isBundled: true,
      powers: {
        run:
          "--checkpoint-action --to-command -I --use-compress-program -F --info-script --new-volume-script " +
          // A list of names may hold options as well.
          // At the end of a volume it asks for the next one, and `!` is an answer that starts a shell.
          "--rmt-command --rsh-command -T --files-from -M --multi-volume -L --tape-length",
        write:
          "-x --extract --get -c --create -r --append -u --update -A --catenate --concatenate --delete " +
          "--remove-files -g --listed-incremental --index-file --volno-file --one-top-level",
        read: "-C --directory",
      },
      plain: "--file --checkpoint --list",
      known:
        "-t --list -f --file -v --verbose -z --gzip --gunzip --ungzip -j --bzip2 -J --xz -Z --compress --uncompress " +
        "--lzip --lzma --lzop --zstd -a --auto-compress -d --diff --compare -i --ignore-zeros -b --blocking-factor -B " +
        "-R --block-number -h --dereference --hard-dereference -p -P --absolute-names -X --exclude --exclude-from " +
        "--exclude-vcs --wildcards --no-wildcards --anchored --no-anchored --ignore-case --strip-components --strip --full-time " +
        "--utc --totals --numeric-owner --transform --xform --show-transformed-names --owner --group --mode --mtime " +
        "--sort --format -H --no-recursion --recursion --one-file-system -k --keep-old-files --skip-old-files " +
        "--keep-newer-files --overwrite -U --unlink-first -m --touch --same-owner --no-same-owner --same-permissions " +
        "--no-same-permissions --preserve-permissions -o -O --to-stdout -S --sparse -W --verify -N --newer --after-date " +
        "-V --label --checkpoint --warning --null --occurrence -q --fast-read --help --version",
      // An archive of another machine is fetched by a program.
      patterns: [["run", /^(--fi?l?e?=|(?!--))[^/]+:/]],
    },
  ],
  [
    "sed",
    {
      flags:
        "nErsuz --quiet --silent --regexp-extended --separate --null-data --in-place --posix --debug --sandbox " +
        "--follow-symlinks --unbuffered",
      values: "e",
      attached: "i",
      longValues: "--expression",
      script: "sed",
      scriptOptions: "-e --expression",
      powers: { write: "-i --in-place", run: "-f --file" },
    },
  ],
  [
    "man",
    { powers: { run: "-P --pager -H --html -C --config-file -X --gxditview -B", read: "-l --local-file" } },
  ],
  ["ssh", { always: ["network", "run"] }],
  ["sftp", { always: ["network", "run"] }],
  ["telnet", { always: ["network"] }],
  ...each("nc ncat netcat socat", { always: ["network", "run"] }),
  ["scp", { always: ["network", "write"], powers: { run: "-S -o -F -J -D" } }],
  [
    "rsync",
    {
      always: ["write"],
      powers: { run: "-e --rsh --rsync-path --daemon --config -M --remote-option", read: "--files-from" },
      patterns: [["network", /^rsync:|^[^/]+:/]],
    },
  ],
  ["curl", CURL],
  [
    "wget",
    {
      always: ["network", "write"],
      powers: {
        config: "-e --execute --config",
        // Of wget2, which some distributions call wget.
        run: "--use-askpass --plugin --local-plugin --plugin-dirs --plugin-opt",
        read: "-i --input-file --post-file --body-file",
      },
    },
  ],
  // Aliases and extensions of theirs are programs, and hub takes every argument of git.
  ...each("gh hub glab aws gcloud az", { always: ["network", "run"], writes: true }),

  [
    "npm",
    {
      subcommands: { free: "ls list ll la explain why root prefix", rest: "run" },
      known:
        "-a --all --depth --json -l --long --parseable --link --omit --include --prod --production --dev --only -g " +
        "--global -w --workspace --workspaces --include-workspace-root --package-lock-only --unicode --prefix -C -s " +
        "--silent --color --no-color -v --version -h --help",
    },
  ],
  ...each("uv pnpm yarn poetry pipenv conda gem composer apt apt-get dpkg yum dnf apk brew", {
    always: ["run"],
  }),
  [
    "cargo",
    {
      writes: true,
      runsCode: true,
      subcommands: { needs: { network: "install publish login logout yank owner search add update fetch" } },
    },
  ],
  ["go", { writes: true, runsCode: true, subcommands: { needs: { network: "get install" } } }],

  ["dd", { patterns: [["write", /^of=/]] }],
  ["zip", { always: ["write"], powers: { run: "-T --test -TT --unzip-command" } }],
  ["unzip", { flags: "lqtv", readsWith: [["-l -v -t -Z -p -z -c", "-q -C -a -x -1 -2 -s -m -h"]] }],
  // To lz4, -l is a format, and a second operand the file that it writes.
  [
    "lz4",
    { flags: "dkvq19", readsWith: [["-c --stdout --to-stdout -t --test --list", "-d -k -v -q -f -1 -9"]] },
  ],
  ...each("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd compress uncompress", {
    flags: "dkvq19",
    readsWith: [
      ["-l --list -t --test", "-k -v -q --keep --verbose --quiet"],
      [
        "-c --stdout --to-stdout",
        "-l --list -t --test -d -z -k -v -q -f -n -1 -2 -3 -4 -5 -6 -7 -8 -9 " +
          "--decompress --uncompress --compress --keep --verbose --quiet --force --no-name --fast --best",
      ],
    ],
  }),
  // A module may be data, and says itself where it is looked for.
  ...each("jq gojq", {
    powers: { read: "-L --library-path" },
    patterns: [["read", /(?<![.\w$"'])(?:import|include)\b/]],
  }),
  [
    "yq",
    {
      powers: {
        run: "--security-enable-system-operator",
        write: "-i --inplace --in-place -s --split-exp --split-exp-file",
      },
      patterns: [["read", /(?<![.\w$"'])load\w*\s*\(/]],
    },
  ],
  ["fd", { powers: { run: "-x --exec -X --exec-batch" } }],
  ["fdfind", { powers: { run: "-x --exec -X --exec-batch" } }],
  // Its sub-command `cache` writes and deletes files.
  ...each("bat batcat", { powers: { run: "--pager --paging" }, patterns: [["write", /^cache$/]] }),
  ["ag", { powers: { run: "--pager --filter" } }],
  // Up to its second version, ack takes the value of --output for a program in Perl.
  ["ack", { powers: { run: "--pager --filter --output --ackrc --env" }, front: ["--noenv"] }],
  // A repository's own .hg/hgrc names hooks and extensions, and many options a program.
  ["hg", { always: ["run"], writes: true, powers: { config: "--config --config-file --debugger" } }],
  ["split", { always: ["write"], powers: { run: "--filter" } }],
  ["csplit", { always: ["write"] }],
  ["install", { writes: true, powers: { run: "--strip-program" } }],
  ["patch", { writes: true, powers: { run: "-e --ed" } }],
  ["shuf", { powers: { write: "-o --output" } }],
  ["iconv", { powers: { write: "-o --output" } }],
  ["xxd", { maxOperands: 1 }],
  ["date", { powers: { write: "-s --set", read: "-f --file" } }],
  ["hexdump", { powers: { read: "-f --format-file" } }],
  ["nl", {}],
  // A repository's own .ctags.d may name the file that is written.
  [
    "ctags",
    {
      writes: true,
      powers: { config: "--options --options-maybe --optlib-dir", write: "-f -o" },
      front: ["--options=NONE"],
    },
  ],
]);
