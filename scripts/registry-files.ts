import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { zipOf } from "../test/documents/zip.ts";

/**
 * What the registry of MCP servers and clients with bundles want beside the npm package: `server.json` and an `.mcpb` file.
 * Whoever publishes owns the namespace (`io.github.NAME`, or a domain backwards) and names it; the registry compares it
 * with `mcpName` in the published package.json.
 */
const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly engines: { readonly node: string };
};

/** The registry takes a hundred characters. */
const DESCRIPTION = "Files, sandboxed commands, search and code retrieval for agents, in few tokens.";

export const serverJson = (namespace: string) => ({
  $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  name: `${namespace}/${manifest.name}`,
  title: "llmc",
  description: DESCRIPTION,
  version: manifest.version,
  packages: [
    {
      registryType: "npm",
      identifier: manifest.name,
      version: manifest.version,
      runtimeHint: "npx",
      transport: { type: "stdio" },
      packageArguments: [
        { type: "positional", value: "serve" },
        { type: "named", name: "--stdio" },
        {
          type: "named",
          name: "--root",
          description: "The folder that tools may reach.",
          format: "filepath",
          isRequired: true,
        },
      ],
    },
  ],
});

/** Small on purpose: npm fetches the package of the same version when the client first starts it. */
export const bundleManifest = () => ({
  manifest_version: "0.3",
  name: manifest.name,
  display_name: "llmc",
  version: manifest.version,
  description: DESCRIPTION,
  author: { name: "The llmc authors" },
  license: manifest.license,
  server: {
    type: "node",
    entry_point: "start.mjs",
    mcp_config: { command: "node", args: [`\${__dirname}/start.mjs`, `\${user_config.workspace}`] },
  },
  user_config: {
    workspace: {
      type: "directory",
      title: "Workspace",
      description: "The folder that tools may reach.",
      required: true,
    },
  },
  compatibility: { platforms: ["darwin", "linux"], runtimes: { node: manifest.engines.node } },
});

const START = `import { spawn } from "node:child_process";

const [workspace] = process.argv.slice(2);
const args = ["--yes", "${manifest.name}@${manifest.version}", "serve", "--stdio", "--root", workspace];
spawn("npx", args, { stdio: "inherit" }).on("exit", (code) => process.exit(code ?? 1));
`;

export const bundle = (): Buffer =>
  zipOf({ "manifest.json": JSON.stringify(bundleManifest(), null, 2), "start.mjs": START });

/** Labels of a domain, backwards: `io.github.someone`. */
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+$/;

const writeFiles = (namespace: string, folder: string): void => {
  const entry = serverJson(namespace);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "server.json"), `${JSON.stringify(entry, null, 2)}\n`);
  writeFileSync(join(folder, `${manifest.name}-${manifest.version}.mcpb`), bundle());
  process.stdout.write(
    `Written to ${folder}. Before npm publish: npm pkg set mcpName=${entry.name}; after it: mcp-publisher publish there.\n`,
  );
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [namespace = "", folder = "registry"] = process.argv.slice(2);
  if (NAMESPACE.test(namespace)) writeFiles(namespace, folder);
  else {
    process.stderr.write("node scripts/registry-files.ts NAMESPACE [FOLDER], such as io.github.someone\n");
    process.exitCode = 2;
  }
}
