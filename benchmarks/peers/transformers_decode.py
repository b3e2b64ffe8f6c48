#!/usr/bin/env python3
"""transformers.generate on the work of decode_bench: one JSON line for each batch.

    transformers_decode.py --model DIR [--batch 1 8 32] [--new-tokens 64]
    transformers_decode.py --shape 0.5b

Samples at temperature 1 without truncation from copies of one prompt. decode_tok_s leaves out the
prefill: the time of a call for one token is taken from that for all. The best of --repeats counts.
"""
import argparse
import json
import time

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

SHAPES = {
    "135m": lambda: LlamaForCausalLM(LlamaConfig(
        hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
        intermediate_size=1536, vocab_size=49152, max_position_embeddings=8192,
        tie_word_embeddings=True)),
    "0.5b": lambda: Qwen2ForCausalLM(Qwen2Config(
        hidden_size=896, num_hidden_layers=24, num_attention_heads=14, num_key_value_heads=2,
        intermediate_size=4864, vocab_size=151936, max_position_embeddings=8192,
        tie_word_embeddings=True)),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--shape", choices=SHAPES)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--prompt-tokens", type=int, default=256)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.model:
        model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.bfloat16)
    else:
        model = SHAPES[arguments.shape]().to(torch.bfloat16)
    model.eval()
    prompt = torch.tensor([(i * 7919 + 13) % 40000 for i in range(arguments.prompt_tokens)])

    def seconds(batch, tokens):
        ids = prompt.repeat(batch, 1)
        begin = time.perf_counter()
        model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens,
                       min_new_tokens=tokens, do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
                       pad_token_id=0)
        return time.perf_counter() - begin

    for batch in arguments.batch:
        best = min(seconds(batch, arguments.new_tokens) - seconds(batch, 1)
                   for _ in range(arguments.repeats))
        steps = arguments.new_tokens - 1
        print(json.dumps({"peer": "transformers", "model": arguments.model or arguments.shape,
                          "dtype": "bfloat16", "threads": arguments.threads, "batch": batch,
                          "prompt_tokens": arguments.prompt_tokens,
                          "new_tokens": arguments.new_tokens,
                          "decode_tok_s": round(batch * steps / best, 1),
                          "step_ms": round(best / steps * 1e3, 2)}), flush=True)


main()
