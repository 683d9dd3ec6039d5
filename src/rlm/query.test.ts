import { expect, test } from "vitest";
import { LlmcError } from "../base/error.ts";
import { runQuery } from "./query.ts";

test("REQ-D9: what is not worth another try stays so under the code that it is reported as", async () => {
  const reportOf = (retryable: boolean): Promise<unknown> => {
    const parts = {
      settings: { rootModel: "openai/m", subModel: "", maxBudgetUsd: 1, maxBytesLimit: 1000 },
      open: () => Promise.reject(new LlmcError("rate_limited", "too many", { retryable })),
    } as unknown as Parameters<typeof runQuery>[2];
    const query = { task: "t", context: "x", budgetUsd: 1, maxTurns: 1 } as Parameters<typeof runQuery>[0];
    return runQuery(query, {} as Parameters<typeof runQuery>[1], parts, () => {});
  };
  await expect(reportOf(false)).rejects.toMatchObject({ code: "provider_error", retryable: false });
  await expect(reportOf(true)).rejects.toMatchObject({ code: "provider_error", retryable: true });
});
