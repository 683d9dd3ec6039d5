import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import type { PathUse } from "../base/option.ts";
import { ENTRIES } from "../config/sections.ts";

const entries = [...ENTRIES.values()];
const pathOptions = entries.flatMap(({ key, option }) =>
  option.path === undefined ? [] : [{ key, use: option.path, isList: option.kind.is === "list" }],
);

test("REQ-D16 FAIL-A19: every option that sounds like a path says which entry of the reach table it belongs to, or why none", () => {
  const others = {
    "mcp.security.policy_files": "patterns of files, which are protected as configuration",
    "mcp.observability.metrics_path": "a path of URLs",
  };
  const sounding = entries.filter(
    ({ name, option }) =>
      (option.kind.is === "text" || option.kind.is === "list") &&
      /(?:^|_)(?:dirs?|folders?|directories|files?|paths?|roots|sockets?)$/.test(name),
  );
  const silent = sounding.filter(({ key, option }) => option.path === undefined && !(key in others));
  expect(silent.map(({ key }) => key)).toEqual([]);
  const reasons = pathOptions.flatMap(({ use }) => (typeof use === "string" ? [] : [use.noEntry]));
  expect(reasons.every((reason) => reason.length > 10)).toBe(true);
});

/** What tools may do with a file of an entry. */
const MAY: Readonly<Record<Exclude<PathUse, object>, { readonly read: boolean; readonly write: boolean }>> = {
  "state folder": { read: false, write: false },
  "state file": { read: false, write: false },
  config: { read: true, write: false },
  modules: { read: true, write: false },
  models: { read: true, write: false },
  startup: { read: true, write: true },
};

const tomlOf = (key: string, value: string): string => {
  const [, table = "", name = ""] = /^(.*)\.(\w+)$/.exec(key) ?? [];
  return `[mcp]\nmode = "classic"\n[${table}]\n${name} = ${value}\n`;
};

// A socket is refused within the workspace when it is opened, and its options of TLS need a certificate.
const inWorkspace = pathOptions.filter(({ key }) => !key.startsWith("mcp.server."));

test.each(inWorkspace)(
  "REQ-D4 REQ-D16 FAIL-A19: files at $key are reached as its entry says",
  async ({ key, use, isList }) => {
    if (typeof use !== "string") return;
    const written = "./placed";
    const app = await openTestApp({
      config: tomlOf(key, isList ? JSON.stringify([written]) : JSON.stringify(written)),
    });
    const path = use === "state file" || use === "startup" ? "placed" : "placed/deep/file";
    mkdirSync(dirname(join(app.root, path)), { recursive: true });
    writeFileSync(join(app.root, path), "what is placed here\n");
    const works = async (tool: string, args: object): Promise<boolean> =>
      (await app.ask(tool, args)).kind === "ok";
    const { read, write } = MAY[use];
    expect(await works("read_file", { path })).toBe(read);
    const found = await app.ask("linux_search_content", { pattern: "what is placed" });
    expect(JSON.stringify(found).includes("what is placed here")).toBe(read);
    expect(await works("linux_fs_write", { path, content: "forged\n" })).toBe(write);
    expect(await works("linux_fs_move", { source: "placed", target: "elsewhere" })).toBe(write);
  },
);
