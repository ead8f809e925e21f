"""What an import costs a program that has numpy: time, resident memory and its peak, each time in a fresh process."""

from statistics import median

from .fresh import ask


def measure(sides, runs, timeout=300.0):
    """{side: medians and the single runs}. The sides take turns; the first round, which fills caches, does not count."""
    found = {side.name: [] for side in sides}
    for turn in range(runs + 1):
        for side in sides:
            answer = ask("import", side.statement, timeout=timeout)
            if turn:
                found[side.name].append(answer)
    return {side.name: {"statement": side.statement, **_summary(found[side.name])} for side in sides}


def _summary(answers):
    medians = {key: median(answer[key] for answer in answers) for key in ("seconds", "rss", "peak")}
    return {**medians, "seconds_min": min(answer["seconds"] for answer in answers), "runs": answers}
