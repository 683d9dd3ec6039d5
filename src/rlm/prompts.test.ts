import { expect, test } from "vitest";
import { GUEST_LANGUAGES } from "./guest-languages.ts";
import { batchName, systemPrompt } from "./prompts.ts";

test.each(GUEST_LANGUAGES)("REQ-L3: a session in %s is told the names of its own functions", (language) => {
  const other = GUEST_LANGUAGES.find((one) => one !== language) ?? language;
  const nested = systemPrompt(language, { allowPartial: false, canNest: true });
  expect(nested).toContain(`await ${batchName(language)}(`);
  expect(nested).toContain(`llm, ${batchName(language)} or rlm`);
  expect(nested).toContain("await rlm(");
  expect(nested).not.toContain(batchName(other));
  // Where no further analysis may be started, none is offered.
  expect(systemPrompt(language, { allowPartial: false, canNest: false })).not.toMatch(/\brlm\b/);
});
