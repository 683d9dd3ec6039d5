import { expect, it } from "vitest";
import { auditStand } from "../../../test/audit.ts";
import { readWhileQuiet } from "./audit-lock.ts";
import { openAuditStore } from "./store.ts";
import { surveyAudit } from "./survey.ts";

it("REQ-O5 FAIL-J11 a chain that cannot be judged is named, and the others are judged", async () => {
  const stand = auditStand();
  await stand.chain(3);
  await stand.chain(3);
  const [first = ""] = stand.files();
  const store = openAuditStore(stand.paths);
  const { chains, problems } = await readWhileQuiet(store, (quiet) =>
    surveyAudit({
      ...quiet,
      sign: (text) => {
        const chain = /^\{"chain":"([^"]+)","seq"/.exec(text)?.[1];
        if (chain !== undefined && first.includes(chain)) throw new RangeError("too deep");
        return quiet.sign(text);
      },
    }),
  );
  store.close();
  expect(problems).toEqual([
    { file: first, line: null, what: "not_judged", detail: expect.stringContaining("too deep") },
  ]);
  expect(chains.map(({ records }) => records)).toEqual([0, 5]);
});
