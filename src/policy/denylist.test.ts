import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileDenylist } from "./denylist.ts";

// As in mcp.tools.denylist_globs; policy may not import the options of another room.
const DEFAULT_GLOBS = [
  ...[
    "**/.env",
    "**/.env.*",
    "**/*.env",
    "**/*.pem",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
    "**/*.kdbx",
    "**/id_rsa*",
  ],
  ...["**/id_dsa*", "**/id_ecdsa*", "**/id_ed25519*", "**/.npmrc", "**/.pypirc", "**/.netrc", "**/.pgpass"],
  ...["**/.htpasswd", "**/.git-credentials", "**/.aws/**", "**/.ssh/**", "**/.gnupg/**", "**/.kube/config"],
  ...["**/.docker/config.json", "**/*credential*", "**/*token*", "**/*secret*"],
];

const denies = compileDenylist(DEFAULT_GLOBS);
const bases = ["/w/app"];

const DENIED = [
  ...[
    ".env",
    ".ENV",
    ".env.local",
    ".Env.Production",
    "prod.env",
    "key.PEM",
    "server.key",
    "id_rsa",
    "id_rsa.pub",
  ],
  ...[
    "id_ed25519",
    "ID_ED25519",
    ".npmrc",
    ".netrc",
    ".aws/credentials",
    ".aws/config",
    ".AWS/x/y.md",
    ".ssh/known_hosts",
  ],
  ...[
    ".kube/config",
    "home/.docker/config.json",
    "Secrets.yaml",
    "my-token.txt",
    "api_token",
    "credentials",
    ".token",
  ],
  ...[
    "TOKEN",
    "deep/er/client_secret.json",
    "secret.sh",
    "tokens.toml",
    "token.env",
    "secrets.ts.bak",
    ".env.ts",
  ],
  ...["a\nb/.env", "my\ntoken", "\u2028/.env", ".ssh/.env.example", "x.md/secret"],
];

const READABLE = [
  ...[
    "tokenizer.ts",
    "tokens.md",
    "credential-form.tsx",
    "SECRET.PY",
    "secrets.go",
    "token_test.rs",
    "Token.java",
  ],
  ...[
    ".env.example",
    ".env.sample",
    ".env.template",
    "sub/.ENV.Example",
    "environment.ts",
    "env",
    "keys.ts",
    "monkey.txt",
  ],
  ...["secrets/readme.txt", "tokens/list.json", "src/index.ts", "kube/config", "a.pem.txt", "awesome", "key"],
];

describe("the default denylist", () => {
  it.each(DENIED)("REQ-F8 FAIL-A10 withholds %j", (path) => {
    expect(denies(`/w/app/${path}`, bases)).toBe(true);
    expect(denies(`/${path}`, [])).toBe(true);
  });

  it.each(READABLE)("REQ-F8 FAIL-A11 leaves %j readable", (path) => {
    expect(denies(`/w/app/${path}`, bases)).toBe(false);
  });

  it("FAIL-A10 does not depend on letters being small or capital, nor on depth", () => {
    const cased = (text: string) =>
      fc
        .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
        .map((up) =>
          Array.from(text, (letter, i) => (up[i] ? letter.toUpperCase() : letter.toLowerCase())).join(""),
        );
    const folder = fc.stringMatching(/^[ab.\n *-]{1,5}$/).filter((part) => part !== "." && part !== "..");
    fc.assert(
      fc.property(
        fc.array(folder, { maxLength: 5 }),
        fc.constantFrom(...DENIED).chain(cased),
        (folders, path) => {
          expect(denies(["", ...folders, path].join("/"), bases)).toBe(true);
        },
      ),
    );
  });

  it("answers fast on the longest and most repetitive of paths", () => {
    const started = performance.now();
    for (const part of ["a/", ".aws", ".kube/", "token/", "secre"]) {
      denies(`/w/app/${part.repeat(4000 / part.length)}`, ["/", "/w", "/w/app"]);
    }
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe("an operator's globs", () => {
  it.each<[glob: string, path: string, denied: boolean]>([
    ["*.pdf", "deep/er/x.PDF", true],
    ["notes", "deep/er/notes", true],
    ["notes", "notes/x", false],
    ["private/", "deep/private/x/y.ts", true],
    ["private/", "private", true],
    ["private/", "private.ts", false],
    ["config/*.json", "config/a.json", true],
    ["config/*.json", "src/config/a.json", false],
    ["./config/a.json", "config/a.json", true],
    ["/w/app/data/**", "data/x", true],
    ["/w/app/data/**", "deep/data/x", false],
    ["**/{a,b}.cfg", "x/B.cfg", true],
    ["**", "anything.ts", true],
    ["config/*secret*", "config/secret.json", true],
    ["config/*secret*", "config/secret.ts", false],
    ["config/*secret*", "secret.json", false],
    ["**/*secret*.ts", "secret.ts", true],
    ["**/*api2token*", "api2token.ts", true],
    ["**/.env.example", ".env.example", true],
    ["!**/.env", ".env", false],
    ["!**/.env", "other", false],
    ["[", "[", true],
    ["", "x", false],
  ])("REQ-F8 %j on %j: %s", (glob, path, denied) => {
    expect(compileDenylist([glob])(`/w/app/${path}`, bases)).toBe(denied);
  });

  it.each<[glob: string, folder: string, denied: boolean]>([
    ["notes", "notes", false],
    ["**/.env", ".env", false],
    ["**/*secret*", "secrets", false],
    ["config/*", "config/a", false],
    ["private/", "deep/private", true],
    ["private/", "deep/private/in/it", true],
    ["**/.aws/**", "home/.aws", true],
    ["/w/app/data/**", "data", true],
    ["**", "anything", true],
  ])("REQ-F8 %j withholds the folder %j only with everything in it: %s", (glob, folder, denied) => {
    const list = compileDenylist([glob]);
    expect(list(`/w/app/${folder}`, bases, true)).toBe(denied);
    // What is said of the folder holds for every file in it.
    expect(list(`/w/app/${folder}/a/plain.yaml`, bases)).toBe(denied);
  });

  it("withholds nothing when the list is empty", () => {
    expect(compileDenylist([])("/w/app/.env", bases)).toBe(false);
  });

  it("matches relative to any of the bases", () => {
    const config = compileDenylist(["config/*.json"]);
    expect(config("/w/app/config/a.json", ["/x", "/w/app"])).toBe(true);
    expect(config("/w/app/config/a.json", ["/x", "/w/ap"])).toBe(false);
  });
});
