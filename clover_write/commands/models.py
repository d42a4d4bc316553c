"""`clover-write models`: list, pull, describe and remove models."""

from __future__ import annotations

import argparse
import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from clover_write.commands.calibrate import add_arguments, calibrate
from clover_write.config import Config, load_config

if TYPE_CHECKING:
    from clover_write.repositories import Repositories
    from clover_write.store import Store

EXAMPLES = """examples:
  clover-write models list
  clover-write models pull coder-0.5b
  clover-write models pull coder-0.5b --from ~/Downloads     the file is there already
  clover-write models pull Dream-org/DreamOn-v0-7B           a checkpoint of a hub, for a GPU
  clover-write models calibrate DiffuSpace/Clover-35B-A3B-Preview --text notes.md
  CLOVER_WRITE_SOURCES=modelscope clover-write models pull coder-0.5b

A folder with a checkpoint needs no pull: --model FOLDER of `complete` and `fill` takes it.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `models` with its verbs."""
    parser = subparsers.add_parser(
        "models",
        help="list, pull, describe and remove models",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser(
        "list", help="the models there are, and which of them are on this machine"
    )
    listing.add_argument("--json", action="store_true", help="for programs: what editors run")
    pull = verbs.add_parser("pull", help="download a model, verify it and convert it")
    pull.add_argument(
        "--from",
        dest="from_path",
        type=Path,
        metavar="PATH",
        help="take the GGUF file, or the checkpoint's folder, from here instead of the network",
    )
    pull.add_argument(
        "--json", action="store_true", help="tell progress to a program: stage, done, total (bytes)"
    )
    info = verbs.add_parser("info", help="what a model is, where it comes from and where it lies")
    remove = verbs.add_parser("rm", help="delete a model, and what a broken pull of it left")
    calibrated = verbs.add_parser(
        "calibrate", help="find out by likelihood what is not published of a checkpoint"
    )
    add_arguments(calibrated)
    for verb in (pull, info, remove, calibrated):
        verb.add_argument(
            "name", metavar="NAME", help="as `clover-write models list` names it, or a hub's id"
        )


def run(args: argparse.Namespace) -> int:
    """Run one verb. Raises CloverError."""
    from clover_write.models import is_hub_id, repositories
    from clover_write.store import Store

    config = load_config()
    store = Store(config.cache_dir, config.sources)
    if args.verb == "list":
        if args.json:
            _tell(store, config.model)
        else:
            _list(store, repositories(config))
        return 0
    if args.verb == "calibrate":
        calibrate(args, config)
        return 0
    models = repositories(config) if is_hub_id(args.name) else store
    match args.verb:
        case "pull":
            _pull(models, args.name, args.from_path, args.json)
        case "info":
            _info(models, args.name, config)
        case "rm":
            _remove(models, args.name)
    return 0


def _tell(store: Store, chosen: str) -> None:
    facts = [
        {
            "name": model.name,
            "title": model.title,
            "license": model.license,
            "size": model.size,
            "ready": store.manifest(model.name) is not None,
            "chosen": model.name == chosen,
        }
        for model in store.models()
    ]
    print(json.dumps(facts, indent=2, ensure_ascii=False))


def _list(store: Store, checkpoints: Repositories) -> None:
    for model in store.models():
        is_ready = store.manifest(model.name) is not None
        size = f"{model.size / 1e9:.1f} GB"
        _row(model.name, is_ready, size, "CPU", model.license, model.title)
    for id in checkpoints.ids():
        facts, is_ready = checkpoints.facts(id), checkpoints.manifest(id) is not None
        size, about = facts["size"].removesuffix(" in bf16"), f"family {facts['family']}"
        _row(id, is_ready, size, facts["device"], facts["licence"], about)


def _row(name: str, is_ready: bool, size: str, device: str, license: str, about: str) -> None:
    state = "ready" if is_ready else "not pulled"
    print(f"{name:<58} {state:<11} {size:>8}  {device:<11} {license:<11} {about}")


def _pull(models: Store | Repositories, name: str, from_path: Path | None, as_json: bool) -> None:
    from clover_write.commands.progress import JsonLines, shown_progress

    if models.manifest(name):
        print(f"{name} is already in {models.path(name)}")
        return
    with nullcontext(JsonLines()) if as_json else shown_progress() as progress:
        manifest = models.pull(name, from_path, progress)
    print(f"{name} is ready in {models.path(name)} (source: {manifest.source})")


def _info(models: Store | Repositories, name: str, config: Config) -> None:
    from clover_write.loads import last
    from clover_write.store import folder_bytes

    facts = dict(models.facts(name))
    manifest = models.manifest(name)
    facts["state"] = "ready" if manifest else f"not pulled: clover-write models pull {name}"
    if manifest:
        facts["folder"] = f"{models.path(name)}, {folder_bytes(models.path(name))} bytes"
        facts["made from"] = f"source {manifest.source}, by clover-write {manifest.program}"
        load = last(config.cache_dir, name)
        facts["last load"] = str(load) if load else "not loaded yet"
    for label, fact in facts.items():
        print(f"{label:<10} {fact}")


def _remove(models: Store | Repositories, name: str) -> None:
    freed = models.remove(name)
    print(f"{name} removed, {freed / 1e6:.0f} MB freed" if freed else f"{name} is not here")
