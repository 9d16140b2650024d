"""`sluice serve --processes N`: starts the dispatcher and its members."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack

from server.common.descriptors import raise_limit
from server.common.ended_line import ENDED_LINE
from server.config.address import Address
from server.config.config import Config
from server.config.errors import ConfigurationError
from server.processes.configurations import process_configurations
from server.processes.dispatcher import CannotListen, Dispatcher
from server.serving import configure_log, run


def serve_processes(config: Config) -> int:
    """Serve until a signal ends the process. Returns the process's exit status."""
    try:
        with ExitStack() as held:
            configs = process_configurations(config, held)
            if len(configs) == 1:
                return run(configs[0])
            configure_log(config)
            raise_limit()
            status = Dispatcher(Address.parse(config.listen), configs, run).serve()
    except (CannotListen, ConfigurationError, ValueError, OSError) as error:
        logging.getLogger(__name__).debug("the server could not start", exc_info=True)
        print(f"sluice: {error}", file=sys.stderr)  # noqa: T201
        return 1
    if status == 0:
        print(ENDED_LINE, flush=True)  # noqa: T201
    return status
