"""What this machine lacks for the lessons, each with its remedy; lesson 00 begins with it.

``python -m tutorial_utils.doctor`` prints the same page and exits with 1 if a lesson
could not run. Nothing here imports PyTorch or DALI before its own check does, so
that the doctor also works where they are what is broken.
"""

import sys
from collections.abc import Callable, Sequence

from tutorial_utils import doctor_checks, doctor_gpu_checks
from tutorial_utils.diagnosis import Diagnosis, Line

CHECKS: tuple[tuple[str, Callable[[], Line]], ...] = (
    ("Python", doctor_checks.python),
    ("Jupyter", doctor_checks.jupyter),
    ("kernel", doctor_checks.kernel),
    ("PyTorch", doctor_checks.torch_runs),
    ("DALI", doctor_checks.dali_runs),
    ("image decoders", doctor_checks.image_decoders),
    ("CUDA family", doctor_gpu_checks.cuda_family),
    ("NVIDIA driver", doctor_gpu_checks.driver),
    ("PyTorch on the GPU", doctor_gpu_checks.torch_runs),
    ("DALI on the GPU", doctor_gpu_checks.dali_runs),
    ("NVML", doctor_gpu_checks.nvml_readings),
    ("pynvml package", doctor_gpu_checks.nvml_distribution),
    ("video decoder", doctor_gpu_checks.video_decoder),
    ("JPEG engine", doctor_gpu_checks.jpeg_engine),
    ("CPU video", doctor_checks.torchcodec),
    ("shared memory", doctor_checks.shared_memory),
    ("cores", doctor_checks.cores),
    ("memory", doctor_checks.memory),
    ("disk", doctor_checks.disk),
    ("open files", doctor_checks.open_files),
)


def check() -> Diagnosis:
    """Check this machine for the lessons; the first cell of lesson 00.

    Returns:
        One line a check. A check that fails itself becomes a line too, never a traceback.
    """
    lines = tuple(_guarded(name, one) for name, one in CHECKS)
    return Diagnosis(lines, has_gpu=bool(doctor_gpu_checks.gpu_count()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the diagnosis; the exit status is 1 if a line is a problem."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments:
        print(
            "usage: python -m tutorial_utils.doctor\n\nChecks this machine for the lessons; takes no options."
        )
        return 0 if arguments[0] in ("-h", "--help") else 2
    diagnosis = check()
    print(diagnosis)
    return 0 if diagnosis.ok else 1


def _guarded(name: str, one: Callable[[], Line]) -> Line:
    try:
        return one()
    except Exception as error:  # the page must come whatever is broken underneath
        return Line(
            name,
            "warning",
            f"the check itself failed: {type(error).__name__}: {error}",
            "report this line to the project; the other checks are not affected",
        )


if __name__ == "__main__":
    sys.exit(main())
