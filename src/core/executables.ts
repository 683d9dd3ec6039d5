import { z } from "zod";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { parseGuarded } from "../base/json-guard.ts";
import { baseName } from "../base/paths.ts";
import { nearest } from "../base/text.ts";
import { hasArgumentRules } from "../policy/commands.ts";
import { commandMeta, metaOf, renderCommand, shownOf } from "../tools/command-result.ts";
import { defineTool, type Tool } from "../tools/tool.ts";
import { checkTool, type Failure, type ModuleKit } from "./custom-modules.ts";

/** Finds the scripts of the configured folder; the host provides it. */
export interface ExecutableSource {
  list(folder: string): Promise<{
    readonly found: readonly {
      readonly file: string;
      readonly path: string;
      readonly head: string;
      readonly sidecar: string | undefined;
    }[];
    readonly leftOut: readonly Failure[];
  }>;
  /** Throws unless everything in the folder is what the operator granted. */
  check(folder: string): Promise<void>;
}

const MAX_EXECUTABLES = 64;
/** Every client pays for it in every session. */
const MAX_SCHEMA_CHARS = 8192;
const MAX_HEADER_CHARS = 16_384;
/** The kernel takes no argument over 128 KiB. */
const MAX_ARGUMENT_BYTES = 100 * 1024;

/** What a script says about itself. */
const description = z.strictObject({
  name: z.string().optional(),
  description: z.string().min(1).max(500),
  /** JSON Schema of an object. */
  input: z.record(z.string(), z.unknown()).default({}),
  /** Its arguments; `{name}` stands for an input. Left out, it gets one: all inputs as JSON. */
  arguments: z.array(z.string().max(1000)).max(100).optional(),
  /** Whether it gets the roots writable. */
  writes: z.boolean().default(false),
  timeout: z.int().min(1).max(86_400).optional(),
});

type Description = z.output<typeof description>;

