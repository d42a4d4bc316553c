"""`python -m clover_engine.adapt`: prepare texts, train the block adapter, export it."""

from __future__ import annotations

import argparse
import json
import logging
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from clover_engine.adapt.corpus import Benchmark, Document, notes, packages

EPILOG = """\
examples:
  python -m clover_engine.adapt prepare --site SITE_PACKAGES --notes NOTES --licence Apache-2.0 \\
      --exclude HUMAN_EVAL_FOLDER --out corpus.jsonl
  python -m clover_engine.adapt train --model MODEL_FOLDER --corpus corpus.jsonl --out RUN \\
      --minutes 120
  python -m clover_engine.adapt export --run RUN --out coder-0.5b-block.safetensors
"""


def main() -> None:
    """Run one of the steps."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    parser = argparse.ArgumentParser(
        prog="python -m clover_engine.adapt",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_subparsers(required=True)
    prepare = steps.add_parser("prepare", help="gather texts with permissive licences")
    prepare.add_argument("--site", type=Path, required=True, help="where packages are installed")
    prepare.add_argument("--notes", type=Path, required=True, help="a folder of Markdown files")
    prepare.add_argument("--licence", required=True, help="SPDX expression of the notes")
    prepare.add_argument("--exclude", type=Path, required=True, help="HumanEval-Infilling")
    prepare.add_argument("--out", type=Path, required=True)
    prepare.set_defaults(run=_prepare)
    train = steps.add_parser("train", help="train, or go on training")
    train.add_argument("--model", type=Path, required=True, help="a converted model folder")
    train.add_argument("--corpus", type=Path, required=True)
    train.add_argument("--out", type=Path, required=True, help="checkpoints and measurements")
    train.add_argument("--minutes", type=float, required=True)
    train.set_defaults(run=_train)
    block = steps.add_parser("export", help="write a checkpoint's adapter as the engine reads it")
    block.add_argument("--run", type=Path, required=True, dest="folder", help="what train wrote")
    block.add_argument("--out", type=Path, required=True, help="a safetensors file")
    block.add_argument("--rank", type=int, default=8, help="directions kept of each layer (8)")
    block.set_defaults(run=_export)
    ends = steps.add_parser("ends", help="gather states at and before the ends of holes")
    ends.add_argument("--model", type=Path, required=True)
    ends.add_argument("--corpus", type=Path, required=True)
    ends.add_argument("--out", type=Path, required=True)
    ends.add_argument("--minutes", type=float, required=True)
    ends.add_argument("--seed", type=int, default=100)
    ends.set_defaults(run=_ends)
    head = steps.add_parser("end-head", help="train the end head on gathered states")
    head.add_argument("--states", type=Path, required=True)
    head.add_argument("--out", type=Path, required=True, help="a safetensors file")
    head.set_defaults(run=_end_head)
    args = parser.parse_args()
    args.run(args)


def _prepare(args: argparse.Namespace) -> None:
    benchmark = Benchmark.human_eval(args.exclude)
    sources: Counter[tuple[str, str]] = Counter()
    left_out = 0
    with args.out.open("w", encoding="utf-8") as file:
        for document in (*packages(args.site), *notes(args.notes, args.licence)):
            if benchmark.overlaps(document.text):
                left_out += 1
                continue
            sources[document.source, document.licence] += len(document.text)
            file.write(json.dumps(asdict(document), ensure_ascii=False) + "\n")
    for (source, licence), size in sorted(sources.items()):
        logging.info("%-40s %-14s %9d characters", source, licence, size)
    logging.info("%d documents left out: they share text with the benchmark", left_out)


def _train(args: argparse.Namespace) -> None:
    from clover_engine.adapt.backbone import Backbone
    from clover_engine.adapt.train import Settings, Trainer

    args.out.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(Backbone(args.model), _documents(args.corpus), args.model, Settings())
    if (args.out / "checkpoint.pt").exists():
        trainer.resume(args.out)
    trainer.train(args.out, args.minutes * 60)


def _export(args: argparse.Namespace) -> None:
    import torch

    from clover_engine.adapt.weights import export

    state = torch.load(args.folder / "checkpoint.pt", weights_only=True)
    card = {"steps": str(state["step"]), "masks": str(state["masks"])}
    export(state["average"], args.out, card, args.rank)


def _ends(args: argparse.Namespace) -> None:
    from clover_engine.adapt.backbone import Backbone
    from clover_engine.adapt.ends import harvest
    from clover_engine.adapt.train import Examples

    args.out.mkdir(parents=True, exist_ok=True)
    examples = Examples(_documents(args.corpus), args.model, args.seed)
    harvest(Backbone(args.model), iter(examples.next, None), args.out, args.minutes)


def _end_head(args: argparse.Namespace) -> None:
    from clover_engine.adapt.ends import train

    train(args.states).save(args.out)


def _documents(corpus: Path) -> list[Document]:
    with corpus.open(encoding="utf-8") as file:
        return [Document(**json.loads(line)) for line in file]


if __name__ == "__main__":
    main()
