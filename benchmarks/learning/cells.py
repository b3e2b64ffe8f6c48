"""The cells of each experiment: what is run, with which settings, and for how long."""
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PIECE_MINUTES = 20  # Nothing runs longer without a row.


@dataclass
class Stage:
    """A command of whet's that may be stopped by SIGINT and started again."""
    name: str
    start: list
    resume: list  # What is run where `made` exists.
    made: str  # Relative to the cell's directory.
    limit_minutes: float = float("inf")  # All pieces together; the stage ends there, finished or not.


@dataclass
class Cell:
    experiment: str
    name: str  # PROBLEM/VARIANT/SEED
    problem: str
    variant: str
    seed: int
    sets: list
    stages: list = field(repr=False)
    settings: str = ""  # hash of all that the cell is made of

    def directory(self, runs, commit):
        made_of = hashlib.sha256(f"{self.settings} {commit}".encode()).hexdigest()
        return runs / self.experiment / f"{self.name.replace('/', '-')}-{made_of[:12]}"


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def settings_hash(campaign, problems, sets, stages):
    """Changes with every file and option that the result depends on, not with where they lie."""
    named = [ROOT / value for word in sets if (value := word.partition("=")[2])]
    files = [digest(f) for f in [campaign, *problems, *(f for f in named if f.is_file())]]
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


def eval_stage(models, split, samples):
    command = ["eval", *models, "--problems", str(ROOT / "prompts" / split), "--split", split,
               "--samples", str(samples), "--out", "{cell}/eval", "--json"]
    return Stage("eval", command, command, "eval")


def make(experiment, name, problem, variant, seed, campaign, problems, sets, stages):
    own = [f"seed={seed}", f"problems={json.dumps([str(p) for p in problems])}", *sets]
    stages = [stage(own) if callable(stage) else stage for stage in stages]
    cell = Cell(experiment, name, problem, variant, seed, list(sets), stages)
    cell.settings = settings_hash(campaign, problems, own, stages)
    return cell


def own_problem(variants, seeds, minutes):
    """The quickstart's campaign on each valid problem alone."""
    campaign = ROOT / "deploy" / "quickstart.yaml"
    return [make("own-problem", f"{p.stem}/{variant}/{seed}", p.stem, variant, seed, campaign, [p], sets,
                 [lambda own: train_stage(campaign, own, minutes)])
            for variant, sets in variants for p in problem_files("valid") for seed in seeds]


def general(variants, seeds, minutes, model):
    """Warm-up and GRPO over all training problems, then the test problems."""
    campaign = Path(__file__).parent / "general.yaml"
    evaluation = eval_stage([f"raw={model}", "warmup={cell}/run@warmup", "grpo={cell}/run"], "test", 64)
    return [make("general", f"all/{variant}/{seed}", "all", variant, seed, campaign,
                 problem_files("train"), sets,
                 [lambda own: train_stage(campaign, own, minutes), evaluation])
            for variant, sets in variants for seed in seeds]


def ablation(variants, seeds, minutes):
    """Warm-up alone, then the valid problems."""
    campaign = Path(__file__).parent / "general.yaml"
    evaluation = eval_stage(["warmup={cell}/run@warmup"], "valid", 16)
    return [make("ablation", f"warmup/{variant}/{seed}", "warmup", variant, seed, campaign,
                 problem_files("train"), ["train.steps=0", *sets],
                 [lambda own: train_stage(campaign, own, minutes), evaluation])
            for variant, sets in variants for seed in seeds]
