"""Ops of PyTorch in several processes and threads: workers of data loaders, ranks, and the engine's threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import forking
import pytest
import torch
from process import HELPERS, program, python

from pykernels.base import paths

PREPARE = f"""
import os, sys, torch, pykernels
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(HELPERS)!r}]
from shipped import ONE_EACH, EveryOp, function_of, tensors_of
pykernels.load_ops({str(paths.OPS)!r})
ops = torch.ops.pykernels
"""


def test_workers_of_a_data_loader(tmp_path: Path) -> None:
    done = program(
        PREPARE
        + """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        x = torch.full((1 << 18,), float(i), requires_grad=True)
        ops.sigmoid(x).sum().backward()
        return x.grad[:1]

ops.sigmoid(torch.randn(1 << 20))  # PyTorch's threads are there when the workers are forked
loader = torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2, multiprocessing_context="fork")
print(torch.cat([batch.flatten() for batch in loader]))
expected = torch.sigmoid(torch.arange(8.0))
assert torch.allclose(torch.cat([batch.flatten() for batch in loader]), expected * (1 - expected))
""",
        cwd=tmp_path,
    )
    assert done.stdout.startswith("tensor([0.2500, 0.1966")


@pytest.mark.thorough
def test_every_op_in_workers_of_a_data_loader(tmp_path: Path) -> None:
    program(
        PREPARE
        + """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return len(ONE_EACH)

    def __getitem__(self, i):
        case = ONE_EACH[i]
        return function_of(ops, case)(*tensors_of(case, grad=False))

loader = torch.utils.data.DataLoader(
    Data(), batch_size=None, num_workers=2, multiprocessing_context="fork", persistent_workers=True
)
for _ in range(2):  # the parent has met none of the ops when the workers begin
    for results, expected in zip(loader, Data(), strict=True):
        torch.testing.assert_close(results, expected, rtol=0, atol=0)
""",
        cwd=tmp_path,
    )


@pytest.mark.thorough
def test_a_forked_child_runs_ops_that_its_parent_has_not_met(tmp_path: Path) -> None:
    program(
        PREPARE
        + """
x = torch.randn(1 << 20)
ops.sigmoid(x)
for _ in range(5):
    child = os.fork()
    if not child:
        good = torch.allclose(ops.sigmoid(x[:1000]), torch.sigmoid(x[:1000]))
        good = good and ops.tanh(x).shape == x.shape and ops.dense(x[:4].view(1, 4), x[:8].view(2, 4)).shape == (1, 2)
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""",
        cwd=tmp_path,
    )


#: Calls ``train(rank)`` on two ranks.
ON_TWO_RANKS = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def work(rank):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meet"), rank=rank, world_size=2)
    train(rank)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.start_processes(work, nprocs=2, start_method="fork")
    print("trained")
"""


