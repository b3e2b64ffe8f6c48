"""Saved adapters in PEFT: they load on the base model, and give what the merged export gives."""
import json
import subprocess

import harness
from harness import case, tiny_model

SMALL = dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2)


def train(directory, out, *targets):
    return subprocess.run([harness.BIN / "train_lora", directory, out, *targets],
                          capture_output=True, text=True, timeout=120)


def logits(model):
    import torch
    with torch.no_grad():
        return model(torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12, 13, 14]])).logits[0].float()


def check(name, family, targets, **settings):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM
    directory, model = tiny_model(name, family, **SMALL, **settings)
    out = harness.SCRATCH / f"{name}-trained"
    done = train(directory, out, *targets)
    assert done.returncode == 0, done.stderr
    base = logits(model)
    adapted = logits(PeftModel.from_pretrained(model, out / "adapter").eval())
    merged = logits(AutoModelForCausalLM.from_pretrained(out).eval())
    worst = (adapted - merged).abs().max().item()
    assert worst <= 1e-4, f"max difference {worst}"
    assert (adapted - base).abs().max().item() > 0.1, "the adapters changed nothing"
    config = json.loads((out / "adapter/adapter_config.json").read_text())
    assert config["r"] == 4 and config["lora_alpha"] == 6, config
    assert sorted(config["target_modules"]) == sorted(targets), config
    assert config["base_model_name_or_path"] == str(directory), config


@case
def llama_all_targets():
    check("a", "llama", ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
                         "down_proj"], num_attention_heads=6, num_key_value_heads=2,
          tie_word_embeddings=True)


@case
def qwen2_two_targets():
    check("b", "qwen2", ["v_proj", "down_proj"], num_attention_heads=4, num_key_value_heads=2,
          tie_word_embeddings=False)


@case
def a_target_that_does_not_exist_is_named():
    directory, _ = tiny_model("c", "llama", num_attention_heads=4, num_key_value_heads=2, **SMALL)
    done = train(directory, harness.SCRATCH / "c-trained", "c_attn")
    assert done.returncode == 1 and "no target 'c_attn'; valid: q_proj" in done.stderr, done.stderr


harness.main()
