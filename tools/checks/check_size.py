"""Files of at most 500 lines, functions of at most 60. A function is judged by its layout, which clang-format fixes:
a line that ends in an opening brace after a parameter list, up to the brace that closes it at the same indent."""

import re

from repository import finish, read, tracked

MAX_FILE = 500
MAX_FUNCTION = 60

# path: why it may be longer than MAX_FILE
LONG_FILES = {}
# (path, first line of the function without its indent): why it may be longer than MAX_FUNCTION
LONG_FUNCTIONS = {}

NOT_A_FUNCTION = re.compile(
    r"^\s*(namespace|class|struct|union|enum|extern|if|for|while|switch|do|else|try|catch|case|default)\b|=\s*\{$"
)
OPENS = re.compile(r"\)[^;={}]*\{$|^(?:TEST|TEST_F|TEST_P)\(.*\{$")


def first_line_of(lines, index):
    """Goes back over continuation lines of a signature, which are indented deeper than its start."""
    if lines[index].lstrip().startswith(": "):  # the initializers of a constructor
        index -= 1
    depth = lines[index].count(")") - lines[index].count("(")
    while depth > 0 and index > 0:
        index -= 1
        depth += lines[index].count(")") - lines[index].count("(")
    return index


def long_functions(name, lines):
    index = 0
    while index < len(lines):
        line = lines[index]
        if OPENS.search(line):
            start = first_line_of(lines, index)
            if not NOT_A_FUNCTION.search(lines[start]):
                indent = re.match(r"\s*", lines[start]).group()
                end = next((k for k in range(index + 1, len(lines)) if re.match(rf"{indent}\}}", lines[k])), index)
                length = end - start + 1
                if length > MAX_FUNCTION and (name, lines[start].strip()) not in LONG_FUNCTIONS:
                    yield f"{name}:{start + 1}: function of {length} lines (limit {MAX_FUNCTION})"
                index = end
        index += 1


def long_python_functions(name, text):
    import ast

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            if length > MAX_FUNCTION and (name, node.name) not in LONG_FUNCTIONS:
                yield f"{name}:{node.lineno}: function of {length} lines (limit {MAX_FUNCTION})"


findings = []
for name in tracked("*.cpp", "*.h", "*.cuh", "*.cu", "*.def", "*.py"):
    text = read(name)
    lines = text.splitlines()
    if len(lines) > MAX_FILE and name not in LONG_FILES:
        findings.append(f"{name}: {len(lines)} lines (limit {MAX_FILE})")
    findings += long_python_functions(name, text) if name.endswith(".py") else long_functions(name, lines)
finish(findings)
