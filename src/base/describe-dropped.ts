/** Said on stderr when a client closed its end before it had all answers. */
export const describeDropped = (count: number): string =>
  `the input ended, and ${count} ${count === 1 ? "message was" : "messages were"} not answered in time: what they asked for was stopped`;
