"""Local HTTP servers that speak the protocols of model providers, with replies that a test writes beforehand.

`Wire` serves OpenAI chat completions, OpenAI responses, Anthropic messages and Google's generateContent on one port, and
keeps every byte it was sent. A script is a list of replies; each may be a function of the request, so that it can react to what it reads.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Say:
    """A reply in a protocol of no provider: text and tool calls."""

    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    """(tool, arguments); arguments given as a string are sent as they are, malformed or not."""
    finish: str | None = None
    refusal: str | None = None
    tokens: tuple[int, int] = (100, 10)


@dataclass
class Fail:
    """A status with a body, or something worse."""

    status: int = 500
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    """Seconds before anything is sent."""
    cut: bool = False
    """Send half of a good body, then close."""
    raw: bytes | None = None
    """Send these bytes with status 200."""


Scripted = Say | Fail | Callable[[dict[str, Any]], "Say | Fail"]


def call(tool: str, **arguments: Any) -> Say:
    return Say(calls=[(tool, arguments)])


class Wire:
    """A server with a script. The last entry is repeated when the script is over."""

    def __init__(self, *script: Scripted) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1#scripted"

    @property
    def everything(self) -> str:
        """Every byte that was sent, as text; JSON's escapes are undone so that nothing hides behind them."""
        return "\n".join(
            body.decode() + json.dumps(json.loads(body or b"null"), ensure_ascii=False) for body in self.raw
        )

    def prompts(self) -> list[str]:
        return [json.dumps(request, ensure_ascii=False) for request in self.requests]

    def next(self, request: dict[str, Any]) -> Say | Fail:
        with self._lock:
            entry = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return entry(request) if callable(entry) else entry

    def __enter__(self) -> Wire:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


def _handler(wire: Wire) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            wire.paths.append(self.path)
            self._send(
                200, json.dumps({"object": "list", "data": [{"id": "listed-model", "object": "model"}]}).encode()
            )

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            request = json.loads(body)
            wire.paths.append(self.path)
            wire.raw.append(body)
            wire.headers.append({key.lower(): value for key, value in self.headers.items()})
            wire.requests.append(request)
            reply = wire.next(request)
            form = _anthropic if self.path.startswith("/v1/messages") else _chat
            form = _responses if self.path.endswith("/responses") else form
            form = _google if ":generateContent" in self.path else form
            streamed = bool(request.get("stream"))
            if isinstance(reply, Say):
                body = _stream(form(reply)) if streamed else json.dumps(form(reply)).encode()
                self._send(200, body, kind="text/event-stream" if streamed else "application/json")
                return
            wire.closing.wait(reply.wait)
            if reply.raw is not None:
                self._send(200, reply.raw)
            elif reply.cut:
                good = form(Say("half of this never arrives " * 20))
                whole = _stream(good) if streamed else json.dumps(good).encode()
                kind = "text/event-stream" if streamed else "application/json"
                self._send(200, whole[: len(whole) // 2], length=len(whole), kind=kind)
            else:
                error = reply.body or {"error": {"message": f"scripted {reply.status}", "type": "scripted"}}
                self._send(reply.status, json.dumps(error).encode(), reply.headers)

        def _send(
            self,
            status: int,
            body: bytes,
            headers: dict[str, str] | None = None,
            length: int | None = None,
            kind: str = "application/json",
        ) -> None:
            try:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(length or len(body)))
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = True
            except OSError:
                pass  # The client gave up waiting, as it should.

    return Handler


def _text_of(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _chat(reply: Say) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": _text_of(arguments)}}
            for number, (name, arguments) in enumerate(reply.calls)
        ]
    if reply.refusal:
        message["refusal"] = reply.refusal
    finish = reply.finish or ("tool_calls" if reply.calls else "stop")
    prompt, completion = reply.tokens
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }  # fmt: skip


def _anthropic(reply: Say) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}
        for number, (name, arguments) in enumerate(reply.calls)
    ]
    stop = reply.finish or ("refusal" if reply.refusal else "tool_use" if reply.calls else "end_turn")
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "content": content,
        "stop_reason": stop, "stop_sequence": None,
        "usage": {"input_tokens": reply.tokens[0], "output_tokens": reply.tokens[1]},
    }  # fmt: skip


def _responses(reply: Say) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        output.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        )
    output += [
        {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name,
         "arguments": _text_of(arguments), "status": "completed"}
        for number, (name, arguments) in enumerate(reply.calls)
    ]  # fmt: skip
    prompt, completion = reply.tokens
    return {
        "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "status": "completed", "model": "gpt-4o",
        "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {
            "input_tokens": prompt, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": completion,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": prompt + completion,
        },
    }  # fmt: skip


def _google(reply: Say) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
    parts += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in reply.calls]
    prompt, completion = reply.tokens
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reply.finish or "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": prompt, "candidatesTokenCount": completion, "totalTokenCount": prompt + completion,
        },
        "modelVersion": "gemini-2.5-flash", "responseId": "answer_1",
    }  # fmt: skip


def _stream(message: dict[str, Any]) -> bytes:
    """An Anthropic message as the events of a stream: the library streams where a reply may be long."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": message["usage"]}}
    ]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": _text_of(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": empty},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": message["usage"]})
    events.append({"type": "message_stop"})
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
