"""Download free photographs to make pairs of: Imagenette or PASCAL VOC, by torchvision's own downloaders.

Run ``python -m data_scripts.fetch_photos --help``. Needs the internet and torchvision; the generated
pairs of ``make_pairs`` need neither.
"""

import argparse
import http.client
import shlex
import shutil
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from data_scripts import disk, locations, lock

TIMEOUT = 60.0  # seconds without a byte; torchvision itself would wait for ever
EXTRACTED = 1.1  # bytes on the disk for one byte of an archive of JPEG files
SMALL = 5000  # bytes of the smallest photographs, to bound how many an archive holds

EXAMPLES = """\
examples:
  python -m data_scripts.fetch_photos imagenette-160px
      13,394 photographs in 10 classes, short side 160 pixels: 0.1 GB, for a first try
  python -m data_scripts.fetch_photos imagenette-320px --out /scratch/photos
      the same, short side 320 pixels: 0.3 GB
  python -m data_scripts.fetch_photos imagenette-full
      the same in ImageNet's own sizes: 1.6 GB, the nearest to what the articles trained on
  python -m data_scripts.fetch_photos voc2007
      PASCAL VOC 2007, training and validation: 5,011 photographs of 500 x 375, 0.5 GB (voc2012: 2 GB)

Each download is checked against torchvision's checksum, unpacked beside its final place and moved there
when it is whole: what you find in OUT is complete. The last line printed is the command that makes the pairs.
Both sets come from other people under their own terms; look them up before you pass images on.

exit code: 0 the photographs are there, 1 they are not, 2 wrong usage, 3 the disk is full, 130 interrupted
"""


class FetchError(RuntimeError):
    """A download failed; the message says why and what to do."""


@dataclass(frozen=True)
class Source:
    """A data set that torchvision can download.

    Attributes:
        archive: gives the address, file name and MD5 that torchvision has for it, when asked.
        download: torchvision's class, called with the folder and whether to download.
        photos: the photographs' folder in what is unpacked.
    """

    archive: Callable[[], tuple[str, str, str]]
    download: Callable[[Path], object]
    photos: str


# torchvision takes seconds to import and is imported where it is used, so that --help answers at once.
def _imagenette(size: str) -> Source:
    def archive() -> tuple[str, str, str]:
        from torchvision.datasets import Imagenette

        url, md5 = Imagenette._ARCHIVES[size]
        return url, url.rpartition("/")[2], md5

    def download(root: Path) -> object:
        from torchvision.datasets import Imagenette

        return Imagenette(root, "train", size, download=True)

    unpacked = {"full": "imagenette2", "320px": "imagenette2-320", "160px": "imagenette2-160"}[size]
    return Source(archive, download, unpacked)


def _voc(year: str) -> Source:
    def archive() -> tuple[str, str, str]:
        from torchvision.datasets import voc

        entry = voc.DATASET_YEAR_DICT[year]
        return entry["url"], entry["filename"], entry["md5"]

    def download(root: Path) -> object:
        from torchvision.datasets import VOCDetection

        return VOCDetection(root, year, "trainval", download=True)

    return Source(archive, download, f"VOCdevkit/VOC{year}/JPEGImages")


SOURCES = {
    **{f"imagenette-{size}": _imagenette(size) for size in ("160px", "320px", "full")},
    **{f"voc{year}": _voc(year) for year in ("2007", "2012")},
}


def fetch(name: str, out: Path) -> Path:
    """Download one of the data sets, unless it is there.

    Args:
        name: a key of `SOURCES`, such as ``imagenette-160px``.
        out: the folder that gets a folder of that name; torchvision's class opens it as its root.

    Returns:
        The folder of the photographs, for ``make_pairs --photos``.

    Raises:
        ValueError: an unknown name.
        FetchError: no connection, a cut or a wrong download; nothing is left that looks whole.
        DiskFullError: archive and photographs do not fit on the disk.
    """
    if name not in SOURCES:
        raise ValueError(f"{name!r}: choose one of {', '.join(SOURCES)}")
    source, final = SOURCES[name], Path(out).expanduser().absolute() / name
    if not final.is_dir():
        with lock.hold(final.parent):
            if not final.is_dir():
                _download(source, final)
    return final / source.photos


