"""What a client asks for when it has a document restructured."""

from __future__ import annotations

from dataclasses import dataclass

from clover_engine.errors import RequestError

_OPTIONS = frozenset({"model", "sections", "preview"})


@dataclass(frozen=True, slots=True)
class RestructureRequest:
    """`template` None has the user choose. With `model` the engine is asked what fits where it
    does. Of `sections`, headings of the outcome, alone the changes are made; None: all. With
    `preview` an editor that can do so asks its user about each section.
    """

    uri: str
    template: str | None = None
    model: bool = True
    sections: tuple[str, ...] | None = None
    preview: bool = True

    @classmethod
    def read(cls, uri: str, template: object, options: object) -> RestructureRequest:
        """The arguments of the command as they came. Raises RequestError."""
        if not isinstance(template, str | None):
            raise RequestError("the name of a template is a string, or null")
        options = {} if options is None else options
        if not isinstance(options, dict) or set(options) - _OPTIONS:
            raise RequestError(f"the options of a restructuring are {', '.join(sorted(_OPTIONS))}")
        model, preview = options.get("model", True), options.get("preview", True)
        sections = options.get("sections")
        if not (isinstance(model, bool) and isinstance(preview, bool)):
            raise RequestError("the options model and preview are true or false")
        if sections is None:
            return cls(uri, template, model, None, preview)
        if not (isinstance(sections, list) and all(isinstance(each, str) for each in sections)):
            raise RequestError("the option sections is a list of headings, or null")
        return cls(uri, template, model, tuple(sections), preview)
