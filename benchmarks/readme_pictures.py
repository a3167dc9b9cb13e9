"""Take the README's pictures from executed lessons: what a reader will see is what is shown.

Run ``make test PYTEST_FLAGS="--executed-to EXECUTED"``, then
``python -m benchmarks.readme_pictures EXECUTED``.
"""

import argparse
import base64
import io
import sys
from pathlib import Path

import nbformat
from PIL import Image

# picture: (lesson, id of the cell that shows it)
PICTURES = {
    "pairs.jpg": ("00_start_here", "look"),
    "monitor.png": ("01_measure_the_baseline", "runs"),
}
FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def picture_of(notebook: Path, cell_id: str) -> Image.Image:
    """Find the last picture among the outputs of a cell.

    Raises:
        ValueError: the notebook has no such cell, or the cell shows no PNG: it was not executed.
    """
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.id == cell_id:
            shown = [output.get("data", {}).get("image/png") for output in cell.get("outputs", [])]
            found = [data for data in shown if data]
            if not found:
                raise ValueError(
                    f"{notebook}: the cell {cell_id!r} shows no picture; execute the lesson first"
                )
            return Image.open(io.BytesIO(base64.b64decode(found[-1]))).convert("RGB")
    raise ValueError(f"{notebook} has no cell {cell_id!r}")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readme_pictures", description=__doc__)
    parser.add_argument("executed", type=Path, help="folder of executed lessons")
    executed = parser.parse_args(arguments).executed
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (lesson, cell_id) in PICTURES.items():
        picture_of(executed / f"{lesson}.ipynb", cell_id).save(FOLDER / name, quality=88, optimize=True)
        print(FOLDER / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