def on_two_ranks(train: str, folder: Path) -> None:
    (folder / "train.py").write_text(PREPARE + train + ON_TWO_RANKS)
    done = python("train.py", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip().endswith("trained")


@pytest.mark.thorough
def test_two_ranks_train_every_op(tmp_path: Path) -> None:
    train = """
def train(rank):
    module, factor = EveryOp(ops), torch.tensor(1.0 + rank, dtype=torch.float64)
    parallel = DistributedDataParallel(module)
    parallel(factor).backward()
    alone = EveryOp(ops)
    alone(torch.tensor(1.5, dtype=torch.float64)).backward()  # the gradients of the ranks are averaged
    for (name, ours), other in zip(module.named_parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, other.grad, msg=lambda text: f"{name}: {text}")
        assert ours.grad.any(), name
"""
    on_two_ranks(train, tmp_path)


@pytest.mark.thorough
def test_two_ranks_train_one_model(tmp_path: Path) -> None:
    train = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w1, self.w2 = (torch.nn.Parameter(torch.randn(*shape)) for shape in ((8, 4), (3, 8)))

    def forward(self, x, labels):
        loss, _ = ops.softmax_cross_entropy(ops.dense(ops.sigmoid(ops.dense(x, self.w1)), self.w2), labels)
        return loss.mean()

def take_steps(model, x, labels):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        model(x, labels).backward()
        optimizer.step()

def train(rank):
    torch.manual_seed(1)
    x, labels = torch.randn(12, 4), torch.randint(3, (12,), dtype=torch.int32)
    model = Model()
    take_steps(DistributedDataParallel(model), x[rank::2], labels[rank::2])
    alone = Model()
    take_steps(alone, x, labels)
    torch.testing.assert_close(list(model.parameters()), list(alone.parameters()))
"""
    on_two_ranks(train, tmp_path)


@pytest.mark.thorough
def test_two_ranks_have_parts_of_tensors(tmp_path: Path) -> None:
    train = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

WHOLE, ROWS, COLUMNS = Replicate(), Shard(0), Shard(1)

def train(rank):
    mesh = init_device_mesh("cpu", (2,))
    torch.manual_seed(0)
    x, weight, dy = torch.randn(4, 6), torch.randn(8, 6), torch.randn(4, 8)
    for of_x, of_weight, of_y in (
        (ROWS, WHOLE, ROWS), (WHOLE, ROWS, COLUMNS), (COLUMNS, COLUMNS, Partial()), (WHOLE, WHOLE, WHOLE),
    ):
        given = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
        parts = [distribute_tensor(x, mesh, [of_x]).requires_grad_()]
        parts += [distribute_tensor(weight, mesh, [of_weight]).requires_grad_()]
        y = ops.dense(*parts, bias=0.0)
        assert y.placements == (of_y,), (y.placements, of_y)
        torch.testing.assert_close(y.full_tensor(), ops.dense(x, weight, bias=0.0))
        ops.dense(*given, bias=0.0).backward(dy)
        y.redistribute(mesh, [WHOLE]).backward(distribute_tensor(dy, mesh, [WHOLE]))
        for one, other in zip(parts, given, strict=True):
            torch.testing.assert_close(one.grad.full_tensor(), other.grad)
    # Along the axis over which it adds up, an op needs the whole.
    rows, columns = (ops.softmax(distribute_tensor(x, mesh, [place])) for place in (ROWS, COLUMNS))
    assert (rows.placements, columns.placements) == ((ROWS,), (WHOLE,))
    torch.testing.assert_close(columns.full_tensor(), torch.softmax(x, 1))
"""
    on_two_ranks(train, tmp_path)


def test_many_threads_at_once(ops: Any) -> None:
    def work(seed: int) -> bool:
        x = torch.randn(100 + seed, requires_grad=True)
        ops.leaky_relu(x, alpha=0.1 * (seed % 5)).sum().backward()
        return torch.equal(x.grad, torch.where(x > 0, 1.0, 0.1 * (seed % 5)).float())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(200)))


def test_python_is_free_while_a_kernel_runs(tmp_path: Path) -> None:
    """A kernel that waits for what another thread of Python does would otherwise wait for ever."""
    program(
        PREPARE
        + """
import threading, time
x = torch.randn(1000, 1000)
ops.dense(x[:2, :2].contiguous(), x[:2, :2].contiguous())
counted = 0
def count():
    global counted
    while not done:
        counted += 1
        time.sleep(0)
done = False
thread = threading.Thread(target=count)
thread.start()
sys.setswitchinterval(1000)  # a thread that has the GIL keeps it
before = counted
ops.softmax(x); ops.dense(x, x)
assert counted > before + 10, counted
done = True
thread.join()
""",
        cwd=tmp_path,
    )


BUILDS = """
import torch


def call(op):
    return getattr(torch.ops.pykernels, op)(torch.ones(3))[0]
"""


@pytest.mark.parametrize("ops", [6, pytest.param(30, marks=pytest.mark.thorough)])
def test_forks_while_another_thread_builds(tmp_path: Path, ops: int) -> None:
    forking.check(tmp_path, BUILDS, ops)
