import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The attacker of write-race.test.ts, in a process of its own: swaps things inside a workspace for links to the outside
 * and back until it is ended. Unlike swap-loop.ts it waits now and then, for as long as a write takes: only writes that
 * get far enough can be led astray.
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

// Up to 2 ms; the squares make short ones the most frequent.
const dwell = (): void => {
  const end = performance.now() + Math.random() ** 2 * 2;
  while (performance.now() < end);
};

const clear = (name: string): void => {
  try {
    rmSync(at(name), { recursive: true, force: true });
  } catch {
    // It is being filled at this very moment: another round.
  }
};

/** In the moment when there is no `dir`, the other side may have made one. */
const put = (from: string, to: string): void => {
  for (;;) {
    try {
      renameSync(at(from), at(to));
      return;
    } catch {
      clear(to);
    }
  }
};

const swapOut = (): void => {
  put("dir", "dir-parked");
  put("dir-link", "dir");
  flip("flip", outside);
  flip("file", join(outside, "file"));
  flip("hop", "flip");
};

const swapBack = (): void => {
  put("dir", "dir-link");
  put("dir-parked", "dir");
  flip("flip", "home");
  writeFileSync(at("new-file"), "INSIDE\n");
  renameSync(at("new-file"), at("file"));
};

swapOut();
swapBack();
process.stdout.write("ready\n");
const parent = process.ppid;
while (process.ppid === parent) {
  for (let i = 0; i < 100; i++) {
    swapOut();
    // Outside only for a moment, so that most attempts begin inside.
    if (i % 8 === 0) dwell();
    swapBack();
    dwell();
  }
}
rmSync(workspace, { recursive: true, force: true });
