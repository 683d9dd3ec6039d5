import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { USER_STATE } from "../../../../test/user-state.ts";
import { createReach } from "../../reach/reach.ts";
import { createFiles } from "../../read/files.ts";
import { createStateDb } from "../state-db.ts";
import { createHandles, newHandleId } from "./handles.ts";

const ANN = { principal: "token:ann:1" };
const BOB = { principal: "token:bob:2" };
const LOCAL = { principal: "local" };
const ALL = { offsetLines: 0, maxLines: 1000, maxBytes: 1_000_000 };

const open = (maxTotalBytes = 1_000_000) => {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), "llmc-principals-")));
  const state = createStateDb({ workspace, userState: USER_STATE, onWarning: () => {} });
  onTestFinished(() => {
    state.close();
    rmSync(workspace, { recursive: true });
  });
  const clock = { now: 1_000_000 };
  const handles = createHandles({
    state,
    files: createFiles(createReach({ workspace, roots: () => ["."], denylist: () => [] })),
    workspace,
    limits: () => ({ ttlSeconds: 60, maxTotalBytes, maxBytesEach: maxTotalBytes }),
    now: () => clock.now,
    newId: newHandleId,
    pid: process.pid,
  });
  return { workspace, state, handles, clock };
};

const failure = (read: Promise<unknown>, id: string) =>
  read.then(
    () => "was read",
    ({ code, message, hint }: { code: string; message: string; hint: string }) =>
      [code, message.replaceAll(id, "ID"), hint].join(),
  );

describe("REQ-D25 REQ-F7 FAIL-J7: handles of two principals", () => {
  test("are exactly as missing for the other as one that never was", async () => {
    const { handles } = open();
    const id = await handles.put(ANN, "output", "", ["secret of ann"]);
    expect((await handles.readLines(ANN, id, ALL)).text).toBe("secret of ann\n");
    const missing = newHandleId();
    for (const who of [BOB, LOCAL, { principal: "" }, { principal: "token:ann:" }, { principal: "%" }]) {
      expect(await failure(handles.readLines(who, id, ALL), id)).toBe(
        await failure(handles.readLines(who, missing, ALL), missing),
      );
      expect(await failure(handles.readChunk(who, id, 0), id)).toMatch(/^handle_not_found/);
      expect(await handles.list(who)).toEqual([]);
    }
    expect(await handles.list(ANN)).toHaveLength(1);
  });

  test("lead to one stored payload, and each outlives the other", async () => {
    const { handles, state, clock } = open();
    await handles.put(ANN, "output", "", ["the same"]);
    clock.now += 30_000;
    const bob = await handles.put(BOB, "output", "", ["the same"]);
    expect(state.read(() => state.sql("SELECT count(*) AS n FROM blobs").get()?.["n"])).toBe(1);
    clock.now += 40_000;
    await handles.put(BOB, "output", "", ["another"]);
    expect((await handles.readLines(BOB, bob, ALL)).text).toBe("the same\n");
  });

  test("of the same file are two, and using one does not prolong the other", async () => {
    const { handles, workspace, clock } = open();
    writeFileSync(join(workspace, "a.txt"), "text\n");
    const ann = await handles.putFile(ANN, "a.txt");
    const bob = await handles.putFile(BOB, "a.txt");
    expect(bob).not.toBe(ann);
    clock.now += 40_000;
    expect(await handles.putFile(BOB, "a.txt")).toBe(bob);
    clock.now += 40_000;
    expect(await failure(handles.readLines(ANN, ann, ALL), ann)).toMatch(/^handle_not_found/);
    expect((await handles.readLines(BOB, bob, ALL)).text).toBe("text\n");
  });

  test("FAIL-J9 whoever fills the store pushes out their own", async () => {
    const { handles, clock } = open(10_000);
    const kept = await handles.put(ANN, "output", "", ["x".repeat(1000)]);
    for (let i = 0; i < 30; i++) {
      clock.now++;
      await handles.put(BOB, "output", "", [`${i} ${"y".repeat(2000)}`]);
    }
    expect((await handles.readLines(ANN, kept, ALL)).lines).toBe(1);
    expect((await handles.list(BOB)).length).toBeLessThan(6);
  });
});
