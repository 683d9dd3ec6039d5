import { LlmcError } from "../../base/error.ts";
import type { Collection, Generation } from "../store/contract.ts";
import { checkVersion, nextMinor } from "../versions/semver.ts";

export const versionFor = ({ generations }: Collection, asked: string | undefined): string => {
  if (asked !== undefined) return checkVersion(asked);
  const begun = generations.find(({ state }) => state !== "sealed");
  return begun?.version ?? nextMinor(generations[0]?.version);
};

/** The version that a new one is built on. */
export const baseFor = ({ generations, active }: Collection): Generation | undefined =>
  generations.find(({ version }) => version === active) ??
  generations.find(({ state }) => state === "sealed");

export const otherEmbedder = (version: string): LlmcError =>
  new LlmcError("unavailable", `Version ${version} was made with another embedder than this llmc has.`, {
    hint: "llmc kb sync reads all its sources again, into a new version.",
  });

/** Vectors of two embedders cannot be compared, so a version that was begun with another one is not continued. */
export const embedderChanged = (version: string): LlmcError =>
  new LlmcError("unavailable", `Version ${version} was begun with another embedder than this llmc has.`, {
    hint: "--version names another one, into which the sources are read anew.",
  });
