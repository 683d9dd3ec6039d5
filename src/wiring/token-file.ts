import { randomBytes } from "node:crypto";
import type { AppRequest } from "./app.ts";

export interface FoundToken {
  readonly token: string | undefined;
  /** The file that holds it; undefined where it comes from the environment. */
  readonly file: string | undefined;
}

type Request = Pick<AppRequest, "root" | "env" | "folders">;

/**
 * The token from the environment, or, if requested, one that is generated once and stored so that only the owner can
 * read it.
 */
export const tokenOf = async (
  { root, env, folders }: Request,
  variable: string,
  generate: boolean,
): Promise<FoundToken> => {
  const given = env[variable];
  if (given !== undefined && given !== "") return { token: given, file: undefined };
  if (!generate) return { token: undefined, file: undefined };
  const { keepToken, tokenPath } = await import("../host/own-files/token-store.ts");
  const token = keepToken(folders.state, root, () => randomBytes(32).toString("base64url"));
  return { token, file: tokenPath(folders.state, root) };
};
