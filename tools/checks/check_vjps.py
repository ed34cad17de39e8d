"""Every VJP has its formula: the comment right above `void vjp` in ir/ops/<op>.cpp. --list prints them."""

import re
import sys

from repository import finish, read

COLUMN = 22
WIDTH = 120


def operations():
    return re.findall(r"^OP\((\w+)\)", read("ir/ops.def"), re.MULTILINE)


def formula(op, text):
    """The first paragraph of the comment above the VJP as one line; None where there is a VJP without one."""
    if ".vjp = vjp_zero" in text:
        return "0 wherever the derivative exists"
    if not re.search(r"^\s*\.vjp = ", text, re.MULTILINE):
        return "-"
    comment = re.search(r"((?:^//.*\n)+)void vjp\(VjpArgs&", text, re.MULTILINE)
    if comment is None:
        return None
    lines = [line.removeprefix("//").strip() for line in comment.group(1).splitlines()]
    return " ".join(lines[: lines.index("")] if "" in lines else lines)


def wrapped(op, text):
    """`op` in a column of its own, the text beside it."""
    lines, line = [], ""
    for word in text.split():
        if line and COLUMN + len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = word
        else:
            line += (" " if line else "") + word
    lines.append(line)
    return "\n".join(f"{op if i == 0 else '':<{COLUMN}}{line}" for i, line in enumerate(lines))


formulas = {op: formula(op, read(f"ir/ops/{op}.cpp")) for op in operations()}
if "--list" in sys.argv:
    print("\n".join(wrapped(op, text) for op, text in formulas.items() if text != "-"))
    print(wrapped("none:", ", ".join(op for op, text in formulas.items() if text == "-")))
finish([f"ir/ops/{op}.cpp: the VJP has no formula above it" for op, text in formulas.items() if text is None])
