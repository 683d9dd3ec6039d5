import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { lanesFigures, lanesTable, runLanes } from "./lib/lanes.ts";
import { pinTogether } from "./lib/pin.ts";
import type { Benchmark } from "./lib/report.ts";
import { llmc, startServer } from "./lib/server-process.ts";
import { addNoopModule, createWorkspace } from "./lib/workspace.ts";

/** A trace collector that reads and forgets. */
const startSink = async () => {
  const seen = { requests: 0, bytes: 0 };
  const server = createServer((request, response) => {
    seen.requests++;
    request.on("data", (chunk: Buffer) => {
      seen.bytes += chunk.length;
    });
    request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}/v1/traces`,
    seen,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};

/** The token audit writes a line per call to disk after the answers; the next lane must not pay for it. */
const REST_MS = 100;

const set = (...assignments: readonly string[]): readonly string[] =>
  assignments.flatMap((assignment) => ["--set", `mcp.observability.${assignment}`]);

export const observe: Benchmark = {
  name: "observe",
  summary: "what logs, metrics, traces and the token audit add to a call that does nothing",
  run: async ({ program, quick }) => {
    const sink = await startSink();
    await using workspace = await createWorkspace();
    const common = await addNoopModule(workspace);
    const variants: readonly (readonly [string, readonly string[]])[] = [
      ["everything off", set("enabled=false")],
      ["default", []],
      ["metrics off", set("metrics_enabled=false")],
      ["log level warn", set("log_level=warn")],
      ["log level debug", set("log_level=debug")],
      ["traces", set(`otlp_endpoint=${sink.endpoint}`)],
      ["token audit", set("csv_token_audit_enabled=true")],
    ];
    const servers = variants.map(([name, args]) => ({
      name,
      server: startServer(llmc(program, workspace.path, ...common, ...args)),
    }));
    try {
      for (const { server } of servers) await server.handshake();
      const unpin = pinTogether(servers.map(({ server }) => server.pid));
      const results = await runLanes(
        servers.map(({ name, server }) => ({ name, once: () => server.call("noop"), cpuMs: server.cpuMs })),
        { warmUp: quick ? 300 : 5000, rounds: quick ? 5 : 42, batch: 150, restMs: REST_MS },
      );
      unpin?.();
      return {
        tables: [lanesTable(results, "observability", 3)],
        notes: [
          `ratios are to everything off${unpin === undefined ? "" : "; client and servers share one core"}`,
          `the trace sink got ${sink.seen.requests} requests, ${sink.seen.bytes} bytes`,
        ],
        figures: { lanes: lanesFigures(results), traces_received_bytes: sink.seen.bytes },
      };
    } finally {
      await Promise.all(servers.map(({ server }) => server.close()));
      sink.close();
    }
  },
};
