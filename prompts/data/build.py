#!/usr/bin/env python3
"""Writes the worked examples of the supervised warm-up; the last judge is the ruler.

    python3 prompts/data/build.py build          # prompts/warmup.jsonl: draws, checks and measures, goes on where it was
    python3 prompts/data/build.py build --hints  # prompts/hints.jsonl: the same functions, copied with hints
    python3 prompts/data/build.py check          # is every line of both of a function that is drawn, and right?
    python3 prompts/data/build.py stats          # the counts of the last build, as a table

Stages: draw every family, rewrite by rules, augment, filter (rules, duplicates, overlap with a problem of any split, compiler and
sanitizers, the ruler), balance, order. docs/learning.md has what each dropped. All but the measured figures
follows from the seed, the families and whet-rewriter; verdicts are kept in --cache, so a build that was stopped goes on.
"""
import argparse
import collections
import dataclasses
import functools
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
import rules  # noqa: E402
from example import MAX_CHARS, ExampleError, without_hints  # noqa: E402
from ruler import Cache, Ruler, host, key_of, wrong_with  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEED = 1
DRAWS = 16        # of each family
ALIKE_MAX = 3     # so many examples of a family may be alike but for names and types
ALIKE = 0.9       # of the n-grams of both functions
SHARE_MAX = 2.5   # a family has at most so many times its even share
BATCH = 200       # examples checked and measured between two looks at the balance
MADE_BY_RULES = ("rules", "hints")  # kinds
# What one more of a kind counts beside the others: four that were drawn, or made by rules, are as one of each variant.
KIND_COST = {"drawn": 1 / 4, "rules": 1 / 4, "infill": 1.5, "counters": 1.5}
FIELDS = ("id", "prose", "prompt_code", "rewrite", "family", "techniques", "gain", "difficulty")


@dataclasses.dataclass(frozen=True)
class Set:
    """A file of examples, its counts, and how many there are to be."""
    out: pathlib.Path
    stats: pathlib.Path
    target: int


REWRITES = Set(ROOT / "prompts/warmup.jsonl", ROOT / "prompts/data/stats.json", 3000)
HINTS = Set(ROOT / "prompts/hints.jsonl", ROOT / "prompts/data/hints_stats.json", 600)


@dataclasses.dataclass
class Candidate:
    """One line to be: an example, what is shown of it, and the example whose measurement holds for it."""
    id: str
    example: object
    shown: str
    prose: str
    measured_as: object

    @property
    def kind(self):
        return kind_of(self.id)


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


def by_rules(kind, make, drawn, program, seed, counts):
    """What was drawn, rewritten by the rules that rewrite a user's function too: family/number/KIND/1 and so on."""
    stage = counts.stage(kind, len(drawn))
    result, seen = [], {(c.example.reference, c.example.rewrite) for c in drawn}
    for candidate, forms in zip(drawn, make([c.example for c in drawn], program, seed)):
        if not forms:
            stage["dropped"]["no rule fits"] += 1
        for number, other in enumerate(forms, 1):
            if (other.reference, other.rewrite) in seen:
                stage["dropped"]["a form that is there"] += 1
                continue
            seen.add((other.reference, other.rewrite))
            result.append(Candidate(f"{candidate.id}/{kind}/{number}", other, other.reference, other.prose, other))
    counts.end(kind, len(result))
    return result


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
    # What was drawn goes first, then what rules made of it, then variants of all kinds alike.
    candidates = random.Random(SEED).sample(candidates, len(candidates))
    for candidate in sorted(candidates, key=lambda c: {"drawn": 0, "rules": 1}.get(c.kind, 2)):
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


def unhinted(example):
    """Without its hints, which would hold for all that follows in a program of many; the ruler sees them."""
    return dataclasses.replace(example, rewrite=without_hints(example.rewrite))


def right(candidates, cache, stage, jobs):
    """Without what does not compile cleanly or is wrong at a check size."""
    harness_and_host = (harness.fingerprint(), host())
    examples = [unhinted(c.example) for c in candidates]
    keys = [key_of(example, *harness_and_host) for example in examples]
    missing = {key: example for key, example in zip(keys, examples) if key not in cache.verdicts}
    for key, problem in zip(missing, harness.verify(list(missing.values()), jobs=jobs)):
        cache.put(key, problem)
    result = []
    for key, candidate in zip(keys, candidates):
        problem = cache.verdicts[key]
        if problem is None:
            result.append(candidate)
            continue
        why = "warnings or errors of the compiler" if "compile" in problem else \
            "wrong" if problem.startswith("wrong") else "crashes or undefined"
        kind = candidate.kind if candidate.kind in ("drawn", *MADE_BY_RULES) else "variants"
        stage["dropped"][f"{why} ({kind})"] += 1
        if candidate.kind == "drawn":
            print(f"  {candidate.id}: {problem}")
    return result


# --- balance and the ruler ----------------------------------------------------------------------

