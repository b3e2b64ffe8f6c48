#!/usr/bin/env python3
"""Runs the trainer's benchmarks and their peers one after the other and prints one table.

Called by compare.sh, which sets everything up. A row is Whetstone's figure, the peer's, and their
ratio beside the bar it is held to; a row without a peer is a share of what the machine can do,
measured in the same run.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from table import table_text

PEERS = Path(__file__).resolve().parent / "peers"
PARTS = ["step", "step-0.5b", "decode", "decode-0.5b", "warmup"]
RUN_LIMIT_S = 1800


def lines_of(command):
    """The JSON lines that a command prints; what it says besides goes to the terminal."""
    command = [str(word) for word in command]
    print("…", " ".join(command), file=sys.stderr, flush=True)
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=RUN_LIMIT_S, check=True)
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"')]


class Table:
    def __init__(self):
        self.rows = []

    def add(self, work, ours, peer, ratio, bar, at_most=False):
        met = ratio <= bar if at_most else ratio >= bar
        self.rows.append((work, ours, peer, f"{ratio:.2f}", f"{'≤' if at_most else '≥'} {bar:g}",
                          "met" if met else "missed"))
        print("  ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def __str__(self):
        head = ("work", "Whetstone", "beside", "ratio", "bar", "")
        return table_text([head, *self.rows])


def compare_step(a, table, name, model, prompts, speed_bar, memory_bar, share_bar,
                 eight_bit_bar=None):
    work = ["--model", model, "--prompts", prompts, "--group", 8, "--prompt-tokens", 256,
            "--new-tokens", 128, "--steps", 4]
    [ours] = lines_of([a.bin / "grpo_step_bench", *work])
    [peer] = lines_of([sys.executable, PEERS / "trl_grpo.py", *work])
    table.add(f"GRPO step {name}, {prompts} × 8 × (256 + 128)", f"{ours['s_per_step']} s",
              f"TRL {peer['s_per_step']} s", peer["s_per_step"] / ours["s_per_step"], speed_bar)
    memory_row = lambda what, run, bar: table.add(
        f"{what}, {name}", f"{run['peak_rss_gib']} GiB", f"TRL {peer['peak_rss_gib']} GiB",
        run["peak_rss_gib"] / peer["peak_rss_gib"], bar, at_most=True)
    memory_row("its peak memory", ours, memory_bar)
    if eight_bit_bar is not None:
        [lean] = lines_of([a.bin / "grpo_step_bench", *work, "--optimizer-state", "8bit"])
        memory_row("the same, optimizer state in 8 bits", lean, eight_bit_bar)
    table.add(f"its update, useful FLOPs, {name}", f"{ours['update_gflops']:.0f} GFLOP/s",
              f"bf16 matmul {ours['matmul_bf16_gflops']:.0f} GFLOP/s",
              ours["update_matmul_share"], share_bar)


def compare_decode(a, table, name, model):
    work = ["--model", model, "--prompt-tokens", 256, "--new-tokens", 64]
    ours = {line["batch"]: line for line in lines_of(
        [a.bin / "decode_bench", *work, "--batch", 1, "--batch", 8, "--batch", 32])}
    peers = {line["batch"]: line for line in lines_of(
        [sys.executable, PEERS / "transformers_decode.py", *work, "--batch", 1, 8, 32])}
    for batch, bar in [(1, 1.3), (8, 1.8), (32, 2.0)]:
        mine, peer = ours[batch], peers[batch]
        table.add(f"decode {name}, batch {batch}", f"{mine['decode_tok_s']} tok/s",
                  f"transformers {peer['decode_tok_s']} tok/s",
                  mine["decode_tok_s"] / peer["decode_tok_s"], bar)
        table.add(f"decode {name}, batch {batch}", f"{mine['step_ms']} ms",
                  f"roofline {mine['roofline_ms']} ms", mine["roofline_share"], 0.6)


def compare_warmup(a, table):
    batches = 6
    examples = sum(1 for line in a.examples.read_text().splitlines() if line.strip())
    with tempfile.TemporaryDirectory() as folder:
        campaign = Path(folder) / "warmup.yaml"
        campaign.write_text(json.dumps({
            "name": "warmup", "model": str(a.model), "train": {"steps": 0},
            "problems": [str(a.examples.parent / "matmul_f32.md")],
            "warmup": {"examples": str(a.examples), "epochs": batches * 8 / examples, "lr": 2e-4}}))
        lines_of([a.bin / "whet", "run", campaign, "--run-dir", Path(folder) / "run"])
        rows = [json.loads(line)
                for line in (Path(folder) / "run" / "metrics.jsonl").read_text().splitlines()][1:]
        learned = sum(row["num_tokens"] for row in rows) / sum(row["time/update"] for row in rows)
    [peer] = lines_of([sys.executable, PEERS / "pytorch_warmup.py", "--model", a.model,
                       "--examples", a.examples, "--batches", batches])
    table.add("warm-up, learned tokens", f"{learned:.0f} tok/s",
              f"PyTorch loop {peer['learned_tok_s']:.0f} tok/s", learned / peer["learned_tok_s"], 3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--random-model", type=Path, required=True)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    a = parser.parse_args()
    unknown = set(a.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    parts = a.parts or PARTS
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"warning: the load is {load:.1f}; what else runs here spoils the figures",
              file=sys.stderr)
    if any(part.endswith("0.5b") for part in parts):
        lines_of([sys.executable, PEERS / "make_random_model.py", "--tokenizer", a.model,
                  "--out", a.random_model])
    table = Table()
    if "step" in parts:
        compare_step(a, table, "135M", a.model, 2, 6, 0.33, 0.5)
    if "step-0.5b" in parts:
        compare_step(a, table, "0.5B", a.random_model, 1, 4, 0.8, 0.6, eight_bit_bar=0.6)
    if "decode" in parts:
        compare_decode(a, table, "135M", a.model)
    if "decode-0.5b" in parts:
        compare_decode(a, table, "0.5B", a.random_model)
    if "warmup" in parts:
        compare_warmup(a, table)
    print(table)


main()
