#!/usr/bin/env python3
"""Draws examples of one family, checks them and says how fast they are.

    python3 prompts/data/try_family.py row_maxima [--count 5] [--seed 1] [--show]
    python3 prompts/data/try_family.py row_maxima --measure     # by the ruler: whet must be built

The rewrite is compared with the reference at all check sizes under the address and undefined-behaviour
sanitizers. The quick ratio is the reference's time by the rewrite's at the first timed size; the ruler
of `build.py build` decides later, and keeps what is at least 1.2 times as fast.
"""
import argparse
import collections
import pathlib
import random
import sys

import families
import harness
from ruler import Cache, Ruler, wrong_with

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("family", help="its name, or 'all'")
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the functions")
    parser.add_argument("--measure", action="store_true", help="measure by the ruler, too")
    parser.add_argument("--whet", default=ROOT / "build/dev/bin/whet")
    parser.add_argument("--cache", default=pathlib.Path.home() / ".cache/whetstone/examples")
    options = parser.parse_args()
    known = families.load()
    names = sorted(known) if options.family == "all" else [options.family]
    if names[0] not in known:
        sys.exit(f"there is no family {options.family}; there are {', '.join(sorted(known))}")
    examples = [known[name](random.Random(f"{options.seed}/{name}/{number}"))
                for name in names for number in range(options.count)]
    problems = harness.verify(examples)
    ratios = harness.verify(examples, timed=True, jobs=1)
    verdicts = [None] * len(examples)
    if options.measure:
        verdicts = Ruler(options.whet, Cache(options.cache, "measured")).measure(examples)
    outcomes = collections.Counter()
    for number, (example, problem, ratio, verdict) in enumerate(zip(examples, problems, ratios, verdicts)):
        if options.show:
            print(f"{example.reference}\n//\n{example.rewrite}")
        speed = f"{ratio:6.2f}x" if isinstance(ratio, float) else "    ? "
        outcomes["wrong" if problem else "good" if isinstance(ratio, float) and ratio >= 1.2 else "slow"] += 1
        judged = f", by the ruler {verdict.get('gain', '?')}x, {wrong_with(verdict) or 'kept'}" if verdict else ""
        print(f"{example.family}/{number % options.count} {speed} {len(example.rewrite):5} characters  "
              f"{' '.join(example.techniques)}  {problem or 'right'}{judged}")
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    sys.exit(outcomes["wrong"] != 0)


if __name__ == "__main__":
    main()
