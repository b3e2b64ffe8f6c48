#!/usr/bin/env python3
"""Writes prompts/warmup.jsonl, the worked examples of the supervised warm-up; the last judge is the ruler.

    python3 prompts/data/build.py build     # draws, checks and measures; takes up what it did before
    python3 prompts/data/build.py check     # is every line of warmup.jsonl what the families draw, and right?
    python3 prompts/data/build.py stats     # the counts of the last build, as a table

Stages: draw every family, augment, filter (rules, duplicates, overlap with a problem of any split, compiler and
sanitizers, the ruler), balance, order. docs/learning.md has what each dropped. All but the measured figures
follows from the seed and the families; verdicts are kept in --cache, so a build that was stopped goes on.
"""
import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import re
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))

import augment  # noqa: E402
import families  # noqa: E402
import harness  # noqa: E402
import overlap  # noqa: E402
from example import MAX_CHARS, ExampleError  # noqa: E402
from ruler import Cache, Ruler, key_of, wrong_with  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "prompts/warmup.jsonl"
STATS = ROOT / "prompts/data/stats.json"
SEED = 1
DRAWS = 16        # of each family
ALIKE_MAX = 3     # so many examples of a family may be alike but for names and types
ALIKE = 0.9       # of the n-grams of both functions
TARGET = 2000     # examples in all
SHARE_MAX = 2.5   # a family has at most so many times its even share
INFILL_SHARE = 0.1
BATCH = 60        # examples measured between two looks at the balance
FIELDS = ("id", "prose", "prompt_code", "rewrite", "family", "techniques", "gain", "difficulty")


@dataclasses.dataclass
class Candidate:
    """One line to be: an example, what is shown of it, and the example whose measurement holds for it."""
    id: str
    example: object
    shown: str
    prose: str
    measured_as: object
    grams: frozenset = frozenset()

    @property
    def kind(self):
        return self.id.split("/")[2] if self.id.count("/") == 2 else "drawn"


class Counts:
    """What each stage had and dropped, and why."""

    def __init__(self):
        self.stages = {}

    def stage(self, name, entered):
        self.stages[name] = {"in": entered, "dropped": collections.Counter(), "out": 0}
        return self.stages[name]

    def end(self, name, left):
        self.stages[name]["out"] = left
        stage = self.stages[name]
        dropped = "".join(f"\n    {count:5} {why}" for why, count in stage["dropped"].most_common())
        print(f"{name}: {stage['in']} -> {left}{dropped}", flush=True)


# --- draw and augment: follow from the seed alone -----------------------------------------------

def draw(seed, draws, counts):
    """K examples of each family; equal ones once."""
    known = families.load()
    stage = counts.stage("draw", len(known) * draws)
    drawn, seen = [], set()
    for name, function in known.items():
        for number in range(draws):
            example = function(random.Random(f"{seed}/{name}/{number}"))
            if example.family != name:
                raise ExampleError(f"family {name} calls itself {example.family}")
            key = (example.reference, example.rewrite)
            if key in seen:
                stage["dropped"]["drawn before"] += 1
            elif example.reference == example.rewrite:
                stage["dropped"]["the rewrite is the reference"] += 1
            else:
                drawn.append(Candidate(f"{name}/{number}", example, example.reference, example.prose, example))
            seen.add(key)
    counts.end("draw", len(drawn))
    return drawn


def augmented(drawn, seed, counts):
    """What was drawn, and its variants."""
    stage = counts.stage("augment", len(drawn))
    result, seen = [], {(c.example.reference, c.example.rewrite) for c in drawn}
    for candidate in drawn:
        result.append(candidate)
        for name, rule in augment.RULES.items():
            try:
                other = rule(candidate.example, random.Random(f"{seed}/{candidate.id}/{name}"))
            except ExampleError:
                stage["dropped"]["a variant that breaks the rules for examples"] += 1
                continue
            if other is None:
                continue
            if (other.reference, other.rewrite) in seen:
                stage["dropped"]["a variant that is there"] += 1
                continue
            seen.add((other.reference, other.rewrite))
            same = candidate.example if name in augment.SAME else other
            result.append(Candidate(f"{candidate.id}/{name}", other, other.reference, other.prose, same))
        gap = augment.infill(candidate.example, random.Random(f"{seed}/{candidate.id}/infill"))
        if gap:
            result.append(Candidate(f"{candidate.id}/infill", candidate.example, *gap, candidate.example))
    stage["added"] = dict(collections.Counter(c.kind for c in result))
    counts.end("augment", len(result))
    return result


