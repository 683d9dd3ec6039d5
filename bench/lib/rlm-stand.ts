import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ModelScript, type ScriptedModels, startScriptedModels } from "./scripted-models.ts";
import { llmc, type ServerProcess, startServer } from "./server-process.ts";

const configOf = (url: string): string => `[mcp]
mode = "classic"
[mcp.llm]
openai_url = "${url}"
openai_key_env = ""
prices = ["openai/root=3/15", "openai/sub=0.25/1.25"]
[mcp.rlm]
root_model = "openai/root"
sub_model = "openai/sub"
`;

export interface RlmStand {
  readonly server: ServerProcess;
  readonly models: ScriptedModels;
  readonly root: string;
  /** The llmc program, and the configuration that it is started with. */
  readonly program: string;
  readonly settings: string;
  play(script: ModelScript): void;
  query(args: Readonly<Record<string, unknown>>): Promise<string>;
}

/** A server with scripted models that can be replaced. */
export const withRlmStand = async <T>(program: string, work: (stand: RlmStand) => Promise<T>): Promise<T> => {
  let script: ModelScript = { program: () => "finish('1')", answer: () => "" };
  await using models = await startScriptedModels(() => script);
  const root = await mkdtemp(join(tmpdir(), "llmc-bench-"));
  const settings = `${root}.toml`;
  await writeFile(settings, configOf(models.url));
  const server = startServer(llmc(program, root, "--config", settings));
  try {
    await server.handshake();
    return await work({
      server,
      models,
      root,
      program,
      settings,
      play: (next) => {
        script = next;
      },
      query: async (args) => {
        const { text } = await server.ask("rlm_query", { budget_usd: 10, ...args });
        return (JSON.parse(text) as { readonly data: { readonly answer: string } }).data.answer;
      },
    });
  } finally {
    await server.close();
    await rm(root, { recursive: true, force: true });
    await rm(settings, { force: true });
  }
};
