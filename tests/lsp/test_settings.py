"""Settings: what is good is taken, what is bad is reported and left at its default."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clover_lsp.settings import EXCLUDED_LANGUAGES, Settings, TocSettings, read_settings
from clover_templates.slug import Style

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


_WRONG = ["enabled", "excludedLanguages", "openFiles", "enable"]


def test_good_values() -> None:
    options = {
        "enabled": False,
        "excludedLanguages": [],
        "secretFiles": ["*.private"],
        "openFiles": False,
    }
    assert read_settings(options) == (Settings(False, (), ("*.private",), False), [])


def test_bad_values_keep_their_default_and_the_others_hold() -> None:
    options = {
        "secretFiles": ["*.x"],
        "enabled": 0,
        "excludedLanguages": "svn",
        "openFiles": 1,
        "enable": True,
    }
    settings, complaints = read_settings(options)
    assert settings == Settings(True, EXCLUDED_LANGUAGES, ("*.x",))
    for name, complaint in zip(_WRONG, complaints, strict=True):
        assert name in complaint


def test_the_table_of_contents_has_its_own() -> None:
    on = {"toc": {"updateOnSave": True, "style": "obsidian"}}
    assert read_settings(on) == (Settings(toc=TocSettings(True, Style.OBSIDIAN)), [])
    assert read_settings({"toc": {}}) == (Settings(), [])
    for bad in (True, {"style": "word"}, {"updateOnSave": 1}, {"other": 1}):
        settings, [complaint] = read_settings({"toc": bad})
        assert settings == Settings()
        assert "toc" in complaint


@given(anything)
def test_any_value_is_read(options: object) -> None:
    settings, complaints = read_settings(options)
    assert isinstance(settings, Settings)
    assert all("\n" not in complaint for complaint in complaints)