class Balance:
    """Which candidate comes next: of the family with the fewest, of the rarest kind, with the rarest techniques."""

    def __init__(self, candidates, target):
        self.left = collections.defaultdict(list)
        for candidate in candidates:
            self.left[candidate.example.family].append(candidate)
        self.most = max(1, round(SHARE_MAX * target / max(1, len(self.left))))
        self.families, self.techniques, self.kinds = (collections.Counter() for _ in range(3))

    def _count(self, candidate, by):
        self.families[candidate.example.family] += by
        self.kinds[candidate.kind] += by
        for technique in candidate.example.techniques:
            self.techniques[technique] += by

    def give_back(self, candidate):
        """A candidate that was dropped after all leaves its place to another."""
        self._count(candidate, -1)

    def batch(self, size):
        """So many candidates, counted as taken; fewer where families are at an end or have their share."""
        result = []
        while len(result) < size:
            families_left = [f for f, rest in self.left.items() if rest and self.families[f] < self.most]
            if not families_left:
                break
            rest = self.left[min(families_left, key=lambda f: (self.families[f], f))]
            best = min(rest, key=self._rarity)
            rest.remove(best)
            self._count(best, 1)
            result.append(best)
        return result

    def _rarity(self, candidate):
        example = candidate.example
        crowd = self.kinds[candidate.kind] * KIND_COST.get(candidate.kind, 1)
        return crowd, sum(self.techniques[t] for t in example.techniques) / len(example.techniques)


def chosen(candidates, cache, ruler, options, counts):
    """A balanced choice of what is right and what the ruler finds fast enough: (candidate, gain)."""
    target = set_of(options).target
    balance, result = Balance(candidates, target), []
    picked, checked, timed = (counts.stage(name, 0) for name in ("balance", "compiler and check sizes", "ruler"))
    picked["in"] = len(candidates)
    while len(result) < target:
        # Some will be dropped; a batch costs a worker's start.
        batch = balance.batch(min(BATCH, 20 + round(1.3 * (target - len(result)))))
        if not batch:
            break
        clean = right(batch, cache, checked, options.jobs)
        verdicts = dict(zip((c.id for c in clean), ruler.measure([c.measured_as for c in clean])))
        for candidate in batch:
            verdict = verdicts.get(candidate.id)
            why = wrong_with(verdict, options.unfiltered is not None) if verdict else None
            if verdict and why is None:
                result.append((candidate, verdict["gain"]))
                continue
            balance.give_back(candidate)
            if verdict:
                timed["dropped"][why] += 1
                if "error" in verdict:
                    print(f"  {candidate.id}: {verdict['error']}")
        picked["out"] += len(batch)
        checked["out"] += len(clean)
        print(f"  kept {len(result)} of {picked['out']}, {ruler.measured} measured in {ruler.seconds:.0f} s", flush=True)
    picked["dropped"]["not needed"] = picked["in"] - picked["out"]
    checked["in"], timed["in"] = picked["out"], checked["out"]
    for name, left in (("balance", picked["out"]), ("compiler and check sizes", checked["out"]), ("ruler", len(result))):
        counts.end(name, left)
    return result


def ranks(values):
    """Each value's place among all, 0 to 1; equal values share the middle."""
    order = sorted(values)
    first, last = {}, {}
    for place, value in enumerate(order):
        first.setdefault(value, place)
        last[value] = place
    return [(first[v] + last[v]) / 2 / max(1, len(order) - 1) for v in values]


def lines_of(pairs, losses):
    """The lines of the file, by id, each with its difficulty: the mean of its places by length, gain and loss."""
    pairs = sorted(pairs, key=lambda pair: pair[0].id)
    columns = [ranks([len(c.example.rewrite) for c, _ in pairs]), ranks([gain for _, gain in pairs])]
    if losses:
        columns.append(ranks([losses.get(c.id, 0.0) for c, _ in pairs]))
    for (candidate, gain), *places in zip(pairs, *columns):
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

def set_of(options):
    usual = HINTS if options.hints else REWRITES
    if options.unfiltered is None:
        return usual
    return Set(options.unfiltered, options.unfiltered.with_suffix(".stats.json"), usual.target)


def build(options):
    counts = Counts()
    if not pathlib.Path(options.whet).exists():
        sys.exit(f"{options.whet} is missing: build the target whet, or name one with --whet")
    rewriter = pathlib.Path(options.whet).parent / "whet-rewriter"
    if not rewriter.exists():
        sys.exit(f"{rewriter} is missing: build the target whet-rewriter")
    drawn = draw(options.seed, options.draws, counts)
    if options.hints:
        candidates = by_rules("hints", rules.by_hints, drawn, rewriter, options.seed, counts)
    else:
        ruled = by_rules("rules", rules.by_rules, drawn, rewriter, options.seed, counts)
        candidates = augmented(drawn, options.seed, counts) + ruled
    candidates = unseen(candidates, counts)
    ruler = Ruler(options.whet, Cache(options.cache, "measured"))
    pairs = chosen(candidates, Cache(options.cache, "checked"), ruler, options, counts)
    lines = list(lines_of(pairs, read_losses(options.losses) if options.losses else None))
    written = set_of(options)
    written.out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    stats = {"seed": options.seed, "draws": options.draws, "host": ruler.host, "stages": counts.stages,
             "seconds_per_measured": round(ruler.seconds / ruler.measured, 2) if ruler.measured else None,
             **summary(lines)}
    written.stats.write_text(json.dumps(stats, indent=1) + "\n")
    print(f"{len(lines)} examples in {written.out}, the counts in {written.stats}")


