"""Are the generated scenes like photographs? Claim: file size and decode time within 25%.

    python -m benchmarks.photo_likeness
    python -m benchmarks.photo_likeness --scenes 400 --json likeness.json

The yardstick are the colour photographs that the packages of scikit-image and scikit-learn carry
(nothing is fetched): astronaut, chelsea, coffee, motorcycle, rocket, china, flower. Their scientific
images (microscope, telescope, retina, textures) are left out: nobody trains on such photographs here.

How the comparison is made: photographs and scenes are encoded from pixels by the same encoder at the
same quality, ``data_scripts.scenes.JPEG_QUALITY``, each at its own size. Decoding is timed as the CPU
time of this process, one thread, in rounds that go through all photographs and scenes in turn, so
that a busy machine slows both; each image counts with its quickest round. What is compared are means
and medians over the images. Rocket, china and flower were JPEG files before, so they compress a
little better than a camera's own picture would.

Beside the cost: the share of quantised luminance coefficients that are not zero (what an entropy
decoder works on), mean and contrast of the luminance, the mean step between neighbouring pixels, and
the exponent a of the power spectrum 1/f**a, about 2 for natural images.
"""

import argparse
import io
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from data_scripts.jpeg import encode
from data_scripts.opencv import in_this_thread
from data_scripts.scenes import JPEG_QUALITY, KINDS, render

PHOTOGRAPHS = {
    "skimage": ("astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "rocket.jpg"),
    "sklearn": ("china.jpg", "flower.jpg"),
}
_FOLDERS = {"skimage": "data", "sklearn": "datasets/images"}
_WEIGHTS = np.array([0.299, 0.587, 0.114], np.float32)  # of luminance, ITU-R BT.601, as in JPEG


@dataclass
class Sample:
    """One image and what was measured on it.

    Attributes:
        name: file name of the photograph, or number of the scene.
        kind: ``photograph`` or the scene's kind.
        pixels: height times width.
        bytes_per_pixel: of its JPEG file.
        nonzero: share of the quantised luminance coefficients that are not zero.
        luminance: mean, 0 to 255.
        contrast: standard deviation of the luminance.
        step: mean absolute difference between horizontal and vertical neighbours.
        slope: a of the power spectrum 1/f**a.
        decode: CPU milliseconds a megapixel, by decoder.
    """

    name: str
    kind: str
    pixels: int
    bytes_per_pixel: float
    nonzero: float
    luminance: float
    contrast: float
    step: float
    slope: float
    decode: dict[str, float]


def photographs() -> dict[str, np.ndarray]:
    """Load the photographs: uint8 (H, W, 3), RGB, by file name.

    Raises:
        FileNotFoundError: scikit-image or scikit-learn is not installed, or carries the picture no more.
    """
    images = {}
    for package, names in PHOTOGRAPHS.items():
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(f"no package {package}: install this project's `test` extra")
        for name in names:
            path = Path(spec.origin).parent / _FOLDERS[package] / name
            if not path.is_file():
                raise FileNotFoundError(f"{package} {path.name} is not in the installed package: {path}")
            images[name] = np.asarray(Image.open(path).convert("RGB"))
    return images


def samples(named: Iterable[tuple[str, str, np.ndarray]], quality: int) -> tuple[list[Sample], list[bytes]]:
    """Measure everything but the time.

    Args:
        named: name, kind and uint8 (H, W, 3) RGB pixels of each image.
        quality: of the JPEG files.

    Returns:
        The samples, and the JPEG files in the same order.
    """
    measured, files = [], []
    for name, kind, image in named:
        data = encode(image, quality)
        gray = image @ _WEIGHTS
        pixels = gray.size
        measured.append(
            Sample(
                name=name,
                kind=kind,
                pixels=pixels,
                bytes_per_pixel=len(data) / pixels,
                nonzero=nonzero_share(gray, data),
                luminance=float(gray.mean()),
                contrast=float(gray.std()),
                step=float((np.abs(np.diff(gray, axis=0)).mean() + np.abs(np.diff(gray, axis=1)).mean()) / 2),
                slope=spectrum_slope(gray),
                decode={},
            )
        )
        files.append(data)
    return measured, files


def nonzero_share(gray: np.ndarray, data: bytes) -> float:
    """Share of the 8x8 luminance coefficients that survive the quantisation table of a JPEG file."""
    table = np.array(Image.open(io.BytesIO(data)).quantization[0], np.float32).reshape(8, 8)
    rows, columns = gray.shape[0] // 8, gray.shape[1] // 8
    blocks = gray[: rows * 8, : columns * 8].reshape(rows, 8, columns, 8).swapaxes(1, 2) - 128
    k = np.arange(8)
    basis = np.cos((2 * k[None, :] + 1) * k[:, None] * np.pi / 16).astype(np.float32) / 2
    basis[0] /= np.sqrt(2)
    return float((np.abs(basis @ blocks @ basis.T) >= table / 2).mean())


def spectrum_slope(gray: np.ndarray) -> float:
    """Fit a of the power spectrum 1/f**a of the middle square, between 0.02 and 0.35 cycles a pixel."""
    side = min(*gray.shape, 256)
    top, left = (gray.shape[0] - side) // 2, (gray.shape[1] - side) // 2
    window = np.hanning(side)
    square = gray[top : top + side, left : left + side]
    power = np.abs(np.fft.fft2((square - square.mean()) * window[:, None] * window)) ** 2
    f = np.fft.fftfreq(side)
    radius = np.hypot(f[:, None], f[None, :])
    edges = np.geomspace(0.02, 0.35, 16)
    where = np.digitize(radius, edges)
    bands = [power[where == band].mean() for band in range(1, len(edges))]
    middle = np.sqrt(edges[1:] * edges[:-1])
    return float(-np.polyfit(np.log(middle), np.log(bands), 1)[0])


DECODERS: dict[str, Callable[[bytes], object]] = {
    "opencv": lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR),
    "pillow": lambda data: Image.open(io.BytesIO(data)).load(),
}


