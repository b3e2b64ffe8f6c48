"""Faster forms of drawn functions by the rules that also rewrite a user's own function (`whet rewrite`).

    for example, forms in zip(examples, by_rules(examples, program, seed)): …

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
HINTS = 1        # besides, so many that only tell the compiler something: that mostly gains nothing
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
    "turns by a pragma": "hints",
    "no traps": "hints",
    "sums in any order": "hints",
    "unrolled loops": "hints",
    "optimized less": "hints",
}


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


def by_rules(examples, program, seed):
    """For each example up to FORMS + HINTS examples of the same reference, rewritten by a rule each."""
    named = [re.sub(rf"\b{example.function}\b", FUNCTION, example.reference) for example in examples]
    return [chosen(example, rewrites, random.Random(f"{seed}/rules/{example.reference}"))
            for example, rewrites in zip(examples, proposed(program, named))]


def chosen(example, rewrites, rng):
    """The example by so many rules; of what a rule makes of several places and numbers one at random."""
    alike = collections.defaultdict(list)
    for rule, source in rewrites:
        source = re.sub(rf"\b{FUNCTION}\b", example.function, source)
        if rule in TECHNIQUES and len(source) <= MAX_CHARS:
            alike[rule].append(source)

    def some(rules, count):
        return [dataclasses.replace(example, techniques=[TECHNIQUES[rule]], rewrite=rng.choice(alike[rule]))
                for rule in rng.sample(rules, min(count, len(rules)))]

    hints = sorted(rule for rule in alike if TECHNIQUES[rule] == "hints")
    return some(sorted(set(alike) - set(hints)), FORMS) + some(hints, HINTS)
