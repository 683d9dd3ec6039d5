/** Run as a program of its own: holds the list of the server's trees, and ends them when the server is gone. */
import { createInterface } from "node:readline";
import type { GuardOrder } from "./orphan-guard.ts";
import { findTree, isAlive, killUntilGone } from "./process-scan.ts";

const trees = new Map<number, GuardOrder>();

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as GuardOrder;
  if (order.mark === undefined) trees.delete(order.pid);
  else trees.set(order.pid, order);
}
// The other end was closed: by the server, with an empty list, or by its death.
await Promise.all(
  [...trees.values()].map((order) => killUntilGone(() => findTree(order, !isAlive(order), order.mark))),
);
