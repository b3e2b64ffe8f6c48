#!/usr/bin/env python3
"""Measures how much of a problem's programs a worked example shows, or a problem of another split.

    python3 prompts/overlap.py                       # the nearest example of every problem, then the
    python3 prompts/overlap.py --examples FILE.jsonl # nearest program of another split of each held out

A program is a list of tokens without comments, types and qualifiers; the head of a counting loop is one
token, and every body has its braces. Its n-grams are of N = 14 such tokens, in which names are numbered
in the order of their first use there: renamed or retyped code has the same n-grams. The overlap of an
example with a program is the share of the program's n-grams that the example's reference or rewrite
has. From THRESHOLD = 0.5 on the example gives the problem away. (Containment of n-grams, as in
Brown et al., "Language Models are Few-Shot Learners", appendix C, with names and types removed.)

Likewise a reference or an expert of one split gives away one of a held-out problem of another split. Then the exit
code is 1.

Longer n-grams miss a transposition that is written by tiles; shorter ones take sums over a matrix's
columns for a matrix product.
"""
import argparse
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
N = 14
THRESHOLD = 0.5

KEYWORDS = set("for while do if else return switch case break continue goto sizeof".split())
TYPES = set("float double int unsigned signed char short long bool void auto const constexpr static "
            "inline volatile register restrict __restrict __restrict__ size_t ptrdiff_t int8_t int16_t "
            "int32_t int64_t uint8_t uint16_t uint32_t uint64_t".split())
TOKEN = re.compile(r"[A-Za-z_]\w*|0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?|<<=|>>=|[-+*/%&|^<>=!]=|"
                   r"\+\+|--|&&|\|\||<<|>>|->|::|[^\s\w]")
COUNTING_LOOP = re.compile(r"for \( (\w+) = ([^;]+) ; \1 < ([^;]+) ; (?:\1 \+\+|\+\+ \1|\1 \+= 1) \)")


def tokens(code):
    code = re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", "", code, flags=re.S | re.M)
    # 2.0f is 2, 1u is 1.
    code = re.sub(r"\b(\d+)(?:\.0*)?[fFuUlL]*\b(?!\.)", r"\1", code)
    words = " ".join(word for word in TOKEN.findall(code) if word not in TYPES)
    words = COUNTING_LOOP.sub("LOOP", words).split()
    return with_braces(words)


def with_braces(words):
    """`LOOP statement ;` becomes `LOOP { statement ; }`."""
    result, at = [], 0
    while at < len(words):
        result.append(words[at])
        if words[at] == "LOOP" and at + 1 < len(words) and words[at + 1] not in ("{", "LOOP", "for", "if"):
            end = at + 1
            while end < len(words) - 1 and words[end] != ";":
                end += 1
            result += ["{"] + words[at + 1:end + 1] + ["}"]
            at = end
        at += 1
    return result


def is_name(word):
    return (word[0].isalpha() or word[0] == "_") and word not in KEYWORDS and word != "LOOP" \
        and not word.startswith("_mm")


def shape(words):
    numbers = {}
    return tuple(f"v{numbers.setdefault(word, len(numbers))}" if is_name(word) else word
                 for word in words)


def ngrams(code):
    """Of a function's body; what stands before it names parameters and types only."""
    words = tokens(code[code.find("{"):])
    return {shape(words[at:at + N]) for at in range(max(1, len(words) - N + 1))}


def codes_by_split():
    """(split, problem, section, code) of every program of every prompt file; the front matter names the split."""
    for path in sorted(HERE.glob("*.md")) + sorted(HERE.glob("valid/*.md")) + sorted(HERE.glob("test/*.md")):
        text = path.read_text()
        split = re.search(r"^split: (\w+)", text.split("\n---\n")[0], re.M)
        for section in ("reference", "expert"):
            code = re.search(rf"^## {section}\b.*?```cpp\n(.*?)```", text, re.S | re.M)
            if code and path.name != "README.md":
                yield split[1] if split else "train", path.stem, section, code[1]


def codes():
    """(problem, section, code) of the same programs."""
    return [program for _, *program in codes_by_split()]


def problems():
    """(problem, section, n-grams) of the same programs."""
    return [(problem, section, ngrams(code)) for problem, section, code in codes()]


def shown(example):
    return ngrams(example["prompt_code"]) | ngrams(example["rewrite"])


def overlap(program, example):
    """The share of the program's n-grams that the example's have too; both are sets."""
    return len(program & example) / len(program)


def given_away(example, programs):
    """Names the program that the example gives away, with the overlap; None if there is none."""
    grams = shown(example)
    share, name = max((overlap(program, grams), f"{problem}'s {section}")
                      for problem, section, program in programs)
    return f"{name} ({share:.2f})" if share >= THRESHOLD else None


def across_splits():
    """(share, problem, section, nearest): every held-out program, and what of another split shows most of it."""
    programs = [(split, problem, section, ngrams(code)) for split, problem, section, code in codes_by_split()]
    for split, problem, section, program in programs:
        if split != "train":
            share, nearest = max((overlap(program, shown_there), f"{name}'s {part}, {where}")
                                 for where, name, part, shown_there in programs if where != split)
            yield share, problem, section, nearest


def show(shares, advice):
    """Prints (share, problem, section, nearest) a line; returns how many are given away, which stderr names too."""
    given = 0
    for share, problem, section, nearest in shares:
        mark = " <- given away" if share >= THRESHOLD else ""
        print(f"{problem:24} {section:9} {share:5.2f}  {nearest}{mark}")
        if mark:
            given += 1
            print(f"{problem}'s {section} is given away by {nearest} ({share:.2f}): {advice}", file=sys.stderr)
    return given


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--examples", default=HERE / "warmup.jsonl")
    options = parser.parse_args()
    examples = [json.loads(line) for line in pathlib.Path(options.examples).read_text().splitlines()]
    examples = [(shown(example), example["id"]) for example in examples]
    nearest_examples = (max((overlap(program, example), problem, section, f"the example {name}")
                            for example, name in examples) for problem, section, program in problems())
    given = show(nearest_examples, "drop it")
    print("\nHeld out, and the nearest program of another split:")
    given += show(across_splits(), "hold out another problem")
    return 1 if given else 0


if __name__ == "__main__":
    sys.exit(main())
