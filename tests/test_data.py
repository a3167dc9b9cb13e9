"""Opening data: lists that belong together, faults named at once, divisions that repeat."""

import dataclasses
import hashlib
import os
import shutil
from pathlib import Path

import damaged_files
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from data_scripts import manifest
from data_scripts.make_pairs import SCALES, make_set
from tutorial_utils.data import DataError, Labelled, Pairs, open_labelled, open_pairs

pytestmark = pytest.mark.usefixtures("private_places")


def problems(root: Path, opener=open_pairs) -> dict[str, str]:
    """Open, and map each file of the one error to its reason."""
    with pytest.raises(DataError) as told:
        opener(root)
    for problem in told.value.problems:
        assert problem.remedy
        assert str(problem) in str(told.value)
    return {os.path.relpath(problem.path, root): problem.reason for problem in told.value.problems}


# Pairs.


def test_pairs_are_equal_sorted_absolute_lists(tiny_pairs, number_of):
    pairs = open_pairs(tiny_pairs)
    assert len(pairs) == 24
    assert pairs.names == tuple(f"{n:04d}" for n in range(24))
    for number, (low, high) in enumerate(zip(pairs.low, pairs.high, strict=True)):
        assert (Path(low).parent, Path(high).parent) == (tiny_pairs / "low", tiny_pairs / "high")
        assert number_of(Image.open(low)) == number_of(Image.open(high)) == number
    assert pairs.sizes[3] == tuple(Path(half[3]).stat().st_size for half in (pairs.low, pairs.high))
    assert pairs.skipped == pairs.ignored == ()


def test_pairs_cannot_be_changed(tiny_pairs):
    with pytest.raises(dataclasses.FrozenInstanceError):
        open_pairs(tiny_pairs).low = ()


def test_paths_may_be_strings_relative_or_of_the_home_folder(tiny_pairs, monkeypatch):
    expected = open_pairs(tiny_pairs)
    monkeypatch.chdir(tiny_pairs.parent)
    assert open_pairs("pairs") == expected
    monkeypatch.setenv("HOME", str(tiny_pairs.parent))
    assert open_pairs("~/pairs") == expected


def test_partners_may_have_different_suffixes(own_pairs):
    image = Image.open(own_pairs / "high/0003.jpg").copy()
    (own_pairs / "high/0003.jpg").unlink()
    image.save(own_pairs / "high/0003.PNG")
    pairs = open_pairs(own_pairs)
    assert len(pairs) == 24
    assert (Path(pairs.low[3]).name, Path(pairs.high[3]).name) == ("0003.jpg", "0003.PNG")


def test_every_fault_is_named_in_one_error(own_pairs):
    (own_pairs / "low/0001.jpg").unlink()
    (own_pairs / "high/0002.jpg").unlink()
    (own_pairs / "low/0003.jpg").write_bytes(b"")
    data = (own_pairs / "high/0004.jpg").read_bytes()
    (own_pairs / "high/0004.jpg").write_bytes(data[:-50])
    (own_pairs / "low/0005.jpg").write_bytes(b"<html>not found</html>")
    (own_pairs / "high/0006.jpg").write_bytes(damaged_files.foreign()["any.gif"])
    (own_pairs / "low/0007.jpg").unlink()
    (own_pairs / "low/0007.jpg").mkdir()
    (own_pairs / "low/0008.jpg").unlink()
    (own_pairs / "low/0008.jpg").symlink_to("nowhere")
    shutil.copy(own_pairs / "high/0009.jpg", own_pairs / "high/0009.jpeg")
    Image.open(own_pairs / "high/0010.jpg").transpose(Image.Transpose.ROTATE_90).save(
        own_pairs / "high/0010.jpg"
    )
    (own_pairs / "low/notes.txt").write_text("mine")
    (own_pairs / "low/Thumbs.db").write_text("")
    (own_pairs / "high/.DS_Store").write_text("")
    found = problems(own_pairs)
    expected = {
        "high/0001.jpg": "no partner in low/",
        "low/0002.jpg": "no partner in high/",
        "low/0003.jpg": "empty file",
        "high/0004.jpg": "truncated",
        "low/0005.jpg": "web page",
        "high/0006.jpg": "GIF",
        "low/0007.jpg": "a folder",
        "low/0008.jpg": "broken link",
        "high/0009.jpg": "one name for 2 files: 0009.jpeg, 0009.jpg",
        "high/0009.jpeg": "one name for 2 files",
        "low/0010.jpg": "its partner in high/",
        "low/notes.txt": "no image format",
    }
    assert found.keys() == expected.keys()
    for name, words in expected.items():
        assert words in found[name]

    pairs = open_pairs(own_pairs, on_bad="skip")
    assert pairs.names == ("0000", *(f"{n:04d}" for n in range(11, 24)))
    assert {os.path.relpath(problem.path, own_pairs) for problem in pairs.skipped} == expected.keys()
    assert [os.path.relpath(path, own_pairs) for path in pairs.ignored] == ["low/Thumbs.db", "high/.DS_Store"]


