"""What the conformance scripts share: running whet-trainer, test cases, tiny models.

A script is called as SCRIPT --bin DIR --xml REPORT.xml; its cases are the functions it registers with
@case. The report has the form of GoogleTest's, so that every case is counted by name.
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

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ["TQDM_DISABLE"] = "1"

MODEL = pathlib.Path(os.environ.get(
    "WHETSTONE_MODEL", pathlib.Path.home() / ".cache/whetstone/models/SmolLM2-135M-Instruct"))
CASES = []
BIN = None
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
                    tokens, "--temperature", temperature, "--seed", seed, "--json", *options,
                    lines=prompts)
    *completions, summary = lines
    return {(c["prompt"], c["sample"]): c for c in completions}, summary["summary"]


def score(model, sequences, dtype="float32"):
    lines = trainer("score", "--model", model, "--tokens", "-", "--dtype", dtype,
                    lines=[{"ids": ids} for ids in sequences])
    return [line["logprobs"] for line in lines]


def reference_logprobs(model, ids):
    """transformers' float32 log-probability of every token after the first."""
    import torch
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, :-1].float()
    picked = torch.tensor(ids[1:])
    return torch.log_softmax(logits, -1).gather(1, picked[:, None])[:, 0].tolist()


def byte_tokenizer(directory, vocab):
    """A real byte-level tokenizer of `vocab` tokens, trained on this folder's sources."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    texts = [p.read_text() for p in sorted(pathlib.Path(__file__).parent.glob("*.py"))]
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocab, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.save(str(directory / "tokenizer.json"))


def tiny_model(name, family, seed=0, vocab=400, scale=1.0, shard=None, **settings):
    """A seeded random model directory, and the same model in transformers (float32)."""
    import torch
    from transformers import (LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM)
    directory = SCRATCH / name
    directory.mkdir()
    torch.manual_seed(seed)
    config_class, model_class = {"llama": (LlamaConfig, LlamaForCausalLM),
                                 "qwen2": (Qwen2Config, Qwen2ForCausalLM)}[family]
    config = config_class(vocab_size=vocab, max_position_embeddings=512, bos_token_id=1,
                          eos_token_id=2, pad_token_id=2, **settings)
    model = model_class(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # transformers starts norms at 1 and biases at 0, which would hide a mistake in them.
            parameter.add_(torch.randn_like(parameter) * 0.05 * scale)
    model.save_pretrained(directory, **({"max_shard_size": shard} if shard else {}))
    byte_tokenizer(directory, vocab)
    return directory, model


def main():
    global BIN, SCRATCH
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--xml", type=pathlib.Path)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    BIN = arguments.bin
    suite = pathlib.Path(sys.argv[0]).stem
    report, failures = [], 0
    with tempfile.TemporaryDirectory(prefix="whetstone-conformance-") as scratch:
        SCRATCH = pathlib.Path(scratch)
        for function in CASES:
            if arguments.only not in function.__name__:
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
