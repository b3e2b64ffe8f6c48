#!/usr/bin/env python3
"""How much of what recorded campaigns learned from was error of measurement, with and without shrinking.

    benchmarks/learning/reward_noise.py RUN…

For each run: groups whose rewards differ; how many of them differ by no more than their errors; and the share of
noise in the variance of normalised advantages, as if nothing were shrunk and as it is learned (docs/losses.md).
Errors are those of the verdicts; where a verdict of an old version has none, its interval says it: it was that of the
measurement alone then. So runs of any version can be asked.
"""
import argparse
import math
import sqlite3
import statistics
import struct
from collections import Counter, defaultdict
from pathlib import Path

# Two-sided quantiles of Student's t for 1, 2, 3 … degrees of freedom, as in cpu_bench_worker/stats/statistics.cc.
T95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131]
T995 = [127.321, 14.089, 7.453, 5.598, 4.773, 4.317, 4.029, 3.833, 3.690, 3.581, 3.497, 3.428, 3.372, 3.326, 3.286]
ALL_PAIRS = 16  # With fewer the timing was stopped early, and its interval is of 99.5 %.
CORRECT_BASE, CLIP_HIGH = 0.3, 1.2


SPEEDUP_ERROR = 27  # its field of Verdict (proto/whetstone/v1/verdict.proto)


def varint(data, at):
    """(the number that begins at `at`, where it ends)."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def double_of(message, field):
    """A double of a serialized message; 0 where it is not set."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        kind = tag & 7
        if tag == field << 3 | 1:
            return struct.unpack_from("<d", message, at)[0]
        if kind == 0:
            _, at = varint(message, at)
        elif kind == 2:
            size, at = varint(message, at)
            at += size
        else:
            at += {1: 8, 5: 4}[kind]
    return 0.0


def reward_error(reward, speedup, low, high, pairs, band, within=0.0):
    """Standard error of a CORRECT verdict's reward. `within`: that of ln speedup within the measurement; 0: not known."""
    gain, paid = math.log(speedup), reward - CORRECT_BASE
    if abs(gain) < 1e-12 or abs(paid) < 1e-12 or paid >= CLIP_HIGH - 1e-12:
        return 0.0  # Inside the noise band, or clipped.
    table = T995 if pairs < ALL_PAIRS else T95
    within = within or math.log(high / low) / 2 / table[min(max(pairs - 1, 1), len(table)) - 1]
    return math.hypot(within, band / 1.96) * abs(paid / gain)


def noise_share(rewards):
    """Of [(reward, error)], as common/reward_noise.h says it."""
    n, mean = len(rewards), statistics.fmean(r for r, _ in rewards)
    spread = sum((r - mean) ** 2 for r, _ in rewards)
    noise = sum(k * (1 - k / n) * error ** 2 for (_, error), k in Counter(rewards).items())
    return min(1.0, noise / spread)


def groups_of(run):
    """[(reward, error)] of every group of GRPO steps whose rewards differ."""
    with sqlite3.connect(f"file:{run}/journal.db?mode=ro", uri=True) as journal:
        bands = [band for band, in journal.execute("SELECT noise_band FROM calibrations")]
        band = statistics.median(bands) if bands else 0
        groups = defaultdict(list)
        for step, group, reward, outcome, verdict, *timed in journal.execute(
                "SELECT step, grp, reward, outcome, proto, speedup, speedup_low, speedup_high, process_pairs FROM verdicts "
                "WHERE step > 0 AND dropped = 0"):
            measured = outcome == "CORRECT" and all(timed)
            error = reward_error(reward, *timed, band, double_of(verdict, SPEEDUP_ERROR)) if measured else 0.0
            groups[step, group].append((reward, error))
    return [g for g in groups.values() if len({reward for reward, _ in g}) > 1]


def line(run):
    shares = [noise_share(group) for group in groups_of(run)]
    if not shares:
        return f"{run}: no group's rewards differ"
    kept = [(1 - share) ** 2 for share in shares]
    learned = sum(kept)
    after = sum(k * s for k, s in zip(kept, shares)) / learned if learned else 0
    return (f"{run}: {len(shares)} groups with different rewards, {sum(s >= 1 for s in shares)} of them within their "
            f"errors; noise {100 * statistics.fmean(shares):.2f} % of the variance, {100 * after:.2f} % of what is learned")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="run directories")
    for run in parser.parse_args().runs:
        print(line(run))


if __name__ == "__main__":
    main()