def test_sizes_of_partners_are_compared_as_shown(own_pairs):
    upright = Image.open(own_pairs / "high/0001.jpg").copy()
    lying = upright.transpose(Image.Transpose.ROTATE_90)
    lying.save(own_pairs / "high/0001.jpg", exif=damaged_files.exif(6))  # shown upright again
    assert len(open_pairs(own_pairs)) == 24
    lying.save(own_pairs / "high/0001.jpg")
    width, height = upright.size
    assert problems(own_pairs) == {
        "low/0001.jpg": f"{width}x{height} pixels, its partner in high/ {height}x{width}"
    }


def test_the_error_counts_and_says_how_to_go_on(own_pairs):
    (own_pairs / "low/0001.jpg").unlink()
    with pytest.raises(DataError, match=r"1 problem in .*23 pairs are sound.*on_bad=\"skip\""):
        open_pairs(own_pairs)


def test_all_bad_is_an_error_even_when_skipping(own_pairs):
    for path in (own_pairs / "low").iterdir():
        path.write_bytes(b"")
    with pytest.raises(DataError, match="no usable pairs") as told:
        open_pairs(own_pairs, on_bad="skip")
    assert len(told.value.problems) == 24


def test_empty_folders_are_an_error(tmp_path):
    (tmp_path / "low").mkdir()
    (tmp_path / "high").mkdir()
    with pytest.raises(DataError, match=r"no usable pairs in .*, it is empty"):
        open_pairs(tmp_path)


def test_a_wrong_choice_for_bad_files(tiny_pairs):
    for opener in (open_pairs, open_labelled):
        with pytest.raises(ValueError, match=r"on_bad='ignore': choose 'raise' or 'skip'"):
            opener(tiny_pairs, on_bad="ignore")


def test_a_folder_that_is_not_there_explains_layout_and_commands(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"(?s)ROOT/low/NAME\.jpg.*make_pairs --photos"):
        open_pairs(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"(?s)ROOT/CLASS/NAME\.jpg.*make_pairs"):
        open_labelled(tmp_path / "nowhere")


def test_a_file_instead_of_a_folder(tiny_pairs):
    with pytest.raises(NotADirectoryError, match="give the folder"):
        open_pairs(tiny_pairs / "low/0001.jpg")


def test_a_folder_without_low_or_high(own_pairs, tmp_path):
    with pytest.raises(FileNotFoundError, match=rf"Did you mean {own_pairs}\?"):
        open_pairs(own_pairs / "low")
    shutil.rmtree(own_pairs / "high")
    with pytest.raises(FileNotFoundError, match=r"no folder high/; expected"):
        open_pairs(own_pairs)


# Fingerprints.


def test_a_copy_elsewhere_has_the_same_fingerprint(tiny_pairs, own_pairs):
    os.utime(own_pairs / "low/0001.jpg", (1, 1))
    assert open_pairs(own_pairs).fingerprint == open_pairs(tiny_pairs).fingerprint
    assert (
        open_labelled(own_pairs / "by_class").fingerprint
        == open_labelled(tiny_pairs / "by_class").fingerprint
    )


