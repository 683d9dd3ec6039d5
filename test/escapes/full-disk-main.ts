import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openWrites } from "./write-port.ts";

/** Run as a program on a small disk of its own: tries every kind of write, first full, then read-only. */
const [workspace = "", disk = ""] = process.argv.slice(2);
const at = (name: string): string => join(disk, name);
writeFileSync(at("f"), "old");
const writes = openWrites(workspace, { roots: () => [".", disk] });
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "written",
    (error: { code: string }) => error.code,
  );

const big = "x".repeat(200_000);
const full = {
  rewrite: await codeOf(writes.rewrite(at("f"), big)),
  append: await codeOf(writes.append(at("f"), big)),
  create: await codeOf(writes.rewrite(at("new"), big)),
  left: readdirSync(disk),
  content: readFileSync(at("f"), "utf8"),
};
execFileSync("mount", ["-o", "remount,ro", disk]);
const readOnly = {
  rewrite: await codeOf(writes.rewrite(at("f"), "x")),
  append: await codeOf(writes.append(at("f"), "x")),
  remove: await codeOf(writes.remove(at("f"), { recursive: false })),
  makeDirs: await codeOf(writes.makeDirs(at("d"), { existOk: true })),
};
process.stdout.write(JSON.stringify({ full, readOnly }));
