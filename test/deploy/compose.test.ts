import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ENTRIES } from "../../src/config/sections.ts";
import { userFolders } from "../../src/config/user-folders.ts";
import { startHttpDoor } from "../doors/http-door.ts";
import { REPOSITORY, readFromRoot } from "./context.ts";
import { execOf } from "./dockerfile.ts";
import { imageEnv, instructionOf, OTHER_VARIABLES, runtime, sourceOf, stages } from "./image.ts";

interface Mount {
  readonly type: string;
  readonly source: string;
  readonly target: string;
  readonly read_only: string;
  readonly bind: { readonly create_host_path: boolean };
}

interface Service {
  readonly build: {
    readonly context: string;
    readonly dockerfile: string;
    readonly args: Record<string, string>;
  };
  /** Null: as the caller's environment has it, if it does. */
  readonly environment: Readonly<Record<string, string | null>>;
  readonly volumes: readonly (string | Mount)[];
  readonly ports: readonly string[];
  readonly tmpfs: readonly string[];
  readonly healthcheck: { readonly test: readonly string[] };
  readonly stop_grace_period: string;
  readonly [key: string]: unknown;
}

const text = readFromRoot("deploy/compose.yaml");
const compose = parse(text) as { services: Record<string, Service>; volumes: Record<string, unknown> };
const service = compose.services["llmc-mcp"] as Service;
const bind = service.volumes.find((volume): volume is Mount => typeof volume === "object");

/** `${NAME:-default}` becomes its default, `${NAME:?why}` a value that somebody gave. */
const filled = (value: string): string =>
  value.replace(/\$\{\w+:([-?])([^}]*)\}/g, (_, kind: string, rest: string) =>
    kind === "-" ? rest : "given",
  );

describe("REQ-P2: compose", () => {
  test("has the one service of the design, built from our Dockerfile", () => {
    expect(Object.keys(compose.services)).toEqual(["llmc-mcp"]);
    const context = resolve(REPOSITORY, "deploy", service.build.context);
    expect(context).toBe(REPOSITORY);
    expect(existsSync(join(context, service.build.dockerfile))).toBe(true);
    const known = stages.flatMap(({ instructions }) =>
      instructions.flatMap(({ name, text: argument }) => (name === "ARG" ? argument.split("=")[0] : [])),
    );
    expect(known).toEqual(expect.arrayContaining(Object.keys(service.build.args)));
  });

  test("sets variables that the program knows, and a configuration file that the image has", () => {
    const variables = new Set([...ENTRIES.values()].map(({ variable }) => variable));
    const names = Object.keys(service.environment);
    expect(names.filter((name) => !variables.has(name) && !OTHER_VARIABLES.includes(name))).toEqual([]);
    expect(service.environment["LLMC_ROOT"]).toBe(imageEnv.get("LLMC_ROOT"));
    const config = filled(service.environment["LLMC_CONFIG"] ?? "");
    expect(existsSync(join(REPOSITORY, sourceOf(config) ?? "missing"))).toBe(true);
  });

  test("hands on lists only where they are set: an empty one would take away what the file says", () => {
    const lists = Object.entries(service.environment).filter(([name]) => name.startsWith("LLMC_MCP_SERVER_"));
    expect(Object.fromEntries(lists)).toEqual({
      LLMC_MCP_SERVER_ALLOWED_HOSTS: null,
      LLMC_MCP_SERVER_TRUSTED_PROXIES: null,
    });
  });

  test("does not start without a token, and holds none", () => {
    expect(service.environment["LLMC_MCP_TOKEN"]).toMatch(/^\$\{LLMC_MCP_TOKEN:\?.+\}$/);
  });

  test("keeps the state on a named volume, inside the repository's mount, and covers no place of the program", () => {
    const named = service.volumes.filter((volume) => typeof volume === "string");
    expect(named).toEqual(["llmc-data:/app/.llmc", "llmc-state:/var/lib/llmc"]);
    expect(Object.keys(compose.volumes)).toEqual(["llmc-data", "llmc-state"]);
    for (const folder of ["/app/.llmc", userFolders(Object.fromEntries(imageEnv), "/tmp").state])
      expect(instructionOf(runtime, "VOLUME")).toContain(folder);
    expect(bind?.target).toBe("/app");
    expect(bind?.bind.create_host_path).toBe(false);
    expect(filled(bind?.read_only ?? "")).toBe("true");
    expect(existsSync(resolve(REPOSITORY, "deploy", filled(bind?.source ?? "missing")))).toBe(true);
    expect(sourceOf("/app/main.js")).toBeUndefined();
  });

  test("is published on loopback, at the port that the image listens on", () => {
    expect(service.ports.map(filled)).toEqual([`127.0.0.1:8080:${imageEnv.get("LLMC_MCP_SERVER_PORT")}`]);
  });

  test("is hardened, and has no terminal", () => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
    expect(service.tmpfs.map((mount) => mount.split(":")[0])).toEqual(["/tmp"]);
    const unsafe = ["tty", "stdin_open", "privileged", "cap_add", "network_mode", "pid", "user", "version"];
    expect(unsafe.filter((key) => key in service)).toEqual([]);
  });

  test("waits longer than the server drains", () => {
    const drain = Number(ENTRIES.get("mcp.server.drain_timeout_seconds")?.option.default);
    expect(Number.parseInt(service.stop_grace_period, 10)).toBeGreaterThanOrEqual(drain + 5);
  });

  test("says in its first lines what is to be done before", () => {
    for (const word of ["LLMC_MCP_TOKEN", "HOST_REPO", "/.llmc"]) expect(text.slice(0, 300)).toContain(word);
  });
});

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

const selfSigned = (): Record<string, string> => {
  const options =
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=llmc.example.org";
  const { stdout } = spawnSync("openssl", [...options.split(" "), "-keyout", "-"], { encoding: "utf8" });
  const [key = "", certificate = ""] = stdout.split(/(?=-----BEGIN CERTIFICATE)/);
  return { "tls.key": key, "tls.crt": certificate };
};

const check = (port: number) =>
  spawnSync("node", [join(REPOSITORY, "deploy/health-check.mjs")], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], LLMC_MCP_SERVER_PORT: String(port) },
  });

describe("REQ-P2: the health check", () => {
  test("is the image's own", () => {
    const image = execOf({ name: "", line: 0, text: instructionOf(runtime, "HEALTHCHECK") });
    expect(service.healthcheck.test).toEqual(["CMD", ...image]);
  });

  test("tells a server that is well from none", async () => {
    await using door = await startHttpDoor();
    expect(check(door.port)).toMatchObject({ status: 0, stderr: "" });
    door.process.kill("SIGTERM");
    await door.exited;
    expect(check(door.port)).toMatchObject({ status: 1, stderr: `port ${door.port}: ECONNREFUSED\n` });
  });

  test.skipIf(!hasOpenssl)("also over TLS", async () => {
    await using door = await startHttpDoor({
      files: selfSigned(),
      args: ["tls_enabled=true", "tls_cert_file=tls.crt", "tls_key_file=tls.key"].flatMap((setting) => [
        "--set",
        `mcp.server.${setting}`,
      ]),
    });
    expect(door.url).toMatch(/^https:/);
    expect(check(door.port)).toMatchObject({ status: 0, stderr: "" });
  });
});
