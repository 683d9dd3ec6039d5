import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A browser of this machine, or undefined. */
export const findBrowser = (): string | undefined =>
  ["chromium", "chromium-browser", "google-chrome"].find(
    (name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0,
  );

/** A page of a real browser, over its own DevTools protocol. */
export interface BrowserPage extends AsyncDisposable {
  open(url: string): Promise<void>;
  /** The value of an expression or a promise in the page. */
  evaluate<T>(expression: string): Promise<T>;
  /** Waits until the expression is true. */
  until(expression: string): Promise<void>;
  /** Presses keys of a text into what has the focus. */
  type(text: string): Promise<void>;
}

interface Answer {
  readonly id?: number;
  readonly sessionId?: string;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

const UNTIL_MS = 20_000;

const addressOf = async (child: ChildProcess): Promise<string> => {
  if (child.stderr === null) throw new Error("no stderr");
  for await (const line of createInterface({ input: child.stderr })) {
    const found = /^DevTools listening on (ws:\S+)/.exec(line)?.[1];
    if (found !== undefined) return found;
  }
  throw new Error("the browser did not start");
};

export const openBrowser = async (program: string): Promise<BrowserPage> => {
  const profile = mkdtempSync(join(tmpdir(), "llmc-browser-"));
  const child = spawn(
    program,
    [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--remote-debugging-port=0",
      `--user-data-dir=${profile}`,
    ],
    { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: profile } },
  );
  const socket = new WebSocket(await addressOf(child));
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
  const waiting = new Map<number, (answer: Answer) => void>();
  socket.addEventListener("message", ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer;
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
  });
  let lastId = 0;
  const ask = async (
    method: string,
    params: object = {},
    sessionId?: string,
  ): Promise<Record<string, unknown>> => {
    const id = ++lastId;
    const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
    const { result, error } = await answered;
    waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  };
  const { targetId } = await ask("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await ask("Target.attachToTarget", { targetId, flatten: true });
  const inPage = (method: string, params?: object) => ask(method, params, String(sessionId));

  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = (await inPage("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as {
      result: { value: T };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    };
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const until = async (expression: string): Promise<void> => {
    const deadline = Date.now() + UNTIL_MS;
    while (!(await evaluate<boolean>(expression).catch(() => false))) {
      if (Date.now() > deadline)
        throw new Error(`not in time: ${expression}\n${await evaluate<string>("document.body.innerText")}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  return {
    evaluate,
    until,
    open: async (url) => {
      await inPage("Page.enable");
      await inPage("Page.navigate", { url });
      await until(`location.href.startsWith(${JSON.stringify(url)}) && document.readyState === "complete"`);
    },
    type: async (text) => void (await inPage("Input.insertText", { text })),
    [Symbol.asyncDispose]: async () => {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
};
