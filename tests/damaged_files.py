"""Sound, odd, damaged and foreign image files for the scan, made in memory: name to bytes."""

import io
import random
import struct
import zlib

import cv2
import numpy as np
from PIL import Image

HEIGHT, WIDTH = 96, 128

# Files that DALI decodes and the scan refuses nevertheless, because the picture is visibly damaged, other
# decoders refuse it, or its pixels have no plain meaning as RGB.
STRICTER = {
    "frame_marker_in_scan.jpg",
    "zeros_for_the_second_half.jpg",
    "checksum_of_a_comment.png",
    "float.tiff",
    "float_gray.tiff",
    "lab.tiff",
}


def picture() -> Image.Image:
    """Draw slopes with noise: nothing in it is flat or periodic."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    slopes = np.stack([x * 255 // WIDTH, y * 255 // HEIGHT, (x + y) % 256], axis=-1)
    return Image.fromarray((slopes + rng.normal(0, 12, slopes.shape)).clip(0, 255).astype(np.uint8))


def encode(image: Image.Image, kind: str, **options) -> bytes:
    """Encode with Pillow."""
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def opencv(suffix: str, pixels: np.ndarray) -> bytes:
    """Encode with OpenCV, which writes 16-bit and floating-point files."""
    return cv2.imencode(suffix, pixels)[1].tobytes()


def exif(orientation: int) -> Image.Exif:
    """Make EXIF data with an orientation."""
    data = Image.Exif()
    data[0x0112] = orientation
    return data


def put(data: bytes, position: int, *values: int) -> bytes:
    """Overwrite some bytes."""
    return data[:position] + bytes(values) + data[position + len(values) :]


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """Make a chunk with its right checksum."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def with_thumbnail(jpeg: bytes) -> bytes:
    """Put a small JPEG file into the header of another, as cameras do."""
    thumbnail = encode(picture().resize((32, 24)), "JPEG")
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(thumbnail) + 2) + thumbnail + jpeg[2:]


def sound() -> dict[str, bytes]:
    """Give files that every decoder of the series but torchvision's must take, odd ones among them."""
    image = picture()
    gray, pixels = image.convert("L"), np.asarray(image)
    jpeg = encode(image, "JPEG", quality=95)
    files = {
        "plain.jpg": jpeg,
        "progressive.jpg": encode(image, "JPEG", progressive=True),
        "full_chroma.jpg": encode(image, "JPEG", subsampling=0),
        "quarter_chroma.jpg": encode(image, "JPEG", subsampling="4:1:1"),
        "restarts.jpg": encode(image, "JPEG", restart_marker_blocks=4),
        "rgb_inside.jpg": encode(image, "JPEG", keep_rgb=True),
        "gray.jpg": encode(gray, "JPEG"),
        "cmyk.jpg": encode(image.convert("CMYK"), "JPEG"),
        "one_pixel.jpg": encode(image.resize((1, 1)), "JPEG"),
        "wide.jpg": encode(image.resize((9000, 8)), "JPEG"),
        "several.jpg": encode(image, "MPO", save_all=True, append_images=[image]),
        "bytes_after_the_end.jpg": jpeg + b"garbage" * 9,
        "fill_bytes.jpg": jpeg[:2] + b"\xff\xff" + jpeg[2:],
        "thumbnail_inside.jpg": with_thumbnail(jpeg),
        "end_marker_in_comment.jpg": jpeg[:2] + b"\xff\xfe\x00\x06\xff\xd9\xff\xd9" + jpeg[2:],
        "nonsense_exif.jpg": jpeg[:2] + b"\xff\xe1\x00\x10Exif\x00\x00garbage!" + jpeg[2:],
        "jpeg_inside.png": jpeg,
        "plain.png": encode(image, "PNG"),
        "png_inside.jpg": encode(image, "PNG"),
        "palette.png": encode(image.convert("P"), "PNG"),
        "one_bit.png": encode(image.convert("1"), "PNG"),
        "alpha.png": encode(image.convert("RGBA"), "PNG"),
        "gray_alpha.png": encode(image.convert("LA"), "PNG"),
        "gray16.png": encode(Image.fromarray(pixels[..., 0].astype(np.uint16) * 257), "PNG"),
        "color16.png": opencv(".png", pixels[..., ::-1].astype(np.uint16) * 257),
        "turned.png": encode(image, "PNG", exif=exif(6)),
        "plain.webp": encode(image, "WEBP"),
        "lossless.webp": encode(image, "WEBP", lossless=True),
        "turned.webp": encode(image, "WEBP", exif=exif(6)),
        "plain.bmp": encode(image, "BMP"),
        "palette.bmp": encode(image.convert("P"), "BMP"),
        "plain.tiff": encode(image, "TIFF"),
        "packed.tiff": encode(image, "TIFF", compression="tiff_lzw"),
        "cmyk.tiff": encode(image.convert("CMYK"), "TIFF"),
        "plain.jp2": encode(image, "JPEG2000"),
        "plain.ppm": encode(image, "PPM"),
        "gray.pgm": encode(gray, "PPM"),
        "no_suffix": jpeg,
        "blank and Ünïcode.JPG": jpeg,
    }
    return files | {f"turned{turn}.jpg": encode(image, "JPEG", exif=exif(turn)) for turn in range(1, 9)}


