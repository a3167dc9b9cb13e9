"""What is on disk, checked before any pipeline runs: paired and labelled images.

Every loader of the series is given the same explicit, equal, sorted lists of sound files, so that no
competitor reads other files than another and no pipeline dies of a file in the middle of an epoch.
Taught in lesson 00, used by every lesson after it.
"""

import os
from pathlib import Path
from typing import Literal

from tutorial_utils.default_set import default_pairs
from tutorial_utils.image_sets import Labelled, Pairs
from tutorial_utils.scan import SYSTEM_FILES, DataError, FolderScan, Problem, SoundImage, scan
from tutorial_utils.scan_cache import FILE_NAME as CACHE_NAME

__all__ = ["DataError", "Labelled", "Pairs", "Problem", "open_labelled", "open_pairs"]

OnBad = Literal["raise", "skip"]
_ON_BAD = ("raise", "skip")
_MAKE = """Make a set of that layout:
  python -m data_scripts.make_pairs --help             # shows how: generated scenes, or your own photographs
  python -m data_scripts.make_pairs --scale smoke --out FOLDER
  python -m data_scripts.make_pairs --photos YOUR_PHOTOS --out FOLDER
or call {call}() without a folder for the small default set."""


def open_pairs(root: str | os.PathLike | None = None, *, on_bad: OnBad = "raise") -> Pairs:
    """Open a folder of low-light pairs after checking every file; first used in lesson 00.

    A file of ``low`` and one of ``high`` are a pair if they have the same name up to the suffix.
    Hidden and system files are passed over and listed in ``ignored``.

    Args:
        root: a folder with ``low`` and ``high`` in it. None opens the default set, which is made first
            if it is not there: the one of scale ``$TUTORIAL_SCALE`` (``smoke``) in the place that
            ``data_scripts.locations.default_root`` names.
        on_bad: ``raise``, or ``skip`` to leave out every pair with a problem and list it in ``skipped``.

    Returns:
        The pairs, sorted by name. The first time every file is decoded once; afterwards only files that
        changed are.

    Raises:
        DataError: files that cannot be decoded, lack a partner, differ from it in size or share a name,
            all of them in one error; or no pair at all.
        FileNotFoundError: the folder, or ``low`` or ``high`` in it, is not there.
        ValueError: ``on_bad`` or ``$TUTORIAL_SCALE`` is none of the choices.
        OSError: a folder cannot be listed, or the default set cannot be made.
    """
    _check_on_bad(on_bad)
    root = default_pairs() if root is None else _existing(root, "open_pairs")
    _require_folders(root)
    found = scan(root, ("low", "high"))
    problems = [*found["low"].problems, *found["high"].problems]
    low, high = (_by_stem(found[folder], problems) for folder in ("low", "high"))
    names = _match(low, high, problems)
    pairs = Pairs(
        root,
        tuple(names),
        tuple(low[name].path for name in names),
        tuple(high[name].path for name in names),
        tuple((low[name].size, high[name].size) for name in names),
        skipped=_sorted(problems),
        ignored=(*found["low"].ignored, *found["high"].ignored),
    )
    _judge(pairs, "pairs", on_bad)
    return pairs


def open_labelled(root: str | os.PathLike | None = None, *, on_bad: OnBad = "raise") -> Labelled:
    """Open a folder of images sorted into class folders after checking every file; used in lesson 01.

    Args:
        root: a folder with one folder of images a class in it. None opens ``by_class`` of the default
            set of pairs; see :func:`open_pairs`.
        on_bad: ``raise``, or ``skip`` to leave out every file with a problem and list it in ``skipped``;
            a class without any sound file is left out, too.

    Returns:
        The files sorted by class and name, with their labels.

    Raises:
        DataError: files that cannot be decoded or lie outside any class folder, or empty class folders,
            all of them in one error; or no image at all.
        FileNotFoundError: the folder is not there.
        ValueError: ``on_bad`` or ``$TUTORIAL_SCALE`` is none of the choices.
        OSError: a folder cannot be listed, or the default set cannot be made.
    """
    _check_on_bad(on_bad)
    root = default_pairs() / "by_class" if root is None else _existing(root, "open_labelled")
    classes, problems, ignored = _class_folders(root)
    found = scan(root, classes)
    for name, result in found.items():
        problems += result.problems
        ignored += result.ignored
        if not result.images and not result.problems:
            problems.append(
                Problem(str(root / name), "a class folder without images", "fill it or remove it")
            )
    classes = [name for name in classes if found[name].images]
    images = [
        (found[name].images[file], label)
        for label, name in enumerate(classes)
        for file in sorted(found[name].images)
    ]
    labelled = Labelled(
        root,
        tuple(image.path for image, _ in images),
        tuple(label for _, label in images),
        tuple(classes),
        tuple(image.size for image, _ in images),
        skipped=_sorted(problems),
        ignored=tuple(ignored),
    )
    _judge(labelled, "images", on_bad)
    return labelled


