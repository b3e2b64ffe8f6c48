#!/usr/bin/env python3
"""TRL's GRPOTrainer on the work of grpo_step_bench: same arguments, same JSON keys.

    trl_grpo.py --model DIR [--prompts 2] [--group 8] [--prompt-tokens 256] [--new-tokens 128]

The reward is a hash of the completion, so that only generation and update are timed, and every
completion is forced to --new-tokens tokens. s_per_step is wall time over all steps; generation
figures leave the first step out. All sequences of a step are generated at once; the update takes
--micro-batch of them at a time: all of them on a CPU and 8 on a GPU unless told otherwise, where a
whole step's activations and logits would not fit.
"""
import argparse
import hashlib
import json
import os
import resource
import tempfile
import time
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
warnings.filterwarnings("ignore")

import torch
from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

WORDS = ["for", "int", "float", "sum", "n", "return", "if", "while", "x", "y"]


def make_prompt(tokenizer, index, tokens):
    """Words until there are `tokens` tokens."""
    text, k = "", index % len(WORDS)
    while len(tokenizer(text).input_ids) < tokens:
        text += " " + WORDS[k]
        k = (k * 7 + 3) % len(WORDS)
    return tokenizer.decode(tokenizer(text).input_ids[:tokens])


def reward(completions, **_):
    return [int(hashlib.sha256(text.encode()).hexdigest()[:4], 16) / 65535 for text in completions]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--prompts", type=int, default=2)
    parser.add_argument("--group", type=int, default=8)
    parser.add_argument("--prompt-tokens", type=int, default=256)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--micro-batch", type=int)
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float32"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--lr", type=float, default=1e-6)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    gpu = torch.cuda.is_available()
    sequences = a.prompts * a.group
    micro = a.micro_batch or (min(8, sequences) if gpu else sequences)
    if sequences % micro:
        parser.error(f"--micro-batch {micro} does not divide {sequences} sequences")
    tokenizer = AutoTokenizer.from_pretrained(a.model)
    prompts = [make_prompt(tokenizer, i, a.prompt_tokens) for i in range(a.prompts * a.steps)]
    config = GRPOConfig(
        output_dir=tempfile.mkdtemp(), use_cpu=not gpu, bf16=a.dtype == "bfloat16", report_to=[],
        per_device_train_batch_size=micro, gradient_accumulation_steps=sequences // micro,
        num_generations=a.group, max_completion_length=a.new_tokens, max_steps=a.steps,
        learning_rate=a.lr, temperature=1.0, beta=0.0, save_strategy="no", disable_tqdm=True,
        logging_steps=1, gradient_checkpointing=False, model_init_kwargs={"dtype": a.dtype},
        generation_kwargs={"min_new_tokens": a.new_tokens})
    trainer = GRPOTrainer(model=a.model, args=config, reward_funcs=reward,
                          train_dataset=Dataset.from_dict({"prompt": prompts}),
                          processing_class=tokenizer)
    generating = []
    generate = trainer._generate_single_turn

    def timed(*args, **kwargs):
        begin = time.perf_counter()
        result = generate(*args, **kwargs)
        generating.append(time.perf_counter() - begin)
        return result

    trainer._generate_single_turn = timed
    begin = time.perf_counter()
    trainer.train()
    wall = time.perf_counter() - begin
    later = generating[1:] or generating
    generate_s = sum(later) / len(later)
    on_gpu = {"peak_gpu_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2)} if gpu else {}
    print(json.dumps({
        "peer": "trl", "model": a.model, "device": "cuda" if gpu else "cpu", "dtype": a.dtype,
        "threads": a.threads, "sequences": sequences, "prompt_tokens": a.prompt_tokens,
        "new_tokens": a.new_tokens, "s_per_step": round(wall / a.steps, 3),
        "generate_s": round(generate_s, 3),
        "generate_tok_s": round(sequences * a.new_tokens / generate_s, 1),
        "peak_rss_gib": round(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2), **on_gpu}), flush=True)


main()
