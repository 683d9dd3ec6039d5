import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadText } from "../config-request.ts";
import { type HttpDoor, openHttpDoor, TOKEN } from "./http-door.ts";

const run = promisify(execFile);
const page = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const guide = page("docs/guides/http.md") + page("README.md");
const blocks = (language: string): string[] =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text = ""]) => text);

/** What the answer of each command must hold, by the path in it. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  "/health": /^\{"ok":true,"version":"v0"\}$/,
  "/tool": /"data":|event: result/,
  "/rag/search": /"src":"README.md#L\d+-L\d+".*"provenance":true/,
  "/invoke_agent": /\[MCP v0\] received/,
  "/openapi.json": /"openapi":"3.1.0"/,
  "/metrics": /llmc_calls_total/,
};

describe("REQ-H1: the examples of the HTTP guide and of the README", () => {
  let door: HttpDoor;
  beforeAll(async () => {
    door = await openHttpDoor({ files: { "README.md": "# Demo\n\nStart the server with npm start.\n" } });
  });
  afterAll(() => door[Symbol.asyncDispose]());

  test.each(blocks("bash"))("run as they are printed: %s", async (command) => {
    const { stdout } = await run("sh", ["-c", command], {
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
