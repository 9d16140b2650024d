"""The last line that `sluice serve` prints after an orderly shutdown.

`sluice cluster down` looks for it in a member's log: members are not its children, so it does not learn their exit
status.
"""

from typing import Final

ENDED_LINE: Final = "sluice ended"
