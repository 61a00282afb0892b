from bridge.mapping.layout import Beginnings, Layout
from bridge.mapping.plans import Plan

def compiled_layout(
    names: tuple[str, ...], plan: Plan, decisive: tuple[int, bytes | None] | None, begins: Beginnings, /
) -> Layout: ...
