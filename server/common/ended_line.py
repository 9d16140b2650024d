"""The last line that `sluice serve` prints, when everything has ended in order.

`sluice cluster down` looks for it in a member's log: members are not its children, so it is not told their exit status.
"""

from typing import Final

ENDED_LINE: Final = "sluice ended"