/** The beginning of a description in a script: any comment of one line, and the word. */
const HEADER = /^[ \t]*(#|\/\/|--|;|%)[ \t]*llmc-tool:[ \t]*(.*)$/;

/** The text after `llmc-tool:`, over as many lines of comment as it takes to be whole. */
const readHeader = (head: string): unknown => {
  const lines = head.split(/\r?\n/);
  const at = lines.findIndex((line) => HEADER.test(line));
  const [, mark = "", first = ""] = HEADER.exec(lines[at] ?? "") ?? [];
  if (at < 0) throw new Error("it has no description (llmc-tool: in a comment, or a .json file beside it)");
  let text = first;
  for (const line of lines.slice(at + 1)) {
    const trimmed = line.trim();
    if (!trimmed.startsWith(mark)) break;
    text += `\n${trimmed.slice(mark.length)}`;
    if (text.length > MAX_HEADER_CHARS)
      throw new Error(`its description is over ${MAX_HEADER_CHARS} characters`);
  }
  // Comments may follow: the description ends with the brace that makes it whole.
  for (let end = text.indexOf("}"); end >= 0; end = text.indexOf("}", end + 1)) {
    const whole = text.slice(0, end + 1);
    if (isJson(whole)) return parseGuarded(whole);
  }
  throw new Error("its description is not valid JSON");
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const readDescription = (head: string, sidecar: string | undefined): Description => {
  const read = sidecar === undefined ? readHeader(head) : parseGuarded(sidecar);
  const parsed = description.safeParse(read);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`its description: ${issue?.path.join(".") ?? ""} ${issue?.message ?? "is wrong"}`);
};

/** A reference to elsewhere would have to be fetched. */
const REFERENCES = /"\$(?:ref|dynamicRef|recursiveRef)":"(?!#)|"\$id":/;

const inputSchema = ({ input }: Description, jsonSchema: ModuleKit["jsonSchema"]): Tool["input"] => {
  const { type = "object", additionalProperties = false, $schema: _dialect, ...rest } = input;
  if (type !== "object") throw new Error("its input must be an object");
  const text = JSON.stringify(input);
  if (text.length > MAX_SCHEMA_CHARS)
    throw new Error(`its input schema is over ${MAX_SCHEMA_CHARS} characters`);
  if (REFERENCES.test(text)) throw new Error("its input schema refers to another one");
  return jsonSchema({ type, additionalProperties, ...rest });
};

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const PLACEHOLDER = /\{(\w+)\}/g;

/** One argument of a script; left out where it names an input that was not given, several for a list by itself. */
const expand = (template: string, inputs: Readonly<Record<string, unknown>>): readonly string[] => {
  const names = [...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
  if (names.some((name) => !Object.hasOwn(inputs, name) || inputs[name] === undefined)) return [];
  const [only] = names;
  const list = only !== undefined && template === `{${only}}` ? inputs[only] : undefined;
  if (Array.isArray(list)) return list.map(textOf);
  return [template.replaceAll(PLACEHOLDER, (_all, name: string) => textOf(inputs[name]))];
};

/** What stands for nothing would leave out its argument without a word. */
const checkPlaceholders = ({ arguments: templates = [], input }: Description): void => {
  const { properties, additionalProperties = false, patternProperties } = input;
  if (additionalProperties !== false || patternProperties !== undefined) return;
  const known = isRecord(properties) ? Object.keys(properties) : [];
  const names = templates.flatMap((template) =>
    [...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name),
  );
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const near = nearest(unknown, known);
  throw new Error(
    `its arguments name an input that there is not: {${unknown}}${near === undefined ? "" : ` (did you mean {${near}}?)`}`,
  );
};

const argumentsOf = ({ arguments: templates }: Description, inputs: unknown): readonly string[] => {
  const given = isRecord(inputs) ? inputs : {};
  const args = templates?.flatMap((template) => expand(template, given)) ?? [JSON.stringify(given)];
  if (args.some((arg) => Buffer.byteLength(arg) > MAX_ARGUMENT_BYTES || arg.includes("\0")))
    throw new LlmcError(
      "invalid_args",
      `One input is over ${MAX_ARGUMENT_BYTES} bytes, or has a null character.`,
      {
        hint: "Write it to a file, and give the script its path.",
      },
    );
  return args;
};

const toTool = (
  path: string,
  described: Description,
  folder: string,
  check: ExecutableSource["check"],
  jsonSchema: ModuleKit["jsonSchema"],
): Tool => {
  checkPlaceholders(described);
  const name =
    described.name ??
    baseName(path)
      .replace(/\.[^.]*$/, "")
      .replaceAll(/[.\s]/g, "_");
  const executable = { path, folder, writes: described.writes, check: () => check(folder) };
  return defineTool({
    name,
    description: described.description,
    effect: "execute",
    backend: name,
    // The command has a deadline of its own, which is shorter than this.
    timeoutMs: 86_400_000,
    input: inputSchema(described, jsonSchema),
    output: z.object({
      data: z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.int() }),
      meta: commandMeta,
    }),
    run: async (args, { envelope }, { signal, caller }) => {
      const command = [path, ...argumentsOf(described, args)];
      const call = { command, timeoutSeconds: described.timeout, raw: true, executable };
      const result = await envelope.run(call, caller, signal);
      const { stdout, stderr } = result.output;
      const { exit_code } = result.document;
      return { data: { stdout, stderr, exit_code }, meta: metaOf(result), shown: shownOf(result) };
    },
    render: ({ data: { exit_code }, meta }, { shown }) =>
      renderCommand({ ...shown, exit_code }, { ...meta, ...shown }),
  });
};

/** The tools that the scripts of a folder become; one that cannot is reported and left out. */
export const loadExecutables = async (
  folder: string,
  source: ExecutableSource,
  jsonSchema: ModuleKit["jsonSchema"],
  taken: ReadonlySet<string>,
): Promise<{ readonly tools: readonly Tool[]; readonly failures: readonly Failure[] }> => {
  const { found, leftOut } = await source.list(folder);
  const tools: Tool[] = [];
  const failures: Failure[] = [...leftOut];
  const names = new Set(taken);
  for (const { file, path, head, sidecar } of found) {
    try {
      if (tools.length >= MAX_EXECUTABLES) throw new Error(`there are over ${MAX_EXECUTABLES} of them`);
      if (hasArgumentRules(file)) throw new Error(`commands named ${file} are judged by rules of their own`);
      const ownFolder = path.slice(0, -(file.length + 1));
      const tool = toTool(path, readDescription(head, sidecar), ownFolder, source.check, jsonSchema);
      checkTool(tool, names);
      names.add(tool.name);
      tools.push(tool);
    } catch (thrown) {
      const error = toLlmcError(thrown);
      const reason = error.cause instanceof Error ? error.cause.message : error.message;
      failures.push({ file, reason, isUntrusted: false });
    }
  }
  return { tools, failures };
};
