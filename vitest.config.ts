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

/** Tests never touch the tester's own configuration, tokens or trust. */
const home = mkdtempSync(join(tmpdir(), "llmc-test-home-"));
process.once("exit", () => rmSync(home, { recursive: true, force: true }));
chmodSync(home, 0o755);

/** A workspace whose state folder is of another user, which an ordinary user cannot make. */
const foreignWorkspace = join(home, "foreign");
mkdirSync(join(foreignWorkspace, ".llmc"), { recursive: true });

const userFolders = (name: string): Record<string, string> => ({
  HOME: join(home, name),
  XDG_CONFIG_HOME: join(home, name, "config"),
  XDG_STATE_HOME: join(home, name, "state"),
});

const ORDINARY_USER = 65_534;
const isRoot = process.getuid?.() === 0;
for (const name of ["tester", "ordinary"]) {
  mkdirSync(join(home, name));
  writeFileSync(join(home, name, ".gitconfig"), "[user]\n\tname = Tester\n\temail = tester@example.org\n");
}
if (isRoot) chownSync(join(home, "ordinary"), ORDINARY_USER, ORDINARY_USER);

/** Doors and searches do what they do for any user: as an ordinary one they run in the long form only. */
const SAME_FOR_ALL = /^test\/doors\/|\/(http-|search-traps|control-characters)/;

/** What an attack on this program found (FAILURES J) must not work for an ordinary user either. */
const attacks = globSync("test/**/*.test.ts", { cwd: import.meta.dirname })
  .filter((file) => process.env["LLMC_TEST_LONG"] !== undefined || !SAME_FOR_ALL.test(file))
  .filter((file) => readFileSync(join(import.meta.dirname, file), "utf8").includes("FAIL-J"));

/** Tests that only compute: they share one process per worker, which saves a fifth of their time. */
const PURE = [
  "src/{base,policy,config,syntax,symbols}/**/*.test.ts",
  "src/retrieve/{chunk,collections,rank,terms}/**/*.test.ts",
  "src/envelope/{enrich,test-runners,text}/**/*.test.ts",
];

/**
 * Tests that measure time or race with other processes. They run after all others, two at a time on two cores, and must
 * hold every time: nothing is retried anywhere.
 */
const TIMING = [
  "src/core/call.test.ts",
  "src/host/search/ripgrep.test.ts",
  "src/host/search/search.test.ts",
  "src/host/state/locks/locks.test.ts",
  "src/host/state/usage/usage.test.ts",
  "src/host/write/remove-file.test.ts",
  "test/doors/http-stop.test.ts",
  "test/escapes/{http-auth,lock-contention,protocol-loss,protocol-waiting,two-servers}.test.ts",
  "test/escapes/{command-bounds,command-tree,process-tree}.test.ts",
  "test/escapes/{read,search,write}-race.test.ts",
];

for (const pattern of [...PURE, ...TIMING])
  if (globSync(pattern, { cwd: import.meta.dirname }).length === 0)
    throw new Error(`No test is called ${pattern}: was it moved?`);

/** Groups run one after the other, in this order. */
const [FIRST, LAST] = [0, 1];

export default defineConfig({
  test: {
    // Real processes and real files: a test that hangs ends here; one that is slow on a busy machine does not.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Many tests wait for a deadline or for another process: more of them than there are cores run at once.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: {
          name: "pure",
          include: PURE,
          env: userFolders("tester"),
          isolate: false,
          sequence: { groupOrder: FIRST },
        },
      },
      {
        extends: true,
        test: {
          name: "all",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: [...PURE, ...TIMING],
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
          maxWorkers: 2,
          sequence: { groupOrder: LAST },
        },
      },
      ...(isRoot
        ? [
            {
              extends: true as const,
              test: {
                name: "ordinary user",
                include: attacks,
                // An ordinary user cannot write to root's node_modules, where compiled code is kept otherwise.
                env: {
                  ...userFolders("ordinary"),
                  NODE_COMPILE_CACHE: join(home, "ordinary", "compiled"),
                  LLMC_TEST_FOREIGN_WORKSPACE: foreignWorkspace,
                },
                setupFiles: ["test/ordinary-user.ts"],
                sequence: { groupOrder: FIRST },
              },
            },
          ]
        : []),
    ],
  },
});
