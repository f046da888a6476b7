// The client of the transcript protocol against a real site: its working state, its deduplication, its conversion and its tree, as it has them.
// Usage: node seed_client.mjs <ws address> <token>; prints what it knows once it has caught up, and again at each line of stdin.
import { createRequire } from "node:module";
const WebSocket = createRequire(process.argv[4])("ws");

const isTextBlock = (block) => block.type === "text";
const raw = [];
let messages = [];
let isWorking = false;

function convertToMessage(sessionMsg) {
  const { content, role } = sessionMsg.message;
  let textContent = "";
  if (typeof content === "string") textContent = content;
  else if (Array.isArray(content)) textContent = content.filter(isTextBlock).map((block) => block.text).join("\n");
  return { id: sessionMsg.uuid, role, content: textContent, timestamp: new Date(sessionMsg.timestamp).getTime() };
}

function buildMessageTree(messages) {
  const byUuid = new Map();
  const roots = [];
  for (const msg of messages) byUuid.set(msg.uuid, { ...msg, children: [] });
  for (const msg of messages) {
    const node = byUuid.get(msg.uuid);
    if (!msg.parentUuid) roots.push(node);
    else {
      const parent = byUuid.get(msg.parentUuid);
      if (parent) parent.children.push(node);
      else roots.push(node);
    }
  }
  return roots;
}

function tell() {
  const depth = (node) => 1 + Math.max(0, ...node.children.map(depth));
  const roots = buildMessageTree(raw);
  console.log(JSON.stringify({ messages, isWorking, roots: roots.length, depth: Math.max(0, ...roots.map(depth)), lines: raw.length }));
}

const ws = new WebSocket(process.argv[2], { headers: { Authorization: `Bearer ${process.argv[3]}` } });
ws.on("message", (data) => {
  const msg = JSON.parse(data);
  if (msg.type === "caught_up") return tell();
  if (msg.type === "user") isWorking = true;
  else if (msg.type === "progress") isWorking = true;
  else if (msg.type === "assistant") isWorking = msg.message.content?.some((block) => block.type === "tool_use");
  else if (msg.type === "queue-operation" && msg.operation === "dequeue") isWorking = false;
  if (!msg.message) return;
  raw.push(msg);
  const converted = convertToMessage(msg);
  if (!messages.some((known) => known.id === converted.id)) messages = [...messages, converted];
});
ws.on("close", () => process.exit(0));
process.stdin.on("data", tell);
process.stdin.on("end", () => ws.close());
