#!/usr/bin/env python3
"""Runs the GPU benchmarks and TRL on one GPU and prints one table. Called by run.sh.

A row that could not be had says why; nothing is left out silently.
"""
import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from table import table_text

RUN_LIMIT_S = 1500
PEAK_BF16_GFLOPS = {"H200": 989e3, "H100": 989e3, "A100": 312e3}  # dense, as the maker states


def main():
    parser = argparse.ArgumentParser()
    for name in ("bin", "peers", "tokenizer", "logs"):
        parser.add_argument("--" + name, type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    a = parser.parse_args()
    bench = Bench(a)
    if a.quick:
        bench.decode("0.5b", [64], {64: 0.5})
    else:
        bench.everything()
    print(table_text([("work", "Whetstone", "beside", "ratio", "bar", ""), *bench.rows]))
    # A figure below its bar is a figure; one that could not be had is a failure of this run.
    sys.exit(1 if any(row[-1] == "failed" for row in bench.rows) else 0)


class Bench:
    def __init__(self, a):
        self.a, self.rows = a, []

    def run(self, name, command, environment=None):
        """The JSON lines of a program, or None; what it says besides goes to a log."""
        command = [str(word) for word in command]
        print("…", " ".join(command), file=sys.stderr, flush=True)
        log = self.a.logs / (name.replace(" ", "-").replace(",", "") + ".log")
        try:
            with open(log, "w") as errors:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True,
                                      timeout=RUN_LIMIT_S, env={**os.environ, **(environment or {})})
        except subprocess.TimeoutExpired:
            print(f"{name}: longer than {RUN_LIMIT_S} s", file=sys.stderr)
            return None
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
        if done.returncode != 0 or not lines:
            print(f"{name}: exit code {done.returncode}, see {log}", file=sys.stderr)
            print(log.read_text()[-2000:], file=sys.stderr)
            return None
        return lines

    def add(self, work, ours, beside="", ratio=None, bar=None, at_most=False):
        met = "" if bar is None else "met" if (ratio <= bar if at_most else ratio >= bar) else "missed"
        self.rows.append((work, ours, beside, "" if ratio is None else f"{ratio:.3g}",
                          "" if bar is None else f"{'≤' if at_most else '≥'} {bar:g}", met))
        print("  ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def missing(self, work, why, failed=True):
        self.rows.append((work, why, "", "", "", "failed" if failed else ""))

    def decode(self, shape, batches, bars, name="", flags=(), environment=None):
        command = [self.a.bin / "decode_bench", "--device", "cuda", "--shape", shape, "--tokenizer",
                   self.a.tokenizer, "--prompt-tokens", 512, "--new-tokens", 256, *flags]
        for batch in batches:
            command += ["--batch", batch]
        work = f"decode {shape}{name}"
        lines = self.run(work, command, environment)
        if lines is None:
            return self.missing(work, "decode_bench failed")
        for line in lines:
            self.add(f"{work}, batch {line['batch']}",
                     f"{line['decode_tok_s']:.0f} tok/s, {line['step_ms']} ms",
                     f"reads {line['read_gb_s']:.0f} GB/s; {line['graph_share']:.0%} of steps by graph",
                     line["bandwidth_share"], bars.get(line["batch"]))
            if "mean_exp_logprob_difference" in line:
                self.add(f"log-probabilities, {shape}", str(line["mean_exp_logprob_difference"]),
                         "the same weights in f32", line["mean_exp_logprob_difference"], 1.01,
                         at_most=True)

    def model(self, shape):
        out = Path.cwd() / f"gpu-models/random-{shape}"
        made = subprocess.run([sys.executable, self.a.peers / "make_random_model.py", "--tokenizer",
                               self.a.tokenizer, "--out", out, "--shape", shape])
        return out if made.returncode == 0 else None

    def step(self, name, model, prompts, new_tokens, flags=(), environment=None):
        work = ["--model", model, "--prompts", prompts, "--group", 8, "--prompt-tokens", 512,
                "--new-tokens", new_tokens]
        ours = self.run(name, [self.a.bin / "grpo_step_bench", *work, "--device", "cuda", *flags],
                        environment)
        return work, ours[0] if ours else None

    def everything(self):
        for shape in ("0.5b", "1.5b"):
            self.decode(shape, [1, 64, 256], {1: 0.6, 64: 0.5, 256: 0.5})
        self.decode("0.5b", [1, 64], {}, ", graphs off", ["--no-graphs"])
        self.decode("0.5b", [1, 64], {}, ", kernels off", [], {"WHETSTONE_PLAIN_KERNELS": "1"})
        self.decode("0.5b", [8], {}, ", parity", ["--parity"])

        if importlib.util.find_spec("transformers") is None:
            self.missing("update and GRPO step", "transformers, which makes their models, is not "
                         "installed here", failed=False)
            return
        big, small = self.model("1.5b"), self.model("0.5b")
        if big is None or small is None:
            self.missing("update and GRPO step", "no model could be made")
            return
        _, update = self.step("update 1.5b", big, 4, 512, ["--token-budget", 16384])
        if update is None:
            self.missing("update 1.5b, packed to 16k tokens", "grpo_step_bench failed")
        else:
            self.update_row(update)

        name = "GRPO step 0.5b, 8 × 8 × (512 + 512)"
        work, ours = self.step("step 0.5b", small, 8, 512)
        if ours is None:
            return self.missing(name, "grpo_step_bench failed")
        self.add("update to first token, 0.5b", f"{ours['first_token_ms']} ms", "",
                 ours["first_token_ms"], 50, at_most=True)
        _, plain = self.step("step 0.5b kernels off", small, 8, 512, [],
                             {"WHETSTONE_PLAIN_KERNELS": "1"})
        if plain is None:
            self.missing(name + ", kernels off", "grpo_step_bench failed")
        else:
            self.add(name, f"{ours['s_per_step']} s", f"kernels off {plain['s_per_step']} s",
                     plain["s_per_step"] / ours["s_per_step"])
        if subprocess.run([sys.executable, "-c", "import trl"], stderr=subprocess.DEVNULL).returncode:
            return self.missing(name + ", TRL", "TRL is not installed here", failed=False)
        peer = self.run("TRL", [sys.executable, self.a.peers / "trl_grpo.py", *work])
        if peer is None:
            return self.missing(name + ", TRL", "trl_grpo.py failed")
        self.add(name, f"{ours['s_per_step']} s", f"TRL {peer[0]['s_per_step']} s",
                 peer[0]["s_per_step"] / ours["s_per_step"], 5)
        self.add("its peak memory", f"{ours['peak_gpu_gib']} GiB",
                 f"TRL {peer[0]['peak_gpu_gib']} GiB",
                 ours["peak_gpu_gib"] / peer[0]["peak_gpu_gib"], 0.5, at_most=True)

    def update_row(self, update):
        name = "" if not shutil.which("nvidia-smi") else subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], stdout=subprocess.PIPE,
            text=True).stdout
        peak = next((flops for gpu, flops in PEAK_BF16_GFLOPS.items() if gpu in name), None)
        against = peak or update["matmul_bf16_gflops"]
        self.add("update 1.5b, packed to 16k tokens", f"{update['update_gflops'] / 1e3:.0f} TFLOP/s",
                 ("stated peak" if peak else "measured matmul") + f" {against / 1e3:.0f} TFLOP/s",
                 update["update_gflops"] / against, 0.45)


if __name__ == "__main__":
    main()
