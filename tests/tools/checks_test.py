"""Each check of tools/checks finds what it is there to find, and nothing in a clean tree."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECKS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "checks"
LONG_BODY = "  work();\n" * 60


class ChecksTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copytree(CHECKS, self.root / "tools" / "checks", ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def findings(self, check, files, *arguments):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, f"tools/checks/{check}.py", *arguments],
                              cwd=self.root, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode != 0, not (done.stdout == "" or ", 0 failed" in done.stdout))
        return done.stdout.splitlines()

    def test_layers_allow_the_arrows(self):
        self.assertEqual(self.findings("check_layers", {
            "runtime/a.cpp": '#include "codegen/a.h"\n#include "ir/a.h"\n#include <dnnl.hpp>\n',
            "tools/driver/a.cpp": '#include <nlohmann/json.hpp>\n#include "passes/a.h"\n',
            "tests/ir/a.cpp": '#include "models/a.h"\n',
        }), [])

    def test_layers_refuse_everything_else(self):
        self.assertEqual(self.findings("check_layers", {
            "ir/a.cpp": '#include "passes/a.h"\n#include <google/protobuf/message.h>\n#include <cuda.h>\n',
            "passes/a.cpp": '#include "codegen/a.h"\n#include "near.h"\n',
            "runtime/a.h": "#include <nlohmann/json.hpp>\n",
        }), [
            "ir/a.cpp:1: ir/ may not include passes/",
            "ir/a.cpp:2: ir/ includes google/protobuf/message.h",
            "ir/a.cpp:3: ir/ includes cuda.h",
            "passes/a.cpp:1: passes/ may not include codegen/",
            'passes/a.cpp:2: include "near.h" from the repository root',
            "runtime/a.h:1: nlohmann/json.hpp is for tools/ and tests/ only",
        ])

    def test_size_of_files(self):
        self.assertEqual(self.findings("check_size", {"ir/a.cpp": "int a;\n" * 501, "ir/b.cpp": "int b;\n" * 500}),
                         ["ir/a.cpp: 501 lines (limit 500)"])

    def test_size_of_functions(self):
        signature = "static void deep(const std::vector<int>& first,\n                 int second) {\n"
        self.assertEqual(self.findings("check_size", {
            "ir/a.cpp": "namespace stepc {\nvoid small() {\n}\n" + signature + LONG_BODY + "}\n}\n",
            "ir/b.h": "struct S {\n  void method() const override {\n" + "    work();\n" * 60 + "  }\n};\n",
            "tests/ir/c.cpp": "TEST(A, B) {\n" + LONG_BODY + "}\n",
            "tools/d.py": "def long():\n" + "    work()\n" * 60,
        }), [
            "ir/a.cpp:4: function of 63 lines (limit 60)",
            "ir/b.h:2: function of 62 lines (limit 60)",
            "tests/ir/c.cpp:1: function of 62 lines (limit 60)",
            "tools/d.py:1: function of 61 lines (limit 60)",
        ])

    def test_size_does_not_take_namespaces_and_tables_for_functions(self):
        rows = "    {1, 2},\n" * 80
        self.assertEqual(self.findings("check_size", {
            "ir/a.cpp": "namespace stepc {\nclass C {\n" + "  int a;\n" * 80 + "};\nconst int kTable[] = {\n" + rows + "};\n}\n",
        }), [])

    def test_sources(self):
        self.assertEqual(self.findings("check_sources", {
            "ir/CMakeLists.txt": "stepc_library(stepc_ir\n  SOURCES\n    b.cpp\n    a.cpp\n    ops/c.cpp\n)\n",
            "ir/a.cpp": "", "ir/b.cpp": "", "ir/ops/c.cpp": "", "ir/ops/d.cpp": "",
        }), ["ir/ops/d.cpp: named 0 times in ir/CMakeLists.txt", "ir/CMakeLists.txt: sources are not sorted"])

    def test_readmes(self):
        files = {f"{folder}/README.md": "role\n" for folder in ("ir", "passes", "codegen", "models", "tests", "tools")}
        self.assertEqual(self.findings("check_readmes", files), ["runtime/README.md is missing"])

    def test_vjps(self):
        files = {
            "ir/ops.def": "OP(exp)\nOP(floor)\nOP(iota)\nOP(sub)\n",
            "ir/ops/exp.cpp": "// y = exp(x);\n// dx = g · y\n//\n// Why.\nvoid vjp(VjpArgs& v) {\n}\n    .vjp = vjp,\n",
            "ir/ops/floor.cpp": "    .vjp = vjp_zero,\n",
            "ir/ops/iota.cpp": "",
            "ir/ops/sub.cpp": "// elsewhere\n\nvoid vjp(VjpArgs& v) {\n}\n    .vjp = vjp,\n",
        }
        self.assertEqual(self.findings("check_vjps", files), ["ir/ops/sub.cpp: the VJP has no formula above it"])
        files["ir/ops/sub.cpp"] = "// y = a - b; da = g, db = -g\nvoid vjp(VjpArgs& v) {\n}\n    .vjp = vjp,\n"
        self.findings("check_vjps", files)
        listed = subprocess.run([sys.executable, "tools/checks/check_vjps.py", "--list"], cwd=self.root, check=True,
                                capture_output=True, text=True).stdout
        self.assertEqual([line.split(maxsplit=1) for line in listed.splitlines()], [
            ["exp", "y = exp(x); dx = g · y"], ["floor", "0 wherever the derivative exists"],
            ["sub", "y = a - b; da = g, db = -g"], ["none:", "iota"]])

    def test_paths(self):
        machine, host = "/" + "work/x", "py" + "pi.org"
        found = self.findings("check_paths", {"docs/a.md": f"see {machine}\n", "docs/b.md": f"from {host}\nframe/work/x\n"})
        self.assertEqual([line.split(":")[0] for line in found], ["docs/a.md", "docs/b.md"])

    def test_docs_run_and_compare(self):
        text = ("```console\n$ echo one; echo two\none\n...\n$ echo three\nfour\n$ false\n```\n"
                "```console no-run\n$ exit 9\n```\n")
        found = self.findings("check_docs", {"README.md": text}, "bin")
        self.assertEqual(found, ["README.md:1: `$ echo three` prints otherwise:", "three",
                                 "README.md:1: `$ false` exits with 1", "1 passed, 2 failed"])

    def test_docs_bless_puts_the_real_output(self):
        text = "```console\n$ echo one\n$ echo two 12.50 ms\nthree\n```\n"
        self.findings("check_docs", {"README.md": text}, "bin", "--bless")
        blessed = "```console\n$ echo one\none\n$ echo two 12.50 ms\ntwo      ...\n```\n"
        self.assertEqual((self.root / "README.md").read_text(), blessed)
        self.assertEqual(self.findings("check_docs", {}, "bin"), ["2 passed, 0 failed"])


unittest.main()
