#!/usr/bin/env python3
"""Runs the experiments on learning, a cell at a time, and goes on where it stopped.

    benchmarks/learning/run.py own-problem                       # quickstart on each valid problem
    benchmarks/learning/run.py own-problem --variant default --variant warm train.lr=1e-5
    benchmarks/learning/run.py rules                             # what rules alone find, no learning
    benchmarks/learning/run.py discovery                         # 256 candidates: best of N, GRPO, whet discover
    benchmarks/learning/run.py general                           # all training problems, then test
    benchmarks/learning/run.py exploration --variant hot generate.temperature=2
    benchmarks/learning/run.py ablation --variant raw warmup.examples=FILE
    benchmarks/learning/run.py own-problem --list                # the cells, and which are done
    benchmarks/learning/run.py table own-problem

A cell is one campaign (and where the experiment has one, an evaluation; of `rules` a search) with given settings, identified by
the hash of its settings and files and by the commit that the whet program was built from. It runs in pieces of at most
20 minutes, each of which ends with a row in results/EXPERIMENT.jsonl. Started again, this program skips
cells that have ended and resumes the one that was stopped. Nothing is started while a compiler, whet or another
runner works on this machine: times would be wrong.
"""
import argparse
import contextlib
import datetime
import fcntl
import fnmatch
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import cells
import discovery
import figures
import tables
from cells import ROOT

RESULTS = Path(__file__).resolve().parent / "results"
SEEDS = {"own-problem": [17, 18], "rules": [17], "general": [17, 18, 19], "exploration": [18],
         "ablation": [17], "discovery": [17]}
MINUTES = {"own-problem": 10, "rules": 0.5, "general": 90, "exploration": 20, "ablation": 20}
BUSY = {"cc1", "cc1plus", "collect2", "ld", "lld", "nvcc", "cicc", "ninja", "make", "whet", "whet-trainer",
        "whet-worker"}
STOP_LIMIT_S = 180  # A step's update ends before whet does.
EXIT_STOPPED = 130


def busy_processes(proc):
    """Names and pids of what would share the cores with a cell."""
    found = []
    for comm in proc.glob("[0-9]*/comm"):
        try:
            name = comm.read_text().strip()
        except OSError:  # It has ended.
            continue
        if name in BUSY or name.startswith("clang"):
            found.append(f"{name} ({comm.parent.name})")
    return sorted(found)


class Results:
    """The rows of an experiment; a row is on disk before anything further happens."""

    def __init__(self, path):
        self.path = path

    def rows(self):
        if not self.path.exists():
            return []
        rows = []
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise figures.Failed(f"{self.path}:{number}: no JSON object ({error}); remove the line, and "
                                     "its piece is run again") from error
        return rows

    def of(self, cell, commit):
        return [r for r in self.rows() if r["settings"] == cell.settings and r["commit"] == commit]

    def append(self, row):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())


def next_stage(cell, rows):
    """(stage, pieces that it has had, their seconds), or None if the cell has ended."""
    for stage in cell.stages:
        pieces = [r for r in rows if r["stage"] == stage.name]
        if not any(r["ended"] for r in pieces):
            return stage, len(pieces), sum(r["seconds"] for r in pieces)
    return None


