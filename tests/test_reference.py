"""Recorded results: written whole or not at all, only from measurements, read back with clear errors."""

import json
import os

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from timing_samples import CPU, gpu_machine, machine, throughput

from tutorial_utils import reference as reference_module
from tutorial_utils.reference import (
    NO_GPU_FIGURE,
    Reference,
    beside,
    load_reference,
    references,
    save_reference,
)
from tutorial_utils.timing import measure
from tutorial_utils.timing_card import TimingCard

DATE = "2026-03-01T12:30:00+00:00"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TUTORIAL_REFERENCE", str(tmp_path / "records"))
    return tmp_path / "records"


@pytest.fixture(scope="module")
def measured() -> TimingCard:
    loader = [torch.zeros(4, 3)] * 20
    results = [measure(loader, label=label, placement=CPU, data="f00d") for label in ("A", "B")]
    return TimingCard(results, title="lists", machine=machine(), date=DATE)


def recorded_on_gpu(**changes) -> Reference:
    results = [throughput("DALI", device="cuda:0", seconds=(0.001, 0.001, 0.001), **changes)]
    return Reference("r", "01", TimingCard(results, machine=gpu_machine(), date=DATE))


def own() -> TimingCard:
    return TimingCard([throughput("mine")], machine=machine(), date="2026-11-20T10:00:00+00:00")


class TestSaveAndLoad:
    def test_round_trip(self, measured, folder):
        path = save_reference(measured, "01-lists", lesson="01")
        assert path == folder / "01-lists.json"
        found = load_reference("01-lists")
        assert (found.name, found.lesson, found.card) == ("01-lists", "01", measured)
        assert found.card.results[0].seconds == measured.results[0].seconds
        assert [file.name for file in folder.iterdir()] == ["01-lists.json"]

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,30}", fullmatch=True))
    def test_every_name_that_is_accepted_is_found_again(self, measured, name):
        save_reference(measured, name, lesson="01", overwrite=True)
        assert load_reference(name).card == measured
        assert name in references()

    def test_an_existing_record_is_kept_unless_asked(self, measured, folder):
        path = save_reference(measured, "r", lesson="01")
        before = path.read_bytes()
        with pytest.raises(FileExistsError, match="overwrite=True"):
            save_reference(measured, "r", lesson="02")
        assert path.read_bytes() == before
        save_reference(measured, "r", lesson="02", overwrite=True)
        assert load_reference("r").lesson == "02"
        assert len(list(folder.iterdir())) == 1

    @pytest.mark.parametrize("name", ["", "a/b", "../x", "/etc/x", ".hidden", "..", "a b", "ü", "a\n"])
    def test_what_is_no_name_is_refused(self, measured, folder, name):
        for use in (lambda: save_reference(measured, name, lesson="01"), lambda: load_reference(name)):
            with pytest.raises(ValueError, match="is no name for a reference"):
                use()
        assert not folder.exists()

    def test_a_lesson_is_named(self, measured):
        with pytest.raises(ValueError, match="lesson"):
            save_reference(measured, "r", lesson="")

    def test_figures_made_by_hand_are_refused(self, folder):
        card = TimingCard([throughput("typed")], machine=machine())
        with pytest.raises(ValueError, match="'typed' was not measured by this process"):
            save_reference(card, "r", lesson="01")
        assert not folder.exists()

    def test_a_card_read_from_a_file_is_no_measurement(self, measured):
        with pytest.raises(ValueError, match="not measured by this process"):
            save_reference(TimingCard.from_json(measured.to_json()), "r", lesson="01")

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_a_failing_write_leaves_nothing_half_written(self, measured, folder, monkeypatch, overwrite):
        def full(descriptor):
            raise OSError(28, "No space left on device")

        save_reference(measured, "old", lesson="01")
        before = (folder / "old.json").read_bytes()
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            save_reference(measured, "old" if overwrite else "new", lesson="01", overwrite=overwrite)
        assert [file.name for file in folder.iterdir()] == ["old.json"]
        assert (folder / "old.json").read_bytes() == before

    def test_a_missing_record_names_those_that_exist(self, measured):
        save_reference(measured, "one", lesson="01")
        with pytest.raises(FileNotFoundError, match=r"no reference 'two'.*recorded so far: one"):
            load_reference("two")

    def test_names_are_sorted_and_other_files_left_out(self, measured, folder):
        assert references() == []
        for name in ("b", "a"):
            save_reference(measured, name, lesson="01")
        (folder / "notes.txt").write_text("x")
        assert references() == ["a", "b"]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "[]",
            '{"kind": "something else"}',
            '{"kind": "dali-tutorials reference", "schema": 2}',
            '{"kind": "dali-tutorials reference", "schema": 1, "name": "other", "lesson": "01"}',
            '{"kind": "dali-tutorials reference", "schema": 1, "name": "r"}',
            '{"kind": "dali-tutorials reference", "schema": 1, "name": "r", "lesson": "01", "card": null}',
            b"\xff\xfe",
        ],
    )
    def test_corrupt_and_foreign_files_are_named(self, folder, text):
        folder.mkdir()
        path = folder / "r.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ValueError, match="not a record that save_reference") as error:
            load_reference("r")
        assert str(path) in str(error.value)

    def test_a_damaged_card_inside_is_named(self, measured, folder):
        path = save_reference(measured, "r", lesson="01")
        recorded = json.loads(path.read_text())
        del recorded["card"]["results"][0]["seconds"]
        path.write_text(json.dumps(recorded))
        with pytest.raises(ValueError, match=r"r\.json.*damaged timing card.*seconds"):
            load_reference("r")


