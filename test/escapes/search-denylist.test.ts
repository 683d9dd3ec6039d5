import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hostSections } from "../../src/host/options.ts";
import { createReach } from "../../src/host/reach/reach.ts";
import { createFiles } from "../../src/host/read/files.ts";
import { createSearch, renderHitLines, type Search } from "../../src/host/search/search.ts";

const SECRETS = [
  ...[".env", ".ENV", ".env.local", "prod.env", "key.PEM", "id_rsa", "id_ed25519", ".npmrc", ".netrc"],
  ...[
    ".aws/credentials",
    "Secrets.yaml",
    "my-token.txt",
    "sub/dir/credentials",
    ".llmc/token",
    "sub/.llmc/x",
  ],
];
const READABLE = ["tokenizer.ts", "tokens.md", "credential-form.tsx", ".env.example"];

let workspace: string;
let search: Search;
let rendered: readonly string[];

beforeAll(() => {
  workspace = mkdtempSync(join(tmpdir(), "llmc-search-denylist-"));
  for (const name of [...SECRETS, ...READABLE]) {
    mkdirSync(dirname(join(workspace, name)), { recursive: true });
    writeFileSync(
      join(workspace, name),
      `${SECRETS.includes(name) ? "SECRET" : "PUBLIC"} needle\n`.repeat(20),
    );
  }
  for (const [i, name] of SECRETS.entries()) symlinkSync(name, join(workspace, `link-${i}.md`));
  const reach = createReach({
    workspace,
    roots: () => ["."],
    denylist: () => hostSections[0].options.denylist_globs.default,
  });
  const files = createFiles(reach);
  const render = renderHitLines({ files, versionOf: () => undefined });
  search = createSearch({
    reach,
    files,
    timeoutMs: () => 10_000,
    handles: {
      put: async (_owner, _kind, _source, lines) => {
        const all: string[] = [];
        for await (const block of lines) all.push(...block.split("\n"));
        // Whatever somebody else may have stored is shown through the file port too.
        rendered = await render([...all, ...SECRETS.map((path) => JSON.stringify({ path, line: 1 }))]);
        return "h";
      },
    },
  });
});

afterAll(() => {
  rmSync(workspace, { recursive: true, force: true });
});

it.each([true, false])(
  "FAIL-A10 FAIL-A11 REQ-F8 no secret comes out of a search (ignore files: %s)",
  async (ignoreFiles) => {
    for (const fileGlob of [undefined, "*", ".*", "**/*", ".env*", ".aws/*"]) {
      rendered = [];
      const query = {
        root: ".",
        pattern: "needle",
        fileGlob,
        literal: false,
        ignoreCase: true,
        ignoreFiles,
        contextLines: 10,
        maxResults: 30,
      };
      const answer = await search.content(query, { principal: "local" });
      expect(JSON.stringify([answer, rendered])).not.toContain("SECRET");
      expect(answer.totalHits).toBe(answer.totalFiles * 20);
      expect(answer.totalFiles).toBeLessThanOrEqual(READABLE.length);
      if (fileGlob === undefined && !ignoreFiles) {
        expect(answer.totalFiles).toBe(READABLE.length);
        expect(rendered.filter((line) => line.includes("PUBLIC"))).toHaveLength(80);
      }
      const names = await search.names({ ...query, pattern: "*", maxResults: 100 }, { principal: "local" });
      expect(names.paths.filter((path) => path.includes(".llmc"))).toEqual([]);
    }
  },
);

it.each(SECRETS)("FAIL-A10 %s is no root either", async (root) => {
  const query = {
    root,
    pattern: "SECRET",
    fileGlob: undefined,
    literal: true,
    ignoreCase: false,
    ignoreFiles: false,
    contextLines: 0,
    maxResults: 5,
  };
  for (const path of [root, `link-${SECRETS.indexOf(root)}.md`]) {
    await expect(search.content({ ...query, root: path }, { principal: "local" })).rejects.toMatchObject({
      code: "path_denied",
    });
  }
});
