import { request as httpRequest, type IncomingHttpHeaders } from "node:http";

export interface InvokeReply {
  readonly status: number;
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
}

/** One request over a Unix socket, as another program of the user makes it. */
export const askSocket = (
  socketPath: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
  path = "/invoke",
): Promise<InvokeReply> =>
  new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath, path, method: "POST", headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.once("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          body: JSON.parse(text) as unknown,
          headers: response.headers,
        }),
      );
      response.once("error", reject);
    });
    request.once("error", reject);
    request.end(typeof body === "string" ? body : JSON.stringify(body));
  });
