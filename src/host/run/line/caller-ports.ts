import { LlmcError } from "../../../base/error.ts";
import type { PermitFiles } from "../../../policy/permit.ts";
import type { FilePorts } from "./streams.ts";

const requireScope = (scope: string, what: string, granted: ReadonlySet<string>): void => {
  if (granted.has(scope)) return;
  throw new LlmcError("forbidden", `This caller may not use ${what}: it lacks the scope "${scope}".`, {
    hint: "The operator grants scopes in mcp.auth.tokens. A program can be run in another directory without cd: name it as cwd.",
  });
};

/**
 * The file ports of one line. Redirections, globs and built-in commands such as `test` and `cd` are the caller's own reads
 * and writes: the scope that lets it run programs grants none of them, not even whether a file is there, and policy decides
 * on them as on those of tools.
 */
export const callerPorts = (
  { access, writes }: FilePorts,
  {
    may,
    permit = () => {},
    nameOf,
  }: {
    readonly may: ReadonlySet<string>;
    readonly permit?: PermitFiles | undefined;
    /** As messages name a file, which the line knows by its whole path. */
    readonly nameOf: (path: string) => string;
  },
): FilePorts => {
  const requireWrite = (): void => {
    requireScope("write", "a redirection to a file", may);
    permit("write");
  };
  return {
    access: async (path, ...asked) => {
      requireScope("read", "the names and contents of files in a command line", may);
      permit("read");
      return access(nameOf(path), ...asked);
    },
    writes: {
      applyAll: async (...change) => {
        requireWrite();
        return writes.applyAll(...change);
      },
      append: async (...change) => {
        requireWrite();
        return writes.append(...change);
      },
    },
  };
};
