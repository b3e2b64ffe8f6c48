"""Generation against transformers and against itself."""
import collections
import math
import pathlib

import harness
from harness import case, generate, reference_logprobs, score, tiny_model

SMALL = dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2)
PROMPTS = [{"prompt": "def main():\n    return"}, {"prompt": "import os"},
           {"prompt": "x"}, {"prompt": "for a in range(10): print(a) " * 6}]


def model_of(name, family="llama", **more):
    settings = dict(num_attention_heads=6, num_key_value_heads=2, tie_word_embeddings=True, **SMALL)
    settings.update(more)
    return tiny_model(name, family, scale=3.0, **settings)


def encode(directory, prompts):
    lines = harness.trainer("tokenize", "--model", directory, "--texts", "-",
                            lines=[{"text": p["prompt"]} for p in prompts])
    return [line["ids"] for line in lines]


@case
def greedy_equals_transformers():
    import torch
    for name, family in (("a", "llama"), ("b", "qwen2")):
        directory, model = model_of(name, family)
        completions, _ = generate(directory, PROMPTS, n=2, tokens=24, temperature=0,
                                  options=("--dtype", "float32", "--ignore-eos"))
        for i, ids in enumerate(encode(directory, PROMPTS)):
            out = model.generate(torch.tensor([ids]), max_new_tokens=24, min_new_tokens=24,
                                 do_sample=False)[0].tolist()
            # min_new_tokens bans eos, which greedy decoding here may choose: compare up to it.
            theirs = out[len(ids):]
            ours = completions[i, 0]["ids"]
            if 2 in ours:
                cut = ours.index(2)
                ours, theirs = ours[:cut], theirs[:cut]
            assert ours == theirs, f"{name}, prompt {i}: {ours} {theirs}"
            assert completions[i, 1]["ids"] == completions[i, 0]["ids"]


@case
def repetition_penalty_equals_transformers():
    import torch
    directory, model = model_of("r")
    completions, _ = generate(directory, PROMPTS, tokens=40, temperature=0,
                              options=("--dtype", "float32", "--repetition-penalty", 1.3))
    free, _ = generate(directory, PROMPTS, tokens=40, temperature=0,
                       options=("--dtype", "float32"))
    for i, ids in enumerate(encode(directory, PROMPTS)):
        out = model.generate(torch.tensor([ids]), max_new_tokens=40, do_sample=False,
                             repetition_penalty=1.3)[0].tolist()
        assert completions[i, 0]["ids"] == out[len(ids):], f"prompt {i}"
    assert any(completions[key]["ids"] != free[key]["ids"] for key in free)


@case
def guessed_tokens_change_nothing():
    """Greedy decoding of code that repeats itself: the same tokens in fewer steps."""
    prompt = [{"prompt": "int a0 = f(0);\nint a1 = f(1);\nint a2 = f(2);\nint a3 = f(3);\nint a4 ="}]
    for temperature in (0, 0.7):
        guessed, with_guesses = generate(harness.MODEL, prompt, tokens=80, temperature=temperature)
        plain, without = generate(harness.MODEL, prompt, tokens=80, temperature=temperature,
                                  options=("--no-prompt-lookup",))
        assert guessed[0, 0]["ids"] == plain[0, 0]["ids"]
        assert guessed[0, 0]["logprobs"] == plain[0, 0]["logprobs"]
        assert without["drafted"] == 0
        assert with_guesses["steps"] + with_guesses["accepted"] == without["steps"]


@case
def decode_equals_prefill_float32():
    directory, model = model_of("c")
    prompts = encode(directory, PROMPTS)
    completions, _ = generate(directory, PROMPTS, n=5, tokens=70,
                              options=("--dtype", "float32", "--ignore-eos"))
    worst_self = worst_reference = 0.0
    keys = sorted(completions)
    assert len(keys) == 20
    scored = score(directory, [prompts[i] + completions[i, j]["ids"] for i, j in keys])
    for (i, j), logprobs in zip(keys, scored):
        c = completions[i, j]
        assert len(c["ids"]) == len(c["logprobs"]) == 70 and c["finish"] == "length"
        tail = logprobs[len(prompts[i]) - 1:]
        worst_self = max(worst_self, *(abs(a - b) for a, b in zip(c["logprobs"], tail)))
        reference = reference_logprobs(model, prompts[i] + c["ids"])[len(prompts[i]) - 1:]
        worst_reference = max(worst_reference,
                              *(abs(a - b) for a, b in zip(c["logprobs"], reference)))
    assert worst_self <= 1e-5, worst_self
    assert worst_reference <= 1e-4, worst_reference


