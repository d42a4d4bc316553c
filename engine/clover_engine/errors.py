"""Every error the engine raises for a reason the caller can act on.

CloverError
├── RequestError          the canvas request itself cannot be served
│   └── Unsupported       this engine cannot do what the request asks for; another may
├── Cancelled             the caller cancelled, or a newer request of the same document took over
├── ModelError            the model on disk is missing, damaged or of an unknown family
└── EngineError           the engine could not answer
    ├── EngineUnavailable no engine could be reached or started, or it went away in mid-request
    ├── ProtocolMismatch  the engine at the other end speaks another protocol or program version
    └── EngineBusy        too many jobs are waiting
"""


class CloverError(Exception):
    """Base of all errors shown to the user: one line that says what to do."""


class RequestError(CloverError):
    """The canvas request is malformed or larger than the engine serves."""


class Unsupported(RequestError):
    """This engine cannot do what the request asks for; another one may."""


class Cancelled(CloverError):
    """The job was cancelled or superseded; its text so far is dropped."""


class ModelError(CloverError):
    """The model files are missing, damaged, or of a layout the engine does not know."""


class EngineError(CloverError):
    """The engine could not answer."""


class EngineUnavailable(EngineError):
    """No engine could be reached or started, or it went away in mid-request."""


class ProtocolMismatch(EngineError):
    """The engine at the other end speaks another protocol or belongs to another program version."""


class EngineBusy(EngineError):
    """Too many jobs are waiting; try again later."""
