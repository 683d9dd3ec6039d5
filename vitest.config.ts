import {
  chmodSync,
  chownSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** Where `bin/llmc` keeps compiled code: workers and the helper programs of tests start in less time with it, too. */
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/llmc");

/** As in `bin/llmc`: workers that start thousands of programs stay small, and a start costs as much as there is to copy. */
process.env["MALLOC_TRIM_THRESHOLD_"] ??= "131072";
process.env["MALLOC_ARENA_MAX"] ??= "2";

/** Tests never touch the tester's own configuration, tokens or trust. */
const home = mkdtempSync(join(tmpdir(), "llmc-test-home-"));
process.once("exit", () => rmSync(home, { recursive: true, force: true }));
chmodSync(home, 0o755);

/** A workspace whose state folder is of another user, which an ordinary user cannot make. */
const foreignWorkspace = join(home, "foreign");
mkdirSync(join(foreignWorkspace, ".llmc"), { recursive: true });

/** What `git init` copies: folders, without the dozen examples of hooks, which hundreds of repositories would copy. */
const gitTemplate = join(home, "git-template");
for (const name of ["branches", "hooks", "info"]) mkdirSync(join(gitTemplate, name), { recursive: true });

const userFolders = (name: string): Record<string, string> => ({
  HOME: join(home, name),
  XDG_CONFIG_HOME: join(home, name, "config"),
  XDG_STATE_HOME: join(home, name, "state"),
  GIT_TEMPLATE_DIR: gitTemplate,
});

const ORDINARY_USER = 65_534;
const isRoot = process.getuid?.() === 0;
for (const name of ["tester", "ordinary"]) {
  mkdirSync(join(home, name));
  writeFileSync(join(home, name, ".gitconfig"), "[user]\n\tname = Tester\n\temail = tester@example.org\n");
}
/** An ordinary user cannot write to the folder in which root keeps compiled code. */
const ordinaryCache = join(import.meta.dirname, "node_modules/.cache/llmc-ordinary");
if (isRoot) {
  mkdirSync(ordinaryCache, { recursive: true });
  for (const folder of [join(home, "ordinary"), ordinaryCache])
    chownSync(folder, ORDINARY_USER, ORDINARY_USER);
}

const isLong = process.env["LLMC_TEST_LONG"] !== undefined;

/** What the program does alike for every user: repeated as an ordinary one in the long form only. */
const SAME_FOR_ALL: readonly RegExp[] = [
  // Doors, and searches with ripgrep. Of the attacks on HTTP, the bounds of a token and its end are repeated: nothing
  // else covers J8 and J9.
  /^test\/doors\//,
  /\/(http-(?!revocation|bounds)|search-traps)/,
  // Judgements from what files, arguments and configurations say. That they are enforced for an ordinary user, in every
  // tier, is shown by reach-matrix, git-leftovers, user-startup, unseen-folders, hard-link and hostile-program.
  /\/git-(arguments|configured-paths|directories|held-paths|obeyed-elsewhere)\./,
  /\/(startup-links|command-secrets|command-line-bombs|multiplied-input)\./,
  // Mounts that vanish, folders that move, turns and ends: the kernel does the same for everybody.
  /\/(mount-race|overlapping|moved-folders|git-write-lock|command-at-the-end|front-killed)\./,
  // Lines, arguments, settings and scopes are judged before anything starts.
  /\/(plain-arguments|git-settings|git-plans|git-own-directory|git-chosen-paths|variables|command-lines|command-scopes)\./,
  /\/(control-characters|operator-writes|own-writes)\./,
];

/** What only an ordinary user can meet: for root, folders without permission are open all the same. */
const ORDINARY_ONLY = ["test/doors/no-permission.test.ts"];

const readTest = (file: string): string => readFileSync(join(import.meta.dirname, file), "utf8");

/**
 * What an attack on this program found (FAILURES J), what a hostile front tries (H) and what an air gap holds must be the
 * same for an ordinary user.
 */
const attacks = globSync("test/**/*.test.ts", { cwd: import.meta.dirname })
  .filter((file) => isLong || !SAME_FOR_ALL.some((pattern) => pattern.test(file)))
  .filter((file) => /FAIL-[HJ]|REQ-I10/.test(readTest(file)));

/** Tests that measure their own process, or leave something in it until their file ends. */
const OWN_PROCESS = [
  "src/host/run/runner.test.ts",
  "src/retrieve/index/parse-file.test.ts",
  "test/escapes/{command-bounds,foreign-mount,mount-race,process-limits,process-tree}.test.ts",
];

/**
 * Tests that measure time or race with other processes. They run after all others, three at a time (two of them leave
 * two cores half idle), and must hold every time, like all others: nothing is retried.
 */
const TIMING = [
  "src/core/failing-backend.test.ts",
  "src/core/call.test.ts",
  "src/envelope/linear-time.test.ts",
  "src/host/net/connections.test.ts",
  "src/host/search/ripgrep.test.ts",
  "src/host/search/search.test.ts",
  "src/host/state/locks/locks.test.ts",
  "src/host/state/usage/usage.test.ts",
  "src/retrieve/search-in-time.test.ts",
  "test/doors/first-search.test.ts",
  "test/doors/http-stop.test.ts",
  "test/escapes/confined-cpu.test.ts",
  "test/escapes/{http-auth,lock-contention,protocol-loss,protocol-waiting,two-servers}.test.ts",
  "test/escapes/command-tree.test.ts",
  "test/escapes/{read,search,write}-race.test.ts",
];

for (const pattern of [...OWN_PROCESS, ...TIMING, ...ORDINARY_ONLY])
  if (globSync(pattern, { cwd: import.meta.dirname }).length === 0)
    throw new Error(`No test is called ${pattern}: was it moved?`);

for (let line = 1; line <= 13; line++)
  if (!attacks.some((file) => new RegExp(`FAIL-J${line}\\b`).test(readTest(file))))
    throw new Error(`FAIL-J${line} is not tried as an ordinary user.`);

/** Groups run one after the other, in this order. */
const [FIRST, LAST] = [0, 1];

export default defineConfig({
  test: {
    // Real processes and real files: a test that hangs ends here; one that is slow on a busy machine does not.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A test that waits for an event waits for it, also on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    // Many tests wait for a deadline or for another process: more of them than there are cores run at once.
    maxWorkers: 5,
    // MB. By default, V8 lets the young generation of a worker grow to 64 MB, which every start of a program copies.
    execArgv: ["--max-semi-space-size=4"],
    projects: [
      {
        extends: true,
        test: {
          // One process per worker, which saves each file a start of Node and loading the sources again.
          name: "shared",
          include: ["{src,test}/**/*.test.ts"],
          exclude: [...OWN_PROCESS, ...TIMING, ...(isRoot ? ORDINARY_ONLY : [])],
          env: userFolders("tester"),
          isolate: false,
          sequence: { groupOrder: FIRST },
        },
      },
      {
        extends: true,
        test: {
          name: "own process",
          include: OWN_PROCESS,
          env: userFolders("tester"),
          sequence: { groupOrder: FIRST },
        },
      },
      {
        extends: true,
        test: {
          name: "timing",
          include: TIMING,
          env: userFolders("tester"),
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: LAST },
        },
      },
      ...(isRoot
        ? [
            {
              extends: true as const,
              test: {
                name: "ordinary user",
                include: [...attacks, ...ORDINARY_ONLY],
                env: {
                  ...userFolders("ordinary"),
                  NODE_COMPILE_CACHE: ordinaryCache,
                  LLMC_TEST_FOREIGN_WORKSPACE: foreignWorkspace,
                  LLMC_TEST_REPEATED: "1",
                },
                setupFiles: ["test/ordinary-user.ts"],
                isolate: false,
                sequence: { groupOrder: FIRST },
              },
            },
          ]
        : []),
    ],
  },
});
