#!/usr/bin/env python3
"""Writes a tiny Llama model with random weights and a real tokenizer: a campaign of seconds.

make_tiny_model.py TOKENIZER_DIR OUT_DIR

The tokenizer and its chat template are those of TOKENIZER_DIR; the weights are two layers of width
64, seeded, so that every run of the tests sees the same model. Does nothing if OUT_DIR exists.
"""
import os
import pathlib
import shutil
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def main() -> None:
    tokenizer, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    if out.exists():
        return
    # Complete or not there: several tests may want it at the same time.
    unfinished = out.with_name(f"{out.name}.{os.getpid()}")
    unfinished.mkdir(parents=True)
    torch.manual_seed(17)
    config = LlamaConfig(
        vocab_size=49152, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=2048,
        tie_word_embeddings=True, bos_token_id=1, eos_token_id=2, pad_token_id=2)
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(unfinished)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                 "generation_config.json", "chat_template.jinja"):
        if (tokenizer / name).exists():
            shutil.copy(tokenizer / name, unfinished / name)
    try:
        unfinished.rename(out)
    except OSError:  # another was first
        shutil.rmtree(unfinished)


if __name__ == "__main__":
    main()
