"""Measures examples by the ruler, which is Whetstone's own worker, and remembers what was found.

    ruler = Ruler(whet, Cache(folder, "measured"))
    for example, verdict in zip(examples, ruler.measure(examples)): …

Each example becomes a problem (its reference) and a candidate (its rewrite) of `whet measure --list`.
"""
import hashlib
import json
import pathlib
import platform
import re
import subprocess
import tempfile
import time

import text as cpp
from harness import sequence

GAIN_MIN = 1.2    # a rewrite that is not so much faster teaches nothing
TOTAL_S = 1       # of a verdict, which stops before where it is clear


class Cache:
    """Verdicts by key, one JSON line each, appended as they come: what was killed goes on where it was."""

    def __init__(self, folder, name):
        self.path = pathlib.Path(folder, f"{name}.jsonl")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.verdicts = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                try:
                    entry = json.loads(line)
                except json.JSONDecodeError:
                    continue  # The last line of a run that was killed while it wrote.
                self.verdicts[entry["key"]] = entry["verdict"]
            if not self.path.read_text().endswith("\n"):
                with self.path.open("a") as file:
                    file.write("\n")

    def put(self, key, verdict):
        self.verdicts[key] = verdict
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, "verdict": verdict}) + "\n")


def key_of(example, *context):
    """A hash of all that a verdict about the example depends on."""
    parts = [example.reference, example.rewrite, example.args, example.sizes, example.compare,
             example.returns, example.generator, *context]
    return hashlib.sha256(json.dumps(parts, sort_keys=False).encode()).hexdigest()[:32]


def host():
    """What measured figures depend on: processor and compiler."""
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
    return f"{model[1] if model else platform.machine()}; {compiler.splitlines()[0]}"


def prompt_file(example):
    """The example as a problem in the words of prompts/README.md."""
    args = "\n".join(f"  {name}: {entry}" for name, entry in example.args.items())
    front = [f"id: {re.sub('[^a-z0-9_]', '_', example.family)}", f"signature: {example.signature}", "args:\n" + args]
    if example.returns:
        front.append(f"returns: {example.returns}")
    check = example.sizes["check"]
    front.append(f"sizes: {{check: {check}, timed: [{sequence(example.sizes['timed'])[0]}]}}")
    if example.compare:
        front.append(f"compare: {example.compare}")
    front += [f"compile: {{headers: [{', '.join(cpp.HEADERS)}]}}", f"limits: {{run_s: 1, total_s: {TOTAL_S}}}"]
    parts = ["---", *front, "---", "A worked example.", ""]
    sections = {"reference": example.reference, "expert": example.rewrite, "generator": example.generator}
    for name, code in sections.items():
        if code:
            parts += [f"## {name}", "", "```cpp", code, "```", ""]
    return "\n".join(parts)


def wrong_with(verdict, unfiltered=False):
    """Why an example of this verdict is dropped; None where it is kept: unfiltered whatever is right."""
    if "error" in verdict:
        return "the ruler refuses it"
    if verdict["outcome"] != "CORRECT":
        return f"the ruler finds {verdict['outcome']}"
    if unfiltered:
        return None
    if verdict["gain"] < GAIN_MIN:
        return f"gain below {GAIN_MIN}"
    return None if verdict["low"] > 1 else "gain not clear of 1"


def shortened(line):
    """What is kept of a line of `whet measure --list --json`."""
    verdict = {"outcome": line["outcome"]}
    if line["outcome"] != "CORRECT":
        return {**verdict, "detail": line["detail"][:300]}
    size = line["sizes"][0]
    return {**verdict, "gain": round(line["speedup"], 3), "low": round(line["speedup_low"], 3),
            "reference_ns": round(size["reference_ns"]), "rewrite_ns": round(size["candidate_ns"])}


class Ruler:
    def __init__(self, whet, cache):
        self.whet, self.cache, self.host = whet, cache, host()
        self.measured, self.seconds = 0, 0.0

    def key(self, example):
        return key_of(example, self.host, GAIN_MIN, TOTAL_S)

    def measure(self, examples):
        """A verdict for each example; measures those that nobody has measured here."""
        missing = {}
        for example in examples:
            key = self.key(example)
            if key not in self.cache.verdicts:
                missing[key] = example
        if missing:
            self._measure(missing)
        return [self.cache.verdicts[self.key(example)] for example in examples]

    def _measure(self, missing):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            lines = []
            for key, example in missing.items():
                problem, candidate = pathlib.Path(folder, f"{key}.md"), pathlib.Path(folder, f"{key}.cc")
                problem.write_text(prompt_file(example))
                candidate.write_text(example.rewrite + "\n")
                lines.append(json.dumps({"id": key, "problem": str(problem), "candidate": str(candidate)}) + "\n")
            pairs = pathlib.Path(folder, "pairs.jsonl")
            pairs.write_text("".join(lines))
            command = [self.whet, "measure", "--list", pairs, "--json"]
            log = pathlib.Path(folder, "log")
            with log.open("w") as people, \
                    subprocess.Popen(command, stdout=subprocess.PIPE, stderr=people, text=True) as process:
                for line in process.stdout:
                    verdict = json.loads(line)
                    if "outcome" in verdict:
                        self.cache.put(verdict["id"], shortened(verdict))
                        self.measured += 1
                    elif "id" in verdict:
                        # Not kept, as it says something of the family's words and not of the host.
                        self.cache.verdicts[verdict["id"]] = verdict
            error = log.read_text()
        self.seconds += time.monotonic() - begin
        unknown = [key for key in missing if key not in self.cache.verdicts]
        if unknown:
            raise RuntimeError(f"{self.whet} measured {len(missing) - len(unknown)} of {len(missing)} programs; "
                               f"what it measured is kept:\n{error[-2000:]}")