# --- filters ------------------------------------------------------------------------------------

def multiplies_matrices(code):
    """Whether an expression joins a row of one matrix with a column or row of another by k."""
    for statement in code.split(";"):
        rows = re.findall(r"(\w+)\[\w+ \* \w+ \+ k\]", statement)
        columns = re.findall(r"(\w+)\[\(?k(?: \+ \d\))? \* \w+ \+ \w+\]", statement)
        if rows and (columns or len(set(rows)) > 1):
            return True
    return False


def unseen(candidates, counts):
    """Without what gives a problem away, and without too many that are alike."""
    stage = counts.stage("overlap and duplicates", len(candidates))
    programs = overlap.problems()
    result, kept = [], collections.defaultdict(list)
    # What was drawn goes first, then variants of all kinds alike.
    candidates = random.Random(SEED).sample(candidates, len(candidates))
    for candidate in sorted(candidates, key=lambda c: c.kind != "drawn"):
        example = candidate.example
        pair = {"prompt_code": example.reference, "rewrite": example.rewrite}
        if max(len(candidate.shown), len(example.rewrite)) > MAX_CHARS:
            stage["dropped"][f"longer than {MAX_CHARS} characters"] += 1
            continue
        if overlap.given_away(pair, programs):
            stage["dropped"]["gives a problem away"] += 1
            continue
        if multiplies_matrices(example.reference + example.rewrite):
            stage["dropped"]["multiplies matrices"] += 1
            continue
        grams = frozenset(("r", gram) for gram in overlap.ngrams(candidate.shown)) | \
            frozenset(("w", gram) for gram in overlap.ngrams(example.rewrite))
        alike = sum(len(grams & other) >= ALIKE * len(grams | other) for other in kept[example.family])
        if alike >= ALIKE_MAX:
            stage["dropped"][f"like {ALIKE_MAX} others of its family"] += 1
            continue
        kept[example.family].append(grams)
        result.append(candidate)
    counts.end("overlap and duplicates", len(result))
    return result


def right(candidates, cache, counts, flags=None, jobs=2):
    """Without what does not compile cleanly or is wrong at a check size."""
    stage = counts.stage("compiler and check sizes", len(candidates))
    unique = {key_of(c.example): c.example for c in candidates}
    missing = {key: e for key, e in unique.items() if key not in cache.verdicts}
    pending = list(missing.items())
    for at in range(0, len(pending), 400):
        part = pending[at:at + 400]
        for (key, _), problem in zip(part, harness.verify([e for _, e in part], flags, jobs=jobs)):
            cache.put(key, problem)
        print(f"  compiled and run: {min(at + 400, len(pending))} of {len(pending)}", flush=True)
    result, first = [], {}
    for candidate in candidates:
        problem = cache.verdicts[key_of(candidate.example)]
        if problem is None:
            result.append(candidate)
            continue
        why = "warnings or errors of the compiler" if "compile" in problem else \
            "wrong" if problem.startswith("wrong") else "crashes or undefined"
        stage["dropped"][f"{why} ({'drawn' if candidate.kind == 'drawn' else 'variants'})"] += 1
        first.setdefault(candidate.example.family, f"{candidate.id}: {problem}")
        if candidate.kind == "drawn":
            print(f"  {candidate.id}: {problem}")
    counts.end("compiler and check sizes", len(result))
    return result


# --- balance and the ruler ----------------------------------------------------------------------

class Balance:
    """Which candidate comes next: of the family with the fewest, with the rarest techniques."""

    def __init__(self, candidates, target):
        self.left = collections.defaultdict(list)
        for candidate in candidates:
            self.left[candidate.example.family].append(candidate)
        self.target = target
        self.most = max(1, round(SHARE_MAX * target / max(1, len(self.left))))
        self.families, self.techniques, self.kinds = (collections.Counter() for _ in range(3))

    def take(self, candidate, by=1):
        self.families[candidate.example.family] += by
        self.kinds[candidate.kind] += by
        for technique in candidate.example.techniques:
            self.techniques[technique] += by

    def next(self):
        """The next candidate, counted as taken; None if none is left or the target is reached."""
        taken = sum(self.families.values())
        open_families = [f for f, rest in self.left.items() if rest and self.families[f] < self.most]
        if taken >= self.target or not open_families:
            return None
        family = min(open_families, key=lambda f: (self.families[f], f))
        rest = self.left[family]

        def rarity(candidate):
            crowded = candidate.kind == "infill" and self.kinds["infill"] >= INFILL_SHARE * max(20, taken)
            return (crowded, self.kinds[candidate.kind] / (3 if candidate.kind == "drawn" else 1),
                    sum(self.techniques[t] for t in candidate.example.techniques) / len(candidate.example.techniques))
        best = min(rest, key=rarity)
        if rarity(best)[0]:
            rest.clear()
            return self.next()
        rest.remove(best)
        self.take(best)
        return best


