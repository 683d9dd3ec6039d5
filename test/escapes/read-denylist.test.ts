import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hostSections } from "../../src/host/options.ts";
import { createReach } from "../../src/host/reach/reach.ts";
import { createFiles, type Files } from "../../src/host/read/files.ts";

const DENYLIST = hostSections[0].options.denylist_globs.default;
const REQUEST = { offsetLines: 0, maxLines: 10, maxBytes: 1000 };

let workspace: string;
let files: Files;

beforeAll(() => {
  workspace = mkdtempSync(join(tmpdir(), "llmc-denylist-"));
  files = createFiles(createReach({ workspace, roots: () => ["."], denylist: () => DENYLIST }));
});

afterAll(() => {
  rmSync(workspace, { recursive: true, force: true });
});

const put = (name: string): void => {
  mkdirSync(dirname(join(workspace, name)), { recursive: true });
  writeFileSync(join(workspace, name), "CONTENT");
};

it.each([
  ...[".env", ".ENV", ".env.local", "prod.env", "key.PEM", "id_rsa", "id_ed25519", ".npmrc", ".netrc"],
  ...[".aws/credentials", "Secrets.yaml", "my-token.txt", "api_token", "sub/dir/credentials"],
])(
  "FAIL-A10 REQ-F8 by default the content of %s is withheld, by its name and through links",
  async (name) => {
    put(name);
    const alias = `plain-${name.replaceAll("/", "-")}.md`;
    symlinkSync(name, join(workspace, alias));
    symlinkSync(alias, join(workspace, `second-${alias}`));
    for (const path of [name, alias, `second-${alias}`, join(workspace, name)]) {
      await expect(files.readText(path, REQUEST)).rejects.toMatchObject({ code: "path_denied" });
      expect(await files.stat(path)).toMatchObject({ size: 7 });
    }
  },
);

it.each([
  "tokenizer.ts",
  "tokens.md",
  "credential-form.tsx",
  ".env.example",
  "sub/secrets.py",
  "package.json",
])("FAIL-A11 REQ-F8 by default %s is readable", async (name) => {
  put(name);
  expect(await files.readText(name, REQUEST)).toMatchObject({ text: "CONTENT" });
});
