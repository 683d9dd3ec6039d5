import { expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { VERSION } from "../wiring/version.ts";

const classic = { overrides: { "mcp.mode": "classic" } };

test("REQ-T8: health reports the layout version, the program and the mode", async () => {
  const app = await openTestApp(classic);
  expect(await app.ask("health")).toMatchObject({
    structured: {
      data: { ok: true, version: "v0" },
      meta: { program: `llmc ${VERSION}`, mode: "classic", tools: app.core.listTools().length },
    },
  });
  expect(await app.errorCode("health", { verbose: true })).toBe("invalid_args");
});

test("REQ-T8 REQ-O6: get_metrics counts calls, errors and latencies by tool", async () => {
  const app = await openTestApp({ ...classic, files: { "a.txt": "x" } });
  await app.text("read_file", { path: "a.txt" });
  await app.errorCode("read_file", { path: "nope" });
  const { tools, characters } = JSON.parse(await app.text("get_metrics"));
  expect(tools.read_file).toMatchObject({ calls: 2, errors: { file_not_found: 1 } });
  expect(tools.read_file.p95_ms).toBeGreaterThan(0);
  expect(characters.in).toBeGreaterThan(10);
});

test("REQ-M6: 00_INIT returns the same instructions that the handshake carries", async () => {
  const app = await openTestApp();
  expect(await app.text("00_INIT")).toBe(app.core.instructions());
});
