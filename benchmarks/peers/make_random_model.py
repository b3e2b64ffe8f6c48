#!/usr/bin/env python3
"""A model of a Qwen2.5 shape with random weights and the small model's tokenizer.

    make_random_model.py --tokenizer DIR --out DIR [--shape 0.5b | 1.5b]

For speed, random weights of the right shape are as good as trained ones. Does nothing if OUT holds
a model already.
"""
import argparse
import os
import shutil

import torch
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--tokenizer", required=True)
parser.add_argument("--out", required=True)
parser.add_argument("--shape", default="0.5b", choices=["0.5b", "1.5b"])
a = parser.parse_args()
if not os.path.exists(os.path.join(a.out, "model.safetensors")):
    torch.manual_seed(1)
    tokenizer = AutoTokenizer.from_pretrained(a.tokenizer)
    shape = {
        "0.5b": dict(hidden_size=896, num_hidden_layers=24, num_attention_heads=14,
                     intermediate_size=4864),
        "1.5b": dict(hidden_size=1536, num_hidden_layers=28, num_attention_heads=12,
                     intermediate_size=8960)}[a.shape]
    model = Qwen2ForCausalLM(Qwen2Config(
        **shape, num_key_value_heads=2, vocab_size=151936, max_position_embeddings=8192,
        tie_word_embeddings=True, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id)).to(torch.bfloat16)
    work = a.out + ".new"
    shutil.rmtree(work, ignore_errors=True)
    model.save_pretrained(work)
    tokenizer.save_pretrained(work)
    shutil.rmtree(a.out, ignore_errors=True)
    os.rename(work, a.out)
