"""Train the network of ``digits.py`` on two workers through a parameter server, and compare with one process.

The script starts a scheduler, a server and the workers on this machine, and compares the losses of both.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import digits_mxnet
import mxnet as mx
import numpy as np
from digits_data import LEARNING_RATE, MOMENTUM, Digits, batches
from mxnet import gluon
from rich.progress import Progress

import pykernels

WORKERS = 2
#: Sums in another order differ in the last digits, and the differences grow with every step.
TOLERANCE = 1e-4


def work(epochs: int, output: Path) -> None:
    """Train on this worker's part of every batch, and write the mean loss of each step."""
    pykernels.load_ops()
    store = mx.kv.create("dist_sync")
    data = Digits.load()
    network = digits_mxnet.Network(digits_mxnet.OURS)
    network.hybridize()
    optimizer = {"learning_rate": LEARNING_RATE, "momentum": MOMENTUM}
    trainer = gluon.Trainer(network.collect_params(), "sgd", optimizer, kvstore=store, update_on_kvstore=True)
    losses = []
    for epoch in batches(len(data.train_x), epochs):
        for batch in epoch:
            mine = batch[store.rank :: store.num_workers]
            # The server adds up what the workers send.
            loss = digits_mxnet.step(network, trainer, data.train_x[mine], data.train_y[mine], store.num_workers)
            losses.append(loss.asscalar())
    np.save(output / f"losses{store.rank}.npy", losses)


def launch(epochs: int, output: Path, timeout: float) -> np.ndarray:
    """Return the losses of a distributed run, averaged over its workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_INTERFACE": "lo",
        "DMLC_NUM_SERVER": "1",
        "DMLC_NUM_WORKER": str(WORKERS),
    }
    command = [sys.executable, __file__, "--epochs", str(epochs), "--work", str(output)]
    # Importing MXNet turns such a process into a scheduler or server.
    service = [sys.executable, "-W", "ignore", "-c", "import mxnet"]
    roles = [("scheduler", service), ("server", service), *[("worker", command)] * WORKERS]
    running = [subprocess.Popen(args, env={**environment, "DMLC_ROLE": role}) for role, args in roles]
    try:
        failed = [role for (role, _), each in zip(roles, running) if each.wait(timeout) != 0]
    finally:
        for each in running:
            each.kill()
    if failed:
        raise SystemExit(f"digits_distributed.py: these failed: {', '.join(failed)}")
    return np.mean([np.load(output / f"losses{rank}.npy") for rank in range(WORKERS)], axis=0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5, help="passes over the training data (default: 5)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds to wait for the workers (default: 300)")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.epochs, options.work)
        return 0
    pykernels.load_ops()
    with Progress(disable=True) as progress:
        alone = digits_mxnet.train(digits_mxnet.OURS, Digits.load(), options.epochs, progress)
    with tempfile.TemporaryDirectory() as folder:
        losses = launch(options.epochs, Path(folder), options.timeout)
    difference = float(np.abs(losses - alone.losses).max())
    print(f"{len(losses)} steps on {WORKERS} workers: final loss {losses[-1]:.6f}, alone {alone.losses[-1]:.6f}")
    print(f"largest difference of a loss: {difference:.1e}")
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
