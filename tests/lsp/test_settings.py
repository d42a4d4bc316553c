"""Settings: what is good is taken, what is bad is reported and left at its default."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_lsp.settings import (
    EXCLUDED_LANGUAGES,
    USER_ONLY,
    Mode,
    Popup,
    Ranges,
    Settings,
    TemplateRule,
    TocSettings,
    read_settings,
)
from clover_templates.slug import Style
from clover_write.config import Config

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def test_good_values() -> None:
    options = {
        "enabled": False,
        "excludedLanguages": [],
        "secretFiles": ["*.private"],
        "openFiles": False,
        "languages": {"markdown": {"mode": "manual"}, "*": {}},
        "prefetch": False,
        "minConfidence": 1,
        "ranges": "replace",
        "completion": "off",
    }
    modes = {"markdown": Mode.MANUAL, "*": Mode.AUTOMATIC}
    expected = Settings(
        False, (), ("*.private",), False, modes, False, 1.0, Ranges.REPLACE, Popup.OFF
    )
    assert read_settings(options) == (expected, [])


def test_later_settings_stand_on_earlier_ones_and_hide_no_less() -> None:
    base, _ = read_settings({"prefetch": False, "secretFiles": ["*.a"]})
    settings, complaints = read_settings({"secretFiles": ["*.b"], "prefetch": None}, base)
    assert settings == Settings(prefetch=False, secret_files=("*.a", "*.b"))
    assert complaints == []


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("languages", [[], {"python": "off"}, {"python": {"mode": "on"}}, {"python": {"when": 1}}]),
        ("minConfidence", [True, "1", -0.1, 1.1]),
        ("ranges", ["", "all", ["insert"], {}]),
        ("completion", [True, "yes"]),
        ("prefetch", [0, "no"]),
        ("openFiles", [1, "all"]),
    ],
)
def test_a_bad_value_is_left_out_and_its_line_says_what_can_be(
    name: str, bad: list[object]
) -> None:
    for value in bad:
        settings, [complaint] = read_settings({name: value})
        assert settings == Settings()
        assert complaint.startswith(f"setting {name} must be ")


def test_what_runs_and_where_is_no_setting_of_an_editor() -> None:
    names = [re.sub("_([a-z])", lambda m: m[1].upper(), each.name) for each in fields(Config)]
    assert set(names) <= USER_ONLY
    options = dict.fromkeys(USER_ONLY, "x")
    settings, complaints = read_settings(options)
    assert settings == Settings()
    assert len(complaints) == len(options)


def test_bad_values_keep_their_default_and_the_others_hold() -> None:
    options = {"secretFiles": ["*.x"], "enabled": 0, "excludedLanguages": "svn", "enable": True}
    settings, complaints = read_settings(options)
    assert settings == Settings(True, EXCLUDED_LANGUAGES, ("*.x",))
    for name, complaint in zip(["enabled", "excludedLanguages", "enable"], complaints, strict=True):
        assert name in complaint


def test_the_table_of_contents_has_its_own() -> None:
    on = {"toc": {"updateOnSave": True, "style": "obsidian"}}
    assert read_settings(on) == (Settings(toc=TocSettings(True, Style.OBSIDIAN)), [])
    assert read_settings({"toc": {}}) == (Settings(), [])
    for bad in (True, {"style": "word"}, {"updateOnSave": 1}, {"other": 1}):
        settings, [complaint] = read_settings({"toc": bad})
        assert settings == Settings()
        assert "toc" in complaint


def test_templates_of_files_are_rules() -> None:
    rules = [{"glob": "docs/*.md", "template": "adr"}]
    found = (TemplateRule("docs/*.md", "adr"),)
    assert read_settings({"templates": rules}) == (Settings(templates=found), [])
    for bad in ("adr", [1], [{"glob": "*"}], [{"glob": "*", "template": ""}], {"*": "adr"}):
        settings, [complaint] = read_settings({"templates": bad})
        assert settings == Settings()
        assert "templates" in complaint


@given(anything)
def test_any_value_is_read(options: object) -> None:
    settings, complaints = read_settings(options)
    assert isinstance(settings, Settings)
    assert all("\n" not in complaint for complaint in complaints)
