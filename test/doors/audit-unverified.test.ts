import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runLlmc } from "../command-line.ts";
import { createWorkspace } from "../workspace.ts";

it("REQ-O5 llmc audit show and export mark what verify does not vouch for, and leave out what is not signed", async () => {
  await using workspace = await createWorkspace({ "a.txt": "hello\n" });
  const { root } = workspace;
  const env = { XDG_STATE_HOME: process.env["XDG_STATE_HOME"] ?? "" };
  const run = (...args: readonly string[]) => runLlmc(root, [...args, "--root", root], { env });
  await run("call", "read_file", "--args", '{"path":"a.txt"}');
  const [name = ""] = readdirSync(join(root, ".llmc/audit"));
  const path = join(root, ".llmc/audit", name);
  const [open = "", call = "", close = ""] = readFileSync(path, "utf8").split("\n");
  const forged = call.replace("a.txt", "payroll.db");
  writeFileSync(path, `${[open, forged, call, close].join("\n")}\n`);

  const table = await run("audit", "show");
  expect(table.out.match(/Z unverified {2}(open|call|close)/g)).toEqual([
    "Z unverified  call",
    "Z unverified  close",
  ]);
  const json = await run("audit", "show", "--json");
  expect(JSON.parse(json.out)).toMatchObject([
    { kind: "open" },
    { kind: "call", unverified: true },
    { kind: "close", unverified: true },
  ]);
  const lines = await run("audit", "export");
  expect(lines.out).toBe(
    `${[open, JSON.stringify({ unverified: call }), JSON.stringify({ unverified: close })].join("\n")}\n`,
  );
  const csv = await run("audit", "export", "--format", "csv");
  expect(csv.out.split("\n").map((line) => line.split(",").at(-1))).toEqual([
    "unverified",
    "",
    "true",
    "true",
    "",
  ]);
  for (const { out, err } of [table, json, lines, csv]) {
    expect(out).not.toContain("payroll.db");
    expect(err).toContain("left out, because not signed: 1 line or file;");
  }
});
