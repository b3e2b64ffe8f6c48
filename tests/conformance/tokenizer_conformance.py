"""Token ids and decoded text against the tokenizers library, on more than 100,000 strings."""
import json
import random
import shutil

import fixtures
import harness
from harness import case, trainer


def reference_of(directory):
    from tokenizers import Tokenizer
    return Tokenizer.from_file(str(directory / "tokenizer.json"))


def compare(directory, count, seed=1):
    reference = reference_of(directory)
    specials = [t.content for t in reference.get_added_tokens_decoder().values()]
    texts = fixtures.strings(specials[:12], count, seed)
    lines = trainer("tokenize", "--model", directory, "--texts", "-",
                    lines=[{"text": text} for text in texts])
    assert len(lines) == len(texts) == count
    for text, line in zip(texts, lines):
        ids = reference.encode(text, add_special_tokens=False).ids
        assert line["ids"] == ids, f"{text!r}: {line['ids'][:40]} instead of {ids[:40]}"
        decoded = reference.decode(ids, skip_special_tokens=False)
        assert line["text"] == decoded, f"{text!r}: {line['text']!r} instead of {decoded!r}"


def family(name):
    directory = harness.SCRATCH / name
    if not directory.exists():
        directory.mkdir()
        fixtures.write_family_tokenizer(directory, name)
    return directory


@case
def smollm2_itself():
    compare(harness.MODEL, 24000)


@case
def qwen2():
    compare(family("qwen2"), 22000, seed=2)


@case
def qwen3():
    compare(family("qwen3"), 14000, seed=3)


@case
def llama3():
    compare(family("llama3"), 22000, seed=4)


@case
def smollm2():
    compare(family("smollm2"), 6000, seed=5)


@case
def gpt2():
    compare(family("gpt2"), 6000, seed=6)


@case
def other_files():
    """Merges as strings, a blank put in front, runs of digits together, an own cut by \\p{M}."""
    from tokenizers import Regex, pre_tokenizers as pre
    cuts = [pre.ByteLevel(add_prefix_space=True),
            pre.Sequence([pre.Digits(individual_digits=False), pre.ByteLevel(add_prefix_space=False)]),
            pre.Sequence([pre.Split(Regex(r"[\p{L}\p{M}]+|\s+|[^\s\p{L}\p{M}]"), "isolated"),
                          pre.ByteLevel(add_prefix_space=True, use_regex=False)])]
    for i, cut in enumerate(cuts):
        directory = harness.SCRATCH / f"other{i}"
        directory.mkdir()
        fixtures.write_tokenizer(directory, cut, 1500, initial=["<|endoftext|>"])
        path = directory / "tokenizer.json"
        root = json.loads(path.read_text())
        root["model"]["merges"] = [" ".join(pair) for pair in root["model"]["merges"]]
        path.write_text(json.dumps(root))
        compare(directory, 3000, seed=10 + i)


@case
def flags_of_added_tokens():
    from tokenizers import AddedToken, normalizers, pre_tokenizers as pre
    added = [AddedToken("<w>", single_word=True, normalized=False),
             AddedToken("word", single_word=True, normalized=True),
             AddedToken("<l>", lstrip=True, normalized=False),
             AddedToken("<r>", rstrip=True, normalized=False, special=True),
             AddedToken("<lr>", lstrip=True, rstrip=True, normalized=True),
             AddedToken("<lw>", lstrip=True, single_word=True, normalized=False),
             AddedToken("e\u0301!", normalized=True), AddedToken("<w", normalized=False),
             AddedToken("sum", normalized=False), AddedToken("um of", normalized=True),
             AddedToken(" of", normalized=True, rstrip=True), AddedToken("日本", single_word=True)]
    extra = [t.content for t in added] + ["é!", "summer", "um of", "a<w>", "<w>b", "_", "-", "\u200d",
                                          "Ⓐ", "\u00b2", " \u2003", "\u1680"]
    for i, normalizer in enumerate((None, normalizers.NFC())):
        directory = harness.SCRATCH / f"flags{i}"
        directory.mkdir()
        fixtures.write_tokenizer(directory, pre.ByteLevel(add_prefix_space=i == 1), 1200, normalizer,
                                 added=added)
        reference = reference_of(directory)
        rng = random.Random(i)
        texts = ["".join(rng.choices(extra + fixtures.WORDS[:24], k=rng.randint(1, 9)))
                 for _ in range(6000)]
        lines = trainer("tokenize", "--model", directory, "--texts", "-",
                        lines=[{"text": text} for text in texts])
        assert len(lines) == len(texts)
        for text, line in zip(texts, lines):
            ids = reference.encode(text, add_special_tokens=False).ids
            assert line["ids"] == ids, f"{text!r}: {line['ids']} instead of {ids}"


@case
def any_ids_decode_and_stream():
    """Random ids, most of which cut characters apart: the whole text is that of the reference, and the
    pieces that come token by token join to it."""
    rng = random.Random(7)
    for name in ("qwen3", "llama3", "smollm2"):
        directory = family(name)
        reference = reference_of(directory)
        size = reference.get_vocab_size()
        bytes_of = [reference.token_to_id(c) for c in "âĢĶðŁĺĢÃ©íķľ" if reference.token_to_id(c)]
        lines = []
        for _ in range(2500):
            ids = [rng.choice(bytes_of) if rng.random() < 0.5 else rng.randrange(size)
                   for _ in range(rng.randint(0, 20))]
            lines.append({"ids": ids, "skip_special": rng.random() < 0.5})
        out = trainer("tokenize", "--model", directory, "--texts", "-", lines=lines)
        assert len(out) == len(lines)
        waited = 0
        for line, ours in zip(lines, out):
            theirs = reference.decode(line["ids"], skip_special_tokens=line["skip_special"])
            assert ours["text"] == theirs, f"{line}: {ours['text']!r} instead of {theirs!r}"
            assert "".join(ours["pieces"]) == theirs, f"{line}: {ours['pieces']}"
            assert len(ours["pieces"]) == len(line["ids"]) + 1  # what was still open comes last
            waited += any(piece == "" for piece in ours["pieces"][:-1])
        assert waited > 500
    odd = [-1, 10**9, -2**31, 2**31 - 1]
    assert trainer("tokenize", "--model", directory, "--texts", "-",
                   lines=[{"ids": odd}])[0]["text"] == ""


@case
def unsupported_tokenizers_are_refused():
    directory = harness.SCRATCH / "refused"
    directory.mkdir()
    fixtures.write_family_tokenizer(directory, "gpt2", vocab=500)
    good = json.loads((directory / "tokenizer.json").read_text())
    for key, value, message in (
            ("normalizer", {"type": "Lowercase"}, "Lowercase"),
            ("pre_tokenizer", {"type": "Metaspace"}, "Metaspace"),
            ("decoder", {"type": "Metaspace"}, "decoder Metaspace"),
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