def measured(candidates, ruler, target, counts):
    """A balanced choice of what the ruler finds fast enough: (candidate, gain)."""
    stage = counts.stage("ruler", len(candidates))
    balance, result, tried = Balance(candidates, target), [], 0
    while True:
        batch = []
        while len(batch) < BATCH and (candidate := balance.next()) is not None:
            batch.append(candidate)
        if not batch:
            break
        tried += len(batch)
        for candidate, verdict in zip(batch, ruler.measure([c.measured_as for c in batch])):
            why = wrong_with(verdict)
            if why is None:
                result.append((candidate, verdict["gain"]))
            else:
                stage["dropped"][why] += 1
                balance.take(candidate, -1)
        print(f"  kept {len(result)} of {tried}, {ruler.measured} measured in {ruler.seconds:.0f} s", flush=True)
    stage["dropped"]["not needed for the balance"] = len(candidates) - tried
    counts.end("ruler", len(result))
    return result


def ranks(values):
    """Each value's place among all, 0 to 1; equal values share the middle."""
    order = sorted(values)
    first, last = {}, {}
    for place, value in enumerate(order):
        first.setdefault(value, place)
        last[value] = place
    return [(first[v] + last[v]) / 2 / max(1, len(order) - 1) for v in values]


def lines_of(chosen, losses):
    """The lines of the file, in the order of their ids' hashes, with their difficulty."""
    chosen = sorted(chosen, key=lambda pair: pair[0].id)
    random.Random(SEED).shuffle(chosen)
    columns = [ranks([len(c.example.rewrite) for c, _ in chosen]), ranks([gain for _, gain in chosen])]
    if losses:
        columns.append(ranks([losses.get(c.id, 0.0) for c, _ in chosen]))
    for (candidate, gain), *places in zip(chosen, *columns):
        line = {"id": candidate.id, "prose": candidate.prose, "prompt_code": candidate.shown,
                "rewrite": candidate.example.rewrite, "family": candidate.example.family,
                "techniques": candidate.example.techniques, "gain": gain,
                "difficulty": round(sum(places) / len(places), 3)}
        yield {key: value for key, value in line.items() if key != "prose" or value}


def read_losses(path):
    """{id: loss} of a file of JSON lines {"id", "loss"}."""
    losses = {}
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        try:
            entry = json.loads(line)
            losses[entry["id"]] = float(entry["loss"])
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"{path}:{number}: wants {{\"id\": …, \"loss\": number}}: {error}")
    return losses


# --- commands -----------------------------------------------------------------------------------

def build(options):
    counts = Counts()
    candidates = augmented(draw(options.seed, options.draws, counts), options.seed, counts)
    candidates = right(unseen(candidates, counts), Cache(options.cache, "checked"), counts, jobs=options.jobs)
    if not pathlib.Path(options.whet).exists():
        sys.exit(f"{options.whet} is missing: build the target whet, or name one with --whet")
    ruler = Ruler(options.whet, Cache(options.cache, "measured"))
    chosen = measured(candidates, ruler, options.target, counts)
    lines = list(lines_of(chosen, read_losses(options.losses) if options.losses else None))
    pathlib.Path(options.out).write_text("".join(json.dumps(line) + "\n" for line in lines))
    stats = {"seed": options.seed, "draws": options.draws, "host": ruler.host, "stages": counts.stages,
             "seconds_per_measured": round(ruler.seconds / ruler.measured, 2) if ruler.measured else None,
             **summary(lines)}
    pathlib.Path(options.stats).write_text(json.dumps(stats, indent=1) + "\n")
    print(f"{len(lines)} examples in {options.out}, the counts in {options.stats}")


