import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { userFolders } from "../../src/config/user-folders.ts";
import { loadText } from "../config-request.ts";
import { type HttpDoor, openHttpDoor, openRaw } from "../doors/http-door.ts";
import { readFromRoot } from "./context.ts";
import { execOf } from "./dockerfile.ts";
import { imageEnv, instructionOf, runtime } from "./image.ts";

interface Probe {
  readonly httpGet: {
    readonly path: string;
    readonly port: string;
    readonly httpHeaders: readonly { readonly name: string; readonly value: string }[];
  };
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
  }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: unknown;
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly resources: { readonly requests: object; readonly limits: object };
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly subPath?: string;
  }[];
}

interface Volume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly configMap?: { readonly name: string };
}

interface PodSpec {
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly initContainers: readonly [Container & { readonly command: readonly string[] }];
  readonly containers: readonly [Container];
  readonly volumes: readonly Volume[];
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

const text = readFromRoot("deploy/kubernetes.yaml");
const documents = parseAllDocuments(text);
const manifests = documents.map((document) => document.toJS() as Manifest);

const only = (kind: string): Manifest => {
  const [found, ...more] = manifests.filter((one) => one.kind === kind);
  if (found === undefined || more.length > 0) throw new Error(`not one ${kind}`);
  return found;
};

const deployment = only("Deployment").spec as unknown as {
  readonly replicas: number;
  readonly strategy: { readonly type: string };
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: PodSpec;
  };
};
const pod = deployment.template.spec;
const [container] = pod.containers;
const service = only("Service").spec as unknown as {
  readonly selector: object;
  readonly ports: readonly { readonly targetPort: string; readonly port: number }[];
};

const loadFile = (toml: string) => loadText(toml, { env: Object.fromEntries(imageEnv), root: "/app" });

