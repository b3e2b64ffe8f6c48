"""What the conformance scripts compare on: a tokenizer and a tiny random model of every family.

The tokenizers are trained here, on this repository's sources and generated Unicode, but cut, normalise
and decode exactly as the family's own files say, and carry its added tokens. The models have
transformers' own configuration classes and random weights.
"""
import pathlib
import random

# Stretches of Unicode that every version in use agrees on.
RANGES = [(0x20, 0x7E), (0x20, 0x7E), (0x20, 0x7E), (0xA0, 0x17F), (0x300, 0x36F), (0x370, 0x3FF),
          (0x400, 0x45F), (0x5D0, 0x5EA), (0x621, 0x64A), (0x905, 0x939), (0xE01, 0xE3A),
          (0x1100, 0x1112), (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x2150, 0x218B), (0x2460, 0x24FF),
          (0x3000, 0x30FF), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0xFB00, 0xFB06), (0xFF10, 0xFF5E),
          (0x1D400, 0x1D454), (0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0, 0x1F)]
WORDS = ["for", "int", " sum", "\n", "\n\n", "    ", "\t", " +=", "std::vector<float>", "'s", "'LL",
         "don't", "I'VE", "1234567", "3.14e-5", "//", "/* c */", "{", "}", "();", " é", "e\u0301",
         "\u212B", "日本語", "שלום", "مرحبا", "🤦🏽‍♂️", "👩‍👩‍👧", "\u200b", "\u00a0", "\u2003", "\r\n", " \n ",
         "'\u017f", "\u0345", "\ufb01", "½", "Ⅳ", "٣", "\x00", "\x7f", "\u2028", "\x85", "\ufeff",
         "\u0f73", "q\u0323\u0307", "q\u0307\u0323", "\u1100\u1161\u11a8", "\ud55c", "\u0958", "\u2126",
         "a" * 40, " " * 17, "\n" * 9, "=" * 33]

# As tokenizer.json of each family has it: how text is cut, whether it is normalised, and the added
# tokens (all matched in the raw text; False: not special).
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = [("<|endoftext|>", True), ("<|im_start|>", True), ("<|im_end|>", True),
        ("<|object_ref_start|>", True), ("<|vision_pad|>", True), ("<tool_call>", False),
        ("</tool_call>", False), ("<|fim_prefix|>", False), ("<|repo_name|>", False)]
FAMILIES = {
    "qwen2": dict(regex=CONTRACTIONS + r"\p{N}" + TAIL, nfc=True, added=QWEN),
    "qwen3": dict(regex=CONTRACTIONS + r"\p{N}" + TAIL, nfc=True, added=QWEN + [
        ("<tool_response>", False), ("</tool_response>", False), ("<think>", False),
        ("</think>", False)]),
    "llama3": dict(regex=CONTRACTIONS + r"\p{N}{1,3}" + TAIL, ignore_merges=True, added=[
        ("<|begin_of_text|>", True), ("<|end_of_text|>", True),
        ("<|reserved_special_token_0|>", True), ("<|finetune_right_pad_id|>", True),
        ("<|start_header_id|>", True), ("<|end_header_id|>", True), ("<|eom_id|>", True),
        ("<|eot_id|>", True), ("<|python_tag|>", True)]),
    "smollm2": dict(digits=True, added=[
        ("<|endoftext|>", True), ("<|im_start|>", True), ("<|im_end|>", True),
        ("<repo_name>", True), ("<file_sep>", True), ("<empty_output>", True)]),
    "gpt2": dict(added=[("<|endoftext|>", True)]),
}


def sources():
    root = pathlib.Path(__file__).resolve().parents[2]
    files = sorted(root.glob("common/*.cc")) + sorted(root.glob("tests/conformance/*.py"))
    return "".join(path.read_text() for path in files)


def any_text(rng, length):
    return "".join(chr(rng.randint(*rng.choice(RANGES))) for _ in range(length))


def strings(specials, count, seed):
    """Random Unicode, glued words, pieces of real code, specials inside text, very long words."""
    rng = random.Random(seed)
    code = sources()
    texts = ["", " ", "a", "\n", *WORDS, *specials, "".join(specials), "é" * 3000, "x" * 20000,
             "\u0301" * 500, "日" * 5000, " ".join(["word"] * 3000),
             "".join(chr(c) for c in range(0x250))]
    while len(texts) < count:
        kind = rng.randrange(4)
        if kind == 0:
            texts.append(any_text(rng, rng.randint(1, 24)))
        elif kind == 1:
            texts.append("".join(rng.choices(WORDS, k=rng.randint(1, 16))))
        elif kind == 2:
            at = rng.randrange(len(code))
            texts.append(code[at:at + rng.randint(1, 200)])
        else:
            texts.append("".join(rng.choices([*specials, *WORDS, " <|im_", "|>", "<|"],
                                             k=rng.randint(1, 10))))
    return texts


def write_tokenizer(directory, pre_tokenizer, vocab, normalizer=None, ignore_merges=False,
                    initial=(), added=()):
    """DIRECTORY/tokenizer.json, trained to `vocab` tokens; `initial` gets the first ids, `added` the
    last ones."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    rng = random.Random(vocab)
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    texts = [sources(), " ".join(WORDS)] + [any_text(rng, 40) for _ in range(500)]
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocab, special_tokens=list(initial), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    for token in added:
        tokenizer.add_tokens([token])
    tokenizer.save(str(directory / "tokenizer.json"))


def write_family_tokenizer(directory, family, vocab=3000):
    from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers as pre
    spec = FAMILIES[family]
    if "regex" in spec:
        cut = pre.Sequence([pre.Split(Regex(spec["regex"]), "isolated", invert=False),
                            pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    elif spec.get("digits"):
        cut = pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)])
    else:
        cut = pre.ByteLevel(add_prefix_space=False)
    write_tokenizer(directory, cut, vocab, normalizers.NFC() if spec.get("nfc") else None,
                    spec.get("ignore_merges", False),
                    added=[AddedToken(content, normalized=False, special=special)
                           for content, special in spec["added"]])


def write_model(directory, family, seed=0, vocab=400, scale=1.0, shard=None, context=512, **settings):
    """Writes a random model of a family and returns it in float32."""
    import torch
    import transformers
    prefix = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}[family]
    torch.manual_seed(seed)
    config = getattr(transformers, prefix + "Config")(
        vocab_size=vocab, max_position_embeddings=context, bos_token_id=1, eos_token_id=2,
        pad_token_id=2, **settings)
    model = getattr(transformers, prefix + "ForCausalLM")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # transformers starts norms at 1 and biases at 0, which would hide a mistake in them.
            parameter.add_(torch.randn_like(parameter) * 0.05 * scale)
    model.save_pretrained(directory, **({"max_shard_size": shard} if shard else {}))
    return model
