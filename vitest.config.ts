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

/** What an attack on this program found (FAILURES J) must not work for an ordinary user either. */
const attacks = globSync("test/**/*.test.ts", { cwd: import.meta.dirname }).filter((file) =>
  readFileSync(join(import.meta.dirname, file), "utf8").includes("FAIL-J"),
);

export default defineConfig({
  test: {
    // Real processes and real files: slower than pure tests, so the default 5 s is too tight on a busy machine.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Many tests wait for a deadline or for another process: more of them than there are cores run at once.
    maxWorkers: 4,
    // Races of real processes may miss their moment on a machine that is busy with something else; a defect fails twice.
    retry: 1,
    projects: [
      {
        extends: true,
        test: {
          name: "all",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          env: userFolders("tester"),
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
              },
            },
          ]
        : []),
    ],
  },
});