def test_other_names_sizes_or_counts_have_another_fingerprint(own_pairs):
    pairs = open_pairs(own_pairs)
    seen = {pairs.fingerprint, pairs.take(23).fingerprint}
    for half in ("low", "high"):
        (own_pairs / half / "0001.jpg").rename(own_pairs / half / "1001.jpg")
    seen.add(open_pairs(own_pairs).fingerprint)
    with (own_pairs / "low/0002.jpg").open("ab") as file:
        file.write(b"longer")
    seen.add(open_pairs(own_pairs).fingerprint)
    assert len(seen) == 4
    assert all(len(one) == 12 and int(one, 16) >= 0 for one in seen)


# Taking and splitting.


def made_pairs(names: list[str]) -> Pairs:
    return Pairs(
        Path("/set"),
        tuple(names),
        tuple(f"/set/low/{name}.jpg" for name in names),
        tuple(f"/set/high/{name}.png" for name in names),
        tuple((len(name), 2 * len(name)) for name in names),
    )


def assert_still_pairs(pairs: Pairs) -> None:
    assert pairs == made_pairs(list(pairs.names))
    assert list(pairs.names) == sorted(pairs.names)


NAMES = st.lists(st.text("abcxyz019_", min_size=1, max_size=5), min_size=2, max_size=60, unique=True).map(
    sorted
)


@given(NAMES, st.floats(0.01, 0.99), st.integers(0, 2**64))
def test_a_split_divides_exactly_and_repeats(names, fraction, seed):
    pairs = made_pairs(names)
    wanted = round(len(names) * fraction)
    if abs(len(names) * fraction - wanted) > 0.49 or wanted in (0, len(names)):
        return
    first, second = pairs.split(fraction, seed)
    assert len(first) == wanted
    assert sorted(first.names + second.names) == names
    assert_still_pairs(first)
    assert_still_pairs(second)
    assert pairs.split(fraction, seed) == (first, second)


@given(NAMES.filter(lambda names: len(names) > 3), st.randoms())
def test_a_split_does_not_depend_on_the_order_of_files(names, chance):
    shuffled = names.copy()
    chance.shuffle(shuffled)
    expected = made_pairs(names).split(0.5, 1)
    assert {*made_pairs(shuffled).split(0.5, 1)[0].names} == {*expected[0].names}


def test_a_split_is_the_same_on_every_machine():
    # The documented rule: ranks by SHA-256 of "SEED/NAME".
    names = [f"{n:02d}" for n in range(10)]
    ranked = sorted(names, key=lambda name: hashlib.sha256(f"7/{name}".encode()).hexdigest())
    assert made_pairs(names).split(0.3, 7)[0].names == tuple(sorted(ranked[:3]))


def test_another_seed_makes_another_split():
    pairs = made_pairs([f"{n:03d}" for n in range(100)])
    assert len({pairs.split(0.5, seed)[0].names for seed in range(5)}) == 5


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, float("nan")])
def test_a_fraction_outside_0_to_1(fraction):
    with pytest.raises(ValueError, match="between 0 and 1"):
        made_pairs(["a", "b"]).split(fraction)


def test_a_split_with_an_empty_side():
    with pytest.raises(ValueError, match=r"fraction=0.01 of 2 pairs leaves one side empty"):
        made_pairs(["a", "b"]).split(0.01)


@given(NAMES, st.data())
def test_take_keeps_the_first(names, data):
    count = data.draw(st.integers(1, len(names)))
    taken = made_pairs(names).take(count)
    assert list(taken.names) == names[:count]
    assert_still_pairs(taken)


@pytest.mark.parametrize("count", [0, -1, 3])
def test_take_of_a_number_that_is_not_there(count):
    with pytest.raises(ValueError, match=rf"take\({count}\): choose 1 to 2, the number of pairs"):
        made_pairs(["a", "b"]).take(count)


