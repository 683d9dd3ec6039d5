import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Loaded } from "../config/load.ts";
import type { Log } from "../observe/log.ts";
import { saveTraceIn } from "./trace-wiring.ts";

test("REQ-L7: a trace that cannot be rendered leaves no file, a line in the log, and the answer to its caller", async () => {
  const root = mkdtempSync(join(tmpdir(), "llmc-traces-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const rlm = { trace_dir: "traces", trace_max_files: 10, trace_max_days: 0 };
  const config = { mcp: { rlm } } as unknown as Loaded["config"];
  const warnings: unknown[] = [];
  const log = { warn: (_facts: object, message: string) => warnings.push(message) } as unknown as Log;
  const save = saveTraceIn({ root, config: () => config, userState: root, log }, "id");
  const broken = function* (): Generator<string> {
    yield "x".repeat(100_000);
    throw new RangeError("Invalid string length");
  };
  expect(await save("broken", broken())).toBeUndefined();
  expect(warnings).toEqual(["the trace could not be written"]);
  expect(readdirSync(join(root, "traces"))).toEqual([]);
  const pieces = ["{", "x".repeat(100_000), "", "}\n"];
  expect(await save("whole", pieces)).toBe("rlm-whole.json");
  expect(readFileSync(join(root, "traces/rlm-whole.json"), "utf8")).toBe(pieces.join(""));
});
