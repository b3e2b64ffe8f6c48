"""The cells of each experiment: what is run, with which settings, and for how long."""
import hashlib
import json
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = Path(__file__).resolve().parent / "functions"
GENERAL = Path(__file__).resolve().parent / "general.yaml"
CANDIDATES = 256  # Of each arm of `discovery`.
PIECE_MINUTES = 20  # Nothing runs longer without a row.


@dataclass
class Stage:
    """A command of whet's that may be stopped by SIGINT and started again."""
    name: str
    start: list
    resume: list  # What is run where `made` exists.
    made: str  # Relative to the cell's directory.
    limit_minutes: float = float("inf")  # All pieces together; the stage ends there, finished or not.
    finished: tuple = (0,)  # Exit codes.


@dataclass
class Cell:
    experiment: str
    name: str  # PROBLEM/VARIANT/SEED
    problem: str
    variant: str
    seed: int
    sets: list
    stages: list = field(repr=False)
    own: Path = None  # The held-out problem that this cell, like a user, takes for its own.
    settings: str = ""  # hash of all that the cell is made of

    def directory(self, runs, commit):
        made_of = hashlib.sha256(f"{self.settings} {commit}".encode()).hexdigest()
        return runs / self.experiment / f"{self.name.replace('/', '-')}-{made_of[:12]}"

    def prepare(self, directory):
        """Campaigns refuse held-out problems. The policy of this cell is used for nothing further."""
        directory.mkdir(parents=True, exist_ok=True)
        if self.own:
            text = re.sub(r"^split: .*\n", "", self.own.read_text(), count=1, flags=re.M)
            (directory / self.own.name).write_text(text)

    def keep_warmup(self, directory):
        """The evaluation wants the end of warm-up, which newer checkpoints replace. A checkpoint's name
        appears when it is whole; links cost nothing while it is there too."""
        saved, kept = directory / "run" / "checkpoints" / "warmup", directory / "warmup"
        if any(s.name == "eval" for s in self.stages) and saved.exists() and not kept.exists():
            part = directory / "warmup.part"
            shutil.rmtree(part, ignore_errors=True)
            shutil.copytree(saved, part, copy_function=os.link)
            part.rename(kept)

    def end(self, directory):
        """Frees some gigabytes of a policy that nobody uses further."""
        if self.own:
            for run in (directory / "run", directory / "found" / "run"):
                shutil.rmtree(run / "checkpoints", ignore_errors=True)


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def settings_hash(campaign, problems, sets, stages):
    """Changes with every file and option that the result depends on, not with where they lie."""
    named = [ROOT / value for word in sets if (value := word.partition("=")[2]) and value[0] not in "[{"]
    read = re.findall(r"examples: *([^\s,}]+)", campaign.read_text())
    examples = [campaign.parent / file for file in read]
    evaluated = [f for s in stages for split in ("valid", "test") if str(ROOT / "prompts" / split) in s.start
                 for f in problem_files(split)]
    files = [digest(f) for f in [campaign, *problems, *examples, *evaluated, *(f for f in named if f.is_file())]]
    commands = [[s.name, s.start, s.limit_minutes] for s in stages]
    text = json.dumps([files, sets, commands]).replace(str(ROOT), "")
    return hashlib.sha256(text.encode()).hexdigest()


def problem_files(split):
    """Those of one core: the runs' worker has no more."""
    folder = ROOT / "prompts" if split == "train" else ROOT / "prompts" / split
    files = [f for f in sorted(folder.glob("*.md")) if f.name != "README.md"]
    return [f for f in files if not re.search(r"\bthreads: [2-9]", f.read_text().split("\n---\n")[0])]


def options_of(sets):
    return [word for value in sets for word in ("--set", value)]


def train_stage(campaign, sets, limit_minutes):
    return Stage("train", ["run", str(campaign), "--run-dir", "{cell}/run", "--json", *options_of(sets)],
                 ["resume", "{cell}/run", "--json"], "run/campaign.yaml", limit_minutes)


def rewrite_stage(problem, seconds=None):
    """As whet discover does first."""
    limit = ["--seconds", str(seconds)] if seconds else []
    command = ["rewrite", f"{{cell}}/{problem.name}", "--out", "{cell}/rewrites.jsonl", "--proof", "{cell}/rules", *limit,
               "--json"]
    return Stage("rewrite", command, command, "rewrites.jsonl")


def eval_stage(models, split, samples):
    """It generates and measures as the run did."""
    command = ["eval", *models, "--campaign", "{cell}/run/campaign.yaml",
               "--problems", str(ROOT / "prompts" / split), "--split", split,
               "--samples", str(samples), "--out", "{cell}/eval", "--json"]
    return Stage("eval", command, command, "eval")


