import { execFile } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ENTRIES } from "../../src/config/sections.ts";
import { loadText } from "../config-request.ts";
import { type HttpDoor, openHttpDoor, TOKEN } from "./http-door.ts";

const run = promisify(execFile);
const page = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const guide = page("docs/guides/http.md") + page("README.md");
const blocks = (language: string): string[] =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text = ""]) => text);

/** Where a server listens by default; that of the test has a port of its own. */
const STATED_URL = `http://127.0.0.1:${ENTRIES.get("mcp.server.port")?.option.default}`;

/** What the answer of each command must hold, by the path in it. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  "/health": /^\{"ok":true,"version":"v0"\}$/,
  "/tool": /"data":|event: result/,
  "/invoke": /^\{"result":.*Demo.*"request_id"/,
  "/rag/search": /"src":"README.md#L\d+-L\d+".*"provenance":true/,
  "/invoke_agent": /\[MCP v0\] received/,
  "/openapi.json": /"openapi":"3.1.0"/,
  "/metrics": /llmc_calls_total/,
};

describe("REQ-H1: the examples of the HTTP guide and of the README", () => {
  let door: HttpDoor;
  beforeAll(async () => {
    door = await openHttpDoor({ files: { "README.md": "# Demo\n\nInstall it, and connect a client.\n" } });
    // The README's examples are for the folder that is served, which is a clone of this repository there.
    symlinkSync(fileURLToPath(new URL("../../bin", import.meta.url)), join(door.root, "bin"));
  });
  afterAll(() => door[Symbol.asyncDispose]());

  test.each(blocks("bash"))("run as they are printed: %s", async (command) => {
    const { stdout } = await run("sh", ["-c", command.replace(STATED_URL, door.url)], {
      cwd: door.root,
      env: { PATH: process.env["PATH"], URL: door.url, LLMC_MCP_TOKEN: TOKEN },
    });
    const path = /\$URL([^" ]+)"/.exec(command)?.[1] ?? "";
    expect(stdout).toMatch(EXPECTED[path] ?? /never/);
  });

  test("there are some, and the paths of doc1 are among them", () => {
    expect(blocks("bash").length).toBeGreaterThanOrEqual(9);
  });

  test.each(blocks("toml"))("the configuration of the guide is valid: %s", async (text) => {
    const loaded = await loadText(text);
    expect(loaded.warnings).toEqual([]);
  });
});
