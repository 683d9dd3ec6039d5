import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { openWrites } from "../../../test/escapes/write-port.ts";
import { createWorkspace } from "../../../test/workspace.ts";
import { insideRoots } from "../../policy/paths.ts";
import { findProgramFiles, programFoldersIn } from "./program-files.ts";

const put = (root: string, path: string, content: string | object = "code\n"): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), typeof content === "string" ? content : JSON.stringify(content));
};

const link = (root: string, path: string, target: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
};

/** llmc in a folder of a workspace, with one dependency, which has one itself, and an extra that is not installed. */
const OURS = { dependencies: { zod: "4" }, peerDependencies: { ioredis: "6" } };
const ZOD = { optionalDependencies: { core: "1" } };

const LAYOUTS: Readonly<
  Record<string, { readonly home: string; readonly make: (root: string) => void; readonly closed: string[] }>
> = {
  "links into pnpm's store": {
    home: "node_modules/.pnpm/llmc-mcp@1/node_modules/llmc-mcp",
    make: (root) => {
      const store = "node_modules/.pnpm";
      put(root, `${store}/llmc-mcp@1/node_modules/llmc-mcp/package.json`, OURS);
      put(root, `${store}/zod@4/node_modules/zod/package.json`, ZOD);
      put(root, `${store}/core@1/node_modules/core/index.js`);
      link(root, "node_modules/llmc-mcp", ".pnpm/llmc-mcp@1/node_modules/llmc-mcp");
      link(root, `${store}/llmc-mcp@1/node_modules/zod`, "../../zod@4/node_modules/zod");
      link(root, `${store}/zod@4/node_modules/core`, "../../core@1/node_modules/core");
    },
    closed: [
      "node_modules/.pnpm/zod@4/node_modules/zod/package.json",
      "node_modules/.pnpm/core@1/node_modules/core/index.js",
      "node_modules/.pnpm/node_modules/ioredis/index.js",
      "node_modules/.pnpm/bin/node",
    ],
  },
  "links into a store elsewhere": {
    home: "app/node_modules/llmc-mcp",
    make: (root) => {
      put(root, "app/node_modules/llmc-mcp/package.json", OURS);
      put(root, "store/zod@4/node_modules/zod/package.json", ZOD);
      put(root, "store/core@1/core/index.js");
      link(root, "app/node_modules/zod", "../../store/zod@4/node_modules/zod");
      put(root, "store/runtime/index.js");
      link(root, "app/node_modules/onnxruntime-node", "../../store/runtime");
      link(root, "store/zod@4/node_modules/core", "../../core@1/core");
    },
    closed: [
      "store/zod@4/node_modules/zod/package.json",
      "store/core@1/core/index.js",
      "store/runtime/index.js",
      "store/zod@4/node_modules/core/index.js",
      "store/node_modules/core/index.js",
    ],
  },
  "packages hoisted to a workspace's root": {
    home: "packages/a/node_modules/llmc-mcp",
    make: (root) => {
      put(root, "packages/a/node_modules/llmc-mcp/package.json", OURS);
      put(root, "node_modules/zod/package.json", ZOD);
      put(root, "node_modules/core/index.js");
    },
    closed: [
      "node_modules/zod/package.json",
      "node_modules/core/index.js",
      "node_modules/ioredis/index.js",
      "packages/node_modules/zod/index.js",
      "packages/a/node_modules/llmc-mcp/node_modules/zod/index.js",
    ],
  },
  "unpacked in a folder": {
    home: "tools/llmc-mcp",
    make: (root) => {
      put(root, "tools/llmc-mcp/package.json", OURS);
      put(root, "tools/llmc-mcp/dist/main.js");
      put(root, "tools/llmc-mcp/node_modules/zod/package.json", ZOD);
    },
    closed: [
      "tools/llmc-mcp/dist/main.js",
      "tools/llmc-mcp/bin/find-node",
      "tools/llmc-mcp/node_modules/node/bin/node",
      "tools/node_modules/ioredis/index.js",
      "node_modules/ioredis/index.js",
    ],
  },
};

describe("REQ-D16 FAIL-J1 FAIL-J13 what llmc runs from is written by no tool, wherever a package manager put it", () => {
  test.each(Object.entries(LAYOUTS))("%s", async (_, { home, make, closed }) => {
    await using workspace = await createWorkspace({ "src/a.txt": "", "src/node_modules/x/index.js": "" });
    const { root } = workspace;
    make(root);
    const program = findProgramFiles(join(root, home), { HOME: "/nowhere" });
    const writes = openWrites(root, { obeyedPaths: () => ({ program }) });
    for (const path of closed) {
      const isThere = existsSync(join(root, path));
      const attempt = isThere ? writes.rewrite(path, "evil\n") : writes.makeDirs(path, { existOk: true });
      await expect(attempt, path).rejects.toMatchObject({ code: "path_denied" });
    }
    await writes.rewrite("src/a.txt", "ours\n");
    await writes.rewrite("src/node_modules/x/index.js", "ours\n");
  });

  test("every place where the launcher looks for a Node is one of them", () => {
    const home = "/r/lib/node_modules/llmc-mcp";
    const env = { HOME: "/h", NVM_DIR: "/nvm", FNM_DIR: "", PATH: "/p/bin:rel", LLMC_NODE: "/n/node" };
    const script = readFileSync(fileURLToPath(new URL("../../../bin/find-node", import.meta.url)), "utf8");
    const named = script.match(/(?<=["\s])[$/][^\s;]*\/node(?=[";\s])/g) ?? [];
    const folders = [...new Set(named)].map((folder) =>
      folder
        .replace(/^.*\$prefix/, "/r")
        .replace("$root", home)
        .replace(/\$\{(\w+):-\$HOME([^}]*)\}/, (_, variable: "NVM_DIR" | "FNM_DIR", usual) =>
          variable in env && env[variable] !== "" ? env[variable] : `/h${usual}`,
        )
        .replace("$HOME", "/h")
        .replaceAll('"', "")
        .replace("*", "v9"),
    );
    expect(folders).toEqual([
      "/r/bin/node",
      "/nvm/versions/node/v9/bin/node",
      "/h/.local/share/fnm/node-versions/v9/installation/bin/node",
      "/h/.volta/tools/image/node/v9/bin/node",
      "/h/.local/share/mise/installs/node/v9/bin/node",
      "/h/.asdf/installs/nodejs/v9/bin/node",
      "/usr/local/bin/node",
      "/opt/homebrew/bin/node",
      "/usr/bin/node",
      "/r/lib/node_modules/llmc-mcp/node_modules/node/bin/node",
    ]);
    const program = findProgramFiles(home, env);
    const asked = [...folders, "/p/bin/node", join(process.cwd(), "rel/node"), "/n/node", process.execPath];
    for (const folder of asked) expect(insideRoots(folder, program), folder).toBe(true);
  });
});

test("REQ-D16 a project that has llmc among its packages has them closed, and is told so", async () => {
  await using workspace = await createWorkspace({ "lib/index.js": "" });
  const { root } = workspace;
  put(root, "node_modules/llmc-mcp/package.json", OURS);
  const files = findProgramFiles(join(root, "node_modules/llmc-mcp"), { HOME: join(root, "home") });
  expect(programFoldersIn(root, files)).toEqual(["node_modules"]);
  expect(programFoldersIn(join(root, "lib"), files)).toEqual([]);
});
