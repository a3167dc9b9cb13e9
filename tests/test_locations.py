"""Where the data lies when nobody names a folder."""

import os

from data_scripts import locations
from data_scripts.make_pairs import main
from data_scripts.pair_folder import PairFolder


def test_default_folder_is_the_variable_s(monkeypatch, tmp_path):
    monkeypatch.setenv("TUTORIAL_DATA", str(tmp_path))
    assert locations.default_root("workshop") == tmp_path / "pairs-workshop"
    assert main(["--pairs", "2", "--workers", "1"]) == 0
    assert len(PairFolder(tmp_path / "pairs-smoke").names()) == 2


def test_default_folder_is_in_a_checkout_that_can_be_written(monkeypatch, tmp_path):
    monkeypatch.delenv("TUTORIAL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    checkout = tmp_path / "checkout"
    (checkout / "data_scripts").mkdir(parents=True)
    monkeypatch.setattr(locations, "__file__", str(checkout / "data_scripts" / "locations.py"))
    cache = tmp_path / "cache" / "dali-tutorials" / "pairs-smoke"
    assert locations.default_root() == cache
    (checkout / "pyproject.toml").touch()
    assert locations.default_root() == checkout / "data" / "pairs-smoke"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert locations.default_root() == cache
    (checkout / "data" / "pairs-smoke").mkdir(parents=True)
    assert locations.default_root() == checkout / "data" / "pairs-smoke"
