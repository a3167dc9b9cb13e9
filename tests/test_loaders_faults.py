"""Files that vanish or break while an epoch runs: the error names them, and the loader can go on."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from loader_fixtures import as_labelled, colour_of, numbers_in, write_pairs
from PIL import Image

from tutorial_utils.loader_faults import RECENT, broken_files
from tutorial_utils.loaders import Augmentation, BrokenFileError, labelled_loader, paired_loader

OPTIONS = {"batch_size": 4, "size": (8, 8), "threads": 2}
READINGS = {
    "files": {"source": "files"},
    "batches": {"source": "batches"},
    "samples": {"source": "samples", "workers": 0},
    "decoded": {"source": "decoded", "workers": 0},
    "files augmented": {"source": "files", "augment": Augmentation()},
    "batches augmented": {"source": "batches", "augment": Augmentation()},
}
readings = pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)


def vanish(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 3)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_by_html(path: Path) -> None:
    path.write_bytes(b"<html><body>not found</body></html>" * 20)


def replace_by_noise_of_the_same_size(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).integers(0, 256, path.stat().st_size, np.uint8).tobytes())


FAULTS = [vanish, truncate, empty, replace_by_html, replace_by_noise_of_the_same_size]


@pytest.fixture
def own(tmp_path):
    """Enough pairs for sixteen batches."""
    return write_pairs(tmp_path / "pairs", 64)


@readings
@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_breaks_in_mid_epoch_is_named_and_the_loader_goes_on(own, reading, fault):
    broken = Path(own.high[60])
    sound = broken.read_bytes()
    loader = paired_loader(own, **OPTIONS, **reading)
    loop = iter(loader)
    next(loop)
    fault(broken)
    epochs = [
        loop,
        loader,
        loader,
    ]  # a reader may have the file in its buffer, and trip over it an epoch later
    with pytest.raises(BrokenFileError, match=r"high/00060\.jpg: ") as raised:
        list(itertools.chain.from_iterable(epochs))
    assert raised.value.files == [str(broken)]
    broken.write_bytes(sound)
    for low, high in loader:  # the same loader, once the file is mended
        assert numbers_in(low.cpu()) == numbers_in(high.cpu())
    with paired_loader(own, **OPTIONS, **reading) as rebuilt:  # and a new one in the same process
        assert len(list(rebuilt)) == 16


def test_a_file_that_breaks_a_worker_process_is_named(own):
    broken = Path(own.low[60])
    with paired_loader(own, **OPTIONS, source="samples", workers=2, shuffle=False) as loader:
        for step, _ in enumerate(loader):
            if step == 1:
                vanish(broken)
                break
        with pytest.raises(BrokenFileError, match=r"low/00060\.jpg: No such file"):
            list(loader)


def test_labelled_loaders_name_the_file_too(own):
    labelled = as_labelled(own)
    truncate(Path(labelled.files[33]))
    with (
        labelled_loader(labelled, **OPTIONS) as loader,
        pytest.raises(BrokenFileError, match=r"00033\.jpg: "),
    ):
        list(loader)


def test_all_broken_files_are_named_at_once(own):
    for path in (own.low[3], own.high[9]):
        truncate(Path(path))
    with paired_loader(own, **OPTIONS) as loader, pytest.raises(BrokenFileError) as raised:
        list(loader)
    assert raised.value.files == [own.low[3], own.high[9]]


def test_a_file_replaced_by_another_sound_image_is_simply_read(own):
    for folder in ("low", "high"):
        Image.new("RGB", (40, 24), colour_of(200)).save(own.root / folder / "00060.jpg")
    with paired_loader(own, **OPTIONS, with_ids=True) as loader:
        for low, high, ids in loader:
            expected = [200 if i == 60 else i for i in ids.tolist()]
            assert numbers_in(low.cpu()) == numbers_in(high.cpu()) == expected


def test_an_error_that_is_no_files_fault_is_passed_on(own, monkeypatch):
    loader = paired_loader(own, **OPTIONS)
    next(iter(loader))
    monkeypatch.setattr(loader._feed, "next", lambda: (_ for _ in ()).throw(MemoryError("full")))
    with pytest.raises(MemoryError, match="full"):
        list(loader)


def test_only_the_newest_files_are_decoded_when_no_size_tells(tmp_path, monkeypatch):
    checked = []
    monkeypatch.setattr("tutorial_utils.loader_faults.check_image", lambda data: checked.append(data))
    files = []
    for number in range(RECENT + 50):
        path = tmp_path / f"{number:04d}"
        path.write_bytes(str(number).encode())
        os.utime(path, (number, number))
        files.append((str(path), path.stat().st_size))
    assert broken_files(files) == []
    assert sorted(int(data) for data in checked) == list(range(50, RECENT + 50))


def test_the_first_loop_after_an_interrupt_begins_the_next_epoch(own, monkeypatch):
    loader = paired_loader(own, **OPTIONS, source="batches")
    loop = iter(loader)
    next(loop)
    with monkeypatch.context() as patch:
        patch.setattr(loader._feed, "next", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            next(loop)
    assert loader.epoch == 1
    assert len(list(loader)) == 16
