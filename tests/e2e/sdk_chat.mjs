// The Agent SDK for TypeScript as a chat: writes, changes the model, rewinds, changes the mode, is interrupted.
// usage: node sdk_chat.mjs NODE_MODULES CLI PROJECT WRITES SLEEPS

import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [modules, cli, project, writes, sleeps] = process.argv.slice(2);
const { query } = await import(pathToFileURL(join(modules, "@anthropic-ai/claude-agent-sdk/sdk.mjs")));

const told = [];
let wake = () => {};
async function* prompts() {
  for (;;) {
    while (told.length > 0) {
      const content = [{ type: "text", text: told.shift() }];
      yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" };
    }
    await new Promise((done) => (wake = done));
  }
}
function say(text) {
  told.push(text);
  wake();
}

const chat = query({
  prompt: prompts(),
  options: {
    pathToClaudeCodeExecutable: cli,
    cwd: project,
    env: process.env,
    includePartialMessages: true,
    enableFileCheckpointing: true,
    extraArgs: { "replay-user-messages": null, "allow-dangerously-skip-permissions": null },
    hooks: { PreToolUse: [{ matcher: "Edit|MultiEdit|Write|NotebookEdit", hooks: [async () => ({})], timeout: 600 }] },
    canUseTool: async (_name, input) => ({ behavior: "allow", updatedInput: { ...input, content: "changed\n" } }),
  },
});

/** Reads on until the turn is over; the first prompt that came back. */
async function turn() {
  let prompt;
  for (;;) {
    const { value, done } = await chat.next();
    if (done || value.type === "result") return prompt;
    if (value.type === "user" && value.uuid) prompt ??= value.uuid;
  }
}

say(writes);
const prompt = await turn();
await chat.setModel("haiku");
await chat.rewindFiles(prompt);
await chat.setPermissionMode("bypassPermissions");
say(sleeps);
const over = turn();
while (!existsSync(join(project, "begun"))) await sleep(50);
await chat.interrupt();
await over;
process.exit(0);
