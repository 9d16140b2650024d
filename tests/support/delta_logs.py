"""Delta tables whose logs are written by hand: one commit, with features that `deltalake` does not write."""

from __future__ import annotations

import base64
import json
import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def by_hand(
    folder: Path,
    fields: Sequence[Mapping[str, Any]],
    files: Sequence[Mapping[str, Any]],
    protocol: Mapping[str, Any],
    partition_by: Sequence[str] = (),
    **configuration: str,
) -> None:
    """Write a Delta log of one commit."""
    schema = json.dumps({"type": "struct", "fields": [{"nullable": True, "metadata": {}, **f} for f in fields]})
    actions: list[Any] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2, **protocol}},
        {
            "metaData": {
                "id": str(folder), "format": {"provider": "parquet", "options": {}}, "schemaString": schema,
                "partitionColumns": list(partition_by), "configuration": configuration, "createdTime": 1,
            }
        },
    ]  # fmt: skip
    common = {"partitionValues": {}, "size": 100, "modificationTime": 1, "dataChange": True}
    actions += [{"add": {**common, **file}} for file in files]
    (folder / "_delta_log").mkdir(parents=True)
    (folder / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))


def features(*names: str) -> dict[str, Any]:
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}


ID = {"name": "id", "type": "long"}


def _bitmap(deleted: Sequence[int]) -> bytes:
    """Return Delta's RoaringBitmapArray of row numbers below 2**32. Each 65,536 rows have an array container, or a
    bitset if many of them are deleted.
    """
    rows = np.array(deleted, np.uint32)
    keys = np.unique(rows >> 16)
    parts = [(rows[rows >> 16 == key] & 0xFFFF).astype("<u2") for key in keys]
    described = b"".join(struct.pack("<HH", key, len(part) - 1) for key, part in zip(keys, parts, strict=True))
    containers = [part.tobytes() if len(part) <= 4096 else _bitset(part) for part in parts]
    start = 8 + 8 * len(keys)
    offsets = np.cumsum([start, *map(len, containers[:-1])]).astype("<u4").tobytes()
    bitmap = struct.pack("<II", 12346, len(keys)) + described + offsets + b"".join(containers)
    return struct.pack("<IqI", 1681511377, 1, 0) + bitmap


def _bitset(rows: np.ndarray[Any, Any]) -> bytes:
    bits = np.zeros(1 << 16, np.uint8)
    bits[rows] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def _z85(data: bytes) -> str:
    return base64.b85encode(data + bytes(-len(data) % 4)).decode().translate(_Z85)


_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = str.maketrans(_B85, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#")


def vector_of(*deleted: int) -> dict[str, Any]:
    """Return a deletion vector that is stored in the log."""
    whole = _bitmap(deleted)
    return {"storageType": "i", "pathOrInlineDv": _z85(whole), "sizeInBytes": len(whole), "cardinality": len(deleted)}


def vector_in_file(folder: Path, *deleted: int) -> dict[str, Any]:
    """Write a deletion vector to a file in the table's folder. The file contains another vector before it, which
    nothing refers to.
    """
    number, whole, other = uuid.uuid4(), _bitmap(deleted), _bitmap([7])
    folder.mkdir(parents=True, exist_ok=True)
    written = [struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data)) for data in (other, whole)]
    (folder / f"deletion_vector_{number}.bin").write_bytes(b"\x01" + b"".join(written))
    return {
        "storageType": "u", "pathOrInlineDv": _z85(number.bytes), "offset": 1 + len(written[0]), "sizeInBytes": len(whole),
        "cardinality": len(deleted),
    }  # fmt: skip
