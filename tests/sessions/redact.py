"""Makes small test fixtures of real transcripts, without a word of what the CLI tells the model.

usage: redact.py PROJECT_DIR REAL_TRANSCRIPT > fixture.jsonl

Keeps each line's place (type, uuid, parents, times) and what a user or the mock model wrote; replaces prompts, schemas,
reminders and the CLI's own tool results by "[removed]", and the real project folder by /home/u/proj.
"""

import json
import re
import sys

REMOVED = "[removed]"
FIELDS = """
type subtype uuid parentUuid logicalParentUuid isSidechain isMeta isCompactSummary timestamp message toolUseResult
sessionId session_id cwd gitBranch version customTitle lastPrompt leafUuid explicit mode permissionMode operation
reason content agentId toolDenialKind promptId durationMs messageCount turnPosition entrypoint tools
"""
KEPT = set(FIELDS.split())


def text(value, meta):
    """What a user typed stays; what the CLI wrote keeps only the tag that tells its kind."""
    if value.startswith("<") and not value.startswith("<command-name>"):
        return value.split(">", 1)[0] + ">" + REMOVED
    return REMOVED if meta else value


def message(line):
    meta = line.get("isMeta") or line.get("isCompactSummary")
    body = line["message"]
    if isinstance(body.get("content"), str):
        body["content"] = text(body["content"], meta)
        return
    for block in body.get("content", []):
        if block["type"] == "text":
            block["text"] = text(block["text"], meta)
        if block["type"] == "tool_result":
            content = block.get("content")
            block["content"] = [{"type": "text", "text": REMOVED}] if isinstance(content, list) else REMOVED
    body.pop("stop_details", None)
    if "usage" in body:
        body["usage"] = {name: count for name, count in body["usage"].items() if name.endswith("_tokens")}


def redact(line):
    kind = line["type"]
    if kind.startswith("api-request"):
        return {"type": kind, "sessionId": line["sessionId"], "message": REMOVED}
    out = {name: value for name, value in line.items() if name in KEPT}
    if kind == "attachment":
        attachment = line["attachment"]
        kept = {"type": attachment["type"]}
        if attachment.get("humanTurn"):
            kept.update(humanTurn=True, prompt=attachment["prompt"])
        out = {**out, "attachment": kept, "rendered": [{"content": REMOVED}]}
    if kind in ("user", "assistant"):
        message(out)
    if kind == "queue-operation" and out.get("content", "").startswith("<"):
        tags = re.findall(r"<(task-id|tool-use-id|status)>([^<]*)</\1>", out["content"].split("<result>")[0])
        fields = "".join(f"<{name}>{value}</{name}>\n" for name, value in tags)
        out["content"] = f"<task-notification>\n{fields}{REMOVED}" if tags else REMOVED
    if kind == "system" and out.get("subtype") == "local_command":
        out["content"] = text(out["content"], False)
    if isinstance(out.get("toolUseResult"), dict) and "agentId" in out["toolUseResult"]:
        out["toolUseResult"] = {
            "agentId": out["toolUseResult"]["agentId"],
            "status": out["toolUseResult"].get("status"),
        }
    return out


def main(project, transcript):
    with open(transcript, encoding="utf-8") as lines:
        for raw in lines:
            out = json.dumps(redact(json.loads(raw)), ensure_ascii=False, separators=(",", ":"))
            print(out.replace(project, "/home/u/proj"))


if __name__ == "__main__":
    main(*sys.argv[1:])
