#!/usr/bin/env python3
"""How often five kinds of 95 % intervals of pass@k hold the truth, in simulated evaluations.

interval_coverage.py    prints, for each number of problems, how problems differ and k, the share that holds it

The table of docs/evaluation.md is its result. A problem's probability of a right sample is drawn from a beta
distribution; every evaluation has 16 samples a problem. It takes two minutes.
"""
import math
from statistics import NormalDist

import numpy as np

SAMPLES = 16
EVALUATIONS = 600
DRAWS = 1000
STUDENT = {6: 2.571, 12: 2.201, 30: 2.045}  # problems: 97.5 % quantile of one degree less


def pass_at_k(passed: np.ndarray, k: int) -> np.ndarray:
    table = [1 - math.comb(SAMPLES - c, k) / math.comb(SAMPLES, k) for c in range(SAMPLES + 1)]
    return np.array(table)[passed]


def coverage(random: np.random.Generator, problems: int, shape: tuple, k: int) -> dict:
    truth = np.mean(1 - (1 - random.beta(*shape, 2_000_000)) ** k)
    tail = NormalDist().cdf(-math.sqrt(problems / (problems - 1)) * STUDENT[problems])
    held: dict = {}
    for _ in range(EVALUATIONS):
        passed = random.binomial(SAMPLES, random.beta(*shape, problems))
        estimates = pass_at_k(passed, k)
        chosen = random.integers(0, problems, (DRAWS, problems))
        one = estimates[chosen].mean(1)
        two = pass_at_k(random.binomial(SAMPLES, (passed / SAMPLES)[chosen]), k).mean(1)
        mean = estimates.mean()
        reach = STUDENT[problems] * estimates.std(ddof=1) / math.sqrt(problems)
        intervals = {
            "problems": np.quantile(one, [0.025, 0.975]),
            "problems, expanded": np.quantile(one, [tail, 1 - tail]),
            "Student's t": (mean - reach, mean + reach),
            "problems and samples": np.quantile(two, [0.025, 0.975]),
            "problems and samples, expanded": np.quantile(two, [tail, 1 - tail]),
        }
        for name, (low, high) in intervals.items():
            held[name] = held.get(name, 0) + (low - 1e-12 <= truth <= high + 1e-12)
    return {name: count / EVALUATIONS for name, count in held.items()}


def main() -> None:
    random = np.random.default_rng(1)
    for problems in STUDENT:
        for shape in ((0.3, 2), (0.5, 0.5), (2, 2)):
            for k in (1, 4, 16):
                shares = coverage(random, problems, shape, k)
                print(problems, "problems, beta", shape, f"pass@{k}:",
                      "; ".join(f"{name} {share:.3f}" for name, share in shares.items()), flush=True)


if __name__ == "__main__":
    main()
