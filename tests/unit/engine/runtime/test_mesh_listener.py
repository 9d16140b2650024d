"""The data listener tells senders an address that they can reach."""

from __future__ import annotations

from engine.runtime.listener import DataListener


async def test_a_listener_on_every_interface_is_reached_by_a_name() -> None:
    listener = DataListener("0.0.0.0", 0)
    await listener.start()
    _, port = listener.address
    assert listener.address_from_here == ("127.0.0.1", port)
    listener.advertised = ("member.example", 7432)
    assert listener.address_from_afar == ("member.example", 7432)
    assert listener.address_from_here == ("127.0.0.1", port)
    await listener.close()


async def test_a_listener_on_one_address_is_reached_there() -> None:
    listener = DataListener("127.0.0.1", 0)
    await listener.start()
    assert listener.address_from_here == listener.address_from_afar == listener.address
    await listener.close()
