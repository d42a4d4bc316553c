"""Documents for tests: invented articles, random ones, and those found on the machine."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from hypothesis import strategies as st

from clover_templates.blocks import Block, Kind
from clover_templates.document import Document
from clover_templates.trace import Added, FromSource, Piece, Trace, Why

# the shape of many Chinese articles: no `#`, a line is a paragraph, no line end at the end
REPORT = (
    "关于全市老旧小区加装电梯情况的调研报告\n"
    "各区人民政府：\n"
    "按照年度工作安排，调研组于2026年3月走访了12个街道。现将有关情况报告如下。\n"
    "一、基本情况\n"
    "全市共有老旧小区386个，涉及居民9.4万户。其中已加装电梯的有57个！\n"
    "| 区 | 小区数 | 已加装 |\n|---|---|---|\n| 东城 | 120 | 21 |\n| 西城 | 266 | 36 |\n"
    "二、主要问题\n"
    "（一）意见难统一\n"
    "低层住户担心采光，高层住户愿意分摊。“一票反对就要停工。”一位社区书记说。\n"
    "（二）资金缺口大\n"
    "1.补贴标准偏低。每台电梯可以申请补贴20万元，不足造价的三成。\n"
    "2.后期维护无着。物业公司不得擅自收费。\n"
    "三、对策建议\n"
    "- 建立议事平台\n- 落实维保责任\n"
    "材料里写着\\n\\n两个换行符，这里照抄。\n"
    "特此报告。\n"
    "市住房保障中心\n"
    "2026年8月1日"
)
LECTURE = (
    "排序算法第三讲\n"
    "一、为什么要排序\n"
    "有序的数据可以二分查找。查找一次只要O(log n)步。\n"
    "二、快速排序\n"
    "选一个基准，把数组分成两半；再对两半递归。\\n\\n最坏情况是O(n^2)。\n"
    "```python\n# 一、这不是标题\ndef quick(a): ...\n```\n"
    "三、归并排序\n"
    "$$\n# T(n) = 2T(n/2) + n\n$$\n"
    "它是稳定的，需要额外空间。"
)
INCIDENT = (
    "---\ntitle: Outage\ntags: [db, pager]\n---\n"
    "# Database outage\n\n"
    "On 2026-05-04 the primary ran out of disk. About 1,200 users saw errors for 35 minutes.\n\n"
    "## Timeline\n\n"
    "| UTC | Event |\n|---|---|\n| 09:12 | Alert fires |\n| 09:47 | Disk extended |\n\n"
    "## Cause\n\n"
    "The job kept every snapshot. It must delete those older than 7 days. See [[Backups]] and"
    " [the guide](https://example.org/guide?v=2).\n\n"
    "```sh\n# not a heading\ndf -h /var\n```\n\n"
    "## Follow-ups\n\n"
    "- Alert at 80 % (@ann)\n- Review the job with v2.4.1\n\n"
    "1. Write a runbook. It may link here.[^1]\n2. Tell support\n\n"
    "[^1]: Ask ops@example.org first.\n"
)

# what the grammars look at, so that it meets often
_PIECES = st.sampled_from(
    [
        *("# ", "## ", "#", "text", "More. ", "A b. ", "---", "===", "***", "+++", "\n", "\n\n"),
        *("\r\n", "\r", "- ", "* ", "1. ", "1) ", "-", "> ", ">", "> [!note] ", "    ", "\t"),
        *("```", "```\n", "~~~\n", "`", "$$", "$$\n", "%%", "%%\n", "$", "| ", "|---|---|\n"),
        *("|", "<div>\n", "</div>\n", "<!-- ", " -->", "[^1]: ", "[a]: ", "[[", "]]", "](", "!["),
        *("一、总体情况\n", "二、问题\n", "三、", "（一）", "（二）原因\n", "1.", "2.", "（1）"),
        *("中文。", "“好。”", "（见。）", "《通知》", "附件：", "**", "**重点**\n", "。", "；"),
        *("\ufeff", "\x0b", "\x0c", "\x1c", "\u2028", "\x85", "🙂", "é", "key: value\n", "…"),
        *("  ", "__", "_", "\\n", "\u3000", "e.g. ", "[^1]"),
    ]
)
TEXTS = st.lists(_PIECES, max_size=40).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
)

_ENGLISH = (
    "The nightly job copies {n} files to the archive.",
    "Nobody noticed the warning before {n}:15.",
    "Operators must confirm every restart within {n} minutes!",
    "You may skip the check when fewer than {n} hosts answer.",
    "Did the cache hold {n} entries at that point?",
    "See https://example.org/page/{n} for the graph.",
    "The flag `--retries={n}` is off by default.",
)
_CHINESE = (
    "本次检查共走访{n}家单位。",
    "各单位必须在{n}日内完成整改。",
    "有条件的地方可以先行试点，试点期为{n}个月。",
    "《设备管理办法》自{n}月起施行！",
    "是否扩大到{n}个街道？",
    "其中三成以上已经完工；其余{n}处正在施工。",
)
_BLOCKS = (
    "```\nrun --all {n}\n# a comment\n```\n",
    "| a | b |\n|---|---|\n| {n} | x{n} |\n",
    "- first of {n}\n- second of {n}\n",
    "> quoted {n} times\n",
    "$$\nx_{n} = y\n$$\n",
)


def made_document(rnd: random.Random) -> str:
    """A well-formed document in English or Chinese; no sentence of it stands twice."""
    sentences = rnd.choice((_ENGLISH, _CHINESE))
    count = iter(rnd.sample(range(13, 1000), 80))
    parts: list[str] = []
    for section in range(rnd.randint(2, 5)):
        parts.append(f"## Part {'ABCDE'[section]}\n")
        for _ in range(rnd.randint(1, 3)):
            some = rnd.choices(sentences, k=rnd.randint(1, 3))
            parts.append(" ".join(text.format(n=next(count)) for text in some) + "\n")
        if rnd.random() < 0.6:
            parts.append(rnd.choice(_BLOCKS).format(n=next(count)))
    return "\n".join(parts)


def found_documents(folders: Iterable[Path]) -> list[Path]:
    """Every Markdown and text file below `folders`, in order, each path once."""
    suffixes = {".md", ".markdown", ".txt"}
    return sorted(
        {
            path
            for folder in folders
            for path in folder.rglob("*")
            if path.suffix in suffixes and path.is_file()
        }
    )


_BEFORE_TEXT = (Kind.BOM, Kind.FRONT_MATTER, Kind.BLANK)


def shuffled(document: Document, rnd: random.Random) -> Trace:
    """The sections of a document in another order, as an assembly would put them."""
    head = list(takewhile(lambda block: block.kind in _BEFORE_TEXT, document.blocks))
    top = min((block.level for block in document.blocks if block.level), default=0)
    sections: list[list[Block]] = [[]]
    for block in document.blocks[len(head) :]:
        if 0 < block.level <= top + 1:
            sections.append([])
        sections[-1].append(block)
    sections = [section for section in sections if section]
    rnd.shuffle(sections)
    end = document.source.line_end
    pieces: list[Piece] = [FromSource(block.start, block.end) for block in head]
    for number, section in enumerate(sections):
        last = section[-1]
        more = number + 1 < len(sections)
        # the last line of the file goes on having a line end, or none
        kept = more or document.source.ends_with_line_end
        text = document.data[section[0].start : last.end]
        size = len(text if kept else text.rstrip(b"\r\n"))
        pieces.append(FromSource(section[0].start, section[0].start + size))
        if more and not last.text.endswith(("\n", "\r")):
            pieces.append(Added(end, Why.SEPARATOR))
        if more and last.kind is not Kind.BLANK:
            pieces.append(Added(end, Why.SEPARATOR))
    return Trace(tuple(pieces))
