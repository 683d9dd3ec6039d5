import type { ModuleKit } from "../core/custom-modules.ts";
import { runWithin } from "../host/os/run-within.ts";
import { jsonSchema } from "../mcp/kit.ts";

const MAX_VALIDATION_MS = 500;

const TOO_LONG = {
  issues: [{ message: "comparing them with the tool's schema took too long (does a pattern backtrack?)" }],
};

/**
 * Wraps JSON Schemas that others wrote, so that no arguments hold the server up: with a pattern such as `^(a+)+$`, some
 * fifty letters take minutes.
 */
export const boundedSchema: ModuleKit["jsonSchema"] = (schema) => {
  const made = jsonSchema(schema);
  const standard = made["~standard"];
  const validate: typeof standard.validate = (value) =>
    runWithin(() => standard.validate(value), MAX_VALIDATION_MS)?.value ?? TOO_LONG;
  return { ...made, "~standard": { ...standard, validate } };
};
