import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ERROR_TABLE } from "../../src/base/error-table.ts";
import { ENTRIES } from "../../src/config/sections.ts";
import { userFolders } from "../../src/config/user-folders.ts";
import { loadText } from "../config-request.ts";
import { REPOSITORY, readFromRoot } from "./context.ts";
import { OTHER_VARIABLES } from "./image.ts";

const load = (toml: string) => loadText(toml, { root: "/srv/llmc", configPath: "llmc.toml" });

const defaultOf = (key: string): number => Number(ENTRIES.get(key)?.option.default);

describe("REQ-P2: the sample configuration", () => {
  test("loads without a warning and asks for a token", async () => {
    const { config, warnings } = await load(readFromRoot("deploy/llmc.toml"));
    expect(warnings).toEqual([]);
    expect(config.mcp.auth).toMatchObject({ mode: "token", token_env: "LLMC_MCP_TOKEN" });
    expect(config.mcp.tools).toMatchObject({ allowed_roots: ["."], allow_outbound_network: false });
  });

  test("what its comments propose is valid too", async () => {
    const text = readFromRoot("deploy/llmc.toml");
    const proposed = [...text.matchAll(/^# .*?: (\w+) = (\[.*\])$/gm)].map(
      ([, key, value]) => `${key} = ${value}`,
    );
    expect(proposed).toHaveLength(2);
    const { config } = await load(`[mcp.server]\n${proposed.join("\n")}\n`);
    expect(config.mcp.server.allowed_hosts).toEqual(["llmc.example.org"]);
    expect(config.mcp.server.trusted_proxies).toEqual(["127.0.0.1", "::1"]);
  });
});

describe("REQ-P2: the systemd unit", () => {
  const text = readFromRoot("deploy/llmc.service");
  const settings = new Map(
    [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = "", value = ""]) => [key, value]),
  );

  test("starts a launcher that the package has, for a workspace that it may write", () => {
    expect(settings.get("ExecStart")).toBe("/opt/llmc/bin/llmc serve --http");
    const variables = (settings.get("Environment") ?? "").split(" ").map((pair) => pair.split("=", 2));
    const ours = variables.filter(([name]) => name?.startsWith("LLMC_"));
    expect(ours.every(([name = ""]) => OTHER_VARIABLES.includes(name))).toBe(true);
    expect(Object.fromEntries(ours)["LLMC_ROOT"]).toBe(settings.get("ReadWritePaths"));
    expect(text).toContain(`install -D -m 0644 llmc.toml ${Object.fromEntries(ours)["LLMC_CONFIG"]}`);
    expect(text).toContain(`> ${settings.get("EnvironmentFile")})`);
  });

  test("REQ-D22: keeps its key in a folder of its own, outside the workspace", () => {
    const env = Object.fromEntries(
      (settings.get("Environment") ?? "").split(" ").map((pair) => pair.split("=", 2) as [string, string]),
    );
    expect(userFolders(env, "/srv/llmc")).toMatchObject({
      config: "/etc/llmc",
      state: `/var/lib/${settings.get("StateDirectory")}`,
    });
    expect(settings.get("StateDirectoryMode")).toBe("0700");
  });

  test("drains before it kills, and does not repeat a start that a wrong configuration stops", () => {
    expect(Number(settings.get("TimeoutStopSec"))).toBeGreaterThan(
      defaultOf("mcp.server.drain_timeout_seconds") + 5,
    );
    expect(settings.get("KillMode")).toBe("mixed");
    expect(settings.get("KillSignal")).toBe("SIGTERM");
    expect(settings.get("ExecReload")).toBe("/bin/kill -HUP $MAINPID");
    expect(Number(settings.get("RestartPreventExitStatus"))).toBe(ERROR_TABLE.config_invalid.exit);
  });

  test("is hardened as far as bubblewrap can bear", () => {
    expect(settings.get("NoNewPrivileges")).toBe("yes");
    expect(settings.get("ProtectSystem")).toBe("strict");
    expect(settings.get("PrivateTmp")).toBe("yes");
    expect(settings.get("CapabilityBoundingSet")).toBe("");
    const breaking =
      "RestrictNamespaces PrivateUsers ProtectKernelTunables ProtectKernelLogs ProtectProc ProcSubset";
    expect(breaking.split(" ").filter((key) => settings.has(key))).toEqual([]);
    expect(settings.has("MemoryDenyWriteExecute")).toBe(false);
    expect(settings.get("SystemCallFilter")).not.toMatch(/@mount|@process|@privileged/);
  });

  const analyze = spawnSync("systemd-analyze", ["--version"]);
  test.skipIf(analyze.status !== 0)("systemd understands every line", () => {
    const { stderr } = spawnSync(
      "systemd-analyze",
      ["verify", "--man=no", `${REPOSITORY}/deploy/llmc.service`],
      {
        encoding: "utf8",
      },
    );
    const complaints = stderr.split("\n").filter((line) => line.includes("llmc.service"));
    expect(complaints.filter((line) => !/bin\/llmc is not executable/.test(line))).toEqual([]);
  });
});

