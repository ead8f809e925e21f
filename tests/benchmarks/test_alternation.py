"""The statistics and the order of bursts, on a clock that only moves when something is called."""

import gc

import pytest

from benchmarks.alternation import LEAST_PAIRS, Pairs, alternate, calls_per_burst, time_burst


class Machine:
    """A clock, and calls that take a given time each; `log` is who was called."""

    def __init__(self):
        self.now, self.log, self.slowdown = 0.0, [], lambda now: 1.0

    def clock(self):
        return self.now

    def call(self, name, seconds):
        def called():
            self.log.append(name)
            self.now += seconds * self.slowdown(self.now)

        return called

    def bursts(self):
        """[(name, how many in a row), ...]"""
        found = []
        for name in self.log:
            if found and found[-1][0] == name:
                found[-1][1] += 1
            else:
                found.append([name, 1])
        return [tuple(burst) for burst in found]


def run(ours, theirs, machine=None, **given):
    machine = machine or Machine()
    pairs = alternate(machine.call("ours", ours), machine.call("theirs", theirs), clock=machine.clock, **given)
    return pairs, machine


def test_the_beginner_changes_from_pair_to_pair():
    # Calls longer than a burst: bursts of one, so that the log after the warm-up is the order.
    pairs, machine = run(1.0, 3.0, pairs=6, burst=0.002, budget=1e9)
    assert pairs.calls == (1, 1)
    assert machine.log[-12:] == ["ours", "theirs", "theirs", "ours"] * 3


def test_times_are_per_call_and_bursts_keep_their_length():
    pairs, machine = run(0.0001, 0.0004, pairs=10, burst=0.002, budget=1e9)
    assert pairs.calls[0] in (19, 20) and pairs.calls[1] in (4, 5)
    assert pairs.ours == pytest.approx([0.0001] * 10) and pairs.theirs == pytest.approx([0.0004] * 10)
    # Neighbours of one side meet where the beginner changes: one burst, or two at once.
    lengths = {name: {n for who, n in machine.bursts()[2:] if who == name} for name in ("ours", "theirs")}
    for count, name in zip(pairs.calls, ("ours", "theirs"), strict=True):
        assert lengths[name] <= {count, 2 * count}


def test_the_budget_ends_a_run_but_not_before_the_least_pairs():
    assert len(run(1.0, 1.0, pairs=100, budget=40.0)[0].ours) == 20
    assert len(run(1.0, 1.0, pairs=100, budget=0.0)[0].ours) == LEAST_PAIRS
    assert len(run(1.0, 1.0, pairs=3, budget=1e9)[0].ours) == 3


def test_every_burst_has_a_call_even_when_no_length_is_given():
    assert run(1e-6, 1e-6, pairs=5, burst=0.0)[0].calls == (1, 1)


def test_a_first_call_that_is_slow_does_not_shorten_the_bursts():
    machine = Machine()
    machine.slowdown = lambda now: 1000.0 if now == 0.0 else 1.0
    assert calls_per_burst(machine.call("ours", 0.0001), 0.002, machine.clock) in (19, 20)


def test_load_that_hits_both_leaves_the_ratio_alone():
    machine = Machine()
    machine.slowdown = lambda now: 1.0 + now  # the machine gets ever slower
    pairs, _ = run(0.001, 0.002, machine, pairs=200, burst=0.002, budget=1e9)
    assert pairs.summary()["ratio_median"] == pytest.approx(2.0, rel=0.02)
    assert pairs.ours[-1] > 1.5 * pairs.ours[0]


def test_the_summary_of_known_numbers():
    summary = Pairs([1.0, 2.0, 4.0], [3.0, 2.0, 10.0], (7, 8)).summary()
    assert summary["ratio_min"] == 2.0  # 2 / 1
    assert summary["ratio_median"] == 2.5  # of 3, 1, 2.5
    assert (summary["ours_min"], summary["ours_median"]) == (1.0, 2.0)
    assert (summary["theirs_min"], summary["theirs_median"]) == (2.0, 3.0)
    assert summary["ratio_quartiles"] == [1.0, 3.0]
    assert summary["pairs"] == 3 and summary["calls_per_burst"] == [7, 8]


def test_one_pair_has_a_summary():
    assert Pairs([1.0], [4.0]).summary()["ratio_quartiles"] == [4.0, 4.0]


def test_a_clock_that_stands_still_gives_no_infinite_ratio():
    assert time_burst(lambda: None, 3, lambda: 5.0) > 0


def test_what_a_call_returns_is_freed_outside_the_measured_time():
    machine = Machine()

    class Heavy:
        def __del__(self):
            machine.now += 100.0

    assert time_burst(Heavy, 1, machine.clock) == pytest.approx(1e-9)
    assert machine.now == 100.0


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_of_garbage_waits_and_is_what_it_was_afterwards(enabled):
    before, seen = gc.isenabled(), []
    machine = Machine()
    tick = machine.call("ours", 1.0)
    try:
        (gc.enable if enabled else gc.disable)()
        alternate(lambda: (tick(), seen.append(gc.isenabled())), tick, pairs=2, clock=machine.clock)
        assert gc.isenabled() == enabled and not any(seen)
    finally:
        (gc.enable if before else gc.disable)()
