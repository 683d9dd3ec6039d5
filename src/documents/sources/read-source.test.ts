import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SourceItem, SourceOptions } from "../contract.ts";
import { readSource } from "./read-source.ts";

const OPTIONS: SourceOptions = {
  denylist: [".env", "*.pem", "id_rsa"],
  closed: [],
  network: undefined,
  maxDocumentBytes: 10_000,
  maxDocuments: 100,
  timeoutMs: 5000,
};

/** `git http-backend` behind a server of Node's. */
const serveRepositories = async (folder: string): Promise<Server> => {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
    if (pathname.startsWith("/redirect/")) {
      response.writeHead(302, { location: `${pathname.slice("/redirect".length)}?${searchParams}` }).end();
      return;
    }
    const backend = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env["PATH"],
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: "1",
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: "safe.directory",
        GIT_CONFIG_VALUE_0: "*",
        PATH_INFO: pathname,
        QUERY_STRING: searchParams.toString(),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers["content-type"],
        HTTP_CONTENT_ENCODING: request.headers["content-encoding"],
        GIT_PROTOCOL: request.headers["git-protocol"]?.toString(),
      },
    });
    request.pipe(backend.stdin);
    void buffer(backend.stdout).then((bytes) => {
      const end = bytes.indexOf("\r\n\r\n");
      for (const line of bytes.toString("latin1", 0, end).split("\r\n")) {
        const [name = "", value = ""] = line.split(": ", 2);
        if (name === "Status") response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.end(bytes.subarray(end + 4));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return server;
};

let root: string;
beforeAll(() => {
  root = realpathSync.native(mkdtempSync(join(tmpdir(), "llmc-sources-")));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const write = (path: string, content: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
};

const itemsOf = async (
  source: string,
  options: Partial<SourceOptions> = {},
): Promise<readonly SourceItem[]> => {
  const items: SourceItem[] = [];
  for await (const item of readSource(source, { ...OPTIONS, ...options })) items.push(item);
  return items;
};

const shown = (items: readonly SourceItem[]): readonly string[] =>
  items.map((item) =>
    item.kind === "failure"
      ? `${item.id}: ${item.error.code}`
      : [
          item.id,
          item.licence ?? "-",
          item.version ?? "-",
          Buffer.from(item.bytes).toString("utf8").slice(0, 30),
        ].join(" | "),
  );

describe("REQ-K1 a folder that the operator names", () => {
  test("FAIL-A3 FAIL-A10: ignore files, links, pipes and secrets; failures stop nothing", async () => {
    write("secret.md", "outside");
    write("docs/a.md", "A");
    write("docs/inner/b.md", "B");
    write("docs/.env", "KEY=1");
    write("docs/key.pem", "KEY");
    write("docs/skipped.md", "ignored");
    write("docs/.ignore", "skipped.md\n");
    write("docs/image.png", "not text");
    write("docs/large.md", "x".repeat(10_001));
    symlinkSync(join(root, "secret.md"), join(root, "docs/link.md"));
    symlinkSync(root, join(root, "docs/up"));
    symlinkSync("/etc", join(root, "docs/etc"));
    execFileSync("mkfifo", [join(root, "docs/pipe.md")]);
    expect(shown(await itemsOf(join(root, "docs")))).toEqual([
      "a.md | - | - | A",
      "inner/b.md | - | - | B",
      "large.md: file_too_large",
    ]);
  });

  test("FAIL-B5 FAIL-F1: a document under a name that is not UTF-8 is named, in a folder as in a commit", async () => {
    const folder = join(root, "names");
    const bytesOf = (path: string): Buffer => Buffer.from(`${folder}/${path}`, "latin1");
    mkdirSync(bytesOf("b\xffd"), { recursive: true });
    for (const path of ["caf\xe9.md", "b\xffd/x.md", "b\xffd/x.png", "ok.md"])
      writeFileSync(bytesOf(path), "A");
    const expected = ["b\uFFFDd/x.md: invalid_args", "caf\uFFFD.md: invalid_args", "ok.md | - | - | A"];
    const found = await itemsOf(folder);
    expect([...shown(found)].sort()).toEqual(expected);
    // Nothing else of the source is taken to be missing.
    expect(found.some((item) => item.kind === "failure" && item.isIncomplete === true)).toBe(false);
    const git = (...args: readonly string[]): void => void execFileSync("git", ["-C", folder, ...args]);
    git("init", "-q");
    git("add", "-A");
    git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "one");
    expect([...shown(await itemsOf(`git+${folder}`))].sort()).toEqual(expected);
  });

  test("a file alone, through a link of the operator's too; secrets stay secrets", async () => {
    expect(shown(await itemsOf(join(root, "docs/a.md")))).toEqual(["a.md | - | - | A"]);
    symlinkSync(join(root, "docs"), join(root, "named"));
    expect(shown(await itemsOf(join(root, "named/a.md")))).toEqual(["a.md | - | - | A"]);
    expect(shown(await itemsOf(join(root, "docs/.env")))).toEqual([".env: file_not_found"]);
  });

  test("licence and version come from the nearest folder that names them", async () => {
    write(
      "project/LICENSE",
      "Permission is hereby granted, free of charge, to any person obtaining a copy of this",
    );
    write("project/package.json", '{"version": "2.1.0"}');
    write("project/README.md", "R");
    write(
      "project/crate/Cargo.toml",
      '[dependencies]\nversion = "9"\n[package]\nlicense = "MIT OR Apache-2.0"\nversion = "0.3.0"\n',
    );
    write("project/crate/src/notes.md", "N");
    write(
      "project/py/pyproject.toml",
      '[project]\nlicense = {text = "BSD-3-Clause"}\nversion = "not a version"\n',
    );
    write("project/py/guide.rst", "G");
    const items = shown(await itemsOf(join(root, "project")));
    expect(items).toContain("README.md | MIT | 2.1.0 | R");
    expect(items).toContain("crate/src/notes.md | MIT OR Apache-2.0 | 0.3.0 | N");
    expect(items).toContain("py/guide.rst | BSD-3-Clause | 2.1.0 | G");
  });

  test("no more documents than allowed, which is said", async () => {
    const items = shown(await itemsOf(join(root, "project"), { maxDocuments: 2 }));
    expect(items).toHaveLength(3);
    expect(items.at(-1)).toBe(".: file_too_large");
  });

  test.each(["/no/such/folder", "a\0b", "file:///etc/passwd", "/dev/zero", "ssh://host/x", ""])(
    "FAIL-A1 %j is refused",
    async (source) => {
      await expect(itemsOf(source === "" ? join(root, "missing") : source)).rejects.toMatchObject({
        code: expect.stringMatching(/^(file_not_found|path_denied|invalid_args)$/),
      });
    },
  );
});

describe("REQ-K1 a git repository", () => {
  const git = (...args: string[]): void =>
    void execFileSync("git", [
      "-C",
      join(root, "repo"),
      "-c",
      "user.name=T",
      "-c",
      "user.email=t@example.org",
      ...args,
    ]);
  const trap = (): string => join(root, "trap");

  beforeAll(() => {
    mkdirSync(join(root, "repo"));
    git("init", "-q");
    write("repo/a.md", "first");
    write("repo/.env", "KEY=1");
    write("repo/.gitattributes", "*.md filter=evil diff=evil\n");
    symlinkSync("/etc/passwd", join(root, "repo/passwd.md"));
    git("add", "-A");
    git("commit", "-qm", "one");
    git("tag", "v1.0.0");
    write("repo/a.md", "second");
    git("commit", "-qam", "two");
    write("repo/a.md", "not committed");
    write("hook", `#!/bin/sh\ntouch ${trap()}\ncat\n`);
    chmodSync(join(root, "hook"), 0o755);
    for (const [key, value] of [
      ["filter.evil.smudge", join(root, "hook")],
      ["filter.evil.clean", join(root, "hook")],
      ["diff.evil.textconv", join(root, "hook")],
      ["core.fsmonitor", join(root, "hook")],
      ["core.hooksPath", root],
      ["core.pager", join(root, "hook")],
      ["core.sshCommand", join(root, "hook")],
      ["remote.origin.promisor", "true"],
      ["remote.origin.url", `ext::${join(root, "hook")}`],
      ["extensions.partialClone", "origin"],
    ] as const)
      git("config", key, value);
  });

  test("FAIL-A10: its last commit, without links and secrets; nothing of its configuration runs", async () => {
    const found = shown(await itemsOf(`git+${join(root, "repo")}`));
    expect(found).toEqual(["a.md | - | - | second"]);
    expect(existsSync(trap())).toBe(false);
  });

  test("a tag names the version", async () => {
    expect(shown(await itemsOf(`git+${join(root, "repo")}#v1.0.0`))).toContain("a.md | - | 1.0.0 | first");
    expect(existsSync(trap())).toBe(false);
  });

  test("unknown and hostile revisions, and a pointer to a repository elsewhere, are refused", async () => {
    for (const revision of ["nope", "--output=/tmp/x", "HEAD;x", "a b"])
      await expect(itemsOf(`git+${join(root, "repo")}#${revision}`)).rejects.toMatchObject({
        code: "invalid_args",
      });
    write("pointer/.git", `gitdir: ${join(root, "repo/.git")}\n`);
    await expect(itemsOf(`git+${join(root, "pointer")}`)).rejects.toMatchObject({ code: "invalid_args" });
  });

  test("FAIL-D7: a few objects that unfold to millions of files are said to be too many", async () => {
    const bomb = join(root, "bomb");
    execFileSync("git", ["init", "-q", bomb]);
    const ask = (input: string, ...args: readonly string[]): string =>
      execFileSync("git", ["-C", bomb, "-c", "user.name=T", "-c", "user.email=t@example.org", ...args], {
        input,
      })
        .toString()
        .trim();
    const blob = ask("text", "hash-object", "-w", "--stdin");
    const treeOf = (entry: string): string =>
      ask(
        Array.from({ length: 100 }, (_, at) => `${entry}\t${"x".repeat(200)}${at + 100}.md\n`).join(""),
        "mktree",
      );
    let tree = treeOf(`100644 blob ${blob}`);
    for (let level = 0; level < 2; level++) tree = treeOf(`040000 tree ${tree}`);
    ask("", "update-ref", "HEAD", ask("", "commit-tree", tree, "-m", "x"));
    await expect(itemsOf(`git+${bomb}`)).rejects.toMatchObject({
      code: "file_too_large",
      message: "The commit has more files than can be listed.",
    });
  });

  test("remote repositories need a network, and one of http or https", async () => {
    for (const source of ["git+https://example.org/x.git", "https://example.org/x.git", "git+ext::sh"])
      await expect(itemsOf(source)).rejects.toMatchObject({ code: "egress_denied" });
    const network = { privateHosts: [] };
    for (const source of [
      "git+ext::sh",
      "git+file:///etc",
      "git+ssh://example.org/x",
      "git+https://a:b@example.org/x",
    ])
      await expect(itemsOf(source, { network })).rejects.toMatchObject({ code: "invalid_args" });
  });

  test("a remote repository is cloned: one commit, no redirect, no private address, nothing left behind", async () => {
    const server = await serveRepositories(root);
    const { port } = server.address() as AddressInfo;
    const network = { privateHosts: ["127.0.0.1"] };
    const clones = (): readonly string[] =>
      readdirSync(tmpdir()).filter((name) => name.startsWith("llmc-clone-"));
    const before = clones();
    const remote = `git+http://127.0.0.1:${port}/repo/.git`;
    expect(shown(await itemsOf(remote, { network }))).toContain("a.md | - | - | second");
    expect(shown(await itemsOf(`${remote}#v1.0.0`, { network }))).toContain("a.md | - | 1.0.0 | first");
    await expect(itemsOf(`${remote}#nope`, { network })).rejects.toMatchObject({ code: "unavailable" });
    const redirected = `git+http://127.0.0.1:${port}/redirect/repo/.git`;
    await expect(itemsOf(redirected, { network })).rejects.toMatchObject({ code: "unavailable" });
    for (const host of ["127.0.0.1", "localhost"])
      await expect(
        itemsOf(`git+http://${host}:${port}/repo/.git`, { network: { privateHosts: [] } }),
      ).rejects.toMatchObject({ code: "egress_denied" });
    expect(clones()).toEqual(before);
    server.close();
  });
});

describe("REQ-K1 sitemaps and pages", () => {
  let server: Server;
  let origin = "";
  beforeAll(async () => {
    const locations = (...paths: string[]): string =>
      paths.map((path) => `<url><loc>${path}</loc></url>`).join("");
    const pages: Record<string, () => string | Buffer> = {
      "/sitemap.xml": () =>
        `<?xml version="1.0"?><sitemapindex><sitemap><loc>${origin}/one.xml</loc></sitemap><sitemap><loc>${origin}/two.xml.gz</loc></sitemap><sitemap><loc>${origin}/bomb.xml.gz</loc></sitemap><sitemap><loc>${origin}/sitemap.xml</loc></sitemap></sitemapindex>`,
      "/one.xml": () =>
        `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><urlset>${locations(`${origin}/a?x=1&amp;y=2`, `${origin}/missing`, "http://example.org/other", "file:///etc/passwd", `${origin}/a?x=1&amp;y=2`)}</urlset>`,
      "/two.xml.gz": () => gzipSync(`<urlset>${locations(`${origin}/b.md`, `${origin}/large`)}</urlset>`),
      "/bomb.xml.gz": () => gzipSync(Buffer.alloc(60 * 1024 * 1024)),
      "/a?x=1&y=2": () => "<p>A</p>",
      "/b.md": () => "B",
      "/latin.xml": () => `<urlset>${locations(`${origin}/caf%E9`, `${origin}/b.md`)}</urlset>`,
      "/caf%E9": () => "C",
      "/large": () => "x".repeat(20_000),
      "/elsewhere.xml": () =>
        `<sitemapindex>${locations(`${origin}/e1.xml`, `${origin}/e2.xml`)}</sitemapindex>`,
      ...Object.fromEntries(
        ["e1", "e2"].map((name) => [
          `/${name}.xml`,
          () =>
            `<urlset>${locations(`${origin}/b.md`, ...Array.from({ length: 3000 }, (_, at) => `http://${name}.example.org/${at}`))}</urlset>`,
        ]),
      ),
      "/cut.xml": () => `<urlset>${locations(`${origin}/b.md`)}<url><loc>${origin}/a`,
      "/prefixed.xml": () =>
        `<sm:urlset xmlns:sm="x"><sm:url><sm:loc>${origin}/a?x=1&#38;y=&#x32;</sm:loc><image:loc>${origin}/b.md</image:loc></sm:url></sm:urlset>`,
      "/twice.xml": () => `<urlset>${locations(`${origin}/moved`, `${origin}/b.md`)}</urlset>`,
    };
    server = createServer((request, response) => {
      const page = pages[request.url ?? ""];
      if (request.url === "/moved") response.writeHead(301, { location: "/b.md" }).end();
      else if (page === undefined) response.writeHead(404).end();
      else response.writeHead(200, { "content-type": "text/html" }).end(page());
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const network = { privateHosts: ["127.0.0.1"] };

  test("FAIL-G5: pages of the same host, each with its own failure", async () => {
    const items = await itemsOf(`${origin}/sitemap.xml`, { network });
    expect(shown(items).map((line) => line.replace(origin, ""))).toEqual([
      "/a?x=1&y=2 | - | - | <p>A</p>",
      "/missing: unavailable",
      "http://example.org/other: egress_denied",
      "file:///etc/passwd: egress_denied",
      "/b.md | - | - | B",
      "/large: file_too_large",
      "/bomb.xml.gz: file_too_large",
    ]);
    expect(items.at(-3)).toMatchObject({ name: "b.md", url: `${origin}/b.md`, mediaType: "text/html" });
  });

  test("FAIL-G5: what is not listed is said to be missing; names in other encodings are names", async () => {
    const failed = (items: readonly SourceItem[]) =>
      items.flatMap((item) =>
        item.kind === "failure" && item.isIncomplete ? [item.id.replace(origin, "")] : [],
      );
    const all = await itemsOf(`${origin}/sitemap.xml`, { network });
    expect(failed(all)).toEqual(["/bomb.xml.gz"]);
    expect(all.every(({ url }) => url !== undefined)).toBe(true);
    const few = await itemsOf(`${origin}/sitemap.xml`, { network, maxDocuments: 1 });
    expect(few.filter(({ kind }) => kind === "document")).toHaveLength(1);
    expect(failed(few)).toEqual(["/sitemap.xml"]);
    expect(failed(await itemsOf(`${origin}/cut.xml`, { network }))).toEqual(["/cut.xml"]);
    expect(await itemsOf(`${origin}/latin.xml`, { network })).toMatchObject([
      { kind: "document", name: "caf%E9", url: `${origin}/caf%E9` },
      { kind: "document", name: "b.md" },
    ]);
  });

  test("FAIL-D7 FAIL-G5: of pages elsewhere a hundred are named, and the addresses of all sitemaps are counted together", async () => {
    const items = await itemsOf(`${origin}/elsewhere.xml`, { network, maxDocuments: 10_000 });
    expect(items).toHaveLength(102);
    expect(items.at(-1)).toMatchObject({
      kind: "failure",
      error: { message: expect.stringContaining("names 5900 more pages of other hosts") },
    });
    expect(items.some((item) => item.kind === "failure" && item.isIncomplete === true)).toBe(false);
    const few = await itemsOf(`${origin}/elsewhere.xml`, { network, maxDocuments: 1 });
    expect(few.at(-1)).toMatchObject({ kind: "failure", isIncomplete: true });
    expect(few.length).toBeLessThan(110);
  });

  test("REQ-K1: a sitemap may give its names a prefix, and write signs by their numbers", async () => {
    const items = await itemsOf(`${origin}/prefixed.xml`, { network });
    expect(items).toMatchObject([{ kind: "document", url: `${origin}/a?x=1&y=2` }]);
  });

  test("two addresses that lead to one page are one document", async () => {
    const items = await itemsOf(`${origin}/twice.xml`, { network });
    expect(items).toMatchObject([{ kind: "document", url: `${origin}/b.md` }]);
  });

  test("one page alone; a page that is missing is a failure of the source", async () => {
    const [page] = await itemsOf(`${origin}/b.md`, { network });
    expect(page).toMatchObject({
      kind: "document",
      id: `${origin}/b.md`,
      contentHash: expect.stringMatching(/^[\w-]{43}$/),
    });
    await expect(itemsOf(`${origin}/missing`, { network })).rejects.toMatchObject({ code: "unavailable" });
    await expect(itemsOf(`${origin}/large`, { network })).rejects.toMatchObject({ code: "file_too_large" });
  });

  test("without a network, and at private addresses, nothing is fetched", async () => {
    await expect(itemsOf(`${origin}/b.md`)).rejects.toMatchObject({ code: "egress_denied" });
    await expect(itemsOf(`${origin}/b.md`, { network: { privateHosts: [] } })).rejects.toMatchObject({
      code: "egress_denied",
    });
  });
});
