"""The models that are profiled, and how stepc and PyTorch are told to make them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """A decoder of the zoo: every size, so that both sides build it from the same numbers."""

    name: str
    family: str  # gpt2 or llama
    layers: int
    dim: int
    heads: int
    ffn: int
    vocab: int
    tied: bool

    def stepc_arguments(self, seq, batch):
        sizes = {"layers": self.layers, "dim": self.dim, "heads": self.heads, "ffn": self.ffn, "vocab": self.vocab, "seq": seq}
        arguments = ["--family", self.family, "--tied" if self.tied else "--untied", "--dim", f"batch={batch}"]
        for name, value in sizes.items():
            arguments += ["--" + name, str(value)]
        return arguments

    def torch_arguments(self):
        arguments = ["--family", self.family] + (["--tied"] if self.tied else [])
        for name in ("layers", "dim", "heads", "ffn", "vocab"):
            arguments += ["--" + name, str(getattr(self, name))]
        return arguments


@dataclass(frozen=True)
class Scale:
    models: tuple
    sequences: tuple
    tokens: int  # of a step: the batch is what fits
    steps: int
    warmup: int
    limit: int  # seconds that a step's compilation and run may take

    def batch(self, seq):
        return max(1, self.tokens // seq)


SCALES = {
    "full": Scale(
        models=(Model("gpt2-124m", "gpt2", 12, 768, 12, 3072, 50257, True),
                Model("xl-4-layers", "llama", 4, 2560, 32, 10240, 10000, False),
                Model("llama-100m", "llama", 12, 768, 12, 2048, 10000, False)),
        sequences=(1024, 4096), tokens=8192, steps=10, warmup=3, limit=45),
    "tiny": Scale(
        models=(Model("gpt2-tiny", "gpt2", 1, 32, 2, 64, 256, True),
                Model("llama-tiny", "llama", 1, 32, 2, 64, 256, False)),
        sequences=(16, 32), tokens=64, steps=2, warmup=1, limit=300),
}
