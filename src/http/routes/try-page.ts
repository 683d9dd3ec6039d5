import { createHash } from "node:crypto";
import { TRY_PAGE_SCRIPT } from "./try-page-script.ts";

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
form, fieldset, #login, #fields { display: grid; gap: .75rem; border: 0; padding: 0; margin: 0; }
label { display: grid; gap: .25rem; font-weight: 600; }
small { font-weight: 400; opacity: .8; }
input, select, textarea, button { font: inherit; padding: .5rem; width: 100%; box-sizing: border-box; }
textarea, code { font-family: ui-monospace, monospace; }
textarea { field-sizing: content; }
button { cursor: pointer; }
pre { overflow: auto; max-height: 30rem; padding: .75rem; border: 1px solid currentColor; white-space: pre-wrap; overflow-wrap: anywhere; }
[role=status] { min-height: 1.5rem; position: sticky; top: 0; padding: .25rem 0; background: Canvas; }
[hidden] { display: none !important; }
`;

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Allows nothing from other origins, nothing inline except the style and the script, and no framing. */
export const TRY_PAGE_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(TRY_PAGE_SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const TRY_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>llmc: try it</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>llmc: try it</h1>
<div id="login" hidden>
<label>Token <small>The start of the server says where it is: in a file of your state folder, or in the variable LLMC_MCP_TOKEN.
In the folder that is served, <code>llmc token</code> prints it. This page keeps it until you leave, and stores it nowhere.</small>
<input id="token" type="password" autocomplete="off" spellcheck="false"></label>
<button id="load" type="button">Load the endpoints</button>
</div>
<p id="status" role="status" aria-live="polite"></p>
<form id="form" hidden autocomplete="off">
<fieldset id="request" disabled>
<label>Endpoint <select id="operation"></select></label>
<label id="tool-row">Tool <select id="tool"></select></label>
<p id="summary"></p>
<div id="fields"></div>
<button id="send">Send</button>
<button id="stop" type="button" disabled>Stop</button>
</fieldset>
</form>
<h2>Answer</h2>
<pre id="answer" tabindex="0" aria-label="Answer"></pre>
<details><summary>What was sent</summary><pre id="sent" tabindex="0" aria-label="What was sent"></pre></details>
</main>
<script>${TRY_PAGE_SCRIPT}</script>
</body>
</html>
`;
