import { readdir } from "node:fs/promises";
import type { Benchmark } from "./lib/report.ts";
import { residentMb } from "./lib/resident.ts";
import { llmc, type ServerProcess, startServer } from "./lib/server-process.ts";
import { mean, round, slope } from "./lib/stats.ts";
import { addNoopModule, createWorkspace } from "./lib/workspace.ts";

interface Sample {
  readonly calls: number;
  readonly residentMb: number;
  readonly descriptors: number;
}

const FLAT_WITHIN = 0.1;

const look = async (pid: number, calls: number): Promise<Sample> => {
  const [resident, descriptors] = await Promise.all([residentMb(pid), readdir(`/proc/${pid}/fd`)]);
  return { calls, residentMb: resident, descriptors: descriptors.length };
};

const CALLS: readonly ((server: ServerProcess) => Promise<number>)[] = [
  (server) => server.call("noop"),
  (server) => server.call("list_dir", { path: "src" }),
  (server) => server.call("noop"),
  (server) => server.call("read_file", { path: "src/a.ts" }),
  (server) => server.call("health"),
  (server) => server.call("read_file", { path: "README.md" }),
];

const run = async (server: ServerProcess, from: number, count: number): Promise<void> => {
  for (let i = from; i < from + count; i++) await CALLS[i % CALLS.length]?.(server);
};

const quarter = (samples: readonly Sample[], which: 1 | 2 | 3 | 4): number => {
  const last = samples.at(-1)?.calls ?? 0;
  const isInside = ({ calls }: Sample): boolean =>
    calls > (last * (which - 1)) / 4 && calls <= (last * which) / 4;
  return mean(samples.filter(isInside).map(({ residentMb }) => residentMb));
};

export const memory: Benchmark = {
  name: "memory",
  says: "resident memory and open descriptors over 20,000 calls (Linux)",
  run: async ({ program, quick }) => {
    // The heap of the engine grows in steps until about 20,000 calls and stays there; measured from the middle of that.
    const [warmUp, total, step] = quick ? [500, 2000, 100] : [12_000, 20_000, 1000];
    await using workspace = await createWorkspace();
    const server = startServer(llmc(program, workspace.path, ...(await addNoopModule(workspace))));
    try {
      await server.handshake();
      await server.request("tools/list");
      const atStart = await look(server.pid, 0);
      await run(server, 0, warmUp);
      const samples: Sample[] = [await look(server.pid, 0)];
      for (let done = 0; done < total; done += step) {
        await run(server, done, step);
        samples.push(await look(server.pid, done + step));
      }
      const second = quarter(samples, 2);
      const fourth = quarter(samples, 4);
      const growth = fourth / second - 1;
      const perThousand = slope(
        samples
          .filter(({ calls }) => calls > total / 4)
          .map(({ calls, residentMb }) => ({ x: calls / 1000, y: residentMb })),
      );
      const descriptors = samples.map((sample) => sample.descriptors);
      return {
        tables: [
          {
            head: ["calls", "resident MB", "descriptors"],
            rows: [
              ["start", atStart.residentMb.toFixed(1), atStart.descriptors],
              ...samples.map(({ calls, residentMb, descriptors: open }) => [
                calls,
                residentMb.toFixed(1),
                open,
              ]),
            ],
          },
        ],
        notes: [
          `last quarter ${fourth.toFixed(1)} MB, second quarter ${second.toFixed(1)} MB: ${(growth * 100).toFixed(1)} %, flat within ${FLAT_WITHIN * 100} %: ${Math.abs(growth) <= FLAT_WITHIN ? "met" : "MISSED"}`,
          `slope after the first quarter: ${(perThousand * 1024).toFixed(0)} kB per 1,000 calls`,
          `descriptors: ${Math.min(...descriptors)} to ${Math.max(...descriptors)}`,
        ],
        figures: {
          calls: total,
          start_mb: round(atStart.residentMb, 1),
          second_quarter_mb: round(second, 1),
          last_quarter_mb: round(fourth, 1),
          growth: round(growth, 4),
          slope_kb_per_1000_calls: round(perThousand * 1024, 1),
          descriptors_min: Math.min(...descriptors),
          descriptors_max: Math.max(...descriptors),
          resident_mb_by_calls: Object.fromEntries(
            samples.map(({ calls, residentMb }) => [String(calls), round(residentMb, 1)]),
          ),
        },
      };
    } finally {
      await server.close();
    }
  },
};
