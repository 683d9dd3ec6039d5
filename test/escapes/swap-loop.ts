import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The attacker of read-race.test.ts, in a process of its own: swaps things inside a workspace for links to the outside
 * and back, as fast as it can, until it is ended.
 */
const [workspace = "", outside = ""] = process.argv.slice(2);
const at = (name: string): string => join(workspace, name);

mkdirSync(at("dir"));
writeFileSync(at("dir/file"), "INSIDE\n");
symlinkSync(outside, at("dir-link"));
mkdirSync(at("home"));
writeFileSync(at("home/file"), "INSIDE\n");

const flip = (name: string, target: string): void => {
  symlinkSync(target, at("new-link"));
  renameSync(at("new-link"), at(name));
};

const swapAll = (): void => {
  // A directory and a link change places: for a moment there is nothing.
  renameSync(at("dir"), at("dir-parked"));
  renameSync(at("dir-link"), at("dir"));
  // A link and a file are replaced in one step.
  flip("flip", outside);
  flip("file", join(outside, "file"));
  flip("hop", "flip");

  renameSync(at("dir"), at("dir-link"));
  renameSync(at("dir-parked"), at("dir"));
  flip("flip", "home");
  writeFileSync(at("new-file"), "INSIDE\n");
  renameSync(at("new-file"), at("file"));
};

swapAll();
process.stdout.write("ready\n");
const parent = process.ppid;
while (process.ppid === parent) for (let i = 0; i < 100; i++) swapAll();
rmSync(workspace, { recursive: true, force: true });
