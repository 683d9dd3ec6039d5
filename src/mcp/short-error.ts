import { ellipsize } from "../base/text.ts";

interface ProtocolFailure {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

const MAX_MESSAGE_CHARS = 500;
const MAX_DATA_CHARS = 300;

const fits = (data: unknown): boolean => (JSON.stringify(data) ?? "").length <= MAX_DATA_CHARS;

/** Shortens errors of the library, some of which quote the input (FAIL-D10). */
export const shortError = <E extends ProtocolFailure>({ code, message, data }: E): ProtocolFailure => ({
  code,
  message: ellipsize(message, MAX_MESSAGE_CHARS),
  ...(data === undefined || !fits(data) ? {} : { data }),
});