def test_summaries_count_and_escape(own_pairs):
    (own_pairs / "low/0001.jpg").unlink()
    odd = own_pairs.rename(own_pairs.with_name("<b>pairs"))
    pairs = open_pairs(odd, on_bad="skip")
    text, html = str(pairs), pairs._repr_html_()
    for shown in (text, html):
        assert "23" in shown
        assert pairs.fingerprint in shown
        assert f"{sum(map(sum, pairs.sizes)):,}" in shown
        assert "1, see .skipped" in shown
    assert "&lt;b&gt;pairs" in html
    assert "<b>" not in html


# Labelled images.


def test_labelled_files_carry_the_class_of_their_folder(tiny_pairs, number_of):
    labelled = open_labelled(tiny_pairs / "by_class")
    assert labelled.classes == ("beach", "forest", "street")
    assert len(labelled) == 24
    assert list(labelled.files) == sorted(labelled.files)
    for file, label in zip(labelled.files, labelled.labels, strict=True):
        assert number_of(Image.open(file)) % 3 == label
        assert Path(file).parent.name == labelled.classes[label]


def test_faults_of_labelled_files_are_named_in_one_error(own_pairs):
    root = own_pairs / "by_class"
    (own_pairs / "high/0000.jpg").unlink()  # leaves a link to nothing
    (own_pairs / "high/0001.jpg").write_bytes(b"")
    (root / "empty").mkdir()
    (root / "stray.jpg").write_bytes(damaged_files.sound()["plain.jpg"])
    (root / ".hidden").mkdir()
    (root / "beach/.DS_Store").write_text("")
    (root / "spoilt").mkdir()
    (root / "spoilt/x.jpg").write_bytes(b"hello")
    found = problems(root, open_labelled)
    assert {name: reason.split(",")[0].split(" to ")[0] for name, reason in found.items()} == {
        "beach/0000.jpg": "a broken link",
        "forest/0001.jpg": "empty file",
        "empty": "a class folder without images",
        "stray.jpg": "lies outside any class folder",
        "spoilt/x.jpg": "no image format that can be recognised",
    }
    labelled = open_labelled(root, on_bad="skip")
    assert labelled.classes == ("beach", "forest", "street")
    assert len(labelled) == 22
    assert len(labelled.skipped) == 5
    assert [os.path.relpath(path, root) for path in labelled.ignored] == [".hidden", "beach/.DS_Store"]


def test_a_folder_without_classes(tmp_path):
    with pytest.raises(DataError, match="no usable images"):
        open_labelled(tmp_path)


def made_labelled(counts: list[int]) -> Labelled:
    classes = tuple(f"class{label}" for label in range(len(counts)))
    labels = tuple(label for label, count in enumerate(counts) for _ in range(count))
    numbers = [number for count in counts for number in range(count)]
    files = tuple(
        f"/set/class{label}/{number:03d}.jpg" for label, number in zip(labels, numbers, strict=True)
    )
    return Labelled(Path("/set"), files, labels, classes, tuple(10 + number for number in numbers))


def assert_labels_match(labelled: Labelled) -> None:
    assert list(labelled.files) == sorted(labelled.files)
    for file, label, size in zip(labelled.files, labelled.labels, labelled.sizes, strict=True):
        assert Path(file).parent.name == labelled.classes[label]
        assert size == 10 + int(Path(file).stem)


@given(st.lists(st.integers(2, 30), min_size=1, max_size=6), st.integers(0, 99))
def test_a_split_keeps_every_class_on_both_sides_in_proportion(counts, seed):
    labelled = made_labelled(counts)
    first, second = labelled.split(0.5, seed)
    for label, count in enumerate(counts):
        assert first.labels.count(label) == (count + 1) // 2
        assert second.labels.count(label) == count // 2
    assert sorted(first.files + second.files) == list(labelled.files)
    for side in (first, second):
        assert side.classes == labelled.classes
        assert_labels_match(side)
    assert labelled.split(0.5, seed) == (first, second)


def test_a_split_that_leaves_a_class_out_names_it():
    with pytest.raises(ValueError, match=r"fraction=0.9 of class 'class1', 2 files"):
        made_labelled([20, 2]).split(0.9)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=5), st.data())
