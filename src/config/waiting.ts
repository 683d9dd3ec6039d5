import { basename } from "node:path";
import { isInside } from "../base/paths.ts";
import { redactUserinfo } from "./redact.ts";
import { tomlInline } from "./toml-text.ts";

/** Something that a workspace's file asks for beyond what would be in force without it. */
export interface Waiting {
  readonly key: string;
  /** The entries of a list, or the value, that wait; directories by their real paths. */
  readonly items: unknown;
  /** The whole value in the file. */
  readonly asked: unknown;
  readonly inForce: unknown;
}

/** One line for a log or a terminal: what the file asks for and does not get. */
export const describeWaiting = (waiting: readonly Waiting[], trust = "llmc trust"): string =>
  `llmc.toml asks for more than is in force here, and this workspace is not trusted with it: ${waiting
    .map(({ key }) => key)
    .join(", ")} (${trust} shows and grants it)`;

/** Whether what waits is about this program (`npm`, `npm:run`) or holds this path. */
const isAbout = (waiting: string, item: string): boolean =>
  item.startsWith("/")
    ? isInside(item, waiting.replace(/(?<=.)\/+$/, ""))
    : basename(waiting).split(":")[0] === item;

/** What trust would change about a refusal; undefined where it would change nothing. */
export const waitingHint = (
  waiting: readonly Waiting[],
  key: string,
  item?: string,
  trust = "llmc trust",
): string | undefined => {
  const found = waiting.find((one) => one.key === key);
  if (found === undefined) return undefined;
  const items = Array.isArray(found.items) ? found.items.map(String) : undefined;
  const about = item === undefined ? undefined : items?.find((one) => isAbout(one, item));
  if (item !== undefined && items !== undefined && about === undefined) return undefined;
  const what =
    about === undefined ? `asks for ${key} = ${tomlInline(redactUserinfo(found.asked))}` : `allows ${about}`;
  return `llmc.toml ${what}, but this workspace is not trusted: run ${trust}`;
};
