// Asks the server of this container whether it is well: exit code 0 if so. The image has no curl.
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

const TIMEOUT_MS = 4000;
const port = Number(process.env["LLMC_MCP_SERVER_PORT"] ?? 8080);

/** The certificate is for the public name, so that it is not checked here: this is loopback. */
const statusOf = (request) =>
  new Promise((resolve, reject) => {
    const asked = request(
      { host: "127.0.0.1", port, path: "/health", timeout: TIMEOUT_MS, rejectUnauthorized: false },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    );
    asked.once("timeout", () => asked.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    asked.once("error", reject);
    asked.end();
  });

/** Whether TLS is on may stand in the configuration file alone: a server that does not speak HTTP may speak HTTPS. */
const spokeOtherwise = (error) => error.code === "ECONNRESET" || String(error.code).startsWith("HPE_");

const status = await statusOf(requestHttp)
  .catch((error) => (spokeOtherwise(error) ? statusOf(requestHttps) : Promise.reject(error)))
  .catch((error) => error.code ?? error.message);
if (status !== 200) process.stderr.write(`port ${port}: ${status}\n`);
process.exit(status === 200 ? 0 : 1);
