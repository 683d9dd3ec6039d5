import { LlmcError, toLlmcError } from "../../base/error.ts";
import { isRecord } from "../../base/is-record.ts";
import { type DeclaredFlow, isBroken } from "./flow.ts";
import { brokenFlow, type CheckArguments, readFlow } from "./read-flow.ts";

export interface FlowFile {
  readonly name: string;
  /** Or why it cannot be read. */
  readonly text: string | LlmcError;
}

export interface LoadParts {
  /** Throws with the line of what it cannot read, where it knows it. */
  readonly parse: (name: string, text: string) => unknown;
  readonly check: CheckArguments;
}

const idIn = (value: unknown): string | undefined =>
  isRecord(value) && typeof value["id"] === "string" ? value["id"] : undefined;

const loadFlow = async (
  { name, text }: FlowFile,
  { parse, check }: LoadParts,
): Promise<{ readonly file: string; readonly declared: DeclaredFlow }> => {
  let id: string | undefined;
  try {
    if (text instanceof LlmcError) throw text;
    const value = parse(name, text);
    id = idIn(value);
    return { file: name, declared: await readFlow({ name, text, value }, check) };
  } catch (thrown) {
    return { file: name, declared: { file: name, id, error: toLlmcError(thrown) } };
  }
};

/** Reads each file independently: one that cannot be used is reported and does not affect the others. */
export const loadFlows = async (
  files: readonly FlowFile[],
  parts: LoadParts,
): Promise<readonly DeclaredFlow[]> => {
  const loaded = await Promise.all(files.map((file) => loadFlow(file, parts)));
  return loaded.map(({ file, declared }) => {
    const { id } = declared;
    const other = loaded.find((one) => one.file !== file && id !== undefined && one.declared.id === id);
    if (other === undefined || isBroken(declared)) return declared;
    // Nobody knows which of them is meant.
    return { file, id, error: brokenFlow(file, `${other.file} has the same id`) };
  });
};
