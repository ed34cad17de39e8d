"""The arrows between the folders: who may include whom, and what stays out of ir/."""

import re

from repository import finish, read, tracked

ALL = {"ir", "passes", "codegen", "runtime", "models", "tests", "tools", "bench"}
MAY_INCLUDE = {
    "ir": {"ir"},
    "passes": {"passes", "ir"},
    "models": {"models", "ir"},
    "codegen": {"codegen", "ir"},
    "runtime": {"runtime", "codegen", "ir"},
    "tools": ALL - {"tests", "bench"},
    "tests": ALL - {"bench"},
    "bench": ALL - {"tests"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# ir/ is a language: it knows no file format, process or device.
FOREIGN_TO_IR = re.compile(
    r"^(google/protobuf/|onnx/|nlohmann/|cuda|nvrtc|cublas|dnnl|oneapi/|CLI/|spawn\.h|sys/wait\.h|unistd\.h)"
)
JSON = re.compile(r"^nlohmann/")


def check_include(folder, where, quote, path):
    target = path.split("/")[0]
    if FOREIGN_TO_IR.match(path) and folder == "ir":
        return f"{where}: ir/ includes {path}"
    if JSON.match(path) and folder not in ("tools", "tests"):
        return f"{where}: {path} is for tools/ and tests/ only"
    if quote == '"' and "/" not in path:
        return f'{where}: include "{path}" from the repository root'
    if quote == '"' and target in ALL and target not in MAY_INCLUDE[folder]:
        return f"{where}: {folder}/ may not include {target}/"
    return None


findings = []
for name in tracked("*.cpp", "*.h", "*.def", "*.inc"):
    folder = name.split("/")[0]
    if folder not in MAY_INCLUDE:
        continue
    for number, line in enumerate(read(name).splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            finding = check_include(folder, f"{name}:{number}", *match.groups())
            if finding:
                findings.append(finding)
finish(findings)
