"""A stand-in for the CLI behind a chat. It starts in a thirtieth of the real one's time, for tests of the plugin's side
only.

It sends prompts to the scripted model (`mock_api`) and reports the answer in the CLI's protocol (`stream-json`). It
stores sessions as the CLI does, so that they can be resumed. It has no tools, modes or questions; tests of those use
the real CLI.

It stops at the step of `STEPS` named in its home's file `hold`, once, until it is killed; `hold` becomes `deferred`. The
file `starts` has a line of JSON for each start, `rests` a line for each turn that is over with all its steps. A missing
or empty session, and the time of writes to its file, are handled as by CLI 2.1.329.
"""

import stat
import sys
from pathlib import Path

STEPS = (
    "begin",  # before its first byte
    "ready",  # no prompt yet
    "read",  # prompt read, nothing reported
    "started",  # start of the prompt reported
    "init",  # session reported; nothing is in its file
    "asked",  # the prompt is in its file, the model was not asked
    "reply",  # within an answer
    "result",  # after the answer
    "reset",  # /clear: a new conversation reported, without its id
    "cleared",  # nothing of the new conversation reported
)

_PROGRAM = """#!{python} -SE
import json, os, re, socket, sys, time, uuid

def at(step):
    hold = os.path.join(os.environ["HOME"], "hold")
    if os.path.exists(hold) and open(hold).read() == step:
        sys.stdout.flush()
        os.rename(hold, os.path.join(os.environ["HOME"], "deferred"))
        while True:
            time.sleep(60)

def fail(words, **line):
    if line:
        write(**line)
        sys.stdout.flush()
    sys.exit(words)

def flag(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None

def write(**line):
    sys.stdout.write(json.dumps(line) + "\\n")

def event(**event):
    write(type="stream_event", event=event, parent_tool_use_id=None, session_id=session)

def ask_model():
    body = json.dumps(dict(model="stand-in", tools=[dict(name="none")], messages=messages)).encode()
    host, port = os.environ["ANTHROPIC_BASE_URL"].rpartition("/")[2].split(":")
    with socket.create_connection((host, int(port))) as api:
        api.sendall(b"POST /v1/messages HTTP/1.1\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
        answer = api.makefile("rb").read().partition(b"\\r\\n\\r\\n")[2]
    return json.loads(answer)["content"]

def tell(status):
    now = int(time.time() * 1000)
    os.makedirs(os.path.dirname(record), exist_ok=True)
    with open(record + ".tmp", "w") as file:
        file.write(json.dumps(dict(
            pid=os.getpid(), sessionId=session, cwd=os.getcwd(), kind="interactive", status=status, version="2.1.329",
            startedAt=now, statusUpdatedAt=now)))
    os.rename(record + ".tmp", record)

def keep(role, message):
    messages.append(message)
    put(parentUuid=known[-1], isSidechain=False, type=role, message=message)

def put(**line):
    if "--no-session-persistence" not in sys.argv:
        os.makedirs(os.path.dirname(transcript), exist_ok=True)
        if "message" in line:
            known.append(str(uuid.uuid4()))
            now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
            line.update(uuid=known[-1], timestamp=now, cwd=os.getcwd(), version="2.1.329")
        with open(transcript, "a") as file:
            file.write(json.dumps(dict(line, sessionId=session)) + "\\n")

def file_of(session):
    folder = re.sub("[^a-zA-Z0-9]", "-", os.getcwd())
    return os.path.join(os.environ["HOME"], ".claude/projects", folder, session + ".jsonl")

def enter(name):
    global session, transcript, messages, known
    session, transcript, messages, known = name, file_of(name), [], [None]

def read(path):
    for line in open(path) if os.path.exists(path) else []:
        line = json.loads(line)
        if "message" in line:
            messages.append(line["message"])
            known.append(line["uuid"])

def clear():
    write(type="conversation_reset", new_conversation_id=str(uuid.uuid4()), trigger="clear")
    at("reset")
    enter(str(uuid.uuid4()))
    put(type="mode", mode="normal")
    write(type="system", subtype="init", session_id=session, model="stand-in", permissionMode="default")
    at("cleared")
    keep("user", dict(role="user", content="<command-name>/clear</command-name>"))
    write(type="result", subtype="success", is_error=False, terminal_reason=None, session_id=session)

with open(os.path.join(os.environ["HOME"], "starts"), "a") as starts:
    starts.write(json.dumps(sys.argv[1:]) + "\\n")
at("begin")
resumed, chosen = flag("--resume"), flag("--session-id")
enter(chosen or resumed)
record = os.path.join(os.environ["HOME"], ".claude/sessions/%d.json" % os.getpid())
if chosen and os.path.exists(transcript):
    fail("Error: Session ID %s is already in use." % chosen)
if resumed:
    read(file_of(resumed))
    if not messages:
        words = "No conversation found with session ID: " + resumed
        fail(words, type="result", subtype="error_during_execution", is_error=True, errors=[words], session_id=resumed)

for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "control_request":
        write(type="control_response", response=dict(
            subtype="success", request_id=said["request_id"], response=dict(commands=[], models=[])))
        at("ready")
    elif said["type"] == "user":
        at("read")
        write(type="command_lifecycle", command_uuid=said["uuid"], state="started")
        at("started")
        if said["message"]["content"][0].get("text") == "/clear":
            clear()
            sys.stdout.flush()
            continue
        write(type="system", subtype="init", session_id=session, model="stand-in", permissionMode="default")
        sys.stdout.flush()
        at("init")
        tell("busy")
        keep("user", said["message"])
        at("asked")
        content = ask_model()
        message = dict(id="m%d" % len(messages), role="assistant", model="stand-in", content=content, usage=dict(input_tokens=5))
        keep("assistant", message | dict(stop_reason="end_turn"))
        event(type="message_start", message=dict(message, content=[]))
        for index, block in enumerate(content):
            event(type="content_block_start", index=index, content_block=dict(type="text", text=""))
            event(type="content_block_delta", index=index, delta=dict(type="text_delta", text=block["text"]))
            at("reply")
            event(type="content_block_stop", index=index)
        write(type="assistant", message=message, session_id=session)
        write(type="result", subtype="success", is_error=False, terminal_reason="completed", session_id=session)
        sys.stdout.flush()
        tell("idle")
        at("result")
        with open(os.path.join(os.environ["HOME"], "rests"), "a") as rests:
            rests.write(session + "\\n")
    sys.stdout.flush()
if os.path.exists(record):
    os.unlink(record)
"""


def install(directory: Path) -> Path:
    """Writes the program; returns its path."""
    program = directory / "stand_in" / "claude"
    program.parent.mkdir(exist_ok=True)
    program.write_text(_PROGRAM.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program
