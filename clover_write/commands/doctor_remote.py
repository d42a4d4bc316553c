"""`clover-write doctor --remote`: what answers at an engine on another machine, and how."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clover_engine.errors import CloverError
from clover_write.commands.finding import Finding
from clover_write.profiles import ENGINE, LOCAL, Profile, order

if TYPE_CHECKING:
    from clover_engine.api import EngineClient
    from clover_write.config import Config

TOKEN = "CLOVER_WRITE_REMOTE_TOKEN"  # for a URL that no profile names


def routes(config: Config) -> Finding:
    """Where text goes, in order, and what goes nowhere."""
    names = order(config.profile, config.profiles)
    said = [_place(name, config) for name in names]
    never = ", ".join((*config.never_send, "secret files", "documents marked 绝密, 机密 or 秘密"))
    beyond = any(name != LOCAL and not config.profiles[name].is_local for name in names)
    return Finding("text", ", then ".join(said) + (f"; never: {never}" if beyond else ""))


def examine(config: Config, what: str) -> Iterator[Finding]:
    """What is found at a profile or URL: its model and abilities, and one hole that it fills."""
    try:
        profile = config.profiles.get(what) or asyncio.run(_unnamed(what))
        place = "on this machine" if profile.is_local else "text sent there leaves this machine"
        yield Finding("remote", f"{profile.kind} at {profile.host}, {place}")
        from clover_write.app import profile_client

        yield from asyncio.run(_ask(profile_client(profile)))
    except CloverError as error:
        yield Finding("remote", str(error), missing=True)


def _place(name: str, config: Config) -> str:
    if name == LOCAL:
        return f"local ({config.model}, this machine)"
    profile = config.profiles[name]
    return f"{name} ({profile.kind} at {profile.host})"


async def _unnamed(url: str) -> Profile:
    """A profile of the engine at a URL. Raises CloverError."""
    token = f"env:{TOKEN}" if os.environ.get(TOKEN) else ""
    if url.startswith(("ws://", "wss://")):
        return Profile("remote", url, ENGINE, token)
    from clover_engine.remote.discovery import detect
    from clover_engine.remote.http import Endpoint, Http

    any_kind = Profile("remote", url, "openai", token)
    http = Http(Endpoint(url, any_kind.secret()))
    try:
        return Profile("remote", url, await detect(http), token)
    finally:
        await http.close()


async def _ask(client: EngineClient) -> list[Finding]:
    from time import perf_counter

    from clover_engine.api import infill_request

    request = infill_request(
        "def greet(name):\n    return ", "\n\n\nprint(greet('Ada'))\n", max_tokens=16, stop=("\n",)
    )
    try:
        info = await client.info()
        began = perf_counter()
        filled = await client.fill(request)
        ms = 1000 * (perf_counter() - began)
    finally:
        await client.close()
    return [
        Finding("model", f"{info.model}, {info.device or info.state}, {info.detail}"),
        Finding("self-test", f"answered after {ms:.0f} ms: {filled.fills[0].text!r}"),
    ]