describe("REQ-P2: the Kubernetes manifest", () => {
  test("is whole", () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    expect(
      manifests.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`),
    ).toEqual([
      "v1 Namespace llmc",
      "v1 ConfigMap llmc-config",
      "v1 PersistentVolumeClaim llmc-workspace",
      "v1 PersistentVolumeClaim llmc-data",
      "apps/v1 Deployment llmc",
      "v1 Service llmc",
      "networking.k8s.io/v1 NetworkPolicy llmc",
    ]);
    const elsewhere = manifests.filter(
      ({ kind, metadata }) => kind !== "Namespace" && metadata.namespace !== "llmc",
    );
    expect(elsewhere).toEqual([]);
  });

  test("holds no secret: the token is that of a Secret which its first lines make", () => {
    expect(container.env).toEqual([
      { name: "LLMC_MCP_TOKEN", valueFrom: { secretKeyRef: { name: "llmc-token", key: "token" } } },
    ]);
    expect(text).toContain("create secret generic llmc-token --from-literal=token=");
    expect(manifests.filter(({ kind }) => kind === "Secret")).toEqual([]);
  });

  test("selects its own pods", () => {
    const { labels } = deployment.template.metadata;
    expect(deployment.selector.matchLabels).toEqual(labels);
    expect(service.selector).toEqual(labels);
    expect(only("NetworkPolicy").spec["podSelector"]).toEqual({ matchLabels: labels });
    expect(deployment).toMatchObject({ replicas: 1, strategy: { type: "Recreate" } });
  });

  test("mounts volumes that are declared, of claims and maps that exist, and no folder over the program", () => {
    const mounts = new Map(container.volumeMounts.map(({ name, mountPath }) => [mountPath, name]));
    expect([...mounts.keys()]).toEqual(["/app", "/app/.llmc", "/var/lib/llmc", "/etc/llmc", "/tmp"]);
    expect(new Set(mounts.values())).toEqual(new Set(pod.volumes.map(({ name }) => name)));
    const claims = pod.volumes.flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []);
    const claimed = manifests.filter(({ kind }) => kind === "PersistentVolumeClaim");
    expect(claimed.map(({ metadata }) => metadata.name)).toEqual(claims);
    const maps = pod.volumes.flatMap((volume) => volume.configMap?.name ?? []);
    expect(maps).toEqual([only("ConfigMap").metadata.name]);
  });

  test("REQ-D22: state lies in folders that the server's own user made, not in a volume's root", () => {
    const [folders] = pod.initContainers;
    expect(folders.image).toBe(container.image);
    expect(folders.securityContext).toEqual(container.securityContext);
    const [mount] = folders.volumeMounts;
    const [mode, ...made] = folders.command.slice(3);
    expect(folders.command.slice(0, 3)).toEqual(["install", "-d", "-m"]);
    expect(mode).toBe("0700");
    const used = container.volumeMounts.filter(({ name }) => name === mount?.name);
    expect(used.map(({ subPath }) => `${mount?.mountPath}/${subPath}`)).toEqual(made);
    const { state } = userFolders(Object.fromEntries(imageEnv), "/tmp");
    expect(used.map(({ mountPath }) => mountPath)).toEqual(["/app/.llmc", state]);
  });

  test("its configuration lies where the image looks for it, and loads without a warning", async () => {
    const [[name, toml] = ["", ""]] = Object.entries(only("ConfigMap").data ?? {});
    expect(`/etc/llmc/${name}`).toBe(imageEnv.get("LLMC_CONFIG"));
    const { config, warnings } = await loadFile(toml);
    expect(warnings).toEqual([]);
    expect(config.mcp.server).toMatchObject({ host: "0.0.0.0", port: 8080 });
    const names = ["llmc", "llmc.llmc", "llmc.llmc.svc", "llmc.llmc.svc.cluster.local"];
    expect(config.mcp.server.allowed_hosts).toEqual(expect.arrayContaining(names));
    const { preStop } = container.lifecycle;
    const before = Number(preStop.exec.command[1]);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
      before + config.mcp.server.drain_timeout_seconds + 5,
    );
  });

  test("starts what the image starts, on its port", () => {
    expect(container.args).toEqual(execOf({ name: "", line: 0, text: instructionOf(runtime, "CMD") }));
    expect(container.ports).toEqual([{ name: "http", containerPort: 8080 }]);
    expect(String(container.ports[0]?.containerPort)).toBe(imageEnv.get("LLMC_MCP_SERVER_PORT"));
    expect(service.ports).toMatchObject([{ port: 8080, targetPort: "http" }]);
    const { version } = JSON.parse(readFromRoot("package.json")) as { version: string };
    expect(container.image).toBe(`llmc:${version}`);
  });

  test("is hardened", () => {
    const [uid, gid] = instructionOf(runtime, "USER").split(":").map(Number);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: uid,
      runAsGroup: gid,
      fsGroup: gid,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(pod).toMatchObject({ automountServiceAccountToken: false });
    expect(container.resources).toMatchObject({ requests: {}, limits: { memory: "2Gi" } });
    expect(only("NetworkPolicy").spec).toMatchObject({ policyTypes: ["Ingress", "Egress"], egress: [] });
  });

  test("lets no variable of a Service in, which the program would refuse as an unknown key", async () => {
    expect(pod.enableServiceLinks).toBe(false);
    const env = { LLMC_MCP_SERVICE_HOST: "10.0.0.1" };
    const loading = loadText("", { env, root: "/app" });
    await expect(loading).rejects.toThrow("LLMC_MCP_SERVICE_HOST");
  });
});

describe("REQ-P2: the probes", () => {
  let door: HttpDoor;
  beforeAll(async () => {
    door = await openHttpDoor();
  });
  afterAll(() => door[Symbol.asyncDispose]());

  const ask = async ({ httpGet }: Probe, host?: string): Promise<string> => {
    const raw = await openRaw(door.port);
    const given = host ?? httpGet.httpHeaders.find(({ name }) => name === "Host")?.value;
    raw.socket.write(`GET ${httpGet.path} HTTP/1.1\r\nHost: ${given}\r\nConnection: close\r\n\r\n`);
    return (await raw.closed).slice(0, "HTTP/1.1 200".length);
  };

  test.each(["startupProbe", "livenessProbe", "readinessProbe"] as const)("%s is answered", async (name) => {
    expect(container[name].httpGet.port).toBe("http");
    expect(await ask(container[name])).toBe("HTTP/1.1 200");
  });

  test("they name a host, because the pod's address is refused", async () => {
    expect(await ask(container.readinessProbe, "10.1.2.3:8080")).toBe("HTTP/1.1 403");
  });
});