def _download(source: Source, final: Path) -> None:
    """Download and unpack in a hidden folder that gets the final name when it is whole.

    torchvision takes any folder of the right name for a complete data set, even one whose
    unpacking was cut short, so it never sees the final name.
    """
    try:
        from torchvision.datasets.utils import check_integrity
    except ImportError as error:
        raise FetchError(f"this needs torchvision, which does not load here ({error})") from error
    url, filename, md5 = source.archive()
    staging = final.with_name(f".{final.name}.partial")
    archive = staging / filename
    staging.mkdir(exist_ok=True)
    _remove_unpacked(staging, archive)
    with _explained(url, staging):
        size = 0 if check_integrity(archive, md5) else _size_of(url)
        disk.require_room(
            staging,
            f"{final.name}, archive and photographs,",
            size=size * (1 + EXTRACTED),
            files=size // SMALL,
        )
        try:
            source.download(staging)
        except RuntimeError as error:  # torchvision's word for a wrong checksum
            got = archive.stat().st_size if archive.is_file() else 0
            archive.unlink(missing_ok=True)
            raise FetchError(_why_wrong(url, got, size)) from error
        except BaseException:
            _remove_unpacked(staging, archive)
            raise
    archive.unlink()
    staging.rename(final)


def _remove_unpacked(staging: Path, archive: Path) -> None:
    """Remove what an interrupted unpacking left; the archive stays, since its checksum can vouch for it."""
    for path in staging.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path != archive:
            path.unlink()


def _size_of(url: str) -> int:
    """Ask the server for the size of a file in bytes; 0 if it does not say."""
    request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": "dali-tutorials"})
    try:
        with urllib.request.urlopen(request) as response:
            return int(response.headers.get("Content-Length", 0))
    except urllib.error.HTTPError:
        return 0  # some servers refuse this question and answer the real one


def _why_wrong(url: str, got: int, size: int) -> str:
    if got < size:
        return (
            f"the download of {url} was cut after {disk.megabytes(got)} of {disk.megabytes(size)}; "
            "what came is removed. Run the same command again, on a steadier connection or for a smaller set"
        )
    return (
        f"what {url} gave ({disk.megabytes(got)}) does not have the checksum torchvision expects and is "
        "removed. A proxy or a login page may have answered in its place: open the address in a browser, "
        "then try again"
    )


@contextmanager
def _explained(url: str, staging: Path) -> Iterator[None]:
    """Turn the network's many errors into one that says what to do, and bound the wait for an answer."""
    host = urllib.parse.urlsplit(url).netloc
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        yield
    except urllib.error.HTTPError as error:
        raise FetchError(
            f"{host} answered {error.code} ({error.reason}) for {url}. If it stays so, the file has moved: "
            "a newer torchvision may know where"
        ) from error
    except (urllib.error.URLError, ConnectionError, TimeoutError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise FetchError(
            f"{host} cannot be reached, or stopped answering ({reason}). Check the connection and run the "
            "same command again. Without the internet, `python -m data_scripts.make_pairs` makes pairs of "
            "generated scenes, and with `--photos FOLDER` of your own photographs"
        ) from error
    except OSError as error:
        if not disk.is_full(error) or isinstance(error, disk.DiskFullError):
            raise
        raise disk.DiskFullError(
            error.errno, f"the disk of {staging} filled up; what was unpacked is removed. Free some room"
        ) from error
    finally:
        socket.setdefaulttimeout(before)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; ``--help`` explains it.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m data_scripts.fetch_photos",
        description="Download free photographs to make pairs of, by torchvision's own downloaders.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=SOURCES, metavar="NAME", help=", ".join(SOURCES))
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help=f"gets a folder NAME (default: photos in ${locations.PARENT_VARIABLE} if that is set, else in "
        "data/ of this checkout or the user's cache)",
    )
    options = parser.parse_args(arguments)
    try:
        photos = fetch(options.name, options.out or locations.default_folder("photos"))
    except KeyboardInterrupt:
        print("\nInterrupted. Nothing unfinished counts; the same command starts again.", file=sys.stderr)
        return 130
    except (FetchError, OSError) as error:
        print(f"fetch_photos: {error}", file=sys.stderr)
        return 3 if isinstance(error, OSError) and disk.is_full(error) else 1
    print(f"{photos} is complete. Make its pairs:")
    print(f"  python -m data_scripts.make_pairs --photos {shlex.quote(str(photos))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
