"""What the extension declares, beside what the server takes."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import pytest

from clover_lsp.settings import EXCLUDED_LANGUAGES, USER_ONLY, Settings, read_settings
from clover_write import __version__
from tests.editors.code_server import EXTENSION, packaged

PACKAGE: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
DECLARED: dict[str, Any] = {
    name.removeprefix("cloverWrite."): setting
    for name, setting in PACKAGE["contributes"]["configuration"]["properties"].items()
}
# the library's own
TRACE = "trace.server"
OF_THE_SERVER = {name for name, each in DECLARED.items() if each["scope"] == "resource"}


def test_the_version_is_the_program_s() -> None:
    assert PACKAGE["version"] == __version__


def test_the_server_takes_every_setting_and_its_default() -> None:
    defaults = {name: DECLARED[name]["default"] for name in OF_THE_SERVER}
    assert read_settings(defaults) == (Settings(), [])
    assert tuple(DECLARED["excludedLanguages"]["default"]) == EXCLUDED_LANGUAGES


def test_no_workspace_names_programs_or_addresses() -> None:
    others = DECLARED.keys() - OF_THE_SERVER - {TRACE}
    assert {DECLARED[name]["scope"] for name in others} == {"machine"}
    assert not OF_THE_SERVER & USER_ONLY
    untrusted = PACKAGE["capabilities"]["untrustedWorkspaces"]
    assert set(untrusted["restrictedConfigurations"]) == {f"cloverWrite.{name}" for name in others}


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_every_setting_is_described(name: str) -> None:
    setting = DECLARED[name]
    text = setting.get("description") or setting.get("markdownDescription")
    assert text[0].isupper()
    assert text.endswith(".")


def test_the_package_is_small_and_holds_no_sources() -> None:
    vsix = packaged()
    assert vsix.stat().st_size < 400_000
    with zipfile.ZipFile(vsix) as archive:
        files = {name.removeprefix("extension/") for name in archive.namelist()}
    media = {f"media/{each.name}" for each in EXTENSION.glob("media/*.md")}
    code = {"package.json", "readme.md", "LICENSE.txt", "dist/extension.js", "media/icon.png"}
    assert files == {"[Content_Types].xml", "extension.vsixmanifest"} | code | media


def test_what_menus_keys_and_steps_name_is_a_command() -> None:
    given = PACKAGE["contributes"]
    known = {each["command"] for each in given["commands"]}
    named = [each["command"] for menu in given["menus"].values() for each in menu]
    named += [each["command"] for each in given["keybindings"]]
    for step in (step for each in given["walkthroughs"] for step in each["steps"]):
        named += [event.removeprefix("onCommand:") for event in step["completionEvents"]]
        assert (EXTENSION / step["media"]["markdown"]).is_file()
    assert set(named) <= known
