"""Faster forms of drawn functions by the rules that also rewrite a user's own function (`whet rewrite`).

    for example, forms in zip(examples, by_rules(examples, program, seed)): …
    for example, forms in zip(examples, by_hints(examples, program, seed)): …

Rules propose; a form may be wrong or slow, and is checked and measured like what was drawn.
"""
import collections
import dataclasses
import json
import pathlib
import random
import re
import subprocess
import tempfile

import text as cpp
from example import MAX_CHARS

FORMS = 3        # of one function at most, no two by the same rule
FUNCTION = "rewritten_function"
FLAGS = ["-std=c++20", "-march=native"]
BATCH = 100      # functions in one request
TIMEOUT_S = 120  # of one request
# What the rules do whose forms were worth measuring when this was written, in the words of example.TECHNIQUES: of 16
# forms without branches none was 1.2 times as fast, and of 22 that end early or count with two pointers none was right.
# Rules that are not here were not tried.
TECHNIQUES = {
    "accumulators": "accumulators",
    "all turns side by side": "interchange",
    "turns side by side": "blocking",
    "turns in a group": "blocking",
    "exchanged loops": "interchange",
    "kept in a variable": "hoisting",
    "a table of bytes": "tables",
    "bits counted at once": "bit-tricks",
}
# Rules that only tell the compiler something.
HINTS = ["turns by a pragma", "no traps", "sums in any order", "unrolled loops", "optimized less"]
# Those that seldom harm, and so may be told besides another.
SECOND_HINTS = ["turns by a pragma", "sums in any order", "unrolled loops"]


def without_number(rule):
    return re.sub(r"^\d+ ", "", rule)


def proposed(program, sources):
    """What the program makes of each source, a list of (rule, source)."""
    result = []
    with tempfile.TemporaryDirectory() as folder:
        request, answer = pathlib.Path(folder, "request.json"), pathlib.Path(folder, "answer.json")
        for begin in range(0, len(sources), BATCH):
            request.write_text(json.dumps({"flags": FLAGS, "headers": cpp.HEADERS, "structs": "", "function": FUNCTION,
                                           "sources": sources[begin:begin + BATCH]}))
            run = subprocess.run([program, request, answer], check=False, timeout=TIMEOUT_S, stderr=subprocess.PIPE, text=True)
            if run.returncode != 0:
                raise RuntimeError(f"{program} ended with {run.returncode}: {run.stderr[-1000:]}")
            found = json.loads(answer.read_text())
            for source, refused in zip(sources[begin:begin + BATCH], found["refused"]):
                if refused:
                    print(f"  not rewritten: {refused}\n{source}")
            for rewrites in found["rewrites"]:
                result.append([(without_number(rewrite["rule"]), rewrite["source"]) for rewrite in rewrites])
    return result


def named(example, code):
    return re.sub(rf"\b{example.function}\b", FUNCTION, code)


def by_rules(examples, program, seed):
    """For each example up to FORMS examples of the same reference, rewritten by a rule each."""
    sources = [named(example, example.reference) for example in examples]
    return [chosen(example, rewrites, TECHNIQUES, FORMS, random.Random(f"{seed}/rules/{example.reference}"))
            for example, rewrites in zip(examples, proposed(program, sources))]


def by_hints(examples, program, seed):
    """For each example up to two of the same reference, copied with a hint, and with a second one besides."""
    result, sources = [[] for _ in examples], [named(example, example.reference) for example in examples]
    for hints in (HINTS, SECOND_HINTS):
        for example, forms, source, rewrites in zip(examples, result, sources, proposed(program, sources)):
            rng = random.Random(f"{seed}/hints/{source}")
            forms += chosen(example, rewrites, dict.fromkeys(hints, "hints"), 1, rng)
        sources = [named(example, forms[-1].rewrite if forms else example.reference)
                   for example, forms in zip(examples, result)]
    return result


def chosen(example, rewrites, techniques, count, rng):
    """The example by so many of these rules; of what a rule makes of several places and numbers one at random."""
    alike = collections.defaultdict(list)
    for rule, source in rewrites:
        source = re.sub(rf"\b{FUNCTION}\b", example.function, source)
        if rule in techniques and len(source) <= MAX_CHARS:
            alike[rule].append(source)
    return [dataclasses.replace(example, techniques=[techniques[rule]], rewrite=rng.choice(alike[rule]))
            for rule in rng.sample(sorted(alike), min(count, len(alike)))]
