import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { shortError } from "./short-error.ts";

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

interface Issue {
  readonly path?: readonly (string | number)[];
  readonly message?: string;
}

/** The library reports malformed parameters as the issues of its validator, in JSON. */
const ISSUES = /^(?:Invalid \S+ request: )?(\[\s*\{[\s\S]*\}\s*\])$/;
const MAX_ISSUES = 3;

const describeIssues = (message: string): string | undefined => {
  const list = ISSUES.exec(message)?.[1];
  if (list === undefined) return undefined;
  try {
    return (JSON.parse(list) as Issue[])
      .slice(0, MAX_ISSUES)
      .map(({ path = [], message: rule = "" }) => `${path.join(".").slice(0, 100)}: ${rule.slice(0, 100)}`)
      .join("; ");
  } catch {
    return undefined;
  }
};

/** The error for the client: short and with the right code; undefined for an unexpected exception. */
const tidy = (thrown: unknown): ProtocolError | undefined => {
  if (!(thrown instanceof Error)) return undefined;
  const issues = describeIssues(thrown.message);
  if (issues !== undefined) return new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid: ${issues}`);
  if (!(thrown instanceof ProtocolError)) return undefined;
  const { code, message, data } = shortError(thrown);
  return new ProtocolError(code, message, data);
};

/** The library's server with tidier error messages. */
export class TidyServer extends Server {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, handler);
    return async (request, context) => {
      try {
        return await wrapped(request, context);
      } catch (thrown) {
        const error = tidy(thrown);
        if (error !== undefined) throw error;
        this.onerror?.(thrown instanceof Error ? thrown : new Error("not an error"));
        throw new ProtocolError(ProtocolErrorCode.InternalError, "An unexpected error occurred.");
      }
    };
  }
}
