"""Where a hole ends, learned from the base's own states: a two-layer head on frozen features.

The features of a written position are the tapped layers' normed states and how likely the base
finds the right context's first token next. The label says whether the true text ends there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from clover_engine.adapt.backbone import Backbone, Context
from clover_engine.adapt.reading import Reading
from clover_engine.end_head import EndHead, likelihoods

log = logging.getLogger(__name__)

SHARD = 200  # readings of a file
MOST = 96  # positions that are kept of one reading
EPOCHS = 6
INNER = 256  # width of the head


def harvest(backbone: Backbone, readings: Iterator[Reading], out: Path, minutes: float) -> None:
    """Write features and labels of readings to `out`, file by file, for so long."""
    started = monotonic()
    number = len(list(out.glob("ends-*.npz")))
    while monotonic() - started < minutes * 60:
        features, labels, owners = [], [], []
        for owner in range(SHARD):
            reading = next(readings)
            wanted = positions(reading)
            features.append(features_of(backbone, backbone.read(reading.tokens), reading, wanted))
            labels.append([at == len(reading.tokens) - 1 for at in wanted])
            owners.append([owner] * len(wanted))
        np.savez(
            out / f"ends-{number:04}.npz",
            features=torch.cat(features).half().numpy(),
            labels=np.concatenate(labels),
            owners=np.concatenate(owners),
        )
        number += 1
        log.info("%d files", number)


def positions(reading: Reading) -> list[int]:
    """The written positions of a reading, the last ones where there are too many."""
    return list(range(reading.middle, len(reading.tokens)))[-MOST:]


def features_of(
    backbone: Backbone, context: Context, reading: Reading, wanted: list[int]
) -> torch.Tensor:
    """float32 [positions, 3 * H + 2]."""
    logits = backbone.logits(context.last[wanted]).float()
    taps = context.taps[wanted].float().flatten(1)
    return torch.cat((taps, likelihoods(logits, reading.follows)), 1)


def train(shards: Path, seed: int = 0) -> EndHead:
    """Train the head on all files but the first, which it is measured on."""
    torch.manual_seed(seed)
    held, *rest = [np.load(path) for path in sorted(shards.glob("ends-*.npz"))]
    x = torch.cat([torch.from_numpy(shard["features"]) for shard in rest])
    y = torch.cat([torch.from_numpy(shard["labels"]) for shard in rest]).float()
    width = x.shape[1]
    inner, outer = nn.Linear(width, INNER), nn.Linear(INNER, 1)
    model = nn.Sequential(nn.Dropout(0.1), inner, nn.GELU(), nn.Dropout(0.2), outer)
    steps = EPOCHS * len(x) // 256
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=steps + 1)
    for step in range(steps):
        rows = torch.randint(len(x), (256,))
        loss = functional.binary_cross_entropy_with_logits(model(x[rows].float())[:, 0], y[rows])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
        if step % 500 == 0:
            log.info("step %d of %d: loss %.4f", step, steps, loss.item())
    model.eval()
    head = EndHead(inner.weight.data, inner.bias.data, outer.weight.data, outer.bias.data)
    _measure(head, torch.from_numpy(held["features"]).float(), held["labels"], held["owners"])
    return head


def _measure(head: EndHead, features: torch.Tensor, labels: np.ndarray, owners: np.ndarray) -> None:
    chances = head(features).numpy()
    order = chances.argsort().argsort()
    positive = labels.sum()
    rank = (order[labels].sum() - positive * (positive - 1) / 2) / positive
    log.info("%d held-out positions: AUC %.3f", len(labels), rank / (len(labels) - positive))
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7):
        right = 0
        for owner in np.unique(owners):
            mine = owners == owner
            passed = np.flatnonzero(chances[mine] > threshold)
            right += bool(len(passed)) and bool(labels[mine][passed[0]])
        log.info("first above %.1f is the end in %.3f", threshold, right / len(np.unique(owners)))
