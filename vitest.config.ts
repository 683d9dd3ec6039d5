import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Real processes and real files: slower than pure tests, so the default 5 s is too tight on a busy machine.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Many tests wait for a deadline or for another process: more of them than there are cores run at once.
    maxWorkers: 4,
    // Races of real processes may miss their moment on a machine that is busy with something else; a defect fails twice.
    retry: 1,
  },
});
