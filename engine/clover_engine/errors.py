"""Every error the engine raises for a reason the caller can act on.

CloverError
├── RequestError          the canvas request itself cannot be served
│   └── Unsupported       this engine cannot do what the request asks for; another may
├── Cancelled             the caller cancelled, or a newer request of the same document took over
├── ModelError            the model on disk is missing, damaged or of an unknown family
│   ├── CheckpointError   its files are not what its family needs: all that is wrong is listed
│   └── UnknownFamily     no family is known that has its architecture
└── EngineError           the engine could not answer
    ├── EngineUnavailable no engine could be reached or started, or it went away in mid-request
    ├── ProtocolMismatch  the engine at the other end speaks another protocol or program version
    └── EngineBusy        too many jobs are waiting
"""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 8  # problems of a checkpoint that its message names


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


class CheckpointError(ModelError):
    """The files of a checkpoint are not what they should be; `problems` says all that is wrong."""

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    @classmethod
    def of(cls, folder: str, *problems: str) -> CheckpointError:
        """The error of a folder, which shows as many problems as fit a line."""
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        return cls(f"{folder} cannot be loaded: {'; '.join(problems[:_SHOWN])}{more}", problems)


class UnknownFamily(ModelError):
    """No family is known that has the architecture a config.json names."""


class EngineError(CloverError):
    """The engine could not answer."""


class EngineUnavailable(EngineError):
    """No engine could be reached or started, or it went away in mid-request."""


class ProtocolMismatch(EngineError):
    """The engine at the other end speaks another protocol or belongs to another program version."""


class EngineBusy(EngineError):
    """Too many jobs are waiting; try again later."""
