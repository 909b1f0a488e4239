"""Scripts that put networks on the device "xla", which is the CPU here."""

from __future__ import annotations

from pathlib import Path

from process import python

SCRIPT = """
import torch
import torch_xla
import torch_xla.core.xla_model as xm

model = torch.nn.Linear(3, 2).to("xla")
x = torch.ones(4, 3, device="xla:0").to(torch.device("xla")).to(xm.xla_device())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.weight.detach().clone()
model(x).sum().backward()
xm.optimizer_step(optimizer)
xm.mark_step()
print(torch.allclose(model.weight, before - 0.4), model.weight.device, torch_xla.device(), xm.xrt_world_size())
for module, name in ((torch_xla, "compile"), (xm, "rendezvous")):
    try:
        getattr(module, name)
    except AttributeError as error:
        print(error)
"""


def test_the_device_is_the_cpu(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = python("-m", "pykernels", "run", "script.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, top, model = done.stdout.splitlines()
    assert first == "True cpu cpu 1"
    assert "torch_xla.compile is not provided by pykernels.vendors.neuron.torch_xla: torch_xla has core.xla_mod" in top
    assert "torch_xla.core.xla_model.rendezvous is not provided" in model and "mark_step" in model
