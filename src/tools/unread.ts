import { z } from "zod";
import type { Unread } from "../host/read/unread.ts";

/** What could not be read, in the results of tools that search and list; left out if everything could be read. */
export const unreadShape = z
  .object({
    total: z.int(),
    /** The first by path. */
    first: z.array(z.string()),
  })
  .optional();

export const toUnread = ({ total, first }: Unread): { unread?: { total: number; first: string[] } } =>
  total === 0 ? {} : { unread: { total, first: [...first] } };

export const renderUnread = (unread: z.infer<typeof unreadShape>): string[] => {
  if (unread === undefined) return [];
  const { total, first } = unread;
  const more = total > first.length ? ", …" : "";
  const what = total === 1 ? "path" : "paths";
  return [`[${total} ${what} could not be read: ${first.join(", ")}${more}]`];
};
