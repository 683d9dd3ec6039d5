import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** Tests never touch the tester's own configuration, tokens or trust. */
const home = mkdtempSync(join(tmpdir(), "llmc-test-home-"));
process.once("exit", () => rmSync(home, { recursive: true, force: true }));

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    env: { XDG_CONFIG_HOME: join(home, "config"), XDG_STATE_HOME: join(home, "state") },
    // Real processes and real files: slower than pure tests, so the default 5 s is too tight on a busy machine.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Many tests wait for a deadline or for another process: more of them than there are cores run at once.
    maxWorkers: 4,
    // Races of real processes may miss their moment on a machine that is busy with something else; a defect fails twice.
    retry: 1,
  },
});