class Runner:
    def __init__(self, whet, results, runs, proc=Path("/proc"), piece_s=60 * cells.PIECE_MINUTES,
                 patience_s=15):
        self.whet = whet
        self.results = results
        self.runs = runs
        self.proc = proc
        self.piece_s = piece_s
        self.patience_s = patience_s
        version = subprocess.run([whet, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        found = re.search(r"commit ([^)]+)\)", version)
        if not found:
            raise figures.Failed(f"{whet} --version names no commit: {version.strip()!r}")
        self.commit = found[1]

    def refuse_if_busy(self):
        # The services of the piece before end a moment after whet.
        deadline = time.monotonic() + self.patience_s
        while (busy := busy_processes(self.proc)) and time.monotonic() < deadline:
            time.sleep(0.5)
        if busy:
            raise figures.Failed(f"{', '.join(busy)} would share the cores with the cell: wait until nothing "
                                 "builds or trains here, and start again")

    @contextlib.contextmanager
    def alone(self):
        self.runs.mkdir(parents=True, exist_ok=True)
        with open(self.runs / ".lock", "w", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise figures.Failed(f"another runner works in {self.runs}") from None
            yield

    def run_piece(self, cell, stage, number, seconds_before):
        """Runs one piece of a stage and appends its row."""
        directory = cell.directory(self.runs, self.commit)
        cell.prepare(directory)
        log = directory / f"{stage.name}-{number + 1}.log"
        clock = Clock(directory / "clock.json", [stage.name, number])
        command = stage.resume if (directory / stage.made).exists() else stage.start
        command = [self.whet, *(word.replace("{cell}", str(directory)) for word in command)]
        limit = min(self.piece_s, 60 * stage.limit_minutes - seconds_before)
        code = self.run_until(command, log, clock, limit, lambda: cell.keep_warmup(directory))
        # -SIGINT: stopped before whet listened.
        if code not in (*stage.finished, EXIT_STOPPED, -signal.SIGINT):
            said = log.with_suffix(".err").read_text().strip().splitlines()
            raise figures.Failed(f"{cell.name}: whet {command[1]} ended with {code}: "
                                 f"{said[-1] if said else 'it said nothing'}; its output is {log} and .err")
        seconds = clock.seconds
        ended = "finished" if code in stage.finished else None
        if ended is None and seconds_before + seconds >= 60 * stage.limit_minutes:
            ended = "time is up"
        row = {"experiment": cell.experiment, "cell": cell.name, "problem": cell.problem,
               "variant": cell.variant, "seed": cell.seed, "sets": cell.sets, "settings": cell.settings,
               "commit": self.commit, "host": platform.node(), "cores": os.cpu_count(),
               "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
               "stage": stage.name, "piece": number + 1, "seconds": round(seconds, 1), "ended": ended}
        row.update(figures.of_stage(self.whet, cell, stage, directory, ended, log))
        before = [r for r in self.results.of(cell, self.commit) if r["stage"] == stage.name][-1:]
        if ended and cell.experiment == "discovery":
            row.update(discovery.of_cell(self.whet, cell, directory))
        self.results.append(row)
        if ended:
            cell.end(directory)
        if stage.name == "train" and not ended and any(figures.progress(r) == figures.progress(row)
                                                       for r in before):
            raise figures.Failed(f"{cell.name}: piece {number + 1} came no further than the one before it: what "
                                 "is not in a checkpoint is learned again after each piece, so warm-up, of which "
                                 "only the end is saved, or checkpoint.every takes longer than a piece")
        return row

    def run_until(self, command, log, clock, limit, meanwhile):
        """Returns the exit code; where the piece's time is up first, that of the stopped program."""
        # A runner that is killed takes the program with it; Ctrl-C is for the runner alone, which
        # stops the program cleanly.
        with open(log, "w", encoding="utf-8") as out, open(log.with_suffix(".err"), "w",
                                                           encoding="utf-8") as err:
            process = subprocess.Popen(["setpriv", "--pdeathsig", "INT", *command], cwd=ROOT, stdout=out,
                                       stderr=err, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            while clock.seconds < limit:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return process.wait(timeout=max(0.01, min(5, limit - clock.seconds)))
                clock.save()
                meanwhile()
            return stop(process)
        except BaseException:
            stop(process)
            raise
        finally:
            clock.save()
            meanwhile()

    def run(self, chosen, after_row=None):
        """Runs them one after the other; one that fails doesn't keep the others from running."""
        failed = 0
        with self.alone():
            for cell in chosen:
                try:
                    while (found := next_stage(cell, self.results.of(cell, self.commit))) is not None:
                        self.refuse_if_busy()
                        print(f"… {cell.name}: {found[0].name}, piece {found[1] + 1}", flush=True)
                        print(tables.line(self.run_piece(cell, *found)), flush=True)
                        if after_row:
                            after_row(cell)
                except (figures.Failed, subprocess.TimeoutExpired) as error:
                    print(f"FAILED {error}", file=sys.stderr, flush=True)
                    failed += 1
        if failed:
            raise figures.Failed(f"{failed} of {len(chosen)} cells failed; start again to go on with them")


class Clock:
    """Seconds that a piece has run, over all starts of it."""

    def __init__(self, path, piece):
        self.path = path
        self.piece = piece
        saved = json.loads(path.read_text()) if path.exists() else {}
        self.before = saved["seconds"] if saved.get("piece") == piece else 0.0
        self.start = time.monotonic()

    @property
    def seconds(self):
        return self.before + time.monotonic() - self.start

    def save(self):
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps({"piece": self.piece, "seconds": self.seconds}))
        part.replace(self.path)


def stop(process):
    """SIGINT twice stops whet at once; one that does not listen is killed."""
    for limit in (STOP_LIMIT_S, STOP_LIMIT_S):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=limit)
    process.kill()
    return process.wait()


def variants_of(options):
    return [(words[0], words[1:]) for words in options.variant or [["default"]]]


def chosen_cells(options):
    minutes = getattr(options, "minutes", None) or MINUTES.get(options.experiment)
    if options.experiment != "rules":
        seeds, variants = options.seeds or SEEDS[options.experiment], variants_of(options)
    if options.experiment == "discovery":
        made = cells.discovery_arms(variants if options.variant else [], seeds)
    elif options.experiment == "own-problem":
        made = cells.own_problem(variants, seeds, minutes)
    elif options.experiment == "rules":
        made = cells.rules(minutes)
    elif options.experiment == "general":
        made = cells.general(variants, seeds, minutes, options.model)
    elif options.experiment == "exploration":
        made = cells.exploration(variants, seeds, minutes)
    else:
        made = cells.ablation(variants, seeds, minutes)
    if not options.cells:
        return made
    chosen = [c for c in made if any(fnmatch.fnmatch(c.name, p) for p in options.cells)]
    if not chosen:
        raise figures.Failed(f"no cell is called {' or '.join(options.cells)}; there are: "
                             f"{', '.join(c.name for c in made) or 'none'}")
    return chosen


def commit_rows(path, cell):
    git = ["git", "-C", path.parent]
    subprocess.run([*git, "add", path.name], check=True)
    subprocess.run([*git, "commit", "-q", "-m", f"Measured: {cell.experiment} {cell.name}", "--", path.name],
                   check=True)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="experiment", required=True)
    for name in SEEDS:
        command = commands.add_parser(name)
        command.add_argument("--cells", nargs="+", help="only those of these names, PROBLEM/VARIANT/SEED; * "
                             "stands for anything")
        if name != "rules":
            command.add_argument("--variant", nargs="+", action="append", metavar=("NAME", "KEY=VALUE"),
                                 help="settings to compare, as of whet run --set; paths are relative to the "
                                 "repository; may be repeated")
            command.add_argument("--seeds", nargs="+", type=int)
        if name in MINUTES:
            command.add_argument("--minutes", type=float, help=f"of {'search' if name == 'rules' else 'training'}; "
                                 f"default {MINUTES[name]}")
        if name == "general":
            command.add_argument("--model", type=Path, help="the raw model; default the quickstart's",
                                 default=Path("~/.cache/whetstone/models/SmolLM2-135M-Instruct").expanduser())
        command.add_argument("--whet", type=Path, default=ROOT / "build" / "release" / "bin" / "whet")
        command.add_argument("--runs", type=Path, default=ROOT / "runs" / "learning")
        command.add_argument("--results", type=Path, default=RESULTS)
        command.add_argument("--commit", action="store_true", help="a git commit for each row")
        command.add_argument("--list", action="store_true", help="run nothing")
    table = commands.add_parser("table")
    table.add_argument("name", choices=list(SEEDS))
    table.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args(argv)


def main(argv=None, proc=Path("/proc")):
    options = parse(argv)
    try:
        if options.experiment == "table":
            rows = Results(options.results / f"{options.name}.jsonl").rows()
            print(discovery.table(rows) if options.name == "discovery" else tables.of(options.name, rows))
            return 0
        results = Results(options.results / f"{options.experiment}.jsonl")
        runner = Runner(options.whet.absolute(), results, options.runs.absolute(), proc)
        chosen = chosen_cells(options)
        if options.list:
            for cell in chosen:
                found = next_stage(cell, results.of(cell, runner.commit))
                print(f"{cell.name:40} {'done' if found is None else f'{found[0].name}, {found[1]} pieces'}")
            return 0
        if runner.commit.endswith("changed"):
            print("note: whet was built from sources that are not committed: its rows can't be made again",
                  file=sys.stderr)
        runner.run(chosen, (lambda cell: commit_rows(results.path, cell)) if options.commit else None)
        return 0
    except (figures.Failed, OSError, subprocess.CalledProcessError) as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return EXIT_STOPPED


def interrupt(_signal, _frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)
    sys.exit(main())
