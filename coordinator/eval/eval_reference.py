#!/usr/bin/env python3
"""Estimates and intervals of an evaluation, computed another way: by trying every choice of samples.

eval_reference.py IN.json OUT.json

IN has problems ([{"expert", "models": [[speedup or 0, …], …]}]), metrics ([{"measure", "p", "k"}]) and draws. OUT has
the estimates and intervals of each model and of each pair, [value, low, high] by metric, as bootstrap.h defines them.
Its random numbers are its own, so intervals agree only as far as the number of draws lets them.
"""
import itertools
import json
import math
import statistics
import sys

import numpy as np


def is_hit(metric: dict, expert: float, speedup: float) -> bool:
    if metric["measure"] == "pass":
        return speedup > 0
    threshold = expert if metric["measure"] == "expert" else metric["p"]
    return threshold > 0 and speedup > threshold


def estimate(metric: dict, expert: float, speedups: list) -> float:
    """The mean over all choices of k samples; of "best" its logarithm."""
    k = min(metric["k"], len(speedups))
    if metric["measure"] == "best":
        values = [math.log(max(s, 1.0)) for s in speedups]
    else:
        values = [float(is_hit(metric, expert, s)) for s in speedups]
    return statistics.fmean(max(choice) for choice in itertools.combinations(values, k))


def student_quantile(degrees: int) -> float:
    """The 97.5 % quantile, by adding up the density."""
    scale = math.gamma((degrees + 1) / 2) / math.sqrt(degrees * math.pi) / math.gamma(degrees / 2)
    x = np.linspace(0, 20, 2_000_001)
    density = scale * (1 + x * x / degrees) ** (-(degrees + 1) / 2)
    within = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))])
    return float(x[np.searchsorted(within, 0.475)])


def tail(problems: int) -> float:
    if problems == 1:
        return 0.025
    reach = math.sqrt(problems / (problems - 1)) * student_quantile(problems - 1)
    return statistics.NormalDist().cdf(-reach)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        given = json.load(file)
    problems, metrics = given["problems"], given["metrics"]
    models = len(problems[0]["models"])
    random = np.random.default_rng(1)

    def estimates(problem: dict, numbers) -> np.ndarray:
        """By model and metric; `numbers` are those of the samples."""
        return np.array([[estimate(metric, problem["expert"], [speedups[i] for i in numbers])
                          for metric in metrics] for speedups in problem["models"]])

    count, samples = len(problems), len(problems[0]["models"][0])
    each = np.array([estimates(problem, range(samples)) for problem in problems])
    values = each.mean(0)
    draws, pair_draws = [], []
    for _ in range(given["draws"]):
        chosen = random.integers(0, count, count)
        numbers = random.integers(0, samples, (count, samples))
        draws.append(np.mean([estimates(problems[i], n) for i, n in zip(chosen, numbers)], 0))
        pair_draws.append(each[chosen].mean(0) if count > 1 else draws[-1])
    draws, pair_draws = np.array(draws), np.array(pair_draws)
    share = tail(len(problems))

    def result(value: np.ndarray, drawn: np.ndarray) -> list:
        low, high = np.quantile(drawn, [share, 1 - share], axis=0)
        rows = [[float(v), float(a), float(b)] for v, a, b in zip(value, low, high)]
        return [[math.exp(x) for x in row] if metric["measure"] == "best" else row
                for metric, row in zip(metrics, rows)]

    out = {"models": [result(values[m], draws[:, m]) for m in range(models)],
           "pairs": [result(values[m] - values[b], pair_draws[:, m] - pair_draws[:, b])
                     for m in range(models) for b in range(m)],
           "tail": share}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(out, file)


if __name__ == "__main__":
    main()
