#!/usr/bin/env python3
"""The same training step in PyTorch: the zoo's gpt2 and llama decoders, next-token cross-entropy, AdamW.

    torch_step.py --family gpt2 --layers 12 --dim 768 --heads 12 --ffn 3072 --vocab 50257 --tied --shape 1024,8,fp32 [--shape ...]

Prints one line of JSON for each --shape SEQ,BATCH,PRECISION: step times in milliseconds, the peak of the allocator above
nothing, the number of parameters. bf16 is autocast over f32 weights. With --weights and --data, .npz files as `stepc run
--optimizer none --dump-weights` writes and `stepc run --data` reads, it prints the loss before any step and stops.
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


def rotate(x, cos, sin):  # (B, H, T, K), halves of K
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Attention(nn.Module):
    def __init__(self, a, bias):
        super().__init__()
        self.heads = a.heads
        self.q, self.k, self.v, self.o = (nn.Linear(a.dim, a.dim, bias=bias) for _ in range(4))

    def forward(self, x, angles):
        b, t, d = x.shape
        q, k, v = (f(x).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        if angles is not None:
            q, k = rotate(q, *angles), rotate(k, *angles)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(o.transpose(1, 2).reshape(b, t, d))


class Mlp(nn.Module):
    def __init__(self, a, bias):
        super().__init__()
        self.up, self.down = nn.Linear(a.dim, a.ffn, bias=bias), nn.Linear(a.ffn, a.dim, bias=bias)
        self.gate = None if bias else nn.Linear(a.dim, a.ffn, bias=False)

    def forward(self, x):
        if self.gate is None:
            return self.down(F.gelu(self.up(x), approximate="tanh"))
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, a, norm, bias):
        super().__init__()
        self.norm1, self.norm2, self.attn, self.mlp = norm(), norm(), Attention(a, bias), Mlp(a, bias)

    def forward(self, x, angles):
        x = x + self.attn(self.norm1(x), angles)
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    """Modules have the zoo's names, so that weights pair up by name."""

    def __init__(self, a, seq):
        super().__init__()
        gpt2 = a.family == "gpt2"
        norm = (lambda: nn.LayerNorm(a.dim, eps=1e-5)) if gpt2 else (lambda: nn.RMSNorm(a.dim, eps=1e-5))
        self.embed = nn.Embedding(a.vocab, a.dim)
        self.position = nn.Embedding(seq, a.dim) if gpt2 else None
        self.blocks = nn.ModuleList(Block(a, norm, gpt2) for _ in range(a.layers))
        self.norm = norm()
        self.head = nn.Linear(a.dim, a.vocab, bias=False)
        if a.tied:
            self.head.weight = self.embed.weight
        width = a.dim // a.heads
        angle = torch.arange(seq)[:, None] / (10000 ** (torch.arange(0, width, 2) / width))
        self.register_buffer("cos", angle.cos()), self.register_buffer("sin", angle.sin())
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, labels):
        x = self.embed(tokens)
        if self.position is not None:
            x = x + self.position.weight
        angles = None if self.position is not None else (self.cos, self.sin)
        for block in self.blocks:
            x = block(x, angles)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


def load(model, file):
    """stepc keeps the matrix of a linear layer as [in, out]."""
    import numpy

    arrays = numpy.load(file)
    linear = {name + ".weight" for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            value = torch.from_numpy(arrays["param/" + name])
            parameter.copy_(value.T if name in linear else value)


def loss_of(a):
    import numpy

    data = {name: torch.from_numpy(value) for name, value in numpy.load(a.data).items()}
    model = Decoder(a, data["input_ids"].shape[1])
    load(model, a.weights)
    loss = model(data["input_ids"], data["label"]).item()
    return {"loss": loss, "parameters": sum(p.numel() for p in model.parameters())}


def measure(a, seq, batch, precision):
    torch.manual_seed(0)
    device = torch.device(a.device)
    on_gpu = device.type == "cuda"
    synchronize = torch.cuda.synchronize if on_gpu else (lambda: None)
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    model = Decoder(a, seq).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, a.vocab, (batch, seq + 1), device=device)
    forward = torch.compile(model) if a.compile else model
    times = []
    for _ in range(a.warmup + a.steps):
        begin = time.perf_counter()
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            loss = forward(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    timed = times[a.warmup:]
    return {"seq": seq, "batch": batch, "precision": precision, "mode": "compile" if a.compile else "eager",
            "version": torch.__version__, "median_ms": statistics.median(timed), "min_ms": min(timed), "first_ms": times[0],
            "peak_bytes": torch.cuda.max_memory_allocated() if on_gpu else None,
            "parameters": sum(p.numel() for p in model.parameters()), "loss": loss.item()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=["gpt2", "llama"], required=True)
    for name in ("layers", "dim", "heads", "ffn", "vocab"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--shape", action="append", default=[])
    parser.add_argument("--weights")
    parser.add_argument("--data")
    a = parser.parse_args()
    if a.weights:
        print(json.dumps(loss_of(a)), flush=True)
        return
    for shape in a.shape:
        seq, batch, precision = shape.split(",")
        print(json.dumps(measure(a, int(seq), int(batch), precision)), flush=True)


if __name__ == "__main__":
    main()