def summary(lines):
    gains = sorted(line["gain"] for line in lines) or [0]
    return {"examples": len(lines), "median_gain": gains[len(gains) // 2],
            "kinds": dict(sorted(collections.Counter(kind_of(line["id"]) for line in lines).items())),
            "families": dict(sorted(collections.Counter(line["family"] for line in lines).items())),
            "techniques": dict(sorted(collections.Counter(t for line in lines for t in line["techniques"]).items()))}


def kind_of(line_id):
    """drawn, rules, hints, or the name of the variant: family/number, family/number/kind or family/number/rules/form."""
    return line_id.split("/")[2] if line_id.count("/") >= 2 else "drawn"


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


def again():
    return f"run {sys.argv[0]} build (build --hints where it is hints.jsonl)"


def check_families(programs):
    """The first example that each family draws: {key: (where, example)}."""
    first = {}
    for candidate in draw(SEED, 1, Counts()):
        pair = {"prompt_code": candidate.example.reference, "rewrite": candidate.example.rewrite}
        problem = overlap.given_away(pair, programs)
        # One that gives a problem away is dropped by a build, so it is no error; one that is wrong is.
        if not problem:
            first[key_of(candidate.example)] = (f"family {candidate.example.family}", candidate.example)
    return first


def ruled_as(drawn, line, where):
    """What rules made of a drawn candidate, as the line has it: it is not made again, as rules may change."""
    if drawn is None or set(line["techniques"]) - {"hints", *rules.TECHNIQUES.values()}:
        return None
    try:
        example = dataclasses.replace(drawn.example, rewrite=line["rewrite"], techniques=line["techniques"])
    except ExampleError as error:
        sys.exit(f"{where}: {error}")
    return dataclasses.replace(drawn, example=example)


@functools.cache
def drawn_today(seed, draws):
    """What the families draw, and its variants, by id."""
    counts = Counts()
    return {candidate.id: candidate for candidate in augmented(draw(seed, draws, counts), seed, counts)}


def check_lines(path, stats, programs):
    """The lines of the file, each held against what the families draw today: {key: (where, example)}."""
    lines = read_lines(path)
    if summary(lines) != {key: stats[key] for key in summary(lines)}:
        sys.exit(f"{path} is not what its counts tell of: {again()}")
    candidates = drawn_today(stats["seed"], stats["draws"])
    found = {}
    for number, line in enumerate(lines, 1):
        where, candidate = f"{path}:{number}: {line['id']}", candidates.get(line["id"])
        if kind_of(line["id"]) in MADE_BY_RULES:
            candidate = ruled_as(candidates.get("/".join(line["id"].split("/")[:2])), line, where)
        if candidate is None:
            sys.exit(f"{where} is drawn no more: {again()}")
        today = (candidate.shown, candidate.example.rewrite, candidate.prose, candidate.example.family,
                 candidate.example.techniques)
        if today != (line["prompt_code"], line["rewrite"], line.get("prose", ""), line["family"], line["techniques"]):
            sys.exit(f"{where} is drawn otherwise today: {again()}")
        problem = overlap.given_away({"prompt_code": candidate.example.reference, "rewrite": line["rewrite"]}, programs)
        if problem:
            sys.exit(f"{where} gives away {problem}: {again()}")
        found[key_of(unhinted(candidate.example))] = (where, candidate.example)
    return found


def check(options):
    """Whether families and files are right, the files are what they draw today, and nothing is given away."""
    programs = overlap.problems()
    checked = check_families(programs)
    for each in (REWRITES, HINTS):
        checked.update(check_lines(each.out, json.loads(each.stats.read_text()), programs))
    results = harness.verify([unhinted(e) for _, e in checked.values()], harness.PLAIN, jobs=options.jobs)
    wrong = [f"{where}: {problem}" for (where, _), problem in zip(checked.values(), results) if problem]
    if wrong:
        sys.exit("\n".join(wrong[:20]))
    print(f"{len(checked)} different examples, all correct")


def stats_table(options):
    stats = json.loads(set_of(options).stats.read_text())
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
    parser.add_argument("--hints", action="store_true", help="build or stats: of hints.jsonl")
    parser.add_argument("--unfiltered", type=pathlib.Path, metavar="FILE",
                        help="build into FILE, with what is right but not 1.2 times as fast, to see what that filter is worth")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--draws", type=int, default=DRAWS, help="of each family")
    parser.add_argument("--losses", help='JSON lines {"id", "loss"}: the policy\'s loss counts for the difficulty')
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time")
    parser.add_argument("--whet", default=ROOT / "build/dev/bin/whet")
    parser.add_argument("--cache", default=pathlib.Path.home() / ".cache/whetstone/examples")
    options = parser.parse_args()
    {"build": build, "check": check, "stats": stats_table}[options.command](options)


if __name__ == "__main__":
    main()
