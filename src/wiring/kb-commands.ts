import { homedir } from "node:os";
import { basename, relative, resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import { isInside } from "../base/paths.ts";
import { isMissing, systemErrorCode } from "../base/system-error.ts";
import type { KbFlags } from "../cli/actions.ts";
import type { KbCommand } from "../cli/kb-actions.ts";
import { type KbOperator, runKb } from "../cli/kb-command.ts";
import type { DocumentParser, SourceOptions } from "../documents/contract.ts";
import { readOwnFileSoon } from "../host/own-files/read-own-file.ts";
import { replaceFile } from "../host/own-files/replace-file.ts";
import type { App } from "./app.ts";
import { ownPaths } from "./configured-paths.ts";
import type { Invocation } from "./invocation.ts";

const MAX_PACK_BYTES = 2 ** 31 - 1;
const MAX_QUESTION_BYTES = 64 * 1024 * 1024;
const MAX_DOCUMENTS = 1_000_000;
/** Confined processes that parse documents. */
const READERS = 2;

/** URLs, and git repositories by any name: they are not paths of this machine. */
const isNamed = (source: string): boolean => /^(?:git\+|[a-z][a-z0-9+.-]*:\/\/)/i.test(source);

/** `git+` and a path of this machine; what comes after its `#` is a revision. */
const LOCAL_GIT = /^git\+(?![a-z][\w+.-]*:)(?<home>~(?=[/#]|$)\/?)?(?<path>[^#]*)(?<revision>#.*)?$/i;

/** A path as the person typed it means the folder they are in; everything else names itself. */
export const resolveSource = (cwd: string, source: string): string => {
  const { home, path, revision = "" } = LOCAL_GIT.exec(source)?.groups ?? {};
  if (path !== undefined) return `git+${resolve(home === undefined ? cwd : homedir(), path)}${revision}`;
  return isNamed(source) ? source : resolve(cwd, source);
};

/** Documents of the workspace are cited by their path in it, others by the name of their source: no path of the machine is. */
const uriOf =
  (root: string) =>
  (source: string, id: string): string => {
    if (isNamed(source)) return `${basename(source.replace(/#.*$/, "")).replace(/\.git$/, "")}/${id}`;
    const label = isInside(source, root) ? relative(root, source) : basename(source);
    if (basename(source) === id) return label;
    return label === "" ? id : `${label}/${id}`;
  };

const readFileFor = async (cwd: string, file: string, maxBytes: number): Promise<Buffer> => {
  try {
    return await readOwnFileSoon(resolve(cwd, file), { maxBytes });
  } catch (cause) {
    throw new LlmcError("invalid_args", `${file} cannot be read.`, { cause });
  }
};

/** The folder has to be there: a mistyped one would be made somewhere. */
const writeFileFor = async (cwd: string, file: string, content: string | Uint8Array): Promise<void> => {
  try {
    await replaceFile(resolve(cwd, file), content, 0o644);
  } catch (cause) {
    const code = systemErrorCode(cause);
    if (code === undefined) throw cause;
    if (isMissing(cause))
      throw new LlmcError("invalid_args", `${file} cannot be written: there is no such folder.`, {
        hint: "Make the folder first, or name a file in another one.",
        cause,
      });
    throw new LlmcError("permission_denied", `${file} cannot be written (${code}).`, { cause });
  }
};

const sourceOptionsOf = (app: App): SourceOptions => {
  const { config } = app.config.current();
  const { tools, kb, security } = config.mcp;
  return {
    denylist: tools.denylist_globs,
    closed: ownPaths(config, app.root, app.folders),
    network: security.air_gapped_mode ? undefined : { privateHosts: kb.private_hosts },
    maxDocumentBytes: kb.max_document_mb * 1024 * 1024,
    maxDocuments: MAX_DOCUMENTS,
    timeoutMs: kb.document_timeout_seconds * 1000,
  };
};

/** Whoever makes a knowledge base learns who will find it. */
const keptIn = (app: App): string => {
  const { store, data_dir: folder } = app.config.current().config.mcp.kb;
  return store === "postgres"
    ? "the PostgreSQL server, for all workspaces that use it"
    : `${resolve(app.root, folder)}, for this workspace`;
};

/** How agents ask it: a mode that does not list the tools still lets programs call them. */
const reachedBy = (app: App): string => {
  const { mode, hybrid } = app.config.current().config.mcp;
  const isListed = mode === "classic" || hybrid.promoted_tools.some((tool) => /^kb[._]/.test(tool));
  if (isListed && mode !== "code_execution") return "agents call kb_answer and kb_hybrid_search";
  const programs = "agents reach it from programs (execute_code): await tools.kb_answer({query})";
  if (mode === "code_execution") return programs;
  const listed =
    'to list the tools: promoted_tools = ["kb_answer", "kb_hybrid_search", …] in [mcp.hybrid], besides those that are there';
  return hybrid.include_execute_code ? `${programs}; ${listed}` : `agents do not see it; ${listed}`;
};

const openOperator = async (app: App, cwd: string): Promise<KbOperator & AsyncDisposable> => {
  const [{ createOperator }, { parseQuestions }, { knowledgeEngine }] = await Promise.all([
    import("../knowledge/operator.ts"),
    import("../knowledge/evaluate/questions.ts"),
    app.engines(),
  ]);
  const kb = () => app.config.current().config.mcp.kb;
  let parser: (DocumentParser & AsyncDisposable) | undefined;
  const operator = createOperator({
    engine: await knowledgeEngine(),
    ingestParts: async () => {
      const [{ createDocumentParser }, { readSource }] = await Promise.all([
        import("../documents/parser/document-parser.ts"),
        import("../documents/sources/read-source.ts"),
      ]);
      parser ??= createDocumentParser({
        maxDocumentBytes: kb().max_document_mb * 1024 * 1024,
        timeoutMs: kb().document_timeout_seconds * 1000,
        readers: READERS,
      });
      return {
        parser,
        readSource,
        sourceOptions: () => sourceOptionsOf(app),
        uriOf: uriOf(app.root),
      };
    },
    thresholds: () => ({ minRecall: kb().min_recall_percent / 100, maxDrop: kb().max_drop_percent / 100 }),
    now: () => Date.now(),
  });
  return {
    ...operator,
    [Symbol.asyncDispose]: async () => parser?.[Symbol.asyncDispose](),
    add: (name, sources, options, work) =>
      operator.add(
        name,
        sources.map((source) => resolveSource(cwd, source)),
        options,
        work,
      ),
    create: async (name, product) => {
      await operator.create(name, product);
      return { keptIn: keptIn(app) };
    },
    promote: async (name, version, options) => ({
      ...(await operator.promote(name, version, options)),
      reachedBy: reachedBy(app),
    }),
    forget: (name, sources, options) =>
      operator.forget(
        name,
        sources.map((source) => resolveSource(cwd, source)),
        options,
      ),
    evaluate: async (name, { version, questions, report }, signal) => {
      const text =
        questions === undefined ? undefined : await readFileFor(cwd, questions, MAX_QUESTION_BYTES);
      const set = text === undefined ? undefined : parseQuestions(text.toString());
      const evaluation = await operator.evaluate(name, version, set, signal);
      if (report !== undefined) {
        const { renderEvaluation } = await import("../knowledge/evaluate/evaluation-page.ts");
        await writeFileFor(cwd, report, renderEvaluation(name, evaluation));
      }
      return evaluation;
    },
    exportTo: async (name, version, file, signal) => {
      const bytes = await operator.exportPack(name, version, signal);
      await writeFileFor(cwd, file, bytes);
      return bytes.byteLength;
    },
    importFrom: async (file, name, signal) =>
      operator.importPack(await readFileFor(cwd, file, MAX_PACK_BYTES), name, signal),
  };
};

/** A command of `llmc kb` that is no call of a tool. */
export const runKbCommand = async (
  run: Invocation,
  app: App,
  command: Exclude<KbCommand, { readonly do: "search" | "ask" }>,
  { json }: KbFlags,
): Promise<void> => {
  const stop = new AbortController();
  run.io.onInterrupt(() => stop.abort());
  await using operator = await openOperator(app, run.cwd);
  await runKb(command, operator, run.io, {
    json: json ?? false,
    signal: stop.signal,
    now: app.now,
  });
};
