"""Prints the types of the parameters of requests in the official client libraries, as JSON.

Usage: read_types.py ANTHROPIC OPENAI GOOGLE_GENAI MISTRALAI COHERE BOTOCORE, the directories of the unpacked packages.

Reads the source; imports and executes nothing of it. A type is the name of a basic type, the name of a class after `#`, or
an object with one key: `in` (the accepted words), `list`, `any_of`. A class has its fields; `!` marks a required one.
"""

import ast
import gzip
import json
import pathlib
import re
import sys

BASIC = {"str": "str", "int": "int", "float": "float", "bool": "bool", "None": "null", "NoneType": "null"}
LISTS = {"List", "list", "Iterable", "Sequence", "SequenceNotStr"}
# The kinds of blocks, items, tools and formats that requests of this program have. The others are left out.
USED_KINDS = {
    "text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking", "base64", "ephemeral",
    "custom", "enabled", "disabled", "adaptive", "between_tools", "json_schema", "json_object", "function",
    "image_url", "file", "input_text", "input_image", "input_file", "message", "function_call",
    "function_call_output", "reasoning", "output_text", "document",
}  # fmt: skip
# Wrappers around a type that say nothing about its values.
WRAPPERS = {"Required", "NotRequired", "Annotated", "OptionalNullable", "Nullable", "ReadOnly"}


