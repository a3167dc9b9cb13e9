"""The doctor's checks of software, memory and disk: one function a check, each gives one line (lesson 00)."""

import importlib
import io
import os
import platform
import resource
import shutil
import sys
from pathlib import Path

from tutorial_utils.diagnosis import Line
from tutorial_utils.distributions import install, installed, pip

OLDEST_PYTHON = (3, 11)
MIB = 2**20
GIB = 2**30

# Lesson 01's batch: 128 pairs of float32 images of 3 x 192 x 192; a worker keeps two of them ready.
BATCH_BYTES = 128 * 2 * 3 * 192 * 192 * 4
BATCHES_A_WORKER = 2
MEMORY_NEEDED = 4 * GIB
OPEN_FILES_NEEDED = 1024


def python() -> Line:
    """Check for Python 3.11 or newer, on Linux."""
    found = f"{platform.python_version()} on {platform.system()}, {sys.prefix}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Line(
            "Python", "problem", found, "install Python 3.11 or newer, delete .venv and run `make lab`"
        )
    if platform.system() != "Linux":
        return Line(
            "Python", "problem", found, "DALI is made for Linux only: use Linux, WSL 2 or a container"
        )
    return Line("Python", "ok", found)


def jupyter() -> Line:
    """Check for JupyterLab and the kernel package."""
    lab, kernel_package = installed("jupyterlab"), installed("ipykernel")
    found = f"JupyterLab {lab or 'missing'}, ipykernel {kernel_package or 'missing'}"
    if not kernel_package:
        return Line(
            "Jupyter", "problem", found, f"no notebook can run here: {pip('install ipykernel jupyterlab')}"
        )
    if not lab:
        remedy = f"{pip('install jupyterlab')} (or open the notebooks in an editor with this kernel)"
        return Line("Jupyter", "warning", found, remedy)
    return Line("Jupyter", "ok", found)


def kernel() -> Line:
    """Check that the kernel ``python3`` starts this environment's Python."""
    if not installed("jupyter_client"):
        return Line("kernel", "not here", "no jupyter_client, so no kernels are listed")
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    remedy = f"{sys.executable} -m ipykernel install --sys-prefix --name python3"
    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        return Line("kernel", "problem", "there is no kernel named python3", remedy)
    program = shutil.which(spec.argv[0]) or spec.argv[0]
    # Not resolved: a virtual environment's python is a link to the one it was made from.
    if Path(program).parent == Path(sys.executable).parent or spec.argv[0] in ("python", "python3"):
        return Line("kernel", "ok", f"python3 starts {sys.executable}")
    return Line(
        "kernel", "warning", f"python3 starts {program}, not this environment's {sys.executable}", remedy
    )


def torch_runs() -> Line:
    """Check that PyTorch imports and computes."""
    try:
        import torch

        total = torch.arange(5, dtype=torch.float32).square().sum().item()
    except Exception as error:
        return Line("PyTorch", "problem", _said(error), install())
    if total != 30:
        return Line("PyTorch", "problem", f"0+1+4+9+16 gave {total}", install())
    return Line("PyTorch", "ok", f"{torch.__version__}, computes on the CPU")


def dali_runs() -> Line:
    """Check that DALI imports and a pipeline decodes a JPEG on the CPU."""
    try:
        version = decode_with_dali(device_id=None)
    except Exception as error:
        return Line("DALI", "problem", _said(error), install())
    return Line("DALI", "ok", f"{version}, a CPU pipeline decoded a JPEG")


def decode_with_dali(device_id: int | None) -> str:
    """Run a one-image pipeline for real.

    Args:
        device_id: the GPU that decodes; None for the CPU.

    Returns:
        DALI's version.

    Raises:
        Exception: whatever importing, building or running raised.
        RuntimeError: the pixels are not those that were encoded.
    """
    import numpy as np
    import nvidia.dali as dali
    from PIL import Image

    colour = (200, 120, 40)
    file = io.BytesIO()
    Image.new("RGB", (32, 24), colour).save(file, "JPEG", quality=95)
    encoded = np.frombuffer(file.getvalue(), dtype=np.uint8)
    pipeline = dali.Pipeline(batch_size=1, num_threads=1, device_id=device_id, seed=0)
    with pipeline:
        jpegs = dali.fn.external_source(source=lambda: [encoded], dtype=dali.types.UINT8, ndim=1)
        decoder = "cpu" if device_id is None else "mixed"
        pipeline.set_outputs(dali.fn.decoders.image(jpegs, device=decoder))
    (images,) = pipeline.run()
    pixels = np.asarray((images if device_id is None else images.as_cpu()).at(0))
    if pixels.shape != (24, 32, 3) or np.abs(pixels.astype(int) - colour).max() > 12:
        raise RuntimeError(f"a decoded JPEG came out wrong: shape {pixels.shape}, first pixel {pixels[0, 0]}")
    return dali.__version__


def image_decoders() -> Line:
    """Check that the CPU competitors' decoders import; a torchvision of another PyTorch fails here."""
    missing, versions = [], []
    for module in ("PIL", "cv2", "torchvision"):
        try:
            versions.append(f"{module} {importlib.import_module(module).__version__}")
        except Exception as error:
            missing.append(f"{module}: {_said(error)}")
    if missing:
        return Line("image decoders", "problem", "; ".join(missing), install())
    return Line("image decoders", "ok", ", ".join(versions))


