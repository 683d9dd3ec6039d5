import { randomBytes } from "node:crypto";
import type { AppRequest } from "./app.ts";

export interface FoundToken {
  readonly token: string | undefined;
  /** The file that holds it; undefined where it comes from the environment. */
  readonly file: string | undefined;
}

type Request = Pick<AppRequest, "root" | "env" | "folders">;

/**
 * The token from the environment, or, if requested, the stored one, which only the owner can read; `make` generates it on
 * first use.
 */
export const tokenOf = async (
  { root, env, folders }: Request,
  variable: string,
  stored: "make" | "read" | "unused",
): Promise<FoundToken> => {
  const given = env[variable];
  if (given !== undefined && given !== "") return { token: given, file: undefined };
  if (stored === "unused") return { token: undefined, file: undefined };
  const { keepToken, tokenPath } = await import("../host/own-files/token-store.ts");
  const make = (): string => randomBytes(32).toString("base64url");
  const token = keepToken(folders.state, root, stored === "make" ? make : undefined);
  return { token, file: tokenPath(folders.state, root) };
};