@case
def decode_equals_prefill_bfloat16_real_model():
    chat = [{"messages": [{"role": "user", "content": "Add two arrays in C++."}]},
            {"prompt": "int main() {"}]
    prompts = [line["ids"] for line in harness.trainer(
        "tokenize", "--model", harness.MODEL, "--texts", "-",
        lines=[chat[0], {"text": chat[1]["prompt"]}])]
    completions, _ = generate(harness.MODEL, chat, n=4, tokens=48, options=("--dtype", "bfloat16"))
    keys = sorted(completions)
    scored = score(harness.MODEL, [prompts[i] + completions[i, j]["ids"] for i, j in keys],
                   dtype="bfloat16")
    ratios = []
    for (i, j), logprobs in zip(keys, scored):
        tail = logprobs[len(prompts[i]) - 1:]
        ratios += [math.exp(abs(a - b)) for a, b in zip(completions[i, j]["logprobs"], tail)]
    mean = sum(ratios) / len(ratios)
    # On a CPU with AVX-512 BF16 the two are even bitwise equal. Without it LibTorch's operators sum in other orders for one
    # row than for many, and nobody computes in bf16 there unless asked to.
    own_kernels = "avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text()
    assert mean <= (1.01 if own_kernels else 1.02), mean


def chi_square(counts, probabilities):
    """Statistic over its degrees of freedom's mean, in standard deviations (cells of 5 or more)."""
    total = sum(counts.values())
    statistic, cells, rest_count, rest_p = 0.0, 0, 0, 0.0
    for token, p in enumerate(probabilities):
        if p * total >= 5:
            statistic += (counts.get(token, 0) - p * total) ** 2 / (p * total)
            cells += 1
        else:
            rest_count += counts.get(token, 0)
            rest_p += p
    if rest_p * total >= 5:
        statistic += (rest_count - rest_p * total) ** 2 / (rest_p * total)
        cells += 1
    assert cells >= 3
    return (statistic - (cells - 1)) / math.sqrt(2 * (cells - 1))


