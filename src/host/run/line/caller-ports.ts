import { LlmcError } from "../../../base/error.ts";
import { decideCall } from "../../../policy/calls.ts";
import type { FilePorts } from "./streams.ts";

const requireScope = (scope: string, what: string, granted: ReadonlySet<string>): void => {
  const decision = decideCall({ name: what, needs: [scope], granted });
  if (decision.allowed) return;
  throw new LlmcError("forbidden", decision.reason, {
    hint: "The operator grants scopes in mcp.auth.tokens.",
  });
};

/**
 * The file ports of one line. Redirections and globs are the caller's own reads and writes: the scope that lets it run
 * programs grants none of them.
 */
export const callerPorts = ({ access, writes }: FilePorts, may: ReadonlySet<string>): FilePorts => {
  const requireRead = (): void =>
    requireScope("read", "the names and contents of files in a command line", may);
  const requireWrite = (): void => requireScope("write", "a redirection to a file", may);
  return {
    access: (path, signal, use) =>
      access(path, signal, (located, reach) =>
        use(
          {
            ...located,
            openContent: async () => {
              requireRead();
              return located.openContent();
            },
            list: async () => {
              requireRead();
              return located.list();
            },
          },
          reach,
        ),
      ),
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
