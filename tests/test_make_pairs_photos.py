"""Photographs of any make become what a viewer shows: conversions, orientation, sizes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from photo_samples import HEIGHT, WIDTH, as_rgb, gray, high_of, make, picture, png_of, scene
from PIL import Image


def save_cmyk(path: Path) -> np.ndarray:
    image = picture().convert("CMYK")
    image.save(path, quality=95)
    return np.asarray(image.convert("RGB"))


def save_16_bit(path: Path) -> np.ndarray:
    Image.fromarray(gray().astype(np.uint16) * 257).save(path)
    return as_rgb(gray())


def save_16_bit_rgb(path: Path) -> np.ndarray:
    """Write a PNG of 16 bits a channel, which Pillow itself cannot write."""
    pixels = (scene().astype(">u2") * 257).tobytes()
    rows = b"".join(b"\0" + pixels[row * WIDTH * 6 : (row + 1) * WIDTH * 6] for row in range(HEIGHT))
    path.write_bytes(png_of(WIDTH, HEIGHT, 16, 2, rows))
    return scene()


def save_float(path: Path) -> np.ndarray:
    Image.fromarray(gray().astype(np.float32) / 255).save(path)
    return as_rgb(gray())


def save_gray(path: Path) -> np.ndarray:
    Image.fromarray(gray()).save(path, quality=95)
    return as_rgb(gray())


def save_alpha(path: Path) -> np.ndarray:
    alpha = np.full((HEIGHT, WIDTH), 255, np.uint8)
    alpha[:, : WIDTH // 2] = 0
    Image.fromarray(np.dstack([scene(), alpha])).save(path)
    return np.where(alpha[..., None] == 0, 255, scene())


def save_gray_alpha(path: Path) -> np.ndarray:
    Image.merge("LA", [Image.fromarray(gray()), Image.new("L", (WIDTH, HEIGHT), 0)]).save(path)
    return np.full((HEIGHT, WIDTH, 3), 255)


def save_palette(path: Path) -> np.ndarray:
    image = picture().quantize(64)
    image.save(path)
    return np.asarray(image.convert("RGB"))


def save_palette_transparent(path: Path) -> np.ndarray:
    image = Image.new("P", (WIDTH, HEIGHT), 1)
    image.putpalette([10, 20, 30, 40, 60, 80])
    image.paste(0, (0, 0, WIDTH, HEIGHT // 2))
    image.save(path, transparency=0)
    expected = np.empty((HEIGHT, WIDTH, 3))
    expected[: HEIGHT // 2], expected[HEIGHT // 2 :] = 255, (40, 60, 80)
    return expected


def save_turned(path: Path) -> np.ndarray:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright: turn by a quarter clockwise
    picture().save(path, exif=exif, **({"quality": 95} if path.suffix != ".tif" else {}))
    return np.rot90(scene(), -1)


def save_broken_exif(path: Path) -> np.ndarray:
    picture().save(path, quality=95, exif=b"Exif\0\0II*\0\xff\xff\xff\xff garbage")
    return scene()


def save_animation(path: Path) -> np.ndarray:
    options = {"lossless": True} if path.suffix == ".webp" else {}
    others = [Image.new("RGB", (WIDTH, HEIGHT), colour) for colour in ("red", "blue")]
    picture().save(path, save_all=True, append_images=others, **options)
    with Image.open(path) as image:
        assert image.n_frames == 3
        return np.asarray(image.convert("RGB"))


def save_plain(path: Path) -> np.ndarray:
    picture().save(path, **({"lossless": True} if path.suffix == ".webp" else {}))
    return scene()


def save_png_called_jpg(path: Path) -> np.ndarray:
    picture().save(path, format="PNG")
    return scene()


CONVERTED: dict[str, tuple[str, Callable[[Path], np.ndarray], str]] = {
    "CMYK": ("a.jpg", save_cmyk, "CMYK"),
    "16-bit grayscale PNG": ("a.png", save_16_bit, "16 bits or more"),
    "16-bit grayscale TIFF": ("a.tif", save_16_bit, "16 bits or more"),
    "16-bit RGB PNG": ("a.png", save_16_bit_rgb, ""),
    "float TIFF": ("a.tif", save_float, "16 bits or more"),
    "grayscale": ("a.jpg", save_gray, "grayscale"),
    "alpha PNG": ("a.png", save_alpha, "transparency over white"),
    "alpha WebP": ("a.webp", save_alpha, "transparency over white"),
    "gray with alpha": ("a.png", save_gray_alpha, "transparency over white"),
    "palette PNG": ("a.png", save_palette, "palette"),
    "palette with a transparent colour": ("a.png", save_palette_transparent, "transparency over white"),
    "EXIF-turned JPEG": ("a.jpg", save_turned, "turned upright by EXIF"),
    "EXIF-turned PNG": ("a.png", save_turned, "turned upright by EXIF"),
    "EXIF-turned TIFF": ("a.tif", save_turned, "turned upright by EXIF"),
    "EXIF-turned WebP": ("a.webp", save_turned, "turned upright by EXIF"),
    "EXIF-turned AVIF": ("a.avif", save_turned, "turned upright by EXIF"),
    "broken EXIF": ("a.jpg", save_broken_exif, ""),
    "GIF": ("a.gif", save_palette, "palette"),
    "animated GIF": ("a.gif", save_animation, "first image of several"),
    "animated WebP": ("a.webp", save_animation, "first image of several"),
    "animated PNG": ("a.png", save_animation, "first image of several"),
    "pages of a TIFF": ("a.tif", save_animation, "first image of several"),
    "BMP": ("a.bmp", save_plain, ""),
    "PPM": ("a.ppm", save_plain, ""),
    "WebP": ("a.webp", save_plain, ""),
    "JPEG 2000": ("a.jp2", save_plain, ""),
    "upper-case suffix": ("A.PNG", save_plain, ""),
    "PNG named .jpg": ("a.jpg", save_png_called_jpg, ""),
    "spaces and letters of any script": ("Ferien ünd 日本 (1).png", save_plain, ""),
}


@pytest.mark.parametrize("case", CONVERTED)
def test_is_converted_to_what_a_viewer_shows(tmp_path, case):
    name, save, note = CONVERTED[case]
    (tmp_path / "photos").mkdir()
    expected = save(tmp_path / "photos" / name)
    report = make(tmp_path / "photos", tmp_path / "set")
    assert (report.made, report.skipped) == (1, {})
    got = high_of(report, name)
    assert got.shape == expected.shape
    # JPEG, twice for some: a few levels. A wrong turn, order, range or background is far more.
    assert np.abs(got - expected).mean() < 6
    assert note in report.notes if note else not report.notes


@pytest.mark.parametrize(("max_side", "size"), [(64, (64, 48)), (0, (1600, 1200)), (1024, (1024, 768))])
@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_large_photographs_are_reduced_to_the_side_asked_for(tmp_path, max_side, size, suffix):
    photos = tmp_path / "photos"
    photos.mkdir()
    large = picture().resize((1600, 1200), Image.Resampling.BICUBIC)
    large.save(photos / f"a{suffix}", **({"quality": 95} if suffix == ".jpg" else {}))
    report = make(photos, tmp_path / "set", max_side=max_side)
    got = high_of(report, f"a{suffix}")
    assert got.shape == (size[1], size[0], 3)
    expected = np.asarray(large.resize(size, Image.Resampling.LANCZOS)).astype(int)
    assert np.abs(got - expected).mean() < 3


def test_a_photograph_of_100_megapixels_is_read_without_a_warning(tmp_path, recwarn):
    photos = tmp_path / "photos"
    photos.mkdir()
    Image.new("L", (11_600, 8_700), 120).save(photos / "a.jpg")
    report = make(photos, tmp_path / "set")
    assert (report.made, report.skipped) == (1, {})
    assert not [warning for warning in recwarn if "ecompression" in str(warning.message)]
