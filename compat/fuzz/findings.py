"""Outcomes counted, failures listed with the command that repeats them."""

from collections import Counter, defaultdict

from .children import FAILURES

KINDS = ("ok", "ValueError", "RuntimeError", "MemoryError", "slow", *FAILURES)


class Findings:
    """What a run has found; `options` is what its command line said of sources."""

    def __init__(self, options=""):
        self.options = options
        self.counts = defaultdict(Counter)
        self.failures, self.slow = [], []

    def add(self, finding):
        self.counts[finding.name.partition(":")[0]][finding.kind] += 1
        if finding.kind in FAILURES:
            self.failures.append(finding)
        elif finding.kind == "slow":
            self.slow.append(finding)

    def command(self, finding):
        """One line that does it again."""
        return (
            f"python -m compat.fuzz {self.options} --model '{finding.source.name}' --seed {finding.seed} "
            f"--only {finding.name}"
        )

    def distinct(self):
        """Failures with the same text, the first of each and how many there are."""
        groups = defaultdict(list)
        for finding in self.failures:
            groups[finding.kind, finding.text].append(finding)
        return sorted(groups.values(), key=len, reverse=True)

    def text(self, sources):
        """The summary."""
        kinds = [kind for kind in KINDS if any(counts[kind] for counts in self.counts.values())]
        lines = [f"{sources} models, {sum(c.total() for c in self.counts.values())} runs", ""]
        lines.append("| mutation |" + "".join(f" {kind} |" for kind in kinds))
        lines.append("| --- |" + " ---: |" * len(kinds))
        for mutation, counts in self.counts.items():
            lines.append(f"| {mutation} |" + "".join(f" {counts[kind]} |" for kind in kinds))
        for group in self.distinct():
            lines += ["", f"{group[0].kind} x {len(group)}: {group[0].text}", f"    {self.command(group[0])}"]
        return "\n".join(lines)

    def json(self):
        """The same as data."""
        return {
            "counts": {mutation: dict(counts) for mutation, counts in self.counts.items()},
            "failures": [
                {"kind": f.kind, "text": f.text, "model": f.source.name, "seed": f.seed, "mutation": f.name}
                for f in (*self.failures, *self.slow)
            ],
        }
