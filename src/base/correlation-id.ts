const CORRELATION_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** The first that may name a request in logs and answers; where none may, the request gets an id of ours. */
export const givenCorrelationId = (...candidates: readonly unknown[]): string | undefined =>
  candidates.find((id): id is string => typeof id === "string" && CORRELATION_ID.test(id));
