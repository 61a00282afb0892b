from collections.abc import Callable

from bridge.mapping.record import Record
from bridge.mapping.shapes import Cut
from bridge.mapping.to_record import More

def compiled_to_record(more: More, /) -> Callable[[bytes], Record]: ...

class CompiledShape:
    hits: int
    def __init__(
        self, message: bytes, body_at: int, cuts: list[Cut], record: Record, key_cut: Cut | None
    ) -> None: ...
    def record(self, message: bytes, /) -> Record | None: ...
