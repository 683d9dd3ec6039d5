import { LlmcError } from "../base/error.ts";
import type { ModuleKit } from "../core/custom-modules.ts";
import { runWithin } from "../host/os/run-within.ts";

/** Others wait meanwhile. Large arguments take some ten milliseconds. */
const MAX_CHECK_MS = 500;

const tooSlow = (): LlmcError =>
  new LlmcError("invalid_args", "The arguments take too long to be compared with the schema of the tool.", {
    hint: "Send less. A pattern of the schema, or uniqueItems, may take very long for some texts.",
  });

/**
 * Schemas as whoever wrote a script or module wrote them: a `pattern` that backtracks takes without end for a text that a
 * caller chooses, in the thread that answers everybody.
 */
export const loadJsonSchema = async (): Promise<ModuleKit["jsonSchema"]> => {
  const { jsonSchema } = await import("../mcp/kit.ts");
  return (schema) => {
    const made = jsonSchema(schema);
    const standard = made["~standard"];
    const validate: typeof standard.validate = (value) => {
      const judged = runWithin(MAX_CHECK_MS, () => standard.validate(value));
      if (judged === undefined) throw tooSlow();
      return judged.value;
    };
    return { ...made, "~standard": { ...standard, validate } };
  };
};
