"""Token ids and decoded text against the tokenizers library, on thousands of strings."""
import pathlib
import random
import shutil

import harness
from harness import case, trainer

GPT4_LIKE = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
             r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
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
         "a" * 40, " " * 17, "\n" * 9, "=" * 33]


def sources():
    root = pathlib.Path(__file__).resolve().parents[2]
    files = sorted(root.glob("common/*.cc")) + sorted(root.glob("tests/conformance/*.py"))
    return "".join(path.read_text() for path in files)


def strings(specials, count, seed):
    """Random Unicode, glued words, pieces of real code, specials inside text."""
    rng = random.Random(seed)
    code = sources()
    texts = ["", " ", "a", "\n", *WORDS, *specials, "".join(specials), "é" * 3000, "x" * 20000,
             " ".join(["word"] * 3000), "".join(chr(c) for c in range(0x250))]
    while len(texts) < count:
        kind = rng.randrange(4)
        if kind == 0:
            texts.append("".join(chr(rng.randint(*rng.choice(RANGES)))
                                 for _ in range(rng.randint(1, 40))))
        elif kind == 1:
            texts.append("".join(rng.choice(WORDS) for _ in range(rng.randint(1, 25))))
        elif kind == 2:
            at = rng.randrange(len(code))
            texts.append(code[at:at + rng.randint(1, 300)])
        else:
            texts.append("".join(rng.choice([*specials, *WORDS, " <|im_", "|>", "<|"])
                                 for _ in range(rng.randint(1, 12))))
    return texts


def compare(directory, count, seed=1):
    from tokenizers import Tokenizer
    reference = Tokenizer.from_file(str(directory / "tokenizer.json"))
    specials = [t.content for t in reference.get_added_tokens_decoder().values()]
    texts = strings(specials[:12], count, seed)
    lines = trainer("tokenize", "--model", directory, "--texts", "-",
                    lines=[{"text": text} for text in texts])
    assert len(lines) == len(texts)
    for text, line in zip(texts, lines):
        ids = reference.encode(text, add_special_tokens=False).ids
        assert line["ids"] == ids, f"{text!r}: {line['ids'][:40]} instead of {ids[:40]}"
        decoded = reference.decode(ids, skip_special_tokens=False)
        assert line["text"] == decoded, f"{text!r}: {line['text']!r} instead of {decoded!r}"


def trained(name, pre_tokenizer, normalizer=None, ignore_merges=False, string_merges=False):
    """A small tokenizer of the given kind in its own directory."""
    import json

    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    directory = harness.SCRATCH / name
    directory.mkdir()
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator([sources(), " ".join(WORDS)], trainers.BpeTrainer(
        vocab_size=1500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|endoftext|>"])
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False, special=False),
                          AddedToken("<|im_", normalized=False, special=False),
                          AddedToken("é!", normalized=True, special=False)])
    path = directory / "tokenizer.json"
    tokenizer.save(str(path))
    if string_merges:
        root = json.loads(path.read_text())
        root["model"]["merges"] = [" ".join(pair) for pair in root["model"]["merges"]]
        path.write_text(json.dumps(root))
    return directory


@case
def smollm2():
    compare(harness.MODEL, 6000)


@case
def qwen2_style_with_nfc():
    from tokenizers import Regex, normalizers, pre_tokenizers as pre
    cut = pre.Sequence([pre.Split(Regex(QWEN2), "isolated"),
                        pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    compare(trained("qwen2", cut, normalizers.NFC()), 4000, seed=2)


@case
def llama3_style_ignore_merges():
    from tokenizers import Regex, pre_tokenizers as pre
    cut = pre.Sequence([pre.Split(Regex(GPT4_LIKE), "isolated"),
                        pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    compare(trained("llama3", cut, ignore_merges=True), 4000, seed=3)


@case
def gpt2_style_string_merges_and_prefix_space():
    from tokenizers import pre_tokenizers as pre
    compare(trained("gpt2", pre.ByteLevel(add_prefix_space=True), string_merges=True), 3000, seed=4)


@case
def digits_together():
    from tokenizers import pre_tokenizers as pre
    cut = pre.Sequence([pre.Digits(individual_digits=False), pre.ByteLevel(add_prefix_space=False)])
    compare(trained("digits", cut), 2000, seed=5)


@case
def unsupported_tokenizers_are_refused():
    import json
    from tokenizers import pre_tokenizers as pre
    directory = trained("refused", pre.ByteLevel(add_prefix_space=False))
    good = json.loads((directory / "tokenizer.json").read_text())
    for key, value, message in (
            ("normalizer", {"type": "Lowercase"}, "Lowercase"),
            ("pre_tokenizer", {"type": "Metaspace"}, "Metaspace"),
            ("model", {**good["model"], "type": "WordPiece"}, "WordPiece"),
            ("model", {**good["model"], "byte_fallback": True}, "byte_fallback"),
            ("model", {**good["model"], "merges": [["zz", "qqq"]]}, "vocab lacks"),
            ("model", {}, "vocab"), ("added_tokens", [{"id": "x"}], "tokenizer.json")):
        (directory / "tokenizer.json").write_text(json.dumps({**good, key: value}))
        error = trainer("tokenize", "--model", directory, "--texts", "-", lines=[], expect=2)
        assert message in error and "tokenizer.json" in error, error
    shutil.rmtree(directory)
    assert "tokenizer.json" in trainer("tokenize", "--model", directory, "--texts", "-", lines=[],
                                       expect=2)


harness.main()