def test_take_draws_on_all_classes_evenly(counts, data):
    labelled = made_labelled(counts)
    count = data.draw(st.integers(1, sum(counts)))
    taken = labelled.take(count)
    assert len(taken) == count
    assert_labels_match(taken)
    had = [taken.labels.count(label) for label in range(len(counts))]
    # A class has fewer files than another has, by more than one, only if it has no more to give.
    assert all(mine >= max(had) - 1 or mine == counts[label] for label, mine in enumerate(had))


def test_take_of_more_files_than_there_are():
    with pytest.raises(ValueError, match="choose 1 to 5, the number of files"):
        made_labelled([2, 3]).take(6)


def test_labelled_summaries(tiny_pairs):
    labelled = open_labelled(tiny_pairs / "by_class")
    for shown in (str(labelled), labelled._repr_html_()):
        assert "3 (beach, forest, street)" in shown
        assert labelled.fingerprint in shown


# The default set.


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUTORIAL_DATA", str(tmp_path / "data"))
    monkeypatch.setitem(SCALES, "smoke", 7)  # the same set, only smaller: the tests are many
    return tmp_path / "data"


def test_without_any_data_the_smoke_set_is_made_and_announced(data_folder, capfd):
    pairs = open_pairs()
    assert pairs.root == data_folder / "pairs-smoke"
    assert len(pairs) == 7
    assert f"Making 7 pairs in {pairs.root}" in capfd.readouterr().out
    before = sorted(path.stat().st_mtime_ns for path in (pairs.root / "low").iterdir())
    assert open_pairs() == pairs
    assert len(open_labelled()) == 7
    assert capfd.readouterr().out == ""
    assert sorted(path.stat().st_mtime_ns for path in (pairs.root / "low").iterdir()) == before


def test_labelled_images_make_the_set_as_well(data_folder):
    assert len(open_labelled()) == 7


def test_the_scale_is_chosen_by_the_environment(data_folder, monkeypatch):
    monkeypatch.setitem(SCALES, "workshop", 9)
    monkeypatch.setenv("TUTORIAL_SCALE", "workshop")
    pairs = open_pairs()
    assert (pairs.root.name, len(pairs)) == ("pairs-workshop", 9)


def test_a_wrong_scale_is_named_with_the_choices(data_folder, monkeypatch):
    monkeypatch.setenv("TUTORIAL_SCALE", "huge")
    for opener in (open_pairs, open_labelled):
        with pytest.raises(
            ValueError, match=r"TUTORIAL_SCALE='huge': choose one of smoke .*workshop.*article"
        ):
            opener()
    assert not data_folder.exists()


def test_lost_files_of_the_default_set_are_made_again(data_folder, capfd):
    pairs = open_pairs()
    data = Path(pairs.high[2]).read_bytes()
    Path(pairs.high[2]).unlink()
    assert open_pairs() == pairs
    assert Path(pairs.high[2]).read_bytes() == data
    assert "Making 1 pairs" in capfd.readouterr().out


def test_a_set_of_another_seed_or_number_stays_what_it_is(data_folder):
    root = data_folder / "pairs-smoke"
    make_set(root, pairs=9, seed=5, progress=False)
    pairs = open_pairs()
    assert len(pairs) == 9
    Path(pairs.low[0]).unlink()
    assert open_pairs() == pairs
    assert manifest.read(root)["seed"] == 5


def test_ones_own_pairs_in_the_default_place_are_opened(data_folder, tiny_pairs):
    shutil.copytree(tiny_pairs, data_folder / "pairs-smoke", symlinks=True)
    assert len(open_pairs()) == 24


def test_photographs_in_the_default_place_are_opened(data_folder, tiny_pairs):
    root = Path(shutil.copytree(tiny_pairs, data_folder / "pairs-smoke", symlinks=True))
    manifest.write(root, {"source": "photos"}, 24, complete=True)
    assert len(open_pairs()) == 24
    manifest.write(root, {"source": "photos"}, 24, complete=False)
    with pytest.warns(UserWarning, match="not finished"):
        assert len(open_pairs()) == 24
