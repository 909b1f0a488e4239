"""`import pykernels` costs little and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from process import program

FRAMEWORKS = ["mxnet", "oneflow", "torch", "onnx", "onnxruntime", "jax"]
COMPILERS = ["numba", "llvmlite", "scipy"]
# Of the standard library, what takes long to import and is rarely needed.
SLOW = ["importlib.metadata", "concurrent.futures", "shutil", "tempfile", "difflib", "sysconfig"]


def test_imports_neither_a_framework_nor_a_compiler_nor_what_is_slow(tmp_path: Path) -> None:
    done = program(
        """
        import json, sys
        import numpy  # which imports what it likes
        before = set(sys.modules)
        import pykernels
        print(json.dumps(sorted(set(sys.modules) - before)))
        """,
        cwd=tmp_path,
    )
    modules = json.loads(done.stdout)
    assert "pykernels.call.builder" in modules
    assert [name for name in FRAMEWORKS + COMPILERS + SLOW if name in modules] == []


STATE = """
    import gc, json, os, signal, sys, threading, warnings
    import numpy  # which does have side effects, and is not ours

    def state():
        return {
            "threads": [thread.name for thread in threading.enumerate()],
            "native threads": len(os.listdir("/proc/self/task")),
            "warning filters": [str(entry) for entry in warnings.filters],
            "environment": dict(os.environ),
            "import hooks": [str(finder) for finder in (*sys.meta_path, *sys.path_hooks)],
            "path": list(sys.path),
            "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
            "excepthook": str(sys.excepthook),
            "directory": os.getcwd(),
            "numpy errors": str(numpy.geterr()),
            "garbage collection": str(gc.get_threshold()),
        }

    WRITES = {
        "os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate",
        "os.fork", "os.system", "socket.bind", "socket.connect", "subprocess.Popen",
    }
    events = []

    def watch(event, arguments):
        if event in WRITES:
            events.append(f"{event} {arguments}")
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            events.append(f"open {arguments}")

    before = state()
    sys.addaudithook(watch)
    %s
    after = state()
    print(json.dumps({"changed": [key for key in before if before[key] != after[key]], "events": events}))
"""


def test_changes_nothing_in_the_process_and_writes_nothing(tmp_path: Path) -> None:
    done = program(STATE % "import pykernels", cwd=tmp_path)
    assert json.loads(done.stdout) == {"changed": [], "events": []}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "changed", "event"),
    [
        ("open('file', 'w').close()", [], "open"),
        ("os.environ['A'] = 'B'; warnings.simplefilter('error')", ["warning filters", "environment"], None),
        (
            "threading.Thread(target=__import__('time').sleep, args=(1,), daemon=True).start()",
            ["threads", "native threads"],
            None,
        ),
    ],
)
def test_the_watch_sees_what_it_is_there_for(
    tmp_path: Path, change: str, changed: list[str], event: str | None
) -> None:
    seen = json.loads(program(STATE % change, cwd=tmp_path).stdout)
    assert seen["changed"] == changed
    assert [entry.split()[0] for entry in seen["events"]] == ([event] if event else [])
