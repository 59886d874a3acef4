"""A scripted model on loopback, in the four protocols that the agents speak.

What it answers is a word in the last thing that a person said:

  DO-WRITE path   one call of the tool that writes a file, then a text
  DO-BASH command one call of the tool that runs a command, then a text
  DO-ESCALATE cmd the same, with a request to leave the sandbox (Codex)
  DO-ASK          one question to the person
  DO-TODO name    one list of three things to do, one of them done, then as DO-HOLD
  DO-SUB          one subagent, which is asked to answer a text
  DO-HOLD name    the beginning of a text, and its end when the test releases the name
  DO-FAIL         HTTP 400
  anything else   a text

Every text, path and argument that it makes up begins with `secret-` where it must not be written down by others.
"""
import gzip
import json
import re
import select
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORD = re.compile(r"\bDO-(WRITE|BASH|ESCALATE|ASK|TODO|SUB|HOLD|FAIL)\b ?([^\n\"<]*)")
PROMPT = re.compile(r"secret-(sub)?prompt")
TEXT = "secret-answer."
#: What each request is said to have cost; the tests look for these figures.
INPUT, CACHED, OUTPUT = 2421, 2000, 7
SHELLS = ("Bash", "exec_command", "shell_command", "shell", "bash", "run_shell_command")
WRITERS = ("Write", "apply_patch", "write", "create", "write_file")
ASKERS = ("AskUserQuestion", "ask_user_question", "question", "ask_user", "request_user_input")
LISTS = ("TodoWrite", "TaskCreate", "update_plan", "todowrite", "todo_write", "write_todos")
SUBAGENTS = ("Agent", "Task", "task", "agent")


def flat(content):
    """The text of a message's content, in whichever form."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(flat(part.get("text") or part.get("content") or "") if isinstance(part, dict) else str(part)
                         for part in content)
    return ""


def last_prompt(parts):
    """What a person said last, and whether a tool has answered since. PARTS are texts, and None for a tool's answer.

    What agents add to a prompt or to an answer is no prompt: those of the tests name themselves."""
    said, answered = "", False
    for part in parts:
        if part is None:
            answered = True
        elif PROMPT.search(part):
            said, answered = part, False
    return said, answered


def patch(path):
    return f"*** Begin Patch\n*** Add File: {path}\n+secret-content\n*** End Patch\n"


def arguments(tool, word, rest, properties):
    """The arguments of a tool's call, by the names that its schema has."""
    if word in ("BASH", "ESCALATE"):
        key = "cmd" if "cmd" in properties else "command"
        command = ["bash", "-lc", rest] if tool == "shell" else rest
        made = {key: command, "description": "secret-description"}
        if word == "ESCALATE":
            made.update(sandbox_permissions="require_escalated", justification="secret-reason")
    elif word == "WRITE" and tool == "apply_patch":
        made = {"patchText": patch(rest), "input": patch(rest)}
    elif word == "WRITE":
        made = {"file_path": rest, "filePath": rest, "path": rest, "content": "secret-content\n",
                "file_text": "secret-content\n"}
    elif word == "ASK":
        options = [{"label": "secret-one", "description": "1"}, {"label": "secret-two", "description": "2"}]
        question = {"question": "secret-question?", "header": "secret", "options": options,
                    "type": "choice", "id": "q1", "multiple": False, "multiSelect": False}
        made = {"questions": [question], "question": "secret-question?", "choices": ["secret-one", "secret-two"]}
    elif word == "TODO":
        states = ("completed", "in_progress", "pending")
        todos = [{"content": f"secret-todo-{at}", "activeForm": "secret-doing", "status": state, "id": str(at),
                  "priority": "high"} for at, state in enumerate(states)]
        plan = [{"step": todo["content"], "status": todo["status"]} for todo in todos]
        gemini = [{"description": todo["content"], "status": todo["status"]} for todo in todos]
        made = {"todos": gemini if tool == "write_todos" else todos, "plan": plan, "subject": "secret-subject",
                "description": "secret-todo"}
    else:
        made = {"description": "secret-task", "prompt": "secret-subprompt DO-HOLD sub",
                "subagent_type": "general" if tool == "task" else "general-purpose",
                "agent_type": "general-purpose", "name": "secret-name"}
    return {key: value for key, value in made.items() if not properties or key in properties}


