import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { userFolders } from "../src/config/user-folders.ts";
import type { CallResult } from "../src/core/call.ts";
import { type Caller, EFFECTS } from "../src/core/contract.ts";
import type { Origin } from "../src/core/origin.ts";
import { allTools } from "../src/tools/all.ts";
import { type App, createApp } from "../src/wiring/app.ts";
import { createTrust, writePlan } from "../src/wiring/trust.ts";

interface TestAppOptions {
  /** Text of llmc.toml; left out, there is none. */
  readonly config?: string;
  /** Workspace files by relative path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
  readonly watch?: boolean;
  /** False: the workspace's file is not trusted. */
  readonly trusted?: boolean;
  /** The workspace is the user's home, with the user's own folders in it. */
  readonly isHome?: boolean;
}

export interface TestApp extends App {
  /** What `llmc trust --yes` does, after an edit of the file. */
  trust(): Promise<void>;
  /** Everything that was logged so far. */
  logs(): Promise<string>;
  ask(tool: string, args?: unknown, origin?: Partial<Origin>): Promise<CallResult>;
  /** The text of a success; a failure fails the test with its body. */
  text(tool: string, args?: unknown): Promise<string>;
  /** The published code of a failure; a success fails the test. */
  errorCode(tool: string, args?: unknown): Promise<string>;
}

const writeFiles = (root: string, files: Readonly<Record<string, string>>): void => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
};

type AtEnd = (work: () => Promise<void> | void) => void;

export const tempWorkspace = (
  files: Readonly<Record<string, string>> = {},
  atEnd: AtEnd = onTestFinished,
): string => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "llmc-test-")));
  atEnd(() => rmSync(root, { recursive: true, force: true }));
  writeFiles(root, files);
  return root;
};

/** Trusts the workspace's file as it is now; the audit trail, which is not there yet, says nothing of it. */
const trustFile = async (request: Parameters<typeof createTrust>[0]): Promise<void> => {
  const plan = await createTrust(request).plan();
  if (plan.file !== undefined) await writePlan(request, plan);
};

/** What `llmc trust --yes` does. */
export const trustWorkspace = (root: string): Promise<void> =>
  trustFile({ root, overrides: {}, env: {}, folders: userFolders(process.env, tmpdir()) });

/** Whoever calls in tests that are not about who calls. */
export const TEST_CALLER: Caller = {
  agentId: "test",
  sessionId: "test-session",
  model: "none",
  transport: "cli",
  principal: "local",
  owner: "test",
  may: new Set<string>(EFFECTS),
};

/**
 * What a server loads when it is first asked for. The test runner takes seconds for it on a busy machine, and a test's first
 * call would run into its deadline.
 */
const loadLazyParts = (): Promise<unknown> =>
  Promise.all([
    import("../src/wiring/engines.ts"),
    ...allTools.map((entry) => ("load" in entry ? entry.load() : entry)),
  ]);

/** The real program, wired as for a server, over a real temporary workspace; only the doors are missing. */
export const openTestApp = async (
  options: TestAppOptions = {},
  atEnd: AtEnd = onTestFinished,
): Promise<TestApp> => {
  const root = tempWorkspace(
    {
      ...options.files,
      ...(options.config === undefined ? {} : { "llmc.toml": options.config }),
    },
    atEnd,
  );
  await loadLazyParts();
  let logged = "";
  const where = {
    root,
    overrides: options.overrides ?? {},
    env: {},
    folders: options.isHome === true ? userFolders({}, root) : userFolders(process.env, tmpdir()),
  };
  if (options.config !== undefined && options.trusted !== false) await trustFile(where);
  const app = await createApp({
    ...where,
    cwd: root,
    watch: options.watch ?? false,
    stderr: {
      write: (text) => {
        logged += text;
      },
      flush: async () => {},
    },
  });
  atEnd(() => app.close());
  const ask: TestApp["ask"] = (tool, args, origin = {}) =>
    app.core.call({
      tool,
      args,
      correlationId: app.newId(),
      caller: TEST_CALLER,
      ...origin,
    });
  return {
    ...app,
    trust: () => trustFile(where),
    logs: async () => {
      await app.log.flush();
      return logged;
    },
    ask,
    text: async (tool, args) => {
      const result = await ask(tool, args);
      if (result.kind !== "ok")
        throw new Error(`expected success: ${JSON.stringify(result)}`, {
          cause: result.kind === "error" ? result.error : undefined,
        });
      return result.content
        .map((block) => (block.type === "text" ? block.text : JSON.stringify(block)))
        .join("\n");
    },
    errorCode: async (tool, args) => {
      const result = await ask(tool, args);
      if (result.kind !== "error") throw new Error(`expected a failure: ${JSON.stringify(result)}`);
      return result.body.meta.error_code;
    },
  };
};

/** One app for all tests of a block that change nothing of it. */
export const shareTestApp = (options: TestAppOptions): (() => TestApp) => {
  const ends: (() => Promise<void> | void)[] = [];
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(options, (work) => ends.unshift(work));
  });
  afterAll(async () => {
    for (const work of ends) await work();
  });
  return () => app;
};
