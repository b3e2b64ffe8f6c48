"""Log-probabilities against transformers: families, head counts, ways to write a directory."""
import json
import random

import harness
from harness import case, reference_logprobs, score, tiny_model

TOLERANCE = 1e-4
SMALL = dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2)


def check(directory, model, lengths=(1, 2, 3, 17, 64, 200), tolerance=TOLERANCE):
    rng = random.Random(5)
    vocab = model.config.vocab_size
    sequences = [[rng.randrange(vocab) for _ in range(n)] for n in lengths]
    worst = 0.0
    for ids, ours in zip(sequences, score(directory, sequences)):
        assert len(ours) == len(ids) - 1
        if len(ids) > 1:
            theirs = reference_logprobs(model, ids)
            worst = max([worst] + [abs(a - b) for a, b in zip(ours, theirs)])
    assert worst <= tolerance, f"max difference {worst}"


@case
def llama_tied_grouped_query():
    check(*tiny_model("a", "llama", num_attention_heads=6, num_key_value_heads=2,
                      tie_word_embeddings=True, **SMALL))


@case
def llama_untied_odd_heads():
    check(*tiny_model("b", "llama", num_attention_heads=3, num_key_value_heads=1,
                      tie_word_embeddings=False, rms_norm_eps=1e-5, **SMALL))


@case
def llama_own_head_dim_no_grouping():
    check(*tiny_model("c", "llama", num_attention_heads=5, num_key_value_heads=5, head_dim=14,
                      hidden_size=50, intermediate_size=70, num_hidden_layers=2,
                      tie_word_embeddings=False))


@case
def llama3_rope_scaling():
    check(*tiny_model("d", "llama", num_attention_heads=4, num_key_value_heads=2,
                      rope_parameters=dict(rope_type="llama3", rope_theta=10000.0, factor=8.0,
                                           low_freq_factor=1.0, high_freq_factor=4.0,
                                           original_max_position_embeddings=128), **SMALL))


@case
def qwen2_biases_untied():
    check(*tiny_model("e", "qwen2", num_attention_heads=14, num_key_value_heads=2, hidden_size=112,
                      intermediate_size=96, num_hidden_layers=2, tie_word_embeddings=False))


@case
def qwen2_tied():
    check(*tiny_model("f", "qwen2", num_attention_heads=2, num_key_value_heads=1,
                      tie_word_embeddings=True, rope_parameters=dict(rope_theta=1e6,
                                                                     rope_type="default"), **SMALL))


@case
def config_as_transformers_4_writes_it():
    directory, model = tiny_model("g", "llama", num_attention_heads=4, num_key_value_heads=2,
                                  rope_parameters=dict(rope_theta=2500.0, rope_type="default"),
                                  **SMALL)
    config = json.loads((directory / "config.json").read_text())
    config["rope_theta"] = config.pop("rope_parameters")["rope_theta"]
    config["rope_scaling"] = None
    config["torch_dtype"] = config.pop("dtype")
    (directory / "config.json").write_text(json.dumps(config))
    check(directory, model)


@case
def sharded_weights():
    directory, model = tiny_model("h", "llama", num_attention_heads=4, num_key_value_heads=4,
                                  shard="60KB", **SMALL)
    assert (directory / "model.safetensors.index.json").exists()
    check(directory, model)


@case
def half_precision_files():
    import torch
    from transformers import LlamaForCausalLM
    directory, model = tiny_model("i", "llama", num_attention_heads=4, num_key_value_heads=4, **SMALL)
    for dtype in (torch.float16, torch.bfloat16):
        model.to(dtype).save_pretrained(directory)
        check(directory, LlamaForCausalLM.from_pretrained(directory, dtype=torch.float32))


@case
def the_real_model():
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(harness.MODEL)
    model = AutoModelForCausalLM.from_pretrained(harness.MODEL, dtype=torch.float32)
    texts = ["int main() { return 0; }\n", "The capital of France is Paris.",
             "for (int i = 0; i < n; ++i) {\n  sum += a[i] * b[i];\n}\n" * 6]
    sequences = [tokenizer(text).input_ids for text in texts]
    exact = score(harness.MODEL, sequences)
    rough = score(harness.MODEL, sequences, dtype="bfloat16")
    ratios = []
    for ids, ours, bf16 in zip(sequences, exact, rough):
        theirs = reference_logprobs(model, ids)
        worst = max(abs(a - b) for a, b in zip(ours, theirs))
        assert worst <= TOLERANCE, f"max difference {worst}"
        ratios += [2.718281828 ** abs(a - b) for a, b in zip(bf16, theirs)]
    # bf16 weights are exact here; what differs is the rounding of activations.
    assert sum(ratios) / len(ratios) <= 1.05, sum(ratios) / len(ratios)


harness.main()
