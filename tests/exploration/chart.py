"""The path to a state as a message sequence chart: one lane for each member, time runs downwards, and an arrow shows an
arrival.

    a                             b
    |<------- OpenChannel --------|     deliver
    |                             [ set up ]

A message is shown where it arrives, because it takes effect there, and because the order of arrivals explains a race.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from wire.mesh import messages
from wire.mesh.framing import FrameReader

if TYPE_CHECKING:
    from explorer import Step
    from world import State, World

_WIDTH: Final = 34


class Named(Protocol):
    """The part of a world that the chart needs: the names of its lanes."""

    names: tuple[str, ...]


def charted(world: World, steps: Sequence[Step]) -> str:
    """Return the chart of these steps. The last of them may be one that cannot be done."""
    state = world.first()
    lines = ["".join(f"{name:<{_WIDTH}}" for name in world.names)]
    for number, step in enumerate(steps):
        lines.append(_line(world, state, step))
        if number < len(steps) - 1:
            state = world.after(state, step)
    return "\n".join(lines)


def _line(world: World, state: State, step: Step) -> str:
    kind, *arguments = step
    match kind:
        case "deliver":
            sender, receiver = world.pairs[arguments[0]]
            return arrow(world, sender, receiver, _name(state.links[arguments[0]][0]))
        case "arrive" | "hear":
            connection = state.connections[arguments[0]]
            sender = world.running_at[connection.stream]
            receiver = world.receiver_of(connection.stream)
            if kind == "arrive":
                return arrow(world, sender, receiver, _frames(connection.to_receiver[0], by_sender=True))
            return arrow(world, receiver, sender, _frames(connection.to_sender[0], by_sender=False))
        case "open" | "connect" | "offer" | "pass" | "ended" | "fail" | "twin" | "cut":
            stream, who = state.streams[arguments[0]], world.senders[arguments[0]]
            batch = f" batch {stream.sent}" if kind == "offer" else ""
            attempt = "" if who.job is None else f", attempt {who.attempt}"
            return event(world, world.running_at[arguments[0]], f"instance {who.number}{attempt}: {kind}{batch}")
        case "set_up" | "crash" | "cancel" | "unread":
            return event(world, arguments[0], kind.replace("_", " "))
        case "part":
            one, other = world.pairs[arguments[0]]
            return f"  x x x  connection {world.names[one]} - {world.names[other]} breaks  x x x"
        case "sever":
            return f"  x x x  data connection {arguments[0]} breaks  x x x"
        case "read" | "close":
            return event(world, 0, f"the portal: {kind}")
    return f"  . . .  {kind}"


def _name(message: Any) -> str:
    return "connection lost" if message is None else type(message).__name__


def _frames(chunk: bytes | None, *, by_sender: bool) -> str:
    if chunk is None:
        return "end of stream"
    reader = FrameReader(preface=by_sender and chunk.startswith(b"sluice"), body_limit=1 << 20)
    found = []
    for item in reader.feed(chunk):
        message = messages.decode(item.kind, item.header)
        match message:
            case messages.Batch(rows=rows, last=last, attempt=attempt):
                found.append(f"Batch({rows} rows{', last' if last else ''}, attempt {attempt})")
            case messages.Deny(reason, _):
                found.append(f"Deny({reason})")
            case messages.FlowControl(granted) | messages.Ok(granted, _):
                found.append(f"{type(message).__name__}({granted})")
            case _:
                found.append(type(message).__name__)
    return " ".join(found)


def arrow(world: Named, sender: int, receiver: int, label: str) -> str:
    left, right = sorted((sender, receiver))
    width = (right - left) * _WIDTH - 1
    middle = f" {label} ".center(width - 1, "-")
    body = f"{middle}>" if sender < receiver else f"<{middle}"
    return _lanes(left) + "|" + body + "|" + _lanes(len(world.names) - right - 1, after=True)


def event(world: Named, member: int, label: str) -> str:
    text = f"[ {label} ]"
    return _lanes(member) + text.ljust(_WIDTH) + _lanes(len(world.names) - member - 1)


def _lanes(count: int, *, after: bool = False) -> str:
    lane = "|".ljust(_WIDTH)
    return ("|".rjust(_WIDTH) * count) if after else lane * count
