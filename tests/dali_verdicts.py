"""Decode every file of a folder with DALI and print a JSON object: name to [height, width] or null.

Run as a script: ``python dali_verdicts.py FOLDER cpu|mixed``. On a CPU every file has a process of its own,
since some damaged files have crashed DALI; a crash counts as a refusal.
"""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=1, num_threads=1, prefetch_queue_depth=1)
def decode(path: str, device: str):
    """Read one file and decode it as every lesson does."""
    encoded, _ = fn.readers.file(files=[path])
    return fn.decoders.image(encoded, device=device, output_type=types.RGB)


def shape_of(path: Path, device: str) -> list[int] | None:
    """Decode a file; None if DALI refuses it."""
    with suppress(RuntimeError):
        pipeline = decode(str(path), device, device_id=None if device == "cpu" else 0)
        (images,) = pipeline.run()
        return list(np.asarray(images.as_cpu()[0]).shape[:2])
    return None


def shape_in_child(path: Path) -> list[int] | None:
    """Decode a file in a forked process, which may crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps(shape_of(path, "cpu")).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer or "null")


if __name__ == "__main__":
    folder, device = Path(sys.argv[1]), sys.argv[2]
    judge = shape_in_child if device == "cpu" else lambda path: shape_of(path, device)
    print(json.dumps({path.name: judge(path) for path in sorted(folder.iterdir())}))