def make(experiment, problem, variant, seed, campaign, problems, sets, minutes, evaluation=(), own=None):
    listed = [f"{{cell}}/{own.name}"] if own else [str(p) for p in problems]
    taught = ["warmup.rewrites={cell}/rewrites.jsonl", "warmup.nearest=64", "generate.max_new_tokens=512"] if own else []
    every = [f"seed={seed}", f"problems={json.dumps(listed)}", *taught, *sets]
    before = [rewrite_stage(own)] if own else []
    stages = [*before, train_stage(campaign, every, minutes), *evaluation]
    cell = Cell(experiment, f"{problem}/{variant}/{seed}", problem, variant, seed, list(sets), stages, own)
    cell.settings = settings_hash(campaign, problems, every, stages)
    return cell


def own_problem(variants, seeds, minutes):
    """The quickstart's campaign on each valid problem alone, as whet discover runs it after rules."""
    return [make("own-problem", p.stem, variant, seed, ROOT / "deploy" / "quickstart.yaml", [p], sets, minutes,
                 own=p)
            for variant, sets in variants for p in problem_files("valid") for seed in seeds]


def rules(minutes):
    """Rules alone over the training problems, and over functions that users might bring."""
    made, variant = [], f"{round(60 * minutes)}s"
    for problem in [*problem_files("train"), *sorted(FUNCTIONS.glob("*.md"))]:
        stage = rewrite_stage(problem, round(60 * minutes))
        made.append(Cell("rules", f"{problem.stem}/{variant}/17", problem.stem, variant, 17, [], [stage], problem,
                         settings_hash(problem, [], [], [stage])))
    return made


def discover_stage(problem, sets):
    """2: its proof does not confirm the program; what it is worth is measured again anyway."""
    command = ["discover", f"{{cell}}/{problem.name}", "--out", "{cell}/found", "--budget",
               f"{CANDIDATES} candidates", "--yes", "--json", *options_of(sets)]
    return Stage("discover", command, command, "found", finished=(0, 2))


def discovery_arms(variants, seeds):
    """On each valid problem alone, with as many candidates: the warm-up's policy asked for all of them at once, GRPO after that
    warm-up, and whet discover; with the settings of `variants` whet discover alone."""
    campaign, steps = ROOT / "deploy" / "discover.yaml", CANDIDATES // 16
    drawn = [("best-of-n", ["train.steps=1", f"train.prompts_per_step={steps}"]), ("grpo", [f"train.steps={steps}"])]
    made = []
    for problem in problem_files("valid"):
        for seed in seeds:
            for arm, sets in variants or [*drawn, ("discover", [])]:
                every = [f"seed={seed}", *sets]
                trained = [f'problems=["{{cell}}/{problem.name}"]', "train.group_size=16"]
                stage = train_stage(campaign, [*every, *trained], float("inf")) if (arm, sets) in drawn else \
                    discover_stage(problem, every)
                cell = Cell("discovery", f"{problem.stem}/{arm}/{seed}", problem.stem, arm, seed, list(sets), [stage], problem)
                cell.settings = settings_hash(campaign, [problem], every, [stage])
                made.append(cell)
    return made


def over_training_problems(experiment, name, variants, seeds, minutes, first, evaluation):
    """The campaign of general.yaml over all training problems with each variant's settings after `first`, then the evaluation."""
    return [make(experiment, name, variant, seed, GENERAL, problem_files("train"), [*first, *sets], minutes, [evaluation])
            for variant, sets in variants for seed in seeds]


def general(variants, seeds, minutes, model):
    """Warm-up and GRPO over all training problems, then the test problems."""
    models = [f"raw={model}", "warmup={cell}/warmup", "grpo={cell}/run"]
    return over_training_problems("general", "all", variants, seeds, minutes, [f"model={model}"],
                                  eval_stage(models, "test", 64))


def exploration(variants, seeds, minutes):
    """What keeps the programs of a group apart: as `general`, shorter, then the valid problems."""
    return over_training_problems("exploration", "all", variants, seeds, minutes, [],
                                  eval_stage(["warmup={cell}/warmup", "grpo={cell}/run"], "valid", 16))


def ablation(variants, seeds, minutes):
    """Warm-up alone, then the valid problems."""
    return over_training_problems("ablation", "warmup", variants, seeds, minutes, ["train.steps=0"],
                                  eval_stage(["warmup={cell}/warmup"], "valid", 16))
