import { LlmcError } from "../base/error.ts";
import type { Collection, Generation } from "./store/contract.ts";

export const gone = (what: string): LlmcError =>
  new LlmcError("resource_not_found", `There is no such ${what} any more, or there never was.`, {
    hint: "Versions that nobody needs are removed by llmc kb gc; search again.",
  });

/** The version that an id names. */
export const exactVersion = ({ generations }: Collection, version: string, what: string): Generation => {
  const found = generations.find((one) => one.version === version && one.state === "sealed");
  if (found === undefined) throw gone(what);
  return found;
};