def distribution(model, ids, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0,
                 repetition_penalty=1.0):
    """transformers' own processors and warpers applied to its logits, in its order."""
    import torch
    from transformers import (MinPLogitsWarper, RepetitionPenaltyLogitsProcessor,
                              TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[:, -1].float()
    if repetition_penalty != 1:
        logits = RepetitionPenaltyLogitsProcessor(repetition_penalty)(torch.tensor([ids]), logits)
    logits = TemperatureLogitsWarper(temperature)(None, logits)
    if top_k:
        logits = TopKLogitsWarper(top_k)(None, logits)
    if top_p < 1:
        logits = TopPLogitsWarper(top_p)(None, logits)
    if min_p > 0:
        logits = MinPLogitsWarper(min_p)(None, logits)
    return torch.log_softmax(logits, -1)[0].tolist()


@case
def sampled_frequencies_and_logprobs():
    directory, model = model_of("d")
    ids = encode(directory, PROMPTS[:1])[0]
    settings = [dict(), dict(temperature=0.6), dict(temperature=1.3, top_k=7),
                dict(temperature=1.0, top_p=0.6), dict(temperature=0.8, top_k=20, top_p=0.8),
                dict(min_p=0.15), dict(repetition_penalty=1.5),
                dict(temperature=1.2, top_k=30, top_p=0.95, min_p=0.05, repetition_penalty=0.8)]
    for k, setting in enumerate(settings):
        options = ["--dtype", "float32", "--ignore-eos"]
        for key, value in setting.items():
            if key != "temperature":
                options += ["--" + key.replace("_", "-"), value]
        completions, _ = generate(directory, PROMPTS[:1], n=6000, tokens=2, seed=k,
                                  temperature=setting.get("temperature", 1.0), options=options)
        first = distribution(model, ids, **setting)
        counts = collections.Counter(c["ids"][0] for c in completions.values())
        deviation = chi_square(counts, [math.exp(l) for l in first])
        assert deviation < 4.5, f"{setting}: first token {deviation}"
        assert all(first[token] > -math.inf for token in counts), f"{setting}: beyond the set"
        # The second token comes from the decoding path: condition on the commonest first.
        common = counts.most_common(1)[0][0]
        second = distribution(model, ids + [common], **setting)
        pairs = [c for c in completions.values() if c["ids"][0] == common]
        if len(pairs) > 500:
            counts = collections.Counter(c["ids"][1] for c in pairs)
            deviation = chi_square(counts, [math.exp(l) for l in second])
            assert deviation < 4.5, f"{setting}: second token {deviation}"
        for c in completions.values():
            assert abs(c["logprobs"][0] - first[c["ids"][0]]) < 1e-4, (setting, c, first[c["ids"][0]])
        for c in pairs:
            assert abs(c["logprobs"][1] - second[c["ids"][1]]) < 1e-4, (setting, c)


@case
def end_of_sequence_and_stop_strings():
    directory, model = model_of("e")
    completions, _ = generate(directory, PROMPTS, n=64, tokens=60, seed=3,
                              options=("--dtype", "float32"))
    finishes = collections.Counter(c["finish"] for c in completions.values())
    for c in completions.values():
        assert 2 not in c["ids"][:-1]
        assert (c["finish"] == "stop") == (c["ids"][-1] == 2)
        assert "<|im_end|>" not in c["text"]
    assert finishes["stop"] > 0 and finishes["length"] > 0, finishes
    free, _ = generate(directory, PROMPTS[:1], n=64, tokens=60, seed=3,
                       options=("--dtype", "float32", "--ignore-eos"))
    stopped, _ = generate(directory, PROMPTS[:1], n=64, tokens=60, seed=3,
                          options=("--dtype", "float32", "--ignore-eos", "--stop", "e", "--stop",
                                   "in"))
    hits = 0
    for key, c in stopped.items():
        whole = free[key]
        cut = min([whole["text"].find(s) for s in ("e", "in") if s in whole["text"]], default=-1)
        assert whole["ids"][:len(c["ids"])] == c["ids"]
        assert c["finish"] == ("length" if cut < 0 else "stop")
        assert c["text"] == (whole["text"] if cut < 0 else whole["text"][:cut])
        hits += cut >= 0
    assert hits > 0
    # A token of its own choosing, and a deadline that has passed when the first token is there.
    key, whole = next(iter(free.items()))
    token = whole["ids"][7]
    stopped, _ = generate(directory, PROMPTS[:1], n=64, tokens=60, seed=3,
                          options=("--dtype", "float32", "--ignore-eos", "--stop-id", token))
    cut = whole["ids"].index(token) + 1
    assert stopped[key]["ids"] == whole["ids"][:cut] and stopped[key]["finish"] == "stop"
    late, _ = generate(directory, PROMPTS[:1], n=2, tokens=60, seed=3,
                       options=("--dtype", "float32", "--ignore-eos", "--deadline", 1e-9))
    assert all(c["finish"] == "deadline" and len(c["ids"]) == 1 for c in late.values())


@case
def same_seed_same_tokens():
    directory, _ = model_of("f")
    one, _ = generate(directory, PROMPTS, n=3, tokens=20, seed=9)
    two, _ = generate(directory, PROMPTS, n=3, tokens=20, seed=9)
    assert {k: c["ids"] for k, c in one.items()} == {k: c["ids"] for k, c in two.items()}
    three, _ = generate(directory, PROMPTS, n=3, tokens=20, seed=10)
    assert {k: c["ids"] for k, c in one.items()} != {k: c["ids"] for k, c in three.items()}


@case
def bad_input_is_refused():
    directory, _ = model_of("i")
    run = harness.trainer
    assert "-:2:" in run("tokenize", "--model", directory, "--texts", "-", expect=2,
                         lines=[{"text": "x"}, {"txt": "y"}])
    assert "not in the vocabulary of 400" in run("score", "--model", directory, "--tokens", "-",
                                                 lines=[{"ids": [1, 400]}], expect=2)
    assert "-1" in run("score", "--model", directory, "--tokens", "-", lines=[{"ids": [-1]}],
                       expect=2)
    assert "context of 512" in run("score", "--model", directory, "--tokens", "-",
                                   lines=[{"ids": [1] * 513}], expect=2)
    long = [{"prompt": "a b " * 600}]
    assert "context of 512" in run("generate", "--model", directory, "--prompts", "-", lines=long,
                                   expect=2)
    assert "chat template" in run("generate", "--model", directory, "--prompts", "-", expect=2,
                                  lines=[{"messages": [{"role": "user", "content": "x"}]}])
    assert "lower max_new_tokens" in run("generate", "--model", directory, "--prompts", "-",
                                         "--kv-mib", 0.01, lines=[{"prompt": "x"}], expect=3)
    assert "min_p is 2" in run("generate", "--model", directory, "--prompts", "-", "--min-p", 2,
                               lines=[{"prompt": "x"}], expect=2)
    assert "exclude each other" in run("generate", "--model", directory, "--prompts", "-",
                                       "--deterministic", "--deadline", 1, expect=2,
                                       lines=[{"prompt": "x"}])
    assert "top_p" in run("generate", "--model", directory, "--prompts", "-", "--top-p", 0,
                          lines=[{"prompt": "x"}], expect=2)
    assert "config.json" in run("score", "--model", harness.SCRATCH / "none", "--tokens", "-",
                                expect=2)
    run("score", "--model", directory, expect=2)
    weights = directory / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-3])
    assert str(weights) in run("score", "--model", directory, "--tokens", "-", expect=2)
    weights.unlink()
    assert "model.safetensors" in run("score", "--model", directory, "--tokens", "-", expect=2)
    weights.write_bytes(whole)
    (directory / "tokenizer.json").write_text("{")
    assert "tokenizer.json" in run("score", "--model", directory, "--tokens", "-", expect=2)
    (directory / "config.json").write_text('{"model_type": "mamba"}')
    assert "supported architectures" in run("score", "--model", directory, "--tokens", "-", expect=2)


