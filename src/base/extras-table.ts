import { LlmcError } from "./error.ts";

export interface Extra {
  /** The configuration key that asks for it. */
  readonly key: string;
  /** Values of the key that need it. */
  readonly values: RegExp;
  readonly packages: readonly string[];
}

/** Packages that npm does not install by itself, because few users need them (`peerDependencies` of package.json). */
export const EXTRAS = {
  traces: {
    key: "mcp.observability.otlp_endpoint",
    values: /./,
    packages: [
      "@opentelemetry/api",
      "@opentelemetry/exporter-trace-otlp-http",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-trace-base",
    ],
  },
  redis: { key: "mcp.limits.state_url", values: /^rediss?:/, packages: ["ioredis"] },
  postgres: { key: "mcp.limits.state_url", values: /^postgres(?:ql)?:/, packages: ["pg"] },
  kbPostgres: { key: "mcp.kb.store", values: /^postgres$/, packages: ["pg"] },
  anthropic: { key: "mcp.llm.agent_model", values: /^anthropic\//, packages: ["@ai-sdk/anthropic"] },
  // No key asks for it: programs do.
  python: { key: "Python in execute_code", values: /(?!)/, packages: ["pyodide"] },
  google: { key: "mcp.llm.agent_model", values: /^gemini\//, packages: ["@ai-sdk/google"] },
} as const satisfies Readonly<Record<string, Extra>>;

/**
 * The package must be installed next to llmc: globally if llmc is installed globally, otherwise in the same project.
 */
export const installCommand = ({ packages }: Extra): string => `npm install -g ${packages.join(" ")}`;

const nameOf = ({ packages }: Extra): string =>
  packages.length === 1
    ? `the package ${packages[0]}, which is`
    : `the packages ${packages.join(", ")}, which are`;

export const missingExtra = (extra: Extra, cause: unknown): LlmcError =>
  new LlmcError("unavailable", `${extra.key} needs ${nameOf(extra)} not installed.`, {
    hint: `Install it beside llmc (${installCommand(extra)}; without -g if llmc is part of a project), or leave the key out.`,
    retryable: false,
    cause,
  });
