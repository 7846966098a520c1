"""A client of patchbay, the router of messages between agents.

    hub = await patchbay.connect()
    await hub.register("counter", capabilities={"methods": ["tests/count"]})
"""

from .errors import ConnectionLost, HubError
from .events import Event, Events
from .hub import Hub, connect
from .request import Request
from .version import __version__

__all__ = ["ConnectionLost", "Event", "Events", "Hub", "HubError", "Request", "__version__", "connect"]
