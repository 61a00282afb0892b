"""How often Python looks for garbage that is tied up in cycles.

By default it does after 700 new objects, and looks at all objects of that age. A thousand messages in flight
are some thousand objects that are no garbage: looking at them again and again took a tenth of the hot
path's time. What a message makes is freed without the collector, and so are links and connections that have
ended, but for links of share groups.
"""

from __future__ import annotations

import gc
from typing import Final

YOUNG_OBJECTS: Final = 5_000
"""So many more objects than were freed start a collection: more than the messages in flight swing by."""
GENERATIONS: Final = (5, 3)
"""How many collections of a generation precede one of the next.

Old objects are looked at after 75,000 new ones, about as often as by default: a link that leaves garbage in
cycles may have lasted for long.
"""


def tune() -> None:
    """Collect less often, and never look again at what the start of the process has made."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *GENERATIONS)
