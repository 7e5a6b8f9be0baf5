"""A scripted model on loopback: it asks for one tool call, and ends its turn when the agent has answered."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DONE = "Done."
CALL = "call_1"


class Anthropic:
    """The messages of Anthropic."""

    @staticmethod
    def tools(body):
        return {tool["name"] for tool in body.get("tools", [])}

    @staticmethod
    def results(body):
        contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
        return [part for parts in contents for part in parts if part["type"] == "tool_result"]

    @staticmethod
    def events(call):
        block, delta, stop = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}, "end_turn"
        if call:
            name, args = call
            block = {"type": "tool_use", "id": CALL, "name": name, "input": {}}
            delta, stop = {"type": "input_json_delta", "partial_json": json.dumps(args)}, "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []}
        message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
        return [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]


class Responses:
    """The responses of OpenAI."""

    @staticmethod
    def tools(body):
        return {tool.get("name", tool["type"]) for tool in body.get("tools", [])}

    @staticmethod
    def results(body):
        return [item for item in body["input"] if item.get("type", "").endswith("_call_output")]

    @staticmethod
    def events(call):
        item = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": DONE}]}
        if call:
            name, args = call
            item = {"type": "function_call", "name": name, "call_id": CALL, "arguments": json.dumps(args)}
            if isinstance(args, str):
                item = {"type": "custom_tool_call", "name": name, "call_id": CALL, "input": args}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return [
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "usage": usage}},
        ]


class Chat:
    """The chat completions of OpenAI."""

    @staticmethod
    def tools(body):
        return {tool["function"]["name"] for tool in body.get("tools", [])}

    @staticmethod
    def results(body):
        return [message for message in body["messages"] if message["role"] == "tool"]

    @staticmethod
    def events(call):
        delta, reason = {"role": "assistant", "content": DONE}, "stop"
        if call:
            name, args = call
            function = {"name": name, "arguments": json.dumps(args)}
            calls = [{"index": 0, "id": CALL, "type": "function", "function": function}]
            delta, reason = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return [
            chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
            "[DONE]",
        ]


class Gemini:
    """The contents of Gemini."""

    @staticmethod
    def tools(body):
        return {function["name"] for tool in body.get("tools", []) for function in tool["functionDeclarations"]}

    @staticmethod
    def results(body):
        return [part for content in body["contents"] for part in content["parts"] if "functionResponse" in part]

    @staticmethod
    def events(call):
        part = {"text": DONE}
        if call:
            name, args = call
            part = {"functionCall": {"name": name, "args": args}}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        return [{"candidates": [candidate], "usageMetadata": usage}]


def protocol_of(path):
    """The protocol of a request, or `None` for a request that is about something else."""
    path = path.partition("?")[0]
    ends = {"/messages": Anthropic, "/responses": Responses, "/chat/completions": Chat}
    ends |= {":streamGenerateContent": Gemini, ":generateContent": Gemini}
    return next((protocol for end, protocol in ends.items() if path.endswith(end)), None)


class Model:
    """Serves one script: the agent gets the call in its first turn with tools. `with` starts and stops it."""

    def __init__(self, name, args):
        self.call = name, args
        # The result of the call, as the agent tells it.
        self.result = ""
        self.asked, self.offered, self.others = False, set(), []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                model.others.append(f"GET {self.path}")
                self.give("application/json", json.dumps({"data": [], "models": []}))

            def do_POST(self):
                text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                protocol = protocol_of(self.path)
                if protocol is None:
                    model.others.append(f"POST {self.path}")
                    return self.give("application/json", json.dumps({"input_tokens": 1, "totalTokens": 1}))
                events = protocol.events(model.answer(protocol, json.loads(text)))
                if protocol is Gemini and "stream" not in self.path:
                    return self.give("application/json", json.dumps(events[0]))
                return self.give("text/event-stream", "".join(self.event(event) for event in events))

            @staticmethod
            def event(event):
                if isinstance(event, str):
                    return f"data: {event}\n\n"
                name = f"event: {event['type']}\n" if "type" in event else ""
                return f"{name}data: {json.dumps(event)}\n\n"

            def give(self, kind, text):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, protocol, body):
        """The call, or `None` for a plain text."""
        results = protocol.results(body)
        if results:
            self.result = json.dumps(results)
            return None
        tools = protocol.tools(body)
        self.offered |= tools
        if self.call[0] not in tools:
            return None
        self.asked = True
        return self.call

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
