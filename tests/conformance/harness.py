"""What the conformance scripts share: running whet-trainer, test cases, tiny models.

A script is called as SCRIPT --bin DIR --xml REPORT.xml; its cases are the functions it registers with
@case. --device is whet-trainer's, --only and --skip choose cases by a part of their names. The report
has the form of GoogleTest's, so that every case is counted by name.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback
import xml.sax.saxutils as sax

import fixtures

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ["TQDM_DISABLE"] = "1"

MODEL = pathlib.Path(os.environ.get(
    "WHETSTONE_MODEL", pathlib.Path.home() / ".cache/whetstone/models/SmolLM2-135M-Instruct"))
CASES = []
BIN = None
DEVICE = "auto"
SCRATCH = None  # a pathlib.Path; removed at the end


def case(function):
    CASES.append(function)
    return function


def trainer(*arguments, lines=None, expect=0):
    """Runs whet-trainer; `lines` (objects) are its stdin. Returns its lines of JSON, or with another
    `expect` than 0 its stderr."""
    text = "".join(json.dumps(line) + "\n" for line in lines or [])
    done = subprocess.run([BIN / "whet-trainer", *map(str, arguments)], input=text,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == expect, f"exit code {done.returncode}: {done.stderr}"
    if expect != 0:
        return done.stderr
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def generate(model, prompts, n=1, tokens=16, temperature=1.0, seed=1, options=()):
    """({(prompt, sample): completion}, summary)."""
    lines = trainer("generate", "--model", model, "--prompts", "-", "--n", n, "--max-new-tokens",
                    tokens, "--temperature", temperature, "--seed", seed, "--json", "--device",
                    DEVICE, *options, lines=prompts)
    *completions, summary = lines
    return {(c["prompt"], c["sample"]): c for c in completions}, summary["summary"]


def score(model, sequences, dtype="float32"):
    lines = trainer("score", "--model", model, "--tokens", "-", "--dtype", dtype, "--device",
                    DEVICE, lines=[{"ids": ids} for ids in sequences])
    return [line["logprobs"] for line in lines]


def reference_logprobs(model, ids):
    """transformers' float32 log-probability of every token after the first."""
    import torch
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, :-1].float()
    picked = torch.tensor(ids[1:])
    return torch.log_softmax(logits, -1).gather(1, picked[:, None])[:, 0].tolist()


def byte_tokenizer(directory, vocab):
    """A real byte-level tokenizer of `vocab` tokens."""
    from tokenizers import pre_tokenizers
    fixtures.write_tokenizer(directory, pre_tokenizers.ByteLevel(add_prefix_space=False), vocab,
                             initial=["<|endoftext|>", "<|im_start|>", "<|im_end|>"])


def tiny_model(name, family, vocab=400, **settings):
    """A seeded random model directory (fixtures.write_model), and the same model in transformers."""
    directory = SCRATCH / name
    directory.mkdir()
    model = fixtures.write_model(directory, family, vocab=vocab, **settings)
    byte_tokenizer(directory, vocab)
    return directory, model


def main():
    global BIN, DEVICE, SCRATCH
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--xml", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--skip")
    parser.add_argument("--device", default=DEVICE)
    arguments = parser.parse_args()
    BIN, DEVICE = arguments.bin, arguments.device
    suite = pathlib.Path(sys.argv[0]).stem
    report, failures = [], 0
    with tempfile.TemporaryDirectory(prefix="whetstone-conformance-") as scratch:
        SCRATCH = pathlib.Path(scratch)
        for function in CASES:
            name = function.__name__
            if arguments.only not in name or (arguments.skip and arguments.skip in name):
                continue
            start, problem = time.time(), ""
            try:
                function()
            except Exception:
                problem = traceback.format_exc()
                failures += 1
            seconds = time.time() - start
            print(f"[{'  FAILED  ' if problem else '       OK '}] {suite}.{function.__name__} "
                  f"({seconds:.1f} s)\n{problem}", end="", flush=True)
            body = f"<failure>{sax.escape(problem)}</failure>" if problem else ""
            report.append(f'<testcase name="{function.__name__}" classname="{suite}" status="run" '
                          f'result="completed" time="{seconds:.3f}">{body}</testcase>')
    if arguments.xml:
        arguments.xml.parent.mkdir(parents=True, exist_ok=True)
        arguments.xml.write_text(f'<testsuites><testsuite name="{suite}">{"".join(report)}'
                                 "</testsuite></testsuites>")
    sys.exit(1 if failures or not report else 0)
