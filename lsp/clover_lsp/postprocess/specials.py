"""What no document should get from a model: special tokens, and line ends other than its own."""

from __future__ import annotations

import re

# a marker of some model's prompt, or the beginning of one where the answer was cut off
_SPECIAL = re.compile(
    r"<[|｜][^<>|｜\s]{1,40}[|｜]>|</?(?:tool_call|think|start_of_turn|end_of_turn)>|</s>|\[/?INST\]"
    r"|<(?:file_sep|repo_name|gh_stars|endoftext|bos|eos|pad|unk|PRE|SUF|MID|EOT)>"
    r"|<\|?fim_[a-z]*(?:>|$)|(?:<[|｜][a-zA-Z_]*)+$"
)
_NEWLINE = re.compile(r"\r\n?")


def without_specials(answer: str) -> str:
    """The answer up to the first text that looks like a special token."""
    found = _SPECIAL.search(answer)
    return answer[: found.start()] if found else answer


def with_newlines(text: str) -> str:
    """Every line end as `\\n`."""
    return _NEWLINE.sub("\n", text)