@case
def profile_and_benchmark_say_what_took_time():
    directory, _ = model_of("profiled")
    for options in ((), ("--lora-rank", 2, "--activation-checkpointing", "full")):
        (report,) = harness.trainer("profile", "--model", directory, "--prompts", 2, "--group", 2,
                                    "--prompt-tokens", 12, "--new-tokens", 6, "--threads", 1,
                                    "--json", "--dtype", "bfloat16", *options)
        assert set(report) == {"machine", "step_s", "mfu", "parts", "peak_gib", "headroom_gib",
                               "bottleneck"}, report
        parts = {part["part"]: part for part in report["parts"]}
        wanted = {"prefill", "decode matmul", "decode elementwise", "decode attention", "sampling",
                  "forward matmul", "attention", "elementwise", "head", "backward matmul",
                  "attention backward", "weight gradient", "optimizer", "input", "other"}
        assert set(parts) == wanted | ({"recompute"} if options else set()), set(parts)
        assert abs(sum(part["s"] for part in parts.values()) - report["step_s"]) < 0.01
        assert abs(sum(part["share"] for part in parts.values()) - 1) < 0.01
        assert all(set(part) == {"part", "s", "share", "calls", "gflop", "gflop_per_s",
                                 "gbyte_per_s", "roofline_share"} for part in parts.values())
        # 2 prompts, and a step for each new token after the first.
        assert parts["prefill"]["calls"] == 2 and parts["decode matmul"]["calls"] <= 5
        assert report["headroom_gib"] > 0 and report["peak_gib"] > 0
        assert report["bottleneck"].startswith("The longest part is "), report["bottleneck"]
        assert {speed["dtype"] for speed in report["machine"]["matmul"]} == {"bf16"}

    (machine,) = harness.trainer("benchmark", "--device", "cpu", "--threads", 1, "--seconds", 0.3)
    assert set(machine) == {"device", "threads", "matmul", "read_gb_per_s",
                            "operator_overhead_us"}, machine
    assert machine["device"] == "cpu" and machine["threads"] == 1
    assert {speed["dtype"] for speed in machine["matmul"]} == {"fp32", "bf16", "fp16"}
    assert all(speed["gflop_per_s"] > 0 and speed["size"] >= 256 for speed in machine["matmul"])
    assert machine["read_gb_per_s"] > 0.1 and machine["operator_overhead_us"] > 0


harness.main()
