import { expect, test } from "vitest";
import { encodeRecord } from "../link/relay-records.ts";
import { RelayTransport } from "./relay-transport.ts";

const FRONT = 3;

const openTransport = () => {
  const sent: string[] = [];
  const heard: unknown[] = [];
  const transport = new RelayTransport({
    front: FRONT,
    send: async (kind, fields, payload) => {
      sent.push(Buffer.concat([...encodeRecord(kind, fields, payload)]).toString());
    },
    isAsked: () => false,
    onRefused: () => {},
  });
  transport.onmessage = (message) => heard.push(message);
  return { transport, sent, heard };
};

test("REQ-I9 FAIL-H2 a question that is taken back is named as the client knows it, and is no longer counted", async () => {
  const { transport, sent, heard } = openTransport();
  await transport.send({ jsonrpc: "2.0", id: 0, method: "elicitation/create", params: {} });
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled" } as const;
  await transport.send({ ...cancelled, params: { requestId: 0, reason: "x" } });
  expect(sent).toEqual([
    "Q 1\n",
    'M {"jsonrpc":"2.0","id":3000000,"method":"elicitation/create","params":{}}\n',
    "Q 0\n",
    'M {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3000000,"reason":"x"}}\n',
  ]);
  // An answer that was on its way already is nobody's.
  const answer = Buffer.from('{"jsonrpc":"2.0","id":3000000,"result":{}}');
  transport.receive({ kind: "L", fields: ["7", "1", "0"], payload: answer });
  expect(heard).toEqual([]);
  expect(sent.slice(4)).toEqual(["D 7\n", "T 7\n"]);
});