def unnoticed() -> dict[str, bytes]:
    """Give damaged JPEG files that every decoder takes: the format has no checksum."""
    jpeg = encode(picture(), "JPEG", quality=95)
    half = len(jpeg) // 2
    return {
        "one_byte_changed.jpg": put(jpeg, half, jpeg[half] ^ 0x55),
        "zeroed_stretch.jpg": put(jpeg, half, *bytes(300)),
        "cut_and_closed.jpg": jpeg[:half] + b"\xff\xd9",
        "no_pixels_but_closed.jpg": jpeg[: jpeg.index(b"\xff\xda") + 14] + b"\xff\xd9",
    }


def damaged_jpegs() -> dict[str, bytes]:
    """Give JPEG files cut, overwritten and contradicting themselves."""
    image = picture()
    jpeg = encode(image, "JPEG", quality=95)
    progressive = encode(image, "JPEG", progressive=True)
    half = len(jpeg) // 2
    frame, scan = jpeg.index(b"\xff\xc0"), jpeg.index(b"\xff\xda")
    tables, quantizers = jpeg.index(b"\xff\xc4"), jpeg.index(b"\xff\xdb")
    files = {f"cut_at_{end}.jpg": jpeg[:end] for end in (1, 2, 10, 100, scan, half, len(jpeg) - 10)}
    files |= {f"last_{n}_bytes_missing.jpg": jpeg[:-n] for n in (1, 2, 3)}
    files |= {f"progressive_cut_{part}.jpg": progressive[: len(progressive) * part // 9] for part in (3, 8)}
    return files | {
        "cut_with_thumbnail.jpg": with_thumbnail(jpeg)[:-200],
        "zeros_for_the_second_half.jpg": jpeg[:half] + bytes(len(jpeg) - half),
        "frame_marker_in_scan.jpg": put(jpeg, half, 0xFF, 0xC0),
        "huffman_table.jpg": put(jpeg, tables + 6, *[255] * 8),
        "quantizer_number.jpg": put(jpeg, quantizers + 4, 0x0F),
        "no_quantizer.jpg": jpeg[:quantizers] + jpeg[frame:],
        "height_0.jpg": put(jpeg, frame + 5, 0, 0),
        "width_0.jpg": put(jpeg, frame + 7, 0, 0),
        "absurd_size.jpg": put(jpeg, frame + 5, 0xFF, 0xDC, 0xFF, 0xDC),
        "twelve_bits.jpg": put(jpeg, frame + 4, 12),
        "two_channels.jpg": put(jpeg, frame + 9, 2),
        "lossless_kind.jpg": put(jpeg, frame + 1, 0xC3),
        "stray_bytes_before_frame.jpg": jpeg[:20] + b"\x00\x01" + jpeg[20:],
        "stray_bytes_after_frame.jpg": jpeg[: frame + 19] + b"\x00\x01" + jpeg[frame + 19 :],
        "segment_length_0.jpg": jpeg[:2] + b"\xff\xe1\x00\x00" + jpeg[2:],
        "segment_too_long.jpg": jpeg[:2] + b"\xff\xe1\xff\xff" + jpeg[2:],
        "bytes_before_the_start.jpg": b"xx" + jpeg,
        "no_image_inside.jpg": b"\xff\xd8\xff\xd9",
    }


def damaged_others() -> dict[str, bytes]:
    """Give damaged files of the other formats."""
    image = picture()
    png, webp, bmp, jp2 = (encode(image, kind) for kind in ("PNG", "WEBP", "BMP", "JPEG2000"))
    start, end = png[:33], png[-12:]  # signature and header; the closing chunk
    raw = zlib.compress((b"\x00" + b"\x80" * 3 * WIDTH) * HEIGHT)
    comment = png_chunk(b"tEXt", b"a\x00b")
    empty = png_chunk(b"IHDR", struct.pack(">IIBBBBB", 0, 0, 8, 2, 0, 0, 0))
    palette = png_chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0))
    indices = png_chunk(b"IDAT", zlib.compress(bytes((WIDTH + 1) * HEIGHT)))
    return {
        "cut_early.png": png[:200],
        "cut_late.png": png[:-40],
        "no_end.png": png[:-12],
        "end_cut.png": png[:-4],
        "checksum_of_the_pixels.png": put(png, len(png) - 13, png[-13] ^ 1),
        "checksum_of_the_header.png": put(png, 29, png[29] ^ 1),
        "checksum_of_a_comment.png": start + put(comment, 14, comment[14] ^ 1) + png[33:],
        "pixels_overwritten.png": put(png, len(png) // 2, *b"overwritten"),
        "too_few_pixels.png": start + png_chunk(b"IDAT", zlib.compress(bytes(999))) + end,
        "no_checksum_in_stream.png": start + png_chunk(b"IDAT", raw[:-4]) + end,
        "no_palette.png": png[:8] + palette + indices + end,
        "unknown_chunk.png": start + png_chunk(b"ABCD", b"?") + png[33:],
        "size_0.png": png[:8] + empty + png_chunk(b"IDAT", zlib.compress(b"")) + end,
        "cut.webp": webp[: len(webp) // 2],
        "cut_late.webp": webp[:-3],
        "cut.bmp": bmp[: len(bmp) // 2],
        "cut.tiff": encode(image, "TIFF")[:-999],
        "cut.jp2": jp2[: len(jp2) // 2],
        "cut.ppm": encode(image, "PPM")[:-100],
    }


def foreign() -> dict[str, bytes]:
    """Give files that are no images, or images of formats and pixel types outside DALI's."""
    image = picture()
    pixels = np.asarray(image)
    files = {
        "empty.jpg": b"",
        "web_page.jpg": b"<!DOCTYPE html><html><head><title>404 Not Found</title></head></html>",
        "text.jpg": b"hello",
        "zeros.jpg": bytes(5000),
        "noise.jpg": random.Random(0).randbytes(5000),
        "float.tiff": opencv(".tiff", pixels.astype(np.float32) / 255),
        "float_gray.tiff": encode(image.convert("F"), "TIFF"),
        "lab.tiff": encode(image.convert("LAB"), "TIFF"),
        "one_bit.tiff": encode(image.convert("1"), "TIFF"),
        "any.pam": opencv(".pam", pixels),
        "any.hdr": opencv(".hdr", pixels.astype(np.float32) / 255),
    }
    for kind in ("GIF", "AVIF", "ICO", "TGA", "PCX", "DDS", "SGI", "QOI"):
        files[f"any.{kind.lower()}"] = encode(image, kind)
    return files | {"gif_inside.jpg": files["any.gif"], "avif_inside.jpg": files["any.avif"]}


def mutants(count: int, seed: int = 0) -> dict[str, bytes]:
    """Give files with a random injury: cut, bytes changed, removed, inserted or zeroed."""
    image, chance = picture(), random.Random(seed)
    kinds = {
        "jpg": encode(image, "JPEG", quality=95),
        "progressive.jpg": encode(image, "JPEG", progressive=True),
        "gray.jpg": encode(image.convert("L"), "JPEG"),
        "cmyk.jpg": encode(image.convert("CMYK"), "JPEG"),
        "png": encode(image, "PNG"),
        "webp": encode(image, "WEBP"),
        "bmp": encode(image, "BMP"),
        "tiff": encode(image, "TIFF"),
        "ppm": encode(image, "PPM"),
    }
    files = {}
    for number in range(count):
        kind = chance.choice([*kinds])
        files[f"mutant_{number}.{kind}"] = _injure(kinds[kind], chance)
    return files


def _injure(data: bytes, chance: random.Random) -> bytes:
    at, in_header = chance.randrange(len(data)), chance.randrange(min(700, len(data)))
    length = chance.randrange(1, 60)
    return chance.choice(
        [
            data[:at],
            put(data, in_header, chance.randrange(256)),
            put(data, at, *chance.randbytes(min(length, len(data) - at))),
            data[:at] + data[at + length :],
            data[:in_header] + data[in_header + length :],
            data[:at] + chance.randbytes(length) + data[at:],
            data[:at] + bytes(len(data) - at),
        ]
    )