class TestFolder:
    def test_beside_the_package_in_a_checkout(self, monkeypatch, tmp_path, measured):
        monkeypatch.delenv("TUTORIAL_REFERENCE")
        monkeypatch.setattr(reference_module, "CHECKOUT", tmp_path)
        (tmp_path / "pyproject.toml").touch()
        assert save_reference(measured, "r", lesson="01") == tmp_path / "reference" / "r.json"

    def test_an_installed_package_has_none(self, monkeypatch, tmp_path, measured):
        monkeypatch.delenv("TUTORIAL_REFERENCE")
        monkeypatch.setattr(reference_module, "CHECKOUT", tmp_path)
        assert references() == []
        with pytest.raises(FileNotFoundError, match="recorded so far: none"):
            load_reference("r")
        with pytest.raises(FileNotFoundError, match="set TUTORIAL_REFERENCE"):
            save_reference(measured, "r", lesson="01")

    def test_every_record_of_this_project_can_be_read(self, monkeypatch):
        monkeypatch.delenv("TUTORIAL_REFERENCE")
        for name in references():
            assert load_reference(name).card.results


class TestBeside:
    def test_none_recorded(self):
        page = beside(own(), "01-not-yet")
        assert str(page).endswith(NO_GPU_FIGURE)
        assert NO_GPU_FIGURE in page._repr_html_()

    def test_a_record_is_marked_as_one(self):
        for text in (str(beside(own(), recorded_on_gpu())), beside(own(), recorded_on_gpu())._repr_html_()):
            assert text.index("Timing card") < text.index("recorded on NVIDIA H200, 2026-03-01 12:30 UTC")
            assert "Recorded, not measured here." in text
            assert NO_GPU_FIGURE not in text

    def test_no_ratio_goes_from_one_table_to_the_other(self):
        text = str(beside(own(), recorded_on_gpu()))
        assert "100,000" in text
        assert "baseline" not in text
        assert "x (" not in text

    def test_a_record_of_a_cpu_is_no_gpu_figure(self, measured):
        save_reference(measured, "cpu", lesson="01")
        text = str(beside(own(), "cpu"))
        assert "recorded on Testium 3000, 2 cores, no GPU" in text
        assert NO_GPU_FIGURE in text

    def test_another_data_set_is_said(self):
        assert "another data set" in str(beside(own(), recorded_on_gpu(data_fingerprint="beef")))
        assert "another data set" not in str(beside(own(), recorded_on_gpu()))

    def test_a_damaged_record_is_not_passed_over(self, folder):
        folder.mkdir()
        (folder / "r.json").write_text("{}")
        with pytest.raises(ValueError, match=r"r\.json"):
            beside(own(), "r")

    def test_a_record_is_shown_by_itself_too(self):
        assert "recorded on NVIDIA H200" in recorded_on_gpu()._repr_html_()
        assert "driver 570.1" in str(recorded_on_gpu())
