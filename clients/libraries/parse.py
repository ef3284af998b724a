"""Parses recorded answers with the official client libraries of the services.

Reads one JSON object a line from stdin: `id`, `wire`, `stream`, `content_type`, `body`. Serves each body on a loopback port
to the library of its API, and prints what the library parsed: `id`, and either `text`, `calls` and `usage`, or `error`.
"""

import http.server
import json
import sys
import threading

import anthropic
import google.genai
import openai

RECORDS = [json.loads(line) for line in sys.stdin]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        record = RECORDS[int(self.path.split("/")[1])]
        body = record["body"].encode()
        self.send_response(200)
        self.send_header("content-type", record["content_type"])
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


def arguments_of(text):
    """Returns the parsed arguments of a call, or the text if it is not JSON."""
    try:
        return json.loads(text or "{}") or {}
    except ValueError:
        return text


def counts(usage, **paths):
    """Returns the numbers at these paths of attributes, without those that are missing."""
    found = {}
    for name, path in paths.items():
        value = usage
        for part in path.split("."):
            value = getattr(value, part, None)
        if value is not None:
            found[name] = value
    return found


def openai_chat(url, stream):
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
    answer = client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "x"}], stream=stream
    )
    text, calls, usage = "", [], None
    if stream:
        by_index = {}
        for chunk in answer:
            usage = chunk.usage or usage
            for choice in (chunk.choices or [])[:1]:
                if choice.index != 0 or choice.delta is None:
                    continue
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or []:
                    call = by_index.setdefault(part.index, {"id": None, "name": "", "arguments": ""})
                    call["id"] = part.id or call["id"]
                    call["name"] += (part.function and part.function.name) or ""
                    call["arguments"] += (part.function and part.function.arguments) or ""
        calls = [by_index[index] for index in sorted(by_index)]
    else:
        usage = answer.usage
        message = answer.choices[0].message
        text = message.content or ""
        for call in message.tool_calls or []:
            function = call.function
            calls.append({"id": call.id, "name": function.name, "arguments": function.arguments})
    for call in calls:
        call["arguments"] = arguments_of(call["arguments"])
    paths = {
        "input": "prompt_tokens",
        "output": "completion_tokens",
        "cache_read": "prompt_tokens_details.cached_tokens",
    }
    return {"text": text, "calls": calls, "usage": counts(usage, **paths)}


def openai_responses(url, stream):
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
    answer = client.responses.create(model="m", input="x", stream=stream)
    if stream:
        response, items = None, []
        for event in answer:
            if event.type == "response.output_item.done":
                items.append(event.item)
            if event.type in ("response.completed", "response.incomplete"):
                response = event.response
        usage = response.usage
        items = items or response.output
    else:
        usage, items = answer.usage, answer.output
    text, calls = "", []
    for item in items:
        if item.type == "message":
            text += "".join(part.text for part in item.content if part.type == "output_text")
        if item.type == "function_call":
            calls.append({"id": item.call_id, "name": item.name, "arguments": arguments_of(item.arguments)})
        if item.type == "custom_tool_call":
            calls.append({"id": item.call_id, "name": item.name, "arguments": item.input})
    paths = {
        "input": "input_tokens",
        "output": "output_tokens",
        "cache_read": "input_tokens_details.cached_tokens",
    }
    return {"text": text, "calls": calls, "usage": counts(usage, **paths)}


def anthropic_messages(url, stream):
    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    if stream:
        with client.messages.stream(**request) as events:
            message = events.get_final_message()
    else:
        message = client.messages.create(**request)
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [
        {"id": block.id, "name": block.name, "arguments": block.input or {}}
        for block in message.content
        if block.type == "tool_use"
    ]
    paths = {
        "input": "input_tokens",
        "output": "output_tokens",
        "cache_read": "cache_read_input_tokens",
        "cache_write": "cache_creation_input_tokens",
    }
    return {"text": text, "calls": calls, "usage": counts(message.usage, **paths)}


def gemini(url, stream):
    client = google.genai.Client(api_key="none", http_options={"base_url": url})
    if stream:
        chunks = list(client.models.generate_content_stream(model="m", contents="x"))
    else:
        chunks = [client.models.generate_content(model="m", contents="x")]
    text, calls, usage = "", [], {}
    paths = {
        "input": "prompt_token_count",
        "output": "candidates_token_count",
        "cache_read": "cached_content_token_count",
        "thoughts": "thoughts_token_count",
    }
    for chunk in chunks:
        usage.update(counts(chunk.usage_metadata, **paths))
        for candidate in (chunk.candidates or [])[:1]:
            for part in (candidate.content and candidate.content.parts) or []:
                if part.text and not part.thought:
                    text += part.text
                if part.function_call:
                    call = part.function_call
                    calls.append({"id": call.id, "name": call.name, "arguments": call.args or {}})
    return {"text": text, "calls": calls, "usage": usage}


LIBRARIES = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic-messages": anthropic_messages,
    "gemini": gemini,
}


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for index, record in enumerate(RECORDS):
        url = f"http://127.0.0.1:{server.server_port}/{index}"
        try:
            parsed = LIBRARIES[record["wire"]](url, record["stream"])
        except Exception as error:  # noqa: BLE001: what a library raises is a result
            parsed = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"id": record["id"], **parsed}), flush=True)


main()