def summary(lines):
    gains = sorted(line["gain"] for line in lines) or [0]
    return {"examples": len(lines), "median_gain": gains[len(gains) // 2],
            "kinds": dict(sorted(collections.Counter(kind_of(line) for line in lines).items())),
            "families": dict(sorted(collections.Counter(line["family"] for line in lines).items())),
            "techniques": dict(sorted(collections.Counter(t for line in lines for t in line["techniques"]).items()))}


def kind_of(line):
    return line["id"].split("/")[2] if line["id"].count("/") == 2 else "drawn"


def read_lines(path):
    """The lines of an examples file; exits with file and line where one is broken."""
    lines, ids = [], set()
    for number, text in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        try:
            line = json.loads(text)
        except json.JSONDecodeError as error:
            sys.exit(f"{path}:{number}: not valid JSON: {error}")
        missing = [key for key in FIELDS if key != "prose" and key not in line]
        unknown = [key for key in line if key not in FIELDS]
        if missing or unknown:
            sys.exit(f"{path}:{number}: lacks {missing}, does not know {unknown}")
        if line["id"] in ids:
            sys.exit(f"{path}:{number}: {line['id']} is there twice")
        ids.add(line["id"])
        lines.append(line)
    return lines


def check(options):
    """Whether the file is what the families draw today, gives nothing away and is right."""
    lines = read_lines(options.out)
    stats = json.loads(pathlib.Path(options.stats).read_text())
    counts = Counts()
    drawn = augmented(draw(stats["seed"], stats["draws"], counts), stats["seed"], counts)
    candidates = {candidate.id: candidate for candidate in drawn}
    programs, checked = overlap.problems(), {}
    for number, line in enumerate(lines, 1):
        where = f"{options.out}:{number}: {line['id']}"
        candidate = candidates.get(line["id"])
        again = f"run {sys.argv[0]} build"
        if candidate is None:
            sys.exit(f"{where} is drawn no more: {again}")
        today = (candidate.shown, candidate.example.rewrite, candidate.prose, candidate.example.family,
                 candidate.example.techniques)
        if today != (line["prompt_code"], line["rewrite"], line.get("prose", ""), line["family"], line["techniques"]):
            sys.exit(f"{where} is drawn otherwise today: {again}")
        pair = {"prompt_code": candidate.example.reference, "rewrite": line["rewrite"]}
        problem = overlap.given_away(pair, programs)
        if problem:
            sys.exit(f"{where} gives away {problem}: {again}")
        checked[key_of(candidate.example)] = (where, candidate.example)
    if summary(lines) != {key: stats[key] for key in summary(lines)}:
        sys.exit(f"{options.stats} is not of {options.out}: run {sys.argv[0]} build")
    results = harness.verify([e for _, e in checked.values()], harness.PLAIN, jobs=options.jobs)
    wrong = [f"{where}: {problem}" for (where, _), problem in zip(checked.values(), results) if problem]
    if wrong:
        sys.exit("\n".join(wrong[:20]))
    print(f"{len(lines)} examples, all correct")


def stats_table(options):
    stats = json.loads(pathlib.Path(options.stats).read_text())
    print("| stage | in | out | dropped |\n|---|---|---|---|")
    for name, stage in stats["stages"].items():
        dropped = "; ".join(f"{count} {why}" for why, count in
                            sorted(stage["dropped"].items(), key=lambda item: -item[1]) if count)
        print(f"| {name} | {stage['in']} | {stage['out']} | {dropped or '–'} |")
    print(f"\n{stats['examples']} examples, median gain {stats['median_gain']}, "
          f"{stats['seconds_per_measured']} s a measurement, {stats['host']}\n")
    for title in ("techniques", "kinds", "families"):
        print(f"{title}: " + ", ".join(f"{name} {count}" for name, count in
                                       sorted(stats[title].items(), key=lambda item: -item[1])) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=["build", "check", "stats"])
    parser.add_argument("--out", default=EXAMPLES, help="the file of examples")
    parser.add_argument("--stats", default=STATS, help="the file of counts")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--draws", type=int, default=DRAWS, help="of each family")
    parser.add_argument("--target", type=int, default=TARGET, help="examples in all")
    parser.add_argument("--losses", help='JSON lines {"id", "loss"}: the policy\'s loss counts for the difficulty')
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time")
    parser.add_argument("--whet", default=ROOT / "build/dev/bin/whet")
    parser.add_argument("--cache", default=pathlib.Path.home() / ".cache/whetstone/examples")
    options = parser.parse_args()
    {"build": build, "check": check, "stats": stats_table}[options.command](options)


if __name__ == "__main__":
    main()
