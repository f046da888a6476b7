// The official MCP SDK as an agent: lists everything, calls every tool. Prints what it got as one line of JSON.
// usage: node sdk_agent.mjs NODE_MODULES http|ws HOST:PORT/PATH TOKEN CALLS
// CALLS is JSON: a list of tools, each with its arguments.

import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, kind, address, token, calls] = process.argv.slice(2);
const require = createRequire(join(modules, "anchor.js"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { WebSocketClientTransport } = require("@modelcontextprotocol/sdk/client/websocket.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const WebSocket = require("ws");

const headers = { Authorization: `Bearer ${token}` };
// The transport builds a browser's WebSocket, which cannot send headers.
globalThis.WebSocket = class extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, { headers });
  }
};

const transport =
  kind === "ws"
    ? new WebSocketClientTransport(new URL(`ws://${address}`))
    : new StreamableHTTPClientTransport(new URL(`http://${address}`), { requestInit: { headers } });
const client = new Client({ name: "sdk-agent", version: "1.0.0" }, { capabilities: {} });
await client.connect(transport);
const tools = (await client.listTools()).tools;
const answers = {};
for (const [name, args] of JSON.parse(calls)) {
  // Neovim counts what it offered through all its life.
  if (name === "apply_action") args.id = /(\d+): .*import/.exec(answers.code_actions.content[0].text)[1];
  answers[name] = await client.callTool({ name, arguments: args });
}
const resources = (await client.listResources()).resources;
const seen = {
  capabilities: client.getServerCapabilities(),
  tools,
  answers,
  prompts: (await client.listPrompts()).prompts,
  prompt: await client.getPrompt({ name: "explain_selection" }),
  resources,
  templates: (await client.listResourceTemplates()).resourceTemplates,
  resource: await client.readResource({ uri: "buffer://main.py" }),
};
await client.close();
console.log(JSON.stringify(seen));
