"""Histories of transactions over lists, and the detection of anomalies in them: the method of Elle (Kingsbury and
Alvaro, VLDB 2020).

**Why lists.** Every append adds a value to the end of a list, and each value is appended only once. A read therefore
returns not only a state but also the order of the appends that led to it. So the order of versions, which a database
does not expose, can be derived from a history.

**What is concluded.** For each list, the longest value that was read gives the order of versions; every other read must
be a prefix of it. Committed transactions have these dependencies (Adya, Liskov and O'Neil, ICDE 2000):

- `ww`: a appended the value right before b's;
- `wr`: b read a list that ends with a's value;
- `rw`: a read a list that ends right before b's value (it did not see what b wrote).

| anomaly | what it is | forbidden from |
|---|---|---|
| G1a | a value of a transaction that did not commit was read | READ COMMITTED |
| G1b | a list was read that ends within another transaction's appends | READ COMMITTED |
| G0 | a cycle of `ww` | READ COMMITTED |
| G1c | a cycle of `ww` and `wr` | READ COMMITTED |
| G-single | a cycle with one `rw`: read skew, lost update | REPEATABLE READ |
| G-nonadjacent | a cycle in which no two `rw` follow each other | REPEATABLE READ |
| G2 | a cycle with two `rw` in a row: write skew | SERIALIZABLE |
| incompatible | two reads of a list of which neither is a prefix of the other; a value twice | READ COMMITTED |
| internal | a transaction does not see its own append, or at REPEATABLE READ two reads disagree | READ COMMITTED |
| lost | an append that was acknowledged is not in the last read | always |

Snapshot isolation, which is REPEATABLE READ, allows G2, which is searched for at SERIALIZABLE only. The other cycles
cannot occur under snapshot isolation: `ww` and `wr` imply that a committed before b began, `rw` that a began
before b committed. A closed walk without two `rw` in a row would therefore make some transaction begin before itself.
So the checker searches for such walks over the states (transaction, whether it was reached by `rw`), and need not
search for simple cycles.

A transaction whose COMMIT was never answered may have committed: it did if one of its values was read. Its own reads
are not checked, because the server never confirmed them.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

Key = Hashable
Node = TypeVar("Node", bound=Hashable)
Level = Literal["read committed", "repeatable read", "serializable"]


@dataclass(frozen=True)
class Append:
    key: Key
    value: int


@dataclass(frozen=True)
class Read:
    key: Key
    values: tuple[int, ...]


@dataclass
class Transaction:
    """One attempt of a transaction. end: `ok` if the commit was acknowledged, `failed` if it did not commit, `unknown`
    if the outcome is not known.
    """

    end: Literal["ok", "failed", "unknown"]
    done: list[Append | Read] = field(default_factory=list)

    def appends(self) -> Iterator[Append]:
        return (step for step in self.done if isinstance(step, Append))

    def reads(self) -> Iterator[Read]:
        return (step for step in self.done if isinstance(step, Read))


@dataclass(frozen=True)
class Anomaly:
    name: str
    what: str


def anomalies(
    history: Sequence[Transaction], level: Level, final: Mapping[Key, Sequence[int]] | None = None
) -> list[Anomaly]:
    """Return the anomalies of a history that the isolation level forbids. final: every list as read after all
    transactions had ended.
    """
    return list(_Judge(history, level, final).judged())


class _Judge:
    def __init__(self, history: Sequence[Transaction], level: Level, final: Mapping[Key, Sequence[int]] | None) -> None:
        self._history, self._level, self._final = history, level, final
        self._writers = {(a.key, a.value): i for i, one in enumerate(history) for a in one.appends()}
        self._versions = self._longest()
        seen = {self._writers.get((key, value)) for key, values in self._versions.items() for value in values}
        #: Those that took place, as far as anybody can know.
        self._there = {i for i, one in enumerate(history) if one.end == "ok" or (one.end == "unknown" and i in seen)}

    def _longest(self) -> dict[Key, tuple[int, ...]]:
        found: dict[Key, tuple[int, ...]] = {key: tuple(values) for key, values in (self._final or {}).items()}
        for one in self._history:
            for read in _others(one):
                if len(read.values) > len(found.get(read.key, ())):
                    found[read.key] = read.values
        return found

    def judged(self) -> Iterator[Anomaly]:
        yield from self._reads()
        for i, one in enumerate(self._history):
            yield from _internal(i, one, self._level)
        if self._final is not None:
            yield from self._lost(self._final)
        ww, wr, rw = self._dependencies()
        yield from _cycles("G0", ww)
        yield from _cycles("G1c", ww | wr)
        if self._level != "read committed":
            yield from _walks(ww | wr, rw)
        if self._level == "serializable":
            yield from _cycles("G2", ww | wr | rw)

    def _reads(self) -> Iterator[Anomaly]:
        for i, one in enumerate(self._history):
            if one.end != "ok":
                continue
            for read in _others(one):
                whole = self._versions.get(read.key, ())
                if read.values != whole[: len(read.values)]:
                    yield Anomaly("incompatible", f"{i} read {read.values} of {read.key}, which is {whole}")
                yield from self._seen(i, read)
        for key, values in self._versions.items():
            if len(set(values)) < len(values):
                yield Anomaly("incompatible", f"a value is twice in {key}: {values}")

    def _seen(self, reader: int, read: Read) -> Iterator[Anomaly]:
        for value in read.values:
            writer = self._writers.get((read.key, value))
            if writer is None or self._history[writer].end == "failed":
                yield Anomaly("G1a", f"{reader} read {value} of {read.key}, which {writer} never committed")
        last = self._writers.get((read.key, read.values[-1])) if read.values else None
        if last is not None and last != reader:
            appended = [a.value for a in self._history[last].appends() if a.key == read.key]
            if appended[-1] != read.values[-1]:
                yield Anomaly("G1b", f"{reader} read {read.values} of {read.key}, of {last}'s {appended}")

    def _lost(self, final: Mapping[Key, Sequence[int]]) -> Iterator[Anomaly]:
        for i, one in enumerate(self._history):
            missing = [a for a in one.appends() if a.value not in final.get(a.key, ())]
            if missing and (one.end == "ok" or (one.end == "unknown" and i in self._there)):
                yield Anomaly("lost", f"{i} appended {missing}, which are not there")
            if one.end == "failed" and len(missing) < len(list(one.appends())):
                yield Anomaly("G1a", f"{i} failed, and something of it is there")

    def _dependencies(self) -> tuple[_Edges, _Edges, _Edges]:
        ww, wr, rw = set(), set(), set()
        for key, values in self._versions.items():
            writers = [self._writers.get((key, value)) for value in values]
            ww |= {(a, b) for a, b in itertools.pairwise(writers) if a is not None and b is not None}
        for i, one in enumerate(self._history):
            for read in _others(one) if one.end == "ok" else ():
                whole, seen = self._versions.get(read.key, ()), len(read.values)
                if read.values and (writer := self._writers.get((read.key, read.values[-1]))) is not None:
                    wr.add((writer, i))
                if seen < len(whole) and (writer := self._writers.get((read.key, whole[seen]))) is not None:
                    rw.add((i, writer))
        return self._between(ww), self._between(wr), self._between(rw)

    def _between(self, edges: Iterable[tuple[int, int]]) -> _Edges:
        return {(a, b) for a, b in edges if a != b and a in self._there and b in self._there}


_Edges = set[tuple[int, int]]


def _others(one: Transaction) -> Iterator[Read]:
    """Yield a transaction's reads, without the values that it had appended itself before."""
    own: dict[Key, list[int]] = defaultdict(list)
    for step in one.done:
        if isinstance(step, Append):
            own[step.key].append(step.value)
        else:
            mine = own[step.key]
            kept = (
                len(step.values) - len(mine) if mine and list(step.values[-len(mine) :]) == mine else len(step.values)
            )
            yield Read(step.key, step.values[:kept])