def time_decoding(measured: list[Sample], files: list[bytes], rounds: int) -> None:
    """Fill in the samples' ``decode``: each image's quickest of some rounds, decoders and images in turn."""
    best = {name: [float("inf")] * len(files) for name in DECODERS}
    with in_this_thread():
        for _ in range(rounds):
            for name, decode in DECODERS.items():
                for index, data in enumerate(files):
                    before = time.process_time()
                    decode(data)
                    best[name][index] = min(best[name][index], time.process_time() - before)
    for index, sample in enumerate(measured):
        sample.decode = {name: times[index] * 1e9 / sample.pixels for name, times in best.items()}


QUANTITIES: dict[str, Callable[[Sample], float]] = {
    "bytes/pixel": lambda s: s.bytes_per_pixel,
    "decode ms/MP, opencv": lambda s: s.decode["opencv"],
    "decode ms/MP, pillow": lambda s: s.decode["pillow"],
    "nonzero coefficients": lambda s: s.nonzero,
    "luminance": lambda s: s.luminance,
    "contrast": lambda s: s.contrast,
    "neighbour step": lambda s: s.step,
    "spectrum exponent": lambda s: s.slope,
}


@dataclass(frozen=True)
class Comparison:
    """Photographs beside scenes in one quantity: means and medians over images."""

    photographs_mean: float
    scenes_mean: float
    photographs_median: float
    scenes_median: float

    @property
    def mean_ratio(self) -> float:
        """Scenes by photographs, of the means."""
        return self.scenes_mean / self.photographs_mean

    @property
    def median_ratio(self) -> float:
        """Scenes by photographs, of the medians."""
        return self.scenes_median / self.photographs_median