class Package:
    """The modules of one package, read when a name of them is needed."""

    def __init__(self, root, camel_case=False):
        self.root, self.camel_case = pathlib.Path(root), camel_case
        self.modules, self.classes, self.names = {}, {}, {}

    def module(self, path):
        if path not in self.modules:
            file = self.root / (path + ".py")
            if not file.exists():
                file = self.root / path / "__init__.py"
            names = {}
            for node in ast.parse(file.read_text()).body if file.exists() else []:
                self.add_names(path, file, node, names)
            self.modules[path] = names
        return self.modules[path]

    def add_names(self, path, file, node, names):
        if isinstance(node, ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            names[node.target.id] = node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = node.value
        elif isinstance(node, ast.If):
            for inner in node.body:
                self.add_names(path, file, inner, names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            parts = path.split("/") if file.name == "__init__.py" else path.split("/")[:-1]
            base = parts[: len(parts) - node.level + 1]
            target = "/".join(base + (node.module.split(".") if node.module else []))
            for alias in node.names:
                names[alias.asname or alias.name] = (target, alias.name)

    def type_of_name(self, path, name):
        if name in BASIC:
            return BASIC[name]
        found = self.module(path).get(name)
        if isinstance(found, tuple):
            target, inner = found
            if inner in self.module(target):
                return self.type_of_name(target, inner)
            return self.type_of_name(target + "/" + inner, inner) if (self.root / target / (inner + ".py")).exists() else "any"
        if isinstance(found, ast.ClassDef):
            return self.class_type(path, found)
        return "any" if found is None else self.type_of(path, found)

    def class_type(self, path, node):
        words = self.enum_words(node)
        if words is not None:
            return {"in": words}
        name = self.names.get((path, node.name), node.name)
        while (path, node.name) not in self.names and name in self.classes:
            # Another module has a class of this name.
            name += "_"
        self.names[(path, node.name)] = name
        if name not in self.classes:
            self.classes[name] = {}
            self.classes[name] = self.fields(path, node)
        return "#" + name

    def enum_words(self, node):
        if not any("Enum" in ast.unparse(base) for base in node.bases):
            return None
        values = (item.value for item in node.body if isinstance(item, ast.Assign))
        return sorted(value.value for value in values if isinstance(value, ast.Constant))

    def fields(self, path, node):
        fields = {}
        for base in node.bases:
            found = self.module(path).get(ast.unparse(base).split("[")[0])
            while isinstance(found, tuple):
                path_of_base, name = found
                found = self.module(path_of_base).get(name)
            if isinstance(found, ast.ClassDef):
                fields.update(self.fields(path, found))
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                name = item.target.id
                if name.startswith("_") or name == "model_config":
                    continue
                text = ast.unparse(item.annotation)
                is_required = text.startswith("Required[")
                alias = re.search(r"alias='(\w+)'", ast.unparse(item))
                if alias:
                    name = alias.group(1)
                elif self.camel_case:
                    name = re.sub(r"_([a-z])", lambda found: found.group(1).upper(), name)
                fields[name + ("!" if is_required else "")] = self.type_of(path, item.annotation)
        return fields

    def type_of(self, path, node):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return self.type_of(path, ast.parse(node.value, mode="eval").body)
            return "null" if node.value is None else "any"
        if isinstance(node, ast.Name):
            return self.type_of_name(path, node.id)
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and isinstance(self.module(path).get(node.value.id), tuple):
                target, inner = self.module(path)[node.value.id]
                return self.type_of_name(target + "/" + inner, node.attr)
            return "any"
        if isinstance(node, ast.BinOp):
            return union([self.type_of(path, node.left), self.type_of(path, node.right)])
        if isinstance(node, ast.Subscript):
            head = ast.unparse(node.value).split(".")[-1]
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if head == "Literal":
                return {"in": [item.value for item in items if isinstance(item, ast.Constant)]}
            if head in WRAPPERS:
                return self.type_of(path, items[0])
            if head == "Optional":
                return union([self.type_of(path, items[0]), "null"])
            if head == "Union":
                return union([self.type_of(path, item) for item in items])
            if head in LISTS:
                return {"list": self.type_of(path, items[0])}
        if isinstance(node, ast.Call) and node.args:
            return "any"
        return "any"


def union(types):
    flat = []
    for kind in types:
        for inner in kind["any_of"] if isinstance(kind, dict) and "any_of" in kind else [kind]:
            if inner not in flat:
                flat.append(inner)
    return flat[0] if len(flat) == 1 else {"any_of": flat}


def is_used(kind, classes):
    """Whether a member of a union is of a kind that requests have."""
    fields = classes.get(kind[1:], {}) if isinstance(kind, str) and kind.startswith("#") else {}
    named = fields.get("type", fields.get("type!"))
    return not isinstance(named, dict) or "in" not in named or bool(USED_KINDS & set(map(str, named["in"])))


def pruned(kind, classes, kept):
    """Returns a type with only what requests have, and adds its classes to `kept`."""
    if isinstance(kind, str):
        name = kind[1:]
        if kind.startswith("#") and name not in kept:
            kept[name] = {}
            kept[name] = {field: pruned(inner, classes, kept) for field, inner in classes[name].items()}
        return kind
    if "list" in kind:
        return {"list": pruned(kind["list"], classes, kept)}
    if "any_of" in kind:
        members = [inner for inner in kind["any_of"] if is_used(inner, classes)]
        has_words = any(isinstance(inner, dict) and "in" in inner for inner in members)
        if "any" in members and has_words:
            # The client accepts unknown words too; the known ones count.
            members = [inner for inner in members if inner != "any"]
        elif "str" in members:
            members = [inner for inner in members if not (isinstance(inner, dict) and "in" in inner)]
        return union([pruned(inner, classes, kept) for inner in members]) if members else "any"
    return kind


def shapes(root):
    """Returns the classes that ConverseStream needs, in the form of the others."""
    path = pathlib.Path(root) / "botocore/data/bedrock-runtime/2023-09-30/service-2.json.gz"
    model, classes = json.loads(gzip.decompress(path.read_bytes()))["shapes"], {}

    def kind(name):
        shape = model[name]
        if shape["type"] == "structure":
            if shape.get("document"):
                return "any"
            if name not in classes:
                classes[name] = {}
                required = shape.get("required", [])
                members = shape["members"].items()
                classes[name] = {
                    key + ("!" if key in required else ""): kind(member["shape"])
                    for key, member in members
                    if member.get("location") is None
                }
            return "#" + name
        if shape["type"] == "list":
            return {"list": kind(shape["member"]["shape"])}
        if shape["type"] == "string":
            return {"in": shape["enum"]} if "enum" in shape else "str"
        return {"integer": "int", "long": "int", "float": "float", "double": "float", "boolean": "bool", "blob": "str"}.get(
            shape["type"], "any"
        )

    kind("ConverseStreamRequest")
    return classes


def main():
    anthropic, openai, google, mistral, cohere, botocore = sys.argv[1:]
    digest = {}

    package = Package(anthropic)
    package.type_of_name("anthropic/types/message_create_params", "MessageCreateParamsStreaming")
    digest["anthropic"] = {"root": "#MessageCreateParamsStreaming", "classes": package.classes}

    for name, path, root in [
        ("openai-chat", "openai/types/chat/completion_create_params", "CompletionCreateParamsStreaming"),
        ("openai-responses", "openai/types/responses/response_create_params", "ResponseCreateParamsStreaming"),
    ]:
        package = Package(openai)
        package.type_of_name(path, root)
        digest[name] = {"root": "#" + root, "classes": package.classes}

    package = Package(google, camel_case=True)
    types = "google/genai/types"
    kinds = {name: package.type_of_name(types, name) for name in ["Content", "Tool", "GenerationConfig"]}
    package.classes["GenerateContentRequest"] = {
        "contents!": {"list": kinds["Content"]},
        "systemInstruction": kinds["Content"],
        "tools": {"list": kinds["Tool"]},
        "generationConfig": kinds["GenerationConfig"],
    }
    digest["google-genai"] = {"root": "#GenerateContentRequest", "classes": package.classes}

    package = Package(mistral)
    package.type_of_name("mistralai/client/models/chatcompletionstreamrequest", "ChatCompletionStreamRequestTypedDict")
    digest["mistralai"] = {"root": "#ChatCompletionStreamRequestTypedDict", "classes": package.classes}

    package = Package(cohere)
    types = "cohere/types"
    package.classes["ChatStreamRequest"] = {
        "model!": "str",
        "stream!": "bool",
        "messages!": {"list": package.type_of_name(types + "/chat_message_v2", "ChatMessageV2")},
        "tools": {"list": package.type_of_name(types + "/tool_v2", "ToolV2")},
        "thinking": package.type_of_name(types + "/thinking", "Thinking"),
        "max_tokens": "int",
    }
    digest["cohere"] = {"root": "#ChatStreamRequest", "classes": package.classes}

    digest["botocore"] = {"root": "#ConverseStreamRequest", "classes": shapes(botocore)}
    for sdk in digest.values():
        kept = {}
        pruned(sdk["root"], sdk["classes"], kept)
        sdk["classes"] = dict(sorted(kept.items()))
    # A line for each class, so that a change can be read.
    for position, (name, sdk) in enumerate(digest.items()):
        print("{" if position == 0 else ",", json.dumps(name), ": {\"root\": ", json.dumps(sdk["root"]), ', "classes": {', sep="")
        lines = (f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in sdk["classes"].items())
        print(",\n".join(lines))
        print("}}", end="")
    print("\n}")


main()