def _internal(number: int, one: Transaction, level: Level) -> Iterator[Anomaly]:
    """Yield the contradictions within one transaction: its own appends must be at the end of a list that it reads, and
    at REPEATABLE READ nothing else may have changed.
    """
    known: dict[Key, tuple[int, ...]] = {}
    own: dict[Key, tuple[int, ...]] = defaultdict(tuple)
    for step in one.done:
        if isinstance(step, Append):
            own[step.key] += (step.value,)
            if step.key in known:
                known[step.key] += (step.value,)
            continue
        mine = own[step.key]
        if mine and step.values[-len(mine) :] != mine:
            yield Anomaly("internal", f"{number} appended {mine} to {step.key} and read {step.values}")
        elif level != "read committed" and known.get(step.key, step.values) != step.values:
            yield Anomaly("internal", f"{number} read {known[step.key]} and then {step.values} of {step.key}")
        known[step.key] = step.values


def _cycles(name: str, edges: _Edges) -> Iterator[Anomaly]:
    for group in components(edges):
        yield Anomaly(name, f"a cycle of {sorted(group)}")


def _walks(plain: _Edges, rw: _Edges) -> Iterator[Anomaly]:
    """Yield closed walks with at least one `rw` and without two `rw` in a row; a walk with one `rw` is a G-single."""
    states: set[tuple[tuple[int, bool], tuple[int, bool]]] = set()
    for a, b in plain:
        states |= {((a, by), (b, False)) for by in (False, True)}
    states |= {((a, False), (b, True)) for a, b in rw}
    groups = [group for group in components(states) if any(by for _, by in group)]
    for group in groups:
        members = {node for node, _ in group}
        one = any(a in members and b in members and a in _reached(b, plain) for a, b in rw)
        yield Anomaly("G-single" if one else "G-nonadjacent", f"a cycle of {sorted(members)}")


def _reached(start: int, edges: _Edges) -> set[int]:
    after = _after(edges)
    found, waiting = {start}, [start]
    while waiting:
        new = after[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _after(edges: Iterable[tuple[Node, Node]]) -> dict[Node, set[Node]]:
    found: dict[Node, set[Node]] = defaultdict(set)
    for a, b in edges:
        found[a].add(b)
    return found


def components(edges: Iterable[tuple[Node, Node]]) -> list[set[Node]]:
    """Return the strongly connected components of more than one node (Tarjan 1972, without recursion, because histories
    are long).
    """
    after = _after(edges)
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on: set[Node] = set()
    found: list[set[Node]] = []
    for root in list(after):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        work = [(root, iter(tuple(after.get(root, ()))))]
        while work:
            node, rest = work[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on.add(to)
                    work.append((to, iter(tuple(after.get(to, ())))))
                    break
                if to in on:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group: set[Node] = set()
                    while node not in group:
                        group.add(top := stack.pop())
                        on.discard(top)
                    if len(group) > 1:
                        found.append(group)
    return found