def compare(measured: list[Sample]) -> dict[str, Comparison]:
    """Set photographs and scenes side by side in every quantity."""
    table = {}
    for name, quantity in QUANTITIES.items():
        photos = [quantity(s) for s in measured if s.kind == "photograph"]
        scenes = [quantity(s) for s in measured if s.kind != "photograph"]
        numbers = np.mean(photos), np.mean(scenes), np.median(photos), np.median(scenes)
        table[name] = Comparison(*map(float, numbers))
    return table


def measure(count: int, seed: int = 0, rounds: int = 7, quality: int = JPEG_QUALITY) -> list[Sample]:
    """Measure the photographs and the first ``count`` scenes of a set, times included."""
    named = [(name, "photograph", image) for name, image in photographs().items()]
    scenes = (render(index, seed) for index in range(count))
    named += [(str(index), scene.kind, scene.image) for index, scene in enumerate(scenes)]
    measured, files = samples(named, quality)
    time_decoding(measured, files, rounds)
    return measured


def report(measured: list[Sample]) -> str:
    """Lay out the comparison, then the scene kinds and the photographs one by one."""
    lines = [f"{'':<22}{'photographs':>22}{'scenes':>22}{'ratio':>18}"]
    lines.append(f"{'':<22}" + f"{'mean':>11}{'median':>11}" * 2 + f"{'mean':>9}{'median':>9}")
    for name, c in compare(measured).items():
        values = c.photographs_mean, c.photographs_median, c.scenes_mean, c.scenes_median
        lines.append(
            f"{name:<22}"
            + "".join(f"{v:>11.3f}" for v in values)
            + f"{c.mean_ratio:>9.2f}{c.median_ratio:>9.2f}"
        )
    lines.append("")
    lines.append(f"{'':<22}" + "".join(f"{name:>22}" for name in QUANTITIES))
    groups = {s.name: [s] for s in measured if s.kind == "photograph"}
    groups |= {kind: [s for s in measured if s.kind == kind] for kind in KINDS}
    for name, group in groups.items():
        if group:
            row = "".join(
                f"{np.mean([quantity(s) for s in group]):>22.3f}" for quantity in QUANTITIES.values()
            )
            lines.append(f"{name:<22}{row}")
    return "\n".join(lines)


def main() -> int:
    """Measure, print, write JSON; exit code 1 where bytes or decoding are more than 25% off."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", type=int, default=160, help="how many scenes (default 160)")
    parser.add_argument("--seed", type=int, default=0, help="of the set of scenes (default 0)")
    parser.add_argument("--rounds", type=int, default=7, help="of decoding all images (default 7)")
    parser.add_argument(
        "--quality", type=int, default=JPEG_QUALITY, help="of the JPEG files (default: the project's)"
    )
    parser.add_argument("--json", type=Path, help="write every sample and the comparison to this file")
    options = parser.parse_args()
    if options.scenes < len(KINDS) or options.rounds < 1:
        parser.error(f"--scenes must be at least {len(KINDS)} and --rounds at least 1")
    measured = measure(options.scenes, options.seed, options.rounds, options.quality)
    print(f"JPEG quality {options.quality}, 4:2:0\n{report(measured)}")
    table = compare(measured)
    claims = {name: table[name].median_ratio for name in list(QUANTITIES)[:3]}
    held = all(0.75 <= ratio <= 1.25 for ratio in claims.values())
    print(f"\nwithin 25% of the photographs' median: {'yes' if held else 'NO'}")
    if options.json:
        from tutorial_utils import placement

        software = {name: version(name) for name in ("opencv-python-headless", "pillow")}
        record = {
            "machine": {"cpu": placement.cpu_name(), "python": platform.python_version(), **software},
            "settings": {name: getattr(options, name) for name in ("scenes", "seed", "rounds", "quality")},
            "comparison": {
                n: {**asdict(c), "mean_ratio": c.mean_ratio, "median_ratio": c.median_ratio}
                for n, c in table.items()
            },
            "samples": [asdict(sample) for sample in measured],
        }
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
