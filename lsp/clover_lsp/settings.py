"""The user's settings, read from what an editor sends: a bad value is reported and left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

from clover_templates.slug import Style

# commit and rebase messages of version control are no documents to write on
EXCLUDED_LANGUAGES = (
    "gitcommit",
    "git-commit",
    "gitrebase",
    "git-rebase",
    "hgcommit",
    "svn",
    "cvs",
)
# what names programs, servers, models and folders: an editor passes on what an opened workspace
# says, and LSP does not tell the two apart, so these are read from the user's configuration alone
USER_ONLY = frozenset(
    {
        "cacheDir",
        "cacheMb",
        "command",
        "engine",
        "engineAddress",
        "engineUrl",
        "idleExitS",
        "model",
        "neverSend",
        "precision",
        "profile",
        "profiles",
        "remoteUrl",
        "serverArgs",
        "serverPath",
        "sources",
        "threads",
        "token",
    }
)


class Mode(StrEnum):
    """When ghost text comes in documents of a language."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"  # only when asked for
    OFF = "off"


class Ranges(StrEnum):
    """What an item may replace right of the cursor."""

    AUTO = "auto"  # as the editor shows it best
    INSERT = "insert"  # nothing
    REPLACE = "replace"  # closing signs, where the text goes on behind them


class Popup(StrEnum):
    """Whether `textDocument/completion` is offered."""

    AUTO = "auto"  # to editors without inline completion
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class TocSettings:
    """`style` None is that of the table that is there, GitHub's for a new one."""

    update_on_save: bool = False
    style: Style | None = None


@dataclass(frozen=True, slots=True)
class TemplateRule:
    """The documents of a workspace that follow a template: `glob` as a line of `.gitignore`."""

    glob: str
    template: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server lets a user choose.

    `excluded_languages` are LSP language ids. `secret_files` are glob patterns of file names whose
    text never enters a prompt, added to the built-in ones. With `open_files` pieces of the other
    open files are read with the text around the cursor. `languages` has the mode by language id,
    `*` standing for all others. Text whose least certain token is less likely than
    `min_confidence` (0 to 1) does not come by itself. Of `templates` the first that fits counts.
    """

    enabled: bool = True
    excluded_languages: tuple[str, ...] = EXCLUDED_LANGUAGES
    secret_files: tuple[str, ...] = ()
    open_files: bool = True
    languages: dict[str, Mode] = field(default_factory=dict)
    prefetch: bool = True
    min_confidence: float = 0.2
    ranges: Ranges = Ranges.AUTO
    completion: Popup = Popup.AUTO
    toc: TocSettings = TocSettings()
    templates: tuple[TemplateRule, ...] = ()

    def mode(self, language: str) -> Mode:
        """When ghost text comes in documents of that language id."""
        default = self.languages.get("*", Mode.AUTOMATIC)
        return self.languages.get(language, default) if self.enabled else Mode.OFF


K = TypeVar("K", bound=StrEnum)


class BadValue(ValueError):
    """A value that a setting cannot have; its line says which it can."""


def read_settings(options: object, base: Settings | None = None) -> tuple[Settings, list[str]]:
    """`base` with what `options` (camel case, as JSON has them) say, and a line on each bad value.

    A setting that is null is not set.
    """
    settings = base or Settings()
    if options is None:
        return settings, []
    if not isinstance(options, dict):
        return settings, ["the settings must be an object; they change nothing"]
    complaints: list[str] = []
    read: dict[str, Any] = {}
    for name, value in options.items():
        if value is None:
            continue
        if name in USER_ONLY:
            complaints.append(
                f"setting {name} is not taken from an editor, which may have it from the opened"
                " workspace: set it in config.toml or the environment"
            )
        elif name not in _FIELDS:
            complaints.append(f"setting {name!r} is not known and changes nothing")
        else:
            field_name, reader = _FIELDS[name]
            try:
                read[field_name] = reader(value)
            except BadValue as error:
                complaints.append(f"setting {name} must be {error}; it is left as it was")
    # a folder may hide more than the user does, not less
    hidden = (*settings.secret_files, *read.get("secret_files", ()))
    read["secret_files"] = tuple(dict.fromkeys(hidden))
    return replace(settings, **read), complaints


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise BadValue("true or false")
    return value


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadValue("a list of strings")
    return tuple(value)


def _languages(value: object) -> dict[str, Mode]:
    modes: dict[str, Mode] = {}
    for language, wanted in value.items() if isinstance(value, dict) else [("", None)]:
        if not isinstance(wanted, dict) or set(wanted) - {"mode"}:
            raise BadValue('an object like {"markdown": {"mode": "manual"}}')
        modes[language] = _one_of(Mode)(wanted.get("mode", Mode.AUTOMATIC))
    return modes


def _chance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise BadValue("a number from 0 to 1")
    return float(value)


def _toc(value: object) -> TocSettings:
    if isinstance(value, dict) and not set(value) - {"updateOnSave", "style"}:
        on, style = value.get("updateOnSave", False), value.get("style")
        if isinstance(on, bool) and style in (None, *Style):
            return TocSettings(on, style and Style(style))
    raise BadValue('an object like {"updateOnSave": true, "style": "github"}')


def _templates(value: object) -> tuple[TemplateRule, ...]:
    rules: list[TemplateRule] = []
    for rule in value if isinstance(value, list) else [None]:
        if not isinstance(rule, dict) or set(rule) != {"glob", "template"}:
            raise BadValue('a list like [{"glob": "docs/adr/*.md", "template": "adr"}]')
        if not all(isinstance(part, str) and part for part in rule.values()):
            raise BadValue("a list of globs and names of templates, both strings")
        rules.append(TemplateRule(rule["glob"], rule["template"]))
    return tuple(rules)


def _one_of(kinds: type[K]) -> Callable[[object], K]:
    def read(value: object) -> K:
        if value not in tuple(kinds):
            raise BadValue(f"one of {', '.join(kinds)}")
        return kinds(str(value))

    return read


# by its name in JSON: the field, and what reads it
_FIELDS: dict[str, tuple[str, Callable[[object], object]]] = {
    "enabled": ("enabled", _flag),
    "excludedLanguages": ("excluded_languages", _names),
    "secretFiles": ("secret_files", _names),
    "openFiles": ("open_files", _flag),
    "languages": ("languages", _languages),
    "prefetch": ("prefetch", _flag),
    "minConfidence": ("min_confidence", _chance),
    "ranges": ("ranges", _one_of(Ranges)),
    "completion": ("completion", _one_of(Popup)),
    "toc": ("toc", _toc),
    "templates": ("templates", _templates),
}