def torchcodec() -> Line:
    """Check lesson 06's CPU competitor torchcodec, which needs FFmpeg's shared libraries."""
    version = installed("torchcodec")
    if not version:
        return Line("CPU video", "not here", "torchcodec is not installed (optional, lesson 06)")
    try:
        importlib.import_module("torchcodec.decoders")
    except Exception as error:
        remedy = (
            "sudo apt-get install -y ffmpeg (or: conda install -c conda-forge ffmpeg); only lesson 06 uses it"
        )
        # Its own message is pages long and names every FFmpeg version tried.
        reason = f"{type(error).__name__}, most likely for want of FFmpeg's shared libraries"
        return Line("CPU video", "warning", f"torchcodec {version} cannot be loaded: {reason}", remedy)
    return Line("CPU video", "ok", f"torchcodec {version} with FFmpeg's libraries")


def shared_memory(path: Path = Path("/dev/shm")) -> Line:
    """Check the free shared memory: ``DataLoader`` workers hand their batches over in it."""
    remedy = (
        "docker run --shm-size=8g ... (Kubernetes: an emptyDir with medium: Memory on /dev/shm; "
        "else: sudo mount -o remount,size=8g /dev/shm)"
    )
    if not path.is_dir():
        return Line("shared memory", "problem", f"{path} is missing: DataLoader workers cannot start", remedy)
    free = shutil.disk_usage(path).free
    needed = _workers() * BATCHES_A_WORKER * BATCH_BYTES
    found = f"{free / MIB:,.0f} MiB free in {path}"
    if free < 2 * BATCH_BYTES:
        return Line("shared memory", "problem", f"{found}: workers will die with a bus error", remedy)
    if free < needed:
        found = f"{found}; {_workers()} workers with lesson 01's largest batches take {needed / MIB:,.0f} MiB"
        return Line("shared memory", "warning", found, remedy)
    return Line("shared memory", "ok", found)


def cores() -> Line:
    """Count the cores this process may use, which is not always what the machine has."""
    allowed, whole = _workers(), os.cpu_count() or 1
    if allowed == 1:
        found = f"1 of {whole} allowed: worker processes will only take turns"
        return Line(
            "cores", "warning", found, "docker run --cpus=4 ..., or ask the batch system for more cores"
        )
    limited = "; a quota or an affinity mask holds back the rest" if allowed < whole else ""
    return Line("cores", "ok", f"{allowed} of {whole} allowed{limited}")


def memory(group: Path = Path("/sys/fs/cgroup")) -> Line:
    """Check the memory, cut to the container's limit."""
    import psutil

    whole = psutil.virtual_memory().total
    limit = min(whole, _memory_limit(group) or whole)
    found = f"{limit / GIB:.1f} GiB" + (
        f" of {whole / GIB:.1f} (the container's limit)" if limit < whole else ""
    )
    if limit < MEMORY_NEEDED:
        remedy = "docker run --memory=8g ..., or use fewer workers and smaller batches"
        return Line("memory", "warning", f"{found}; {MEMORY_NEEDED / GIB:.0f} GiB are comfortable", remedy)
    return Line("memory", "ok", found)


def disk(root: Path | None = None) -> Line:
    """Hold the free disk where the data sets go against what each scale takes."""
    from data_scripts.disk import megabytes
    from data_scripts.locations import default_root
    from data_scripts.make_pairs import BYTES_PER_PAIR, SCALES

    root = (root or default_root()).absolute()
    folder = next(place for place in (root, *root.parents) if place.is_dir())
    if not os.access(folder, os.W_OK):
        return Line("disk", "problem", f"{folder} is not writable", "set TUTORIAL_DATA to a folder that is")
    free = shutil.disk_usage(folder).free
    needs = {scale: pairs * BYTES_PER_PAIR for scale, pairs in SCALES.items()}
    listed = ", ".join(f"{scale} {megabytes(need)}" for scale, need in needs.items())
    found = f"{megabytes(free)} free for {root.parent} (the sets take about: {listed})"
    remedy = "make room, or set TUTORIAL_DATA to a folder on a larger disk"
    if free < needs["smoke"]:
        return Line("disk", "problem", found, remedy)
    if free < needs["workshop"]:
        return Line("disk", "warning", found, remedy)
    return Line("disk", "ok", found)


def open_files() -> Line:
    """Check how many open files are allowed: workers pass every tensor over as one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = f"{'unlimited' if soft == resource.RLIM_INFINITY else soft} allowed"
    if soft != resource.RLIM_INFINITY and soft < OPEN_FILES_NEEDED:
        reach = (
            ""
            if hard == resource.RLIM_INFINITY or hard >= OPEN_FILES_NEEDED
            else f" (hard limit {hard}: as root)"
        )
        return Line("open files", "warning", found, f"ulimit -n 4096{reach}, then start JupyterLab again")
    return Line("open files", "ok", found)


def _workers() -> int:
    from tutorial_utils import placement

    return placement.cores()


def _memory_limit(group: Path) -> int | None:
    """Read a container's memory limit in bytes: cgroup v2's file, else v1's."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            return int((group / name).read_text())
        except (OSError, ValueError):
            continue
    return None


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip()
