"""The version that is installed. Reading it imports `importlib.metadata`, which the command line can do without."""

from importlib.metadata import version
from typing import Final

VERSION: Final = version("sluice")
