"""Settings of a running server: from where they come, and which an editor cannot set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clover_write.config import load_config
from tests.support.wire import URI, Wire, asking

PULLS: dict[str, Any] = {"workspace": {"configuration": True, "workspaceFolders": True}}
TEXT = "x = 1\nx"
HERE = (1, 1)


def warnings(wire: Wire) -> list[str]:
    """What was put before the user so far."""
    messages = (each for each in wire.told if each["method"] == "window/showMessage")
    return [message["params"]["message"] for message in messages]


async def test_settings_are_asked_for_and_followed_live(wire: Wire) -> None:
    await wire.initialize(capabilities=PULLS, initializationOptions={"prefetch": False})
    asked = await wire.heard("workspace/configuration")
    assert asked["params"] == {"items": [{"section": "cloverWrite"}]}
    wire.reply(asked["id"], result=[{"enabled": False, "minConfidence": 2}])
    await wire.heard("window/showMessage")
    wire.open(TEXT)
    assert await wire.texts(*HERE) == []
    assert (await wire.heard("clover/status"))["params"]["kind"] == "Inactive"
    wire.send("workspace/didChangeConfiguration", {"settings": None})
    asked = await wire.heard("workspace/configuration", 2)
    wire.reply(asked["id"], result=[{"minConfidence": 2}])
    assert await wire.texts(*HERE) == [" = 1"]
    [warning] = warnings(wire)
    assert "minConfidence must be a number from 0 to 1" in warning


async def test_nothing_is_asked_before_the_editor_has_given_its_settings(wire: Wire) -> None:
    await wire.initialize(capabilities=PULLS)
    asked = await wire.heard("workspace/configuration")
    wire.open(TEXT)
    wire.send("textDocument/inlineCompletion", asking(*HERE, triggerKind=1), id="early")
    wire.reply(asked["id"], result=[{"enabled": False}])
    assert (await wire.answer("early"))["result"] == {"items": []}
    status = await wire.heard("clover/status")
    assert status["params"]["kind"] == "Inactive"


async def test_an_editor_that_never_gives_its_settings_is_served_and_the_last_question_counts(
    wire: Wire,
) -> None:
    await wire.initialize(capabilities=PULLS)
    wire.open(TEXT)
    assert await wire.texts(*HERE) == [" = 1"]
    wire.send("workspace/didChangeConfiguration", {"settings": None})
    older, newer = [await wire.heard("workspace/configuration", number) for number in (1, 2)]
    wire.reply(newer["id"], result=[{"enabled": False}])
    wire.reply(older["id"], result=[{"enabled": True}])
    assert await wire.texts(*HERE) == []


async def test_settings_that_are_pushed_are_followed(wire: Wire) -> None:
    await wire.initialize()
    wire.open(TEXT)
    assert await wire.texts(*HERE) == [" = 1"]
    off = {"languages": {"python": {"mode": "off"}}}
    for settings, texts in [
        ({"cloverWrite": off, "other": {}}, []),
        ({"other": {"enabled": True}}, []),
        ({"cloverWrite": {"languages": {"python": {"mode": "sometimes"}}}}, [" = 1"]),
        ({"cloverWrite": None}, [" = 1"]),
    ]:
        wire.send("workspace/didChangeConfiguration", {"settings": settings})
        assert await wire.texts(*HERE) == texts
    assert "languages must be one of automatic, manual, off" in warnings(wire)[0]


async def test_each_folder_has_its_own_settings(wire: Wire) -> None:
    folders = [{"uri": f"file:///w%20s/{name}", "name": name} for name in ("a", "b", "b/in")]
    await wire.initialize(capabilities=PULLS, workspaceFolders=folders)
    asked = await wire.heard("workspace/configuration")
    scopes = [item.get("scopeUri") for item in asked["params"]["items"]]
    assert scopes == [None, *(folder["uri"] for folder in folders)]
    wire.reply(asked["id"], result=[None, {"enabled": False}, None, {"enabled": False}])
    notebook = {
        "uri": "file:///w%20s/a/n.ipynb",
        "notebookType": "jupyter-notebook",
        "version": 1,
        "cells": [{"kind": 2, "document": "vscode-notebook-cell:/w%20s/a/n.ipynb#W0"}],
    }
    cell = {"uri": notebook["cells"][0]["document"], "languageId": "python", "version": 1}  # type: ignore[index]
    wire.send(
        "notebookDocument/didOpen",
        {"notebookDocument": notebook, "cellTextDocuments": [cell | {"text": TEXT}]},
    )
    for uri, texts in [
        ("file:///w%20s/a/x.py", []),
        ("file:///w s/a/y.py", []),
        ("file:///w%20s/ab/x.py", [" = 1"]),
        ("file:///w%20s/b/x.py", [" = 1"]),
        ("file:///w%20s/b/in/x.py", []),
        (URI, [" = 1"]),
    ]:
        wire.open(TEXT, uri)
        assert await wire.texts(*HERE, uri=uri) == texts
    assert await wire.texts(*HERE, uri=str(cell["uri"])) == []
    event = {"added": [{"uri": "file:///w%20s/ab", "name": "ab"}], "removed": folders[:1]}
    wire.send("workspace/didChangeWorkspaceFolders", {"event": event})
    asked = await wire.heard("workspace/configuration", 2)
    assert len(asked["params"]["items"]) == 4
    wire.reply(asked["id"], result=[None, None, None, {"enabled": False}])
    assert await wire.texts(*HERE, uri="file:///w%20s/a/x.py") == [" = 1"]
    assert await wire.texts(*HERE, uri="file:///w%20s/ab/x.py") == []


@pytest.mark.parametrize("given", [[], None, {}, "x", [None, None]])
async def test_an_editor_that_gives_no_settings_leaves_those_it_gave(
    wire: Wire, given: object
) -> None:
    register = PULLS["workspace"] | {"didChangeConfiguration": {"dynamicRegistration": True}}
    options = {"languages": {"python": {"mode": "off"}}}
    await wire.initialize(capabilities={"workspace": register}, initializationOptions=options)
    registered = (await wire.heard("client/registerCapability"))["params"]["registrations"]
    assert [each["method"] for each in registered] == ["workspace/didChangeConfiguration"]
    asked = await wire.heard("workspace/configuration")
    wire.reply(asked["id"], result=given)
    wire.open(TEXT)
    assert await wire.texts(*HERE) == []
    assert "exception was never retrieved" not in wire.logged()


@pytest.mark.parametrize("name", ["serverPath", "remoteUrl", "model", "engine", "cacheDir"])
async def test_no_editor_sets_what_runs_or_where(
    wire: Wire, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_config()
    evil = str(tmp_path / "evil")
    await wire.initialize(capabilities=PULLS, initializationOptions={name: evil})
    asked = await wire.heard("workspace/configuration")
    wire.reply(asked["id"], result=[{name: evil, "enabled": True}])
    wire.open(TEXT)
    assert await wire.texts(*HERE) == [" = 1"]
    [warning] = warnings(wire)
    assert f"setting {name} is not taken from an editor" in warning
    assert "config.toml" in warning
    assert evil not in json.dumps(wire.told)
    assert load_config() == config
    # the user can, by the environment
    monkeypatch.setenv("CLOVER_WRITE_MODEL", "other")
    assert load_config().model == "other"
