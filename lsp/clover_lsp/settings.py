"""The user's settings, from `initializationOptions`: a bad value is reported and replaced."""

from __future__ import annotations

from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class TocSettings:
    """`style` None is that of the table that is there, GitHub's for a new one."""

    update_on_save: bool = False
    style: Style | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server lets a user choose.

    `excluded_languages` are LSP language ids. `secret_files` are glob patterns of file names whose
    text never enters a prompt, added to the built-in ones. With `open_files` pieces of the other
    open files are read with the text around the cursor.
    """

    enabled: bool = True
    excluded_languages: tuple[str, ...] = EXCLUDED_LANGUAGES
    secret_files: tuple[str, ...] = ()
    open_files: bool = True
    toc: TocSettings = TocSettings()


def read_settings(options: object) -> tuple[Settings, list[str]]:
    """The settings in `options` (camel case, as JSON has them), and a line on each bad value."""
    settings = Settings()
    if options is None:
        return settings, []
    if not isinstance(options, dict):
        return settings, ["the settings must be an object; the defaults are used"]
    complaints: list[str] = []
    for name, value in options.items():
        match name:
            case "enabled" if isinstance(value, bool):
                settings = replace(settings, enabled=value)
            case "excludedLanguages" if _strings(value):
                settings = replace(settings, excluded_languages=tuple(value))
            case "secretFiles" if _strings(value):
                settings = replace(settings, secret_files=tuple(value))
            case "toc" if toc := _toc(value):
                settings = replace(settings, toc=toc)
            case "openFiles" if isinstance(value, bool):
                settings = replace(settings, open_files=value)
            case "enabled" | "openFiles":
                complaints.append(f"setting {name} must be true or false; the default is used")
            case "excludedLanguages" | "secretFiles":
                complaints.append(f"setting {name} must be a list of strings; the default is used")
            case "toc":
                complaints.append(
                    'setting toc must be an object like {"updateOnSave": true, "style": "github"};'
                    " the default is used"
                )
            case _:
                complaints.append(f"setting {name!r} is not known and changes nothing")
    return settings, complaints


def _strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _toc(value: object) -> TocSettings | None:
    if not isinstance(value, dict) or set(value) - {"updateOnSave", "style"}:
        return None
    on, style = value.get("updateOnSave", False), value.get("style")
    if not isinstance(on, bool) or style not in (None, *Style):
        return None
    return TocSettings(on, style and Style(style))
