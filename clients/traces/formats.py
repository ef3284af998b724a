"""Reads the exports of `ibeam replay`, and the trajectory of a run, with the libraries of their formats.

Usage: formats.py OTLP ATIF RUN_ATIF

OTLP: `opentelemetry-proto` parses the request, `opentelemetry-semantic-conventions` knows every name `gen_ai.*`, and
`opentelemetry-util-genai` has the types of the messages.
ATIF: `atif` validates the trajectories, and `harbor-atif2otel` validates them and converts them to spans.
Prints a line for each check. The exit code is that of the first failure.
"""

import base64
import dataclasses
import json
import sys
from pathlib import Path

from atif import Trajectory
from google.protobuf import json_format
from harbor_atif2otel import convert_trajectory
from harbor_atif2otel.validate import validate_trajectory
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.util.genai import types
from pydantic import TypeAdapter

# The types of messages and of their parts, in the official package.
MESSAGES = {"gen_ai.input.messages": types.InputMessage, "gen_ai.output.messages": types.OutputMessage}
PARTS = {"text": types.TextPart, "tool_call": types.ToolCallRequestPart, "tool_call_response": types.ToolCallResponsePart}


def require(condition, what):
    if not condition:
        sys.exit(f"FAIL {what}")
    print(f"PASS {what}")


def with_base64_ids(value):
    """Returns a document whose ids are Base64, as the JSON form of protobuf has them. OTLP has hexadecimal ids."""
    if isinstance(value, list):
        return [with_base64_ids(entry) for entry in value]
    if isinstance(value, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {key: base64.b64encode(bytes.fromhex(entry)).decode() if key in ids else with_base64_ids(entry)
                for key, entry in value.items()}
    return value


def build(type_, fields):
    """Returns an object of an official type. Unknown and missing keys, and values of other types, are errors."""
    unknown = fields.keys() - {field.name for field in dataclasses.fields(type_)}
    if unknown:
        sys.exit(f"FAIL OTLP: {type_.__name__} has no keys {sorted(unknown)}")
    return TypeAdapter(type_).validate_python(fields)


def check_messages(spans):
    counts = dict.fromkeys(PARTS, 0)
    reasons = set()
    for span in spans:
        for attribute in span.attributes:
            if attribute.key not in MESSAGES:
                continue
            for message in json.loads(attribute.value.string_value):
                for part in message["parts"]:
                    build(PARTS[part["type"]], part)
                    counts[part["type"]] += 1
                built = build(MESSAGES[attribute.key], message)
                TypeAdapter(types.Role).validate_python(built.role)
                reasons |= {reason for reason in [getattr(built, "finish_reason", None)] if reason}
    TypeAdapter(set[types.FinishReason]).validate_python(reasons)
    require(all(counts.values()) and reasons, f"OTLP: the official types accept all parts of messages {counts}, and {sorted(reasons)}")


def check_otlp(path):
    lines = Path(path).read_text().splitlines()
    require(len(lines) == 1, "OTLP: the file has one request")
    # An unknown key is an error.
    request = json_format.ParseDict(with_base64_ids(json.loads(lines[0])), ExportTraceServiceRequest())
    spans = [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]
    roots = [span for span in spans if not span.parent_span_id]
    require(len(roots) == 2 and len(spans) >= 8, f"OTLP: {len(spans)} spans of two runs are parsed")
    ids = {span.span_id for span in spans}
    sizes = all(len(span.span_id) == 8 and len(span.trace_id) == 16 for span in spans)
    require(len(ids) == len(spans) and sizes, "OTLP: each span has an id of its own")
    require(all(span.parent_span_id in ids for span in spans if span not in roots), "OTLP: each parent is a span")
    ordered = all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    require(ordered, "OTLP: each span ends after its start")
    known = {value for holder in (gen_ai_attributes, error_attributes) for value in vars(holder).values() if isinstance(value, str)}
    names = {attribute.key for span in spans for attribute in span.attributes}
    unknown = sorted(name for name in names if not name.startswith("ibeam.") and name not in known)
    require(not unknown, f"OTLP: the conventions have all {len(names)} names of attributes {unknown or ''}".rstrip())
    operations = {value.value for value in gen_ai_attributes.GenAiOperationNameValues}
    used = {attribute.value.string_value for span in spans for attribute in span.attributes if attribute.key == "gen_ai.operation.name"}
    require(used and used <= operations, f"OTLP: the conventions have the operations {sorted(used)}")
    check_messages(spans)


def check_atif(path, users):
    document = json.loads(Path(path).read_text())
    trajectory = Trajectory.model_validate(document)
    sources = [step.source for step in trajectory.steps]
    require(sources.count("user") == users and sources.count("agent") >= 2 * users, f"ATIF: `atif` validates {len(sources)} steps")
    # Release 0.1.1 knows the versions up to 1.7, which have everything that this trajectory contains.
    issues = validate_trajectory({**document, "schema_version": "ATIF-v1.7"})
    require(not issues, f"ATIF: `harbor-atif2otel` finds nothing {issues or ''}".rstrip())
    calls = sum(len(step.tool_calls or []) for step in trajectory.steps)
    scopes = convert_trajectory(document).scope_spans
    spans = [span for scope in scopes for span in scope.spans]
    named = [span for span in spans if span.name in {call.function_name for step in trajectory.steps for call in step.tool_calls or []}]
    require(calls > 0 and len(spans) > calls and len(named) == calls, f"ATIF: `harbor-atif2otel` makes {len(spans)} spans, {calls} of them calls")


check_otlp(sys.argv[1])
check_atif(sys.argv[2], users=2)
check_atif(sys.argv[3], users=1)
