import { LlmcError } from "../../base/error.ts";
import type { Collection, Generation } from "../store/contract.ts";
import { nextMinor, parseVersion, type VersionLabel } from "../versions/semver.ts";

/** The version that is being made here: not promoted yet, and no pack's. */
export const draftOf = ({ generations }: Collection): Generation | undefined =>
  generations.find(({ state, isImported }) => state !== "sealed" && !isImported);

/** After the newest of those that were made here or promoted: who makes a pack does not choose the number of others. */
const nextVersion = ({ generations }: Collection): VersionLabel => {
  const taken = new Set(generations.map(({ version }) => version));
  let next = nextMinor(
    generations.find(({ state, isImported }) => state === "sealed" || !isImported)?.version,
  );
  while (taken.has(next)) next = nextMinor(next);
  return next;
};

export const versionFor = (collection: Collection, asked: string | undefined): VersionLabel =>
  asked === undefined ? (draftOf(collection)?.version ?? nextVersion(collection)) : parseVersion(asked);

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
