import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { copyPackages } from "./lib/package-sources.ts";
import type { Benchmark } from "./lib/report.ts";
import { peakMb, residentMb } from "./lib/resident.ts";
import { sumOverParts } from "./lib/server-parts.ts";
import { llmc, type ServerProcess, startServer } from "./lib/server-process.ts";
import { mean, round, slope } from "./lib/stats.ts";
import { addNoopModule, createWorkspace } from "./lib/workspace.ts";

interface Sample {
  readonly calls: number;
  readonly residentMb: number;
  readonly descriptors: number;
}

const FLAT_WITHIN = 0.1;

/** Of all processes of the server. */
const sample = async (pid: number, calls: number): Promise<Sample> => ({
  calls,
  residentMb: await sumOverParts(pid, residentMb),
  descriptors: await sumOverParts(pid, async (part) => (await readdir(`/proc/${part}/fd`)).length),
});

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

/** What a server, one process at that time, held after its first question on a repository of 4 MB at the end of step 6, on the same kind of machine. */
const PREVIOUS = "387 to 430";
const REPOSITORY_BYTES = 4 * 1024 * 1024;
/** V8 keeps the memory of threads that have ended for about eight seconds. */
const SETTLE_MS = 12_000;

interface FirstQuestion {
  readonly startMb: number;
  readonly answeredMb: number;
  readonly settledMb: number;
  readonly peakMb: number;
}

/** Resident memory of a server before and after the first question whose answer covers all files. */
const askFirstQuestion = async (program: string): Promise<FirstQuestion> => {
  await using workspace = await createWorkspace();
  const given = process.env["LLMC_BENCH_REPOSITORY"];
  if (given === undefined) await copyPackages(workspace.path, { maxBytes: REPOSITORY_BYTES });
  const server = startServer(llmc(program, given ?? workspace.path, "--mode", "classic"));
  try {
    await server.handshake();
    await server.request("tools/list");
    const startMb = await sumOverParts(server.pid, residentMb);
    const ask = () => server.ask("rag_search", { query: "where are the options of a request parsed" });
    while (/index is being built/.test((await ask()).text)) await sleep(200);
    const answeredMb = await sumOverParts(server.pid, residentMb);
    await sleep(SETTLE_MS);
    const settledMb = await sumOverParts(server.pid, residentMb);
    return { startMb, answeredMb, settledMb, peakMb: await sumOverParts(server.pid, peakMb) };
  } finally {
    await server.close();
  }
};

export const memory: Benchmark = {
  name: "memory",
  summary:
    "resident memory at the start, after a first question and over 20,000 calls; open descriptors (Linux)",
  run: async ({ program, quick }) => {
    // The heap of the engine grows in steps until about 20,000 calls and stays there; measured from the middle of that.
    const first = await askFirstQuestion(program);
    const [warmUp, total, step] = quick ? [500, 2000, 100] : [12_000, 20_000, 1000];
    await using workspace = await createWorkspace();
    const server = startServer(llmc(program, workspace.path, ...(await addNoopModule(workspace))));
    try {
      await server.handshake();
      await server.request("tools/list");
      const atStart = await sample(server.pid, 0);
      await run(server, 0, warmUp);
      const samples: Sample[] = [await sample(server.pid, 0)];
      for (let done = 0; done < total; done += step) {
        await run(server, done, step);
        samples.push(await sample(server.pid, done + step));
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
            head: ["first question on 4 MB", "resident MB"],
            rows: [
              ["after the start", first.startMb.toFixed(0)],
              ["after the answer", first.answeredMb.toFixed(0)],
              ["twelve seconds later", first.settledMb.toFixed(0)],
              ["peak", first.peakMb.toFixed(0)],
              ["after the answer, at the end of step 6", PREVIOUS],
            ],
          },
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
          first_question_start_mb: round(first.startMb, 0),
          first_question_answered_mb: round(first.answeredMb, 0),
          first_question_settled_mb: round(first.settledMb, 0),
          first_question_peak_mb: round(first.peakMb, 0),
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
