"""`clover-write models calibrate`: what the engine finds out, shown and kept for the user."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clover_write.config import Config, ConfigError, families_path

if TYPE_CHECKING:
    from clover_engine.calibration import Calibration, Choice

SHOWN = 5  # of the choices, the best ones


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `calibrate` takes beside the model's name."""
    parser.add_argument(
        "--text",
        type=Path,
        required=True,
        metavar="FILE",
        help="a text such as the model was trained on: a few hundred words",
    )
    parser.add_argument(
        "--mask",
        type=int,
        action="append",
        default=[],
        metavar="ID",
        help="a token that may be the mask; again for each (default: what the model hints at)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the winner, do not keep it")


def calibrate(args: argparse.Namespace, config: Config) -> None:
    """Measure all choices, show the best and keep the winner. Raises CloverError."""
    # imports torch, which the other verbs need not
    from clover_engine.calibration import calibrate as measure
    from clover_write.models import model_folder, model_name

    text, own = _read(args.text), families_path()
    named = replace(config, model=model_name(args.name))
    found = measure(
        model_folder(named),
        text,
        model=named.model,
        masks=args.mask,
        families=own,
        precision=config.precision,
    )
    _show(found)
    if not args.dry_run:
        keep(own, found.family, found.scores[0].choice)
        print(f"written into {own}: the model is read so from now on")


def keep(path: Path, family: str, choice: Choice) -> None:
    """Write a choice into the user's families, whose other tables and comments stay.

    Raises ConfigError for a file that is no TOML or cannot be written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        tables = tomlkit.parse(path.read_text(encoding="utf-8") if path.exists() else "")
        if family not in tables:
            tables[family] = tomlkit.table()
        tables[family].update(choice.table())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tomlkit.dumps(tables), encoding="utf-8")
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise ConfigError(f"{path} cannot be changed: {error}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as text: {error}") from error


def _show(found: Calibration) -> None:
    print(f"family {found.family}; read causally, a token costs {found.causal:.3f} nats")
    print(f"a masked token costs, under the best of {len(found.scores)} choices:")
    for score in found.scores[:SHOWN]:
        print(f"  {score.surprise:.3f} nats  {_said(score.choice)}")
    print(f"and under the worst {found.scores[-1].surprise:.3f} nats")


def _said(choice: Choice) -> str:
    switches = choice.switches.table()
    said = ", ".join(f"{name} {value}" for name, value in switches.items() if name != "mixer")
    return f"mask {choice.mask}, shift {choice.shift}, {said}"