def _check_on_bad(on_bad: str) -> None:
    if on_bad not in _ON_BAD:
        raise ValueError(f"on_bad={on_bad!r}: choose 'raise' or 'skip'")


def _existing(root: str | os.PathLike, call: str) -> Path:
    """Make a folder's path absolute without resolving links, so that messages name what was given."""
    path = Path(root).expanduser().absolute()
    if not path.exists():
        layout = "ROOT/low/NAME.jpg and ROOT/high/NAME.jpg" if call == "open_pairs" else "ROOT/CLASS/NAME.jpg"
        raise FileNotFoundError(f"{path} is not there; expected: {layout}.\n{_MAKE.format(call=call)}")
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; give the folder of the data set")
    return path


def _require_folders(root: Path) -> None:
    missing = [f"{folder}/" for folder in ("low", "high") if not (root / folder).is_dir()]
    if not missing:
        return
    hint = ""
    if all((root.parent / folder).is_dir() for folder in ("low", "high")):
        hint = f" Did you mean {root.parent}?"
    raise FileNotFoundError(
        f"{root} has no folder {' and no folder '.join(missing)};{hint} expected: ROOT/low/NAME.jpg and "
        f"ROOT/high/NAME.jpg.\n{_MAKE.format(call='open_pairs')}"
    )


def _by_stem(found: FolderScan, problems: list[Problem]) -> dict[str, SoundImage]:
    """Index images by file name without suffix; names that are not unique become problems."""
    groups: dict[str, list[SoundImage]] = {}
    for name, image in found.images.items():
        stem, _ = os.path.splitext(name)  # noqa: PTH122 - a Path each would double the time of a rescan
        groups.setdefault(stem, []).append(image)
    for images in groups.values():
        if len(images) > 1:
            names = ", ".join(Path(image.path).name for image in images)
            reason = f"one name for {len(images)} files: {names}"
            problems += [
                Problem(image.path, reason, "keep one of them or rename the pair") for image in images
            ]
    return {stem: images[0] for stem, images in groups.items() if len(images) == 1}


def _match(low: dict[str, SoundImage], high: dict[str, SoundImage], problems: list[Problem]) -> list[str]:
    """Name the pairs, sorted; what does not match is added to the problems."""
    spoilt = {Path(problem.path).stem for problem in problems}  # their partners need no second report
    for here, there, other in ((low, high, "high"), (high, low, "low")):
        for stem in here.keys() - there.keys() - spoilt:
            problems.append(Problem(here[stem].path, f"no partner in {other}/", "add it or delete this file"))
    names = []
    for stem in sorted((low.keys() & high.keys()) - spoilt):
        dark, bright = low[stem], high[stem]
        if (dark.height, dark.width) == (bright.height, bright.width):
            names.append(stem)
            continue
        reason = f"{dark.width}x{dark.height} pixels, its partner in high/ {bright.width}x{bright.height}"
        problems.append(Problem(dark.path, reason, "make the pair again, or delete both files"))
    return names


def _class_folders(root: Path) -> tuple[list[str], list[Problem], list[str]]:
    """Sort what lies in the root: names of class folders, files that belong to no class, ignored files."""
    classes, problems, ignored = [], [], []
    for path in sorted(root.iterdir()):
        if path.name.startswith(CACHE_NAME):
            continue  # our own, of the scan before
        if path.name.startswith(".") or path.name in SYSTEM_FILES:
            ignored.append(str(path))
        elif path.is_dir():
            classes.append(path.name)
        else:
            problems.append(Problem(str(path), "lies outside any class folder", "move it into one, or out"))
    return classes, problems, ignored


def _sorted(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: problem.path))


def _judge(files: Pairs | Labelled, unit: str, on_bad: OnBad) -> None:
    problems = files.skipped
    if problems and on_bad == "raise":
        count = "1 problem" if len(problems) == 1 else f"{len(problems):,} problems"
        raise DataError(
            f"{count} in {files.root} ({len(files):,} {unit} are sound). Mend the files, or leave them out "
            'with on_bad="skip":',
            problems,
        )
    if not len(files):
        raise DataError(
            f"no usable {unit} in {files.root}" + (":" if problems else ", it is empty"), problems
        )