class Model:
    """The server, and what it was asked."""

    def __init__(self):
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.requests = []
        self.held = set()
        self.released = set()
        #: The tools of the last request that was to be answered with a call.
        self.offered = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"model": self}))
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def note(self, body, text):
        with self.changed:
            self.requests.append({"body": json.dumps(body), "text": text, "at": time.time()})
            self.changed.notify_all()
            return len(self.requests)

    def release(self, name):
        with self.changed:
            self.released.add(name)
            self.changed.notify_all()

    def hold(self, name, alive):
        """Yields a few times a second until the test releases the name or the agent goes away."""
        try:
            while name not in self.released and alive():
                with self.changed:
                    self.held.add(name)
                    self.changed.wait(0.25)
                yield
        finally:
            self.held.discard(name)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_args):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except OSError:
            # An agent that was interrupted does not listen any more.
            self.close_connection = True

    # What is sent

    def document(self, value, code=200):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, name, value):
        text = value if isinstance(value, str) else json.dumps(value)
        self.wfile.write(f"{f'event: {name}' + chr(10) if name else ''}data: {text}\n\n".encode())
        self.wfile.flush()

    def alive(self):
        """Whether the agent still listens: one that went away has closed its side."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return not readable or bool(self.connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    # What was asked

    def do_GET(self):
        if "/models" in self.path:
            entry = {"id": "fake-model", "object": "model", "created": 1, "owned_by": "x", "type": "model",
                     "display_name": "Fake"}
            return self.document({"object": "list", "data": [entry], "models": []})
        return self.document({})

    do_HEAD = do_GET

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens") or path.endswith(":countTokens"):
            return self.document({"input_tokens": INPUT, "totalTokens": INPUT})
        for ending, answer in (("/messages", self.say_anthropic), ("/responses", self.say_responses),
                               ("/chat/completions", self.say_chat)):
            if path.endswith(ending):
                return answer(body)
        if "enerateContent" in path:
            return self.say_gemini(body)
        return self.document({})

    def plan(self, body, text, answered, tools):
        """What is to be done about a request: a word and the rest of its line, or a call of a tool."""
        number = self.model.note(body, text)
        found = None
        for found in WORD.finditer(text):
            pass
        if not found or not tools:
            return number, "text", None, None
        word, rest = found.group(1), found.group(2).strip()
        if answered:
            return (number, "hold", rest, None) if word == "TODO" else (number, "text", None, None)
        if word in ("HOLD", "FAIL"):
            return number, word.lower(), rest, None
        names = {"WRITE": WRITERS, "ASK": ASKERS, "TODO": LISTS, "SUB": SUBAGENTS}.get(word, SHELLS)
        tool = next((name for name in names if name in tools), None)
        self.model.offered = sorted(name for name in tools if name)
        if tool is None and word == "WRITE":
            # A model of OpenAI's writes its patches through the shell.
            tool = next((name for name in SHELLS if name in tools), None)
            word, rest = "BASH", f"apply_patch <<'EOF'\n{patch(rest)}EOF\n"
        if tool is None:
            return number, "text", None, None
        return number, "call", tool, arguments(tool, word, rest, tools[tool])

    def texts(self, kind, rest):
        """The parts of an answer, the last one when the test allows it."""
        if kind != "hold":
            yield TEXT
            return
        yield "secret-beginning\n\n"
        for _ in self.model.hold(rest, self.alive):
            yield "and so on "
        yield f"END-{rest}"

    # Anthropic's messages

    def say_anthropic(self, body):
        parts = []
        for message in body.get("messages", []):
            content = message.get("content")
            if message.get("role") == "user":
                for part in content if isinstance(content, list) else [content]:
                    is_result = isinstance(part, dict) and part.get("type") == "tool_result"
                    parts.append(None if is_result else flat([part]))
        text, answered = last_prompt(parts)
        tools = {tool.get("name"): tool.get("input_schema", {}).get("properties", {}) for tool in body.get("tools", [])}
        number, kind, rest, call = self.plan(body, text, answered, tools)
        if kind == "fail":
            return self.document({"type": "error", "error": {"type": "invalid_request_error", "message": "secret-failure"}}, 400)
        usage = {"input_tokens": INPUT - CACHED - 100, "cache_creation_input_tokens": 100,
                 "cache_read_input_tokens": CACHED, "output_tokens": OUTPUT}
        block = {"type": "text", "text": ""}
        if call is not None:
            block = {"type": "tool_use", "id": f"toolu_{number:04d}", "name": rest, "input": {}}
        stop = "tool_use" if call is not None else "end_turn"
        message = {"id": f"msg_{number:04d}", "type": "message", "role": "assistant", "model": body.get("model"),
                   "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            block.update({"input": call} if call is not None else {"text": TEXT})
            return self.document({**message, "content": [block], "stop_reason": stop})
        self.stream()
        self.event("message_start", {"type": "message_start", "message": message})
        self.event("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block})

        def delta(value):
            self.event("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": value})
        if call is not None:
            delta({"type": "input_json_delta", "partial_json": json.dumps(call)})
        else:
            for part in self.texts(kind, rest):
                delta({"type": "text_delta", "text": part})
        self.event("content_block_stop", {"type": "content_block_stop", "index": 0})
        self.event("message_delta", {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                                     "usage": {"output_tokens": OUTPUT}})
        self.event("message_stop", {"type": "message_stop"})

    # OpenAI's responses

    def say_responses(self, body):
        items = body.get("input", [])
        parts = [items] if isinstance(items, str) else []
        for item in items if isinstance(items, list) else []:
            if item.get("type", "message") == "message" and item.get("role") == "user":
                parts.append(flat(item.get("content")))
            elif item.get("type", "").endswith("_call_output"):
                parts.append(None)
        text, answered = last_prompt(parts)
        tools = {tool.get("name") or tool.get("type"): (tool.get("parameters") or {}).get("properties", {})
                 for tool in body.get("tools", [])}
        freeform = {tool.get("name") for tool in body.get("tools", []) if tool.get("type") == "custom"}
        number, kind, rest, call = self.plan(body, text, answered, tools)
        if kind == "fail":
            return self.document({"error": {"message": "secret-failure", "type": "invalid_request_error"}}, 400)
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": TEXT, "annotations": []}]}
        if call is not None and rest in freeform:
            item = {"type": "custom_tool_call", "id": f"ct_{number}", "call_id": f"call_{number}", "name": rest,
                    "input": call["input"], "status": "completed"}
        elif call is not None:
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": rest,
                    "arguments": json.dumps(call), "status": "completed"}
        usage = {"input_tokens": INPUT, "input_tokens_details": {"cached_tokens": CACHED}, "output_tokens": OUTPUT,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": INPUT + OUTPUT}
        whole = {"id": f"resp_{number:04d}", "object": "response", "created_at": int(time.time()),
                 "model": body.get("model"), "status": "completed", "output": [item], "usage": usage}
        if not body.get("stream"):
            return self.document(whole)
        self.stream()
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        self.event("response.created", {"type": "response.created", "response": begun})
        self.event("response.output_item.added", {"type": "response.output_item.added", "output_index": 0, "item": item})
        if item["type"] == "message":
            said = ""
            for part in self.texts(kind, rest):
                self.event("response.output_text.delta", {
                    "type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0,
                    "delta": part})
                said += part
            item["content"][0]["text"] = said
        self.event("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item})
        self.event("response.completed", {"type": "response.completed", "response": whole})

    # OpenAI's chat completions

    def say_chat(self, body):
        parts = [flat(message.get("content")) if message.get("role") == "user" else None
                 for message in body.get("messages", []) if message.get("role") in ("user", "tool")]
        text, answered = last_prompt(parts)
        tools, freeform = {}, set()
        for tool in body.get("tools") or []:
            if tool.get("type") == "custom":
                freeform.add(tool.get("custom", {}).get("name"))
                tools[tool.get("custom", {}).get("name")] = {}
            else:
                function = tool.get("function", {})
                tools[function.get("name")] = (function.get("parameters") or {}).get("properties", {})
        number, kind, rest, call = self.plan(body, text, answered, tools)
        if kind == "fail":
            return self.document({"error": {"message": "secret-failure", "type": "invalid_request_error"}}, 400)
        usage = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT,
                 "prompt_tokens_details": {"cached_tokens": CACHED}}
        base = {"id": f"chatcmpl-{number}", "created": int(time.time()), "model": body.get("model")}
        calls = None
        if call is not None and rest in freeform:
            calls = [{"index": 0, "id": f"call_{number}", "type": "custom",
                      "custom": {"name": rest, "input": call["input"]}}]
        elif call is not None:
            calls = [{"index": 0, "id": f"call_{number}", "type": "function",
                      "function": {"name": rest, "arguments": json.dumps(call)}}]
        end = "tool_calls" if calls else "stop"
        if not body.get("stream"):
            message = {"role": "assistant", "content": None if calls else TEXT, **({"tool_calls": calls} if calls else {})}
            choice = {"index": 0, "message": message, "finish_reason": end}
            return self.document({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        self.stream()

        def chunk(delta, finish=None):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self.event(None, {**base, "object": "chat.completion.chunk", "choices": [choice]})
        if calls:
            chunk({"role": "assistant", "content": None, "tool_calls": calls})
        else:
            for part in self.texts(kind, rest):
                chunk({"role": "assistant", "content": part})
        chunk({}, end)
        self.event(None, {**base, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        self.event(None, "[DONE]")

    # Gemini

    def say_gemini(self, body):
        parts = [None if "functionResponse" in part else part.get("text", "")
                 for message in body.get("contents", []) if message.get("role") != "model"
                 for part in message.get("parts", [])]
        text, answered = last_prompt(parts)
        tools = {}
        for function in (one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])):
            schema = function.get("parametersJsonSchema") or function.get("parameters") or {}
            tools[function.get("name")] = schema.get("properties", {})
        _, kind, rest, call = self.plan(body, text, answered, tools)
        if kind == "fail":
            error = {"code": 400, "message": "secret-failure", "status": "INVALID_ARGUMENT"}
            return self.document({"error": error}, 400)
        usage = {"promptTokenCount": INPUT, "cachedContentTokenCount": CACHED, "candidatesTokenCount": OUTPUT,
                 "totalTokenCount": INPUT + OUTPUT}

        def part_of(part, finish="STOP"):
            candidate = {"content": {"role": "model", "parts": [part]}, "index": 0}
            if finish:
                candidate["finishReason"] = finish
            return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-fake"}
        if "stream" not in self.path:
            return self.document(part_of({"functionCall": {"name": rest, "args": call}} if call is not None else {"text": TEXT}))
        self.stream()
        if call is not None:
            return self.event(None, part_of({"functionCall": {"name": rest, "args": call}}))
        parts = self.texts(kind, rest)
        waiting = next(parts)
        for part in parts:
            self.event(None, part_of({"text": waiting}, None))
            waiting = part
        return self.event(None, part_of({"text": waiting}))
