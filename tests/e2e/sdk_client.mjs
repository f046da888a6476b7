// The official MCP SDK as a client over WebSocket: initialize, list, ping, call. Prints what it got as one line of JSON.
// usage: node sdk_client.mjs NODE_MODULES PORT TOKEN FILE

import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, port, token, file] = process.argv.slice(2);
const require = createRequire(join(modules, "anchor.js"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { WebSocketClientTransport } = require("@modelcontextprotocol/sdk/client/websocket.js");
const { ListRootsRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
const WebSocket = require("ws");

// The transport builds a browser's WebSocket, which cannot send headers.
globalThis.WebSocket = class extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, { headers: { "X-Claude-Code-Ide-Authorization": token } });
  }
};

const client = new Client({ name: "sdk-test", version: "1.0.0" }, { capabilities: { roots: {} } });
let rootsAsked = 0;
client.setRequestHandler(ListRootsRequestSchema, () => {
  rootsAsked += 1;
  return { roots: [{ uri: "file:///nowhere" }] };
});

await client.connect(new WebSocketClientTransport(new URL(`ws://127.0.0.1:${port}/mcp`)));
const seen = {
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions() ?? "",
  pong: await client.ping(),
  tools: (await client.listTools()).tools,
  resources: (await client.listResources()).resources,
  templates: (await client.listResourceTemplates()).resourceTemplates,
  prompts: (await client.listPrompts()).prompts,
  opened: await client.callTool({ name: "openFile", arguments: { filePath: file } }),
  refused: await client.callTool({ name: "openFile", arguments: { filePath: 7 } }).catch((error) => ({
    code: error.code,
    message: error.message,
  })),
  unknown: await client.callTool({ name: "noSuchTool", arguments: {} }).catch((error) => ({ code: error.code })),
  rootsAsked,
};
await client.close();
console.log(JSON.stringify(seen));
