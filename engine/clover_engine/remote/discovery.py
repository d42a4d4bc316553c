"""Which model a remote serves, and so in which dialect it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from clover_engine.errors import EngineError, EngineUnavailable
from clover_engine.remote.dialect import Dialect
from clover_engine.remote.fim import prompt_for
from clover_engine.remote.http import Http
from clover_engine.remote.instruct import Instruct
from clover_engine.remote.llama_cpp import LlamaCpp
from clover_engine.remote.openai_fim import OpenAiFim
from clover_engine.remote.sglang import SGLang
from clover_engine.remote.vllm import VLLM


class Kind(StrEnum):
    """What serves at the other end."""

    LLAMA_CPP = "llama.cpp"
    OPENAI = "openai"  # `prompt` and `suffix`
    SGLANG = "sglang"
    VLLM = "vllm"


@dataclass(frozen=True, slots=True)
class Remote:
    """What was found: the model's name, and how it is asked."""

    model: str
    dialect: Dialect


async def discover(kind: Kind, http: Http, model: str = "", path: str = "") -> Remote:
    """Ask the remote which model it serves, unless `model` says so. Raises EngineError."""
    if kind is Kind.LLAMA_CPP:
        return Remote(model or await _llama_model(http), LlamaCpp())
    name = model or await _listed(http)
    if kind is Kind.OPENAI:
        return Remote(name, OpenAiFim(name, path) if path else OpenAiFim(name))
    known = prompt_for(name)
    if known is None:
        return Remote(name, Instruct(name))
    return Remote(name, SGLang(known) if kind is Kind.SGLANG else VLLM(name, known))


async def detect(http: Http) -> Kind:
    """What serves there, by the routes that only one of them has. Raises EngineError."""
    routes = {
        "/props": Kind.LLAMA_CPP,
        "/get_model_info": Kind.SGLANG,
        "/version": Kind.VLLM,
    }
    for path, kind in routes.items():
        try:
            await http.get(path)
        except EngineUnavailable:
            raise
        except EngineError:
            continue
        return kind
    await _listed(http)
    return Kind.OPENAI


async def _llama_model(http: Http) -> str:
    return await _told(http, "/props", lambda said: PurePosixPath(said["model_path"]).name)


async def _listed(http: Http) -> str:
    return await _told(http, "/v1/models", lambda said: str(said["data"][0]["id"]))


async def _told(http: Http, path: str, read: Callable[[Any], str]) -> str:
    said = await http.get(path)
    try:
        return read(said)
    except (KeyError, TypeError, IndexError) as error:
        raise EngineError(f"{path} says nothing of a model: set the profile's `model`") from error