describe("REQ-P2: the proxies", () => {
  test.each([
    ["nginx.conf", "server 127.0.0.1:8080;"],
    ["Caddyfile", "reverse_proxy {$LLMC_UPSTREAM:127.0.0.1:8080}"],
  ])("%s leads to the default address", (file, upstream) => {
    const { host, port } = { host: ENTRIES.get("mcp.server.host"), port: ENTRIES.get("mcp.server.port") };
    expect(`${host?.option.default}:${port?.option.default}`).toBe("127.0.0.1:8080");
    expect(readFromRoot(`deploy/${file}`)).toContain(upstream);
  });

  test("let llmc's own limits decide", () => {
    const nginx = readFromRoot("deploy/nginx.conf");
    const bodyMiB = Number(/client_max_body_size\s+(\d+)m/.exec(nginx)?.[1]);
    expect(bodyMiB * 2 ** 20).toBeGreaterThan(defaultOf("mcp.limits.max_request_bytes"));
    const headerKiB = Number(/large_client_header_buffers 4 (\d+)k/.exec(nginx)?.[1]);
    expect(headerKiB * 1024).toBeGreaterThan(defaultOf("mcp.limits.max_header_bytes"));
    const idle = defaultOf("mcp.limits.idle_timeout_seconds");
    expect(Number(/keepalive_timeout (\d+)s/.exec(nginx)?.[1])).toBeLessThan(idle);
    expect(Number(/keepalive (\d+)s/.exec(readFromRoot("deploy/Caddyfile"))?.[1])).toBeLessThan(idle);
  });

  test("nginx passes on Host, the client's address and upgrades, and holds nothing back", () => {
    const nginx = readFromRoot("deploy/nginx.conf");
    for (const line of [
      /proxy_set_header Host +\$host;/,
      /proxy_set_header X-Forwarded-For +\$remote_addr;/,
      /proxy_set_header Upgrade +\$http_upgrade;/,
      /proxy_buffering +off;/,
      /proxy_http_version 1\.1;/,
    ])
      expect(nginx).toMatch(line);
  });
});

describe("REQ-P2: the guide", () => {
  const guide = readFromRoot("docs/guides/deploy.md");

  test("names every variable that compose takes, with its default", () => {
    const compose = readFromRoot("deploy/compose.yaml");
    const taken = [...compose.matchAll(/\$\{(\w+):([-?])([^}]*)\}/g)];
    expect(taken.length).toBeGreaterThan(7);
    const handedOn = [...compose.matchAll(/^ +(LLMC_\w+):$/gm)];
    expect(handedOn).toHaveLength(3);
    for (const [, name = ""] of handedOn) expect(guide).toContain(`| \`${name}\` |`);
    for (const [, name = "", kind, value = ""] of taken) {
      const row =
        guide.split("\n").find((line) => line.startsWith("|") && line.includes(`\`${name}\``)) ?? "";
      expect(row, name).not.toBe("");
      if (kind === "-" && value !== "" && value !== "..") expect(row).toContain(`\`${value}\``);
    }
  });

  test("names files that exist, all of them", () => {
    const files = readdirSync(join(REPOSITORY, "deploy")).filter((name) => !name.endsWith(".mjs"));
    const named = [...guide.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([\w.-]+)`/g)].map(([, name]) => name),
    );
    expect(named).toEqual(expect.arrayContaining(files));
    const paths = [...guide.matchAll(/\b(?:deploy|test\/deploy)\/[\w.-]+\w/g)].map(([path]) => path);
    expect(paths.filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual([]);
  });

  test("proposes a valid configuration", async () => {
    const blocks = [...guide.matchAll(/```toml\n([\s\S]*?)```/g)].map(([, toml = ""]) => toml);
    expect(blocks).toHaveLength(1);
    for (const block of blocks) expect((await load(block)).warnings).toEqual([]);
  });
});
