"""The installed version. Reading it imports `importlib.metadata`, which the command line avoids."""

from importlib.metadata import version
from typing import Final

VERSION: Final = version("sluice")
