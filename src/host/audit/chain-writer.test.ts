import { fdatasyncSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { auditStand } from "../../../test/audit.ts";
import { auditEntry } from "../../../test/audit-entry.ts";
import { encodeFields } from "../../observe/audit/bounded.ts";
import { createOwners } from "../os/process-owner.ts";
import { type AppendOptions, appendRecord, closeChain, openChain } from "./chain-writer.ts";
import { makeAuditStore, openAuditKey } from "./store.ts";

const diskError = (): never => {
  throw Object.assign(new Error("the disk reports an error"), { code: "EIO" });
};

it("FAIL-D7 REQ-O5 a record that the disk did not confirm is taken back, and the chain goes on without damage", async () => {
  const stand = auditStand();
  const openStore = () => makeAuditStore(stand.paths, openAuditKey(stand.paths));
  const store = openStore();
  const now = new Date();
  const chain = openChain(store, createOwners(process.pid).self(), now);
  store.close();
  const append = (number: number, sync: AppendOptions["sync"]) =>
    appendRecord(chain, encodeFields({ time: now.toISOString(), ...auditEntry(number) }), {
      now,
      maxFileBytes: 1024 * 1024,
      sync,
      openStore,
    });
  append(1, fdatasyncSync);
  expect(() => append(2, diskError)).toThrow("the disk reports an error");
  expect(await stand.verify()).toMatchObject({ ok: true, records: 1 });
  // The record and its head are written then: the call fails, and nothing is damaged.
  expect(() => append(3, (fd) => (fd === chain.headFd ? diskError() : fdatasyncSync(fd)))).toThrow();
  append(4, fdatasyncSync);
  closeChain(chain, true);
  expect(await stand.verify()).toMatchObject({ ok: true, records: 3 });
  const [name = ""] = stand.files();
  const ids = readFileSync(join(stand.records, name), "utf8").match(/call-\d/g);
  expect(ids).toEqual(["call-1", "call-3", "call-4"]);
});
