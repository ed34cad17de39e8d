"""Models of the zoo are differentiated and compiled right: the CPU, the interpreter and finite differences agree, at
levels pointwise and full; and they run on any number of threads."""

import unittest

from stepc_test import StepcTest


class ZooTest(StepcTest):
    def test_every_family_agrees_with_finite_differences_and_the_interpreter(self):
        text = ["--seq", "8", "--vocab", "64"]
        for family, more in {"gpt2": text, "llama": text, "bert": text, "moe": [*text, "--experts", "4", "--top-k", "2"],
                             "vit": ["--loss", "mean-square"]}.items():
            for level in ("pointwise", "full"):
                with self.subTest(family, level=level):
                    self.succeeds("check", "--family", family, "--layers", "1", "--dim", "16", "--heads", "2", "--ffn",
                                  "32", *more, "--dim", "batch=2", "--fuse", level, "-q",
                                  STEPC_CACHE_DIR=str(self.folder / "cache"))

    def test_a_convolution_has_scratch_for_every_thread(self):
        for threads in ("1", "5"):
            self.succeeds("run", "--family", "vit", "--layers", "1", "--dim", "16", "--heads", "2", "--ffn", "32",
                          "--dim", "batch=2", "--loss", "mean-square", "--threads", threads, "-q",
                          STEPC_CACHE_DIR=str(self.folder / "cache"))


if __name__ == "__main__":
    unittest.main()
