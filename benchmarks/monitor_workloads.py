"""What ``benchmarks.monitor_overhead`` runs in its kernel: workloads, and one watched or unwatched run.

Each workload gives a function that does so many units of equal work.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil


def interpreter() -> Callable[[int], None]:
    """Pure Python, which holds the interpreter lock all the time: the drawing thread's worst case."""
    words = [f"name {number}" for number in range(1000)]

    def work(units: int) -> None:
        for _ in range(units):
            {word: len(word) for word in words}

    return work


def decode() -> Callable[[int], None]:
    """JPEG decoding and resizing by OpenCV in the main thread."""
    jpeg = _jpeg()

    def work(units: int) -> None:
        import cv2

        for _ in range(units):
            cv2.resize(cv2.imdecode(jpeg, cv2.IMREAD_COLOR), (192, 192), interpolation=cv2.INTER_AREA)

    return work


class _Decoded:
    """A dataset of so many decoded copies of one JPEG."""

    def __init__(self, length: int):
        self.jpeg, self.length = _jpeg(), length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> np.ndarray:
        import cv2

        image = cv2.resize(cv2.imdecode(self.jpeg, cv2.IMREAD_COLOR), (192, 192))
        return np.ascontiguousarray(image.transpose(2, 0, 1), dtype=np.float32) / 255


def loader() -> Callable[[int], None]:
    """Batches of a DataLoader with a worker for every core: no core is left idle for the recorder."""
    from torch.utils.data import DataLoader

    from tutorial_utils import placement

    images = DataLoader(_Decoded(1 << 40), batch_size=16, num_workers=placement.cores(), shuffle=False)
    batches = iter(images)

    def work(units: int) -> None:
        for _ in range(units):
            next(batches)

    return work


def train() -> Callable[[int], None]:
    """Training steps of a small network, on the GPU where there is one."""
    import torch
    from torch import nn

    from tutorial_utils import placement

    place = placement.choose()
    torch.manual_seed(0)
    width, size, batch = (64, 192, 64) if place.has_gpu else (8, 96, 8)
    network = nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2), nn.ReLU(), nn.Conv2d(width, width, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10),
    ).to(place.torch_device)  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    images = torch.rand(batch, 3, size, size, device=place.torch_device)
    labels = torch.randint(10, (batch,), device=place.torch_device)

    def work(units: int) -> None:
        for _ in range(units):
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(network(images), labels).backward()
            optimizer.step()
        place.synchronize()

    return work


WORKLOADS = {work.__name__: work for work in (interpreter, decode, loader, train)}
_ready: dict[str, Callable[[int], None]] = {}


def run_once(workload: str, units: int, watched: bool) -> tuple[float, float]:
    """Do the work in this process, watched or not.

    Returns:
        Seconds it took, the monitor's start apart, and CPU seconds that the monitor used meanwhile.
    """
    if workload not in _ready:
        _ready[workload] = WORKLOADS[workload]()
    work = _ready[workload]
    if not watched:
        return _timed(work, units, dict)
    from tutorial_utils.monitor import Monitor

    with Monitor(f"overhead: {workload}") as watch, watch.phase("work"):
        return _timed(work, units, _monitor_cpu)


def _timed(
    work: Callable[[int], None], units: int, account: Callable[[], dict[str, float]]
) -> tuple[float, float]:
    work(max(8, units // 10))  # empties what a loader has fetched ahead while nobody measured
    before, start = account(), time.perf_counter()
    work(units)
    seconds, after = time.perf_counter() - start, account()
    return seconds, sum(used - before[name] for name, used in after.items())


def _monitor_cpu() -> dict[str, float]:
    """CPU seconds so far of the drawing thread and the recorder of the monitor that is running."""
    recorder = next(
        child for child in psutil.Process().children() if "tutorial_utils.monitor.recorder" in child.cmdline()
    )
    nanoseconds = int(Path(f"/proc/{recorder.pid}/schedstat").read_text().split()[0])
    painter = next(thread for thread in threading.enumerate() if thread.name == "monitor's live picture")
    drawing = time.clock_gettime(time.pthread_getcpuclockid(painter.ident))
    return {"recorder": nanoseconds / 1e9, "drawing": drawing}


def _jpeg() -> np.ndarray:
    import cv2

    random_image = np.random.default_rng(0).integers(0, 256, (47, 63, 3), dtype=np.uint8)
    return cv2.imencode(".jpg", cv2.resize(random_image, (500, 375), interpolation=cv2.INTER_CUBIC))[1]
