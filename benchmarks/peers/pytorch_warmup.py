#!/usr/bin/env python3
"""Supervised warm-up as a plain PyTorch loop: batches padded to their longest example.

    pytorch_warmup.py --model DIR --examples prompts/warmup.jsonl [--batches 6] [--batch-size 8]

bf16 weights with an fp32 master copy, AdamW, loss on the answer alone. Prints one JSON line:
learned_tok_s, answer tokens a second without the first batch.
"""
import argparse
import json
import os
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

REQUEST = "Rewrite this function so that it runs faster. Keep its name and signature."


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(17)
    tokenizer = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, dtype=torch.bfloat16)
    with open(a.examples) as file:
        examples = [json.loads(line) for line in file]
    order = torch.randperm(len(examples))[: a.batches * a.batch_size].tolist()
    sequences = []
    for example in (examples[i] for i in order):
        prose = example.get("prose", "")
        content = (prose + "\n\n" if prose else "") + REQUEST
        content += "\n```cpp\n" + example["prompt_code"] + "\n```"
        prompt = tokenizer.apply_chat_template([{"role": "user", "content": content}],
                                               add_generation_prompt=True, tokenize=False)
        answer = "```cpp\n" + example["rewrite"] + "\n```<|im_end|>\n"
        prompt_ids, answer_ids = tokenizer(prompt).input_ids, tokenizer(answer).input_ids
        sequences.append((prompt_ids, answer_ids))
    masters = [p.detach().float().requires_grad_() for p in model.parameters()]
    optimizer = torch.optim.AdamW(masters, lr=2e-4, betas=(0.9, 0.99), weight_decay=0)
    seconds, learned = [], []
    for b in range(a.batches):
        batch = sequences[b * a.batch_size : (b + 1) * a.batch_size]
        begin = time.perf_counter()
        longest = max(len(p) + len(r) for p, r in batch)
        ids = torch.zeros(len(batch), longest, dtype=torch.long)
        labels = torch.full_like(ids, -100)
        mask = torch.zeros_like(ids)
        for i, (prompt_ids, answer_ids) in enumerate(batch):
            n = len(prompt_ids) + len(answer_ids)
            ids[i, :n] = torch.tensor(prompt_ids + answer_ids)
            labels[i, len(prompt_ids) : n] = ids[i, len(prompt_ids) : n]
            mask[i, :n] = 1
        model(input_ids=ids, attention_mask=mask, labels=labels).loss.backward()
        for master, parameter in zip(masters, model.parameters()):
            master.grad = parameter.grad.float()
            parameter.grad = None
        torch.nn.utils.clip_grad_norm_(masters, 1.0)
        optimizer.step()
        with torch.no_grad():
            for master, parameter in zip(masters, model.parameters()):
                parameter.copy_(master)
        seconds.append(time.perf_counter() - begin)
        learned.append(int((labels != -100).sum()))
    print(json.dumps({"peer": "pytorch", "model": a.model, "threads": a.threads,
                      "batches": a.batches - 1,
                      "s_per_batch": round(sum(seconds[1:]) / len(seconds[1:]), 3),
                      "learned_tok_s": round(sum(learned[1:]) / sum(seconds[1:]), 1)}))


main()
