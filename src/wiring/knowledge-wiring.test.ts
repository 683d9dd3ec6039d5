import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openPostgres, PGLITE_START_MS } from "../../test/postgres.ts";
import { buildConfig } from "../config/sections.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { parseVersion } from "../knowledge/versions/semver.ts";
import type { Log } from "../observe/log.ts";
import { createKnowledgeEngine } from "./knowledge-wiring.ts";

test(
  "REQ-K2 REQ-K9: workspaces at the same path of several machines do not share their pins",
  async () => {
    const postgres = await openPostgres();
    const config = buildConfig(
      new Map([
        ["mcp.kb.store", "postgres"],
        ["mcp.kb.store_url_env", "KB_URL"],
      ]),
    );
    const engines = [1, 2].map(() =>
      createKnowledgeEngine({
        root: "/workspace",
        config: () => config,
        folders: { state: mkdtempSync(join(tmpdir(), "llmc-machine-")) } as UserFolders,
        flowDigests: () => undefined,
        env: { KB_URL: postgres.url },
        log: { warn: () => {} } as unknown as Log,
      }),
    );
    const stores = await Promise.all(engines.map(async (engine) => (await engine.open()).store));
    const [first, second] = stores;
    await first?.createCollection("hand", "");
    for (const version of ["1.0.0", "2.0.0"]) {
      const made = await first?.openGeneration("hand", parseVersion(version), {
        embedder: "e",
        base: undefined,
      });
      await first?.completeGeneration(made?.id ?? 0, []);
      await first?.promote(made?.id ?? 0);
    }
    await first?.pin("hand", "1.0.0");
    expect(await Promise.all(stores.map(async (one) => (await one.collections())[0]?.pinned))).toEqual([
      "1.0.0",
      undefined,
    ]);
    await second?.pin("hand", undefined);
    expect((await first?.collections())?.[0]?.pinned).toBe("1.0.0");
    for (const engine of engines) await engine.close();
    await postgres.close();
  },
  PGLITE_START_MS,
);
