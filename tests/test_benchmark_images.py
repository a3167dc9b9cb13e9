"""The image benchmark: all end alike, absences have a reason, and nothing unmeasured is recorded."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from nvidia.dali.pipeline import Pipeline
from torchvision.transforms.v2 import functional

from benchmarks import image_competitors, images, loader_overhead, rounds
from benchmarks.cuda_decode import EncodedFiles, _pack, resized
from tests.conftest import read_number
from tests.timing_samples import throughput
from tutorial_utils.batches import EndPoint
from tutorial_utils.data import open_labelled, open_pairs
from tutorial_utils.loaders import paired_loader
from tutorial_utils.placement import choose
from tutorial_utils.timing import Throughput
from tutorial_utils.timing_card import TimingCard

CPU = choose("cpu")
BATCH = 8


@pytest.fixture(autouse=True)
def on_cpu_without_references(monkeypatch, tmp_path):
    """Run on the CPU, and keep the project's own records out of reach."""
    monkeypatch.setenv("TUTORIAL_DEVICE", "cpu")
    monkeypatch.setenv("TUTORIAL_REFERENCE", str(tmp_path / "reference"))


@pytest.fixture
def pairs(tiny_pairs):
    return open_pairs(tiny_pairs).take(16)


def section(data, size, placement=CPU):
    return image_competitors.Section(data, "images", size, BATCH, placement, workers=[0])


def run_all(competitors):
    """Run one epoch of each: label to batches, and the absent ones."""
    batches, absent = {}, []
    for one in competitors:
        if isinstance(one, rounds.Absent):
            absent.append(one.label)
            continue
        batches[one.label] = list(one.loader)
        one.close()
    return batches, absent


def ends(batches):
    return {label: {EndPoint.of(batch) for batch in some} for label, some in batches.items()}


def test_competitors_of_the_paired_set_end_alike_and_bring_every_pair_once(pairs, tmp_path):
    made = image_competitors.paired(section(pairs, (48, 64)), image_competitors.PAIRED, tmp_path)
    batches, absent = run_all(made)
    assert {*batches, *absent} == set(image_competitors.PAIRED)
    assert absent == [image_competitors.CUDA]
    (end,) = set().union(*ends(batches).values())
    assert [part.shape for part in end.parts] == [(3, 48, 64), (3, 48, 64)]
    for label, some in batches.items():
        low, high = (torch.cat(images) for images in zip(*some, strict=True))
        assert sorted(map(read_number, low)) == list(range(16)), label
        if label not in (image_competitors.ARTICLE, image_competitors.ARTICLE_MENDED):  # they list unsorted
            assert list(map(read_number, low)) == list(map(read_number, high)), label
        assert (high.mean() > 2 * low.mean()) == (label != image_competitors.ARTICLE), label


def test_competitors_of_the_labelled_set_end_alike(tiny_pairs):
    labelled = open_labelled(tiny_pairs / "by_class").take(16)
    batches, absent = run_all(
        image_competitors.labelled(section(labelled, (40, 32)), image_competitors.LABELLED)
    )
    assert {*batches, *absent} == set(image_competitors.LABELLED)
    (end,) = set().union(*ends(batches).values())
    assert [(part.dtype, part.shape) for part in end.parts] == [("float32", (3, 40, 32)), ("int64", ())]
    counts = {tuple(sorted(torch.cat([y for _, y in some]).tolist())) for some in batches.values()}
    assert counts == {tuple(sorted(labelled.labels))}


def test_a_small_run_writes_what_it_measured(tiny_pairs, tmp_path, capsys):
    written = tmp_path / "images.json"
    only = ["dataloader-pil", "dali-batches", "dali-labelled", "overhead"]
    images.main(
        [
            *("--root", str(tiny_pairs), "--pairs", "16", "--batch", "8", "--rounds", "1", "--workers", "0"),
            *("--overhead-rounds", "2", "--json", str(written), "--record", "here", "--only", *only),
        ]
    )
    found = json.loads(written.read_text())
    cards = {name: TimingCard.from_dict(card) for name, card in found["cards"].items()}
    labels = {name: [result.label for result in card.results] for name, card in cards.items()}
    assert labels == {
        "pairs": ["dataloader-torchvision", "dataloader-pil", "dali-batches"],
        "labelled": ["dataloader-torchvision", "dataloader-pil", "dali-labelled"],
        "overhead": ["paired_loader", "bare iterator"],
    }
    assert {result.samples for card in cards.values() for result in card.results} == {16}
    for ratio in found["ratios"]["pairs"]:
        assert (ratio["over"], len(ratio["rounds"])) == ("dataloader-torchvision", 1)
        card = cards["pairs"]
        expected = card.result(ratio["label"]).rate / card.result(ratio["over"]).rate
        assert ratio["median"] == pytest.approx(expected)
    assert found["overhead"]["at_most"] == 1.03
    assert [len(s) for s in found["overhead"]["processor_seconds"].values()] == [6, 6]
    assert set(found["absent"]["pairs"]) == set(image_competitors.PAIRED) - set(labels["pairs"])
    assert found["absent"]["pairs"]["dali-files"] == "left out by --only"
    printed = " ".join(capsys.readouterr().out.split())
    assert "article-a3 left out by --only" in printed
    assert "too few rounds" in printed
    recorded = sorted(path.name for path in (tmp_path / "reference").iterdir())
    assert recorded == ["here-labelled.json", "here-overhead.json", "here-pairs.json"]


class TestRecording:
    def test_refuses_figures_that_nobody_measured(self, tmp_path):
        with pytest.raises(ValueError, match="'A' was not measured by this process"):
            images.record({"pairs": TimingCard([throughput("A")])}, "typed")
        assert not (tmp_path / "reference").exists()

    def test_refuses_an_empty_run(self):
        with pytest.raises(ValueError, match="nothing was measured"):
            images.record({}, "empty")

    def test_pooling_makes_nothing_measured(self):
        assert not rounds.pooled([throughput("A")] * 2).measured

    def test_one_unmeasured_round_spoils_all(self):
        measured = throughput("A")
        object.__setattr__(measured, "measured", True)
        assert rounds.pooled([measured, measured]).measured
        assert not rounds.pooled([measured, throughput("A")]).measured

    @pytest.mark.parametrize("name", ["taken", "no name", "../outside"])
    def test_a_bad_name_is_refused_before_anything_is_measured(self, name, tmp_path, monkeypatch, capsys):
        (tmp_path / "reference").mkdir()
        (tmp_path / "reference" / "taken-pairs.json").write_text("{}")
        monkeypatch.setattr(images, "open_pairs", lambda root: pytest.fail("it went on"))
        with pytest.raises(SystemExit):
            images.main(["--record", name])
        message = capsys.readouterr().err
        assert ("taken-pairs already" if name == "taken" else "use letters") in message


def test_unknown_names_are_told_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        images.main(["--only", "dali-fils"])
    message = capsys.readouterr().err
    assert "dali-fils: choose among" in message
    assert "dali-files," in message


class TestAbsent:
    def reason(self, data, placement):
        made = image_competitors.labelled(section(data, (8, 8), placement), [image_competitors.CUDA])
        (one,) = made
        return one.reason

    def test_without_a_gpu(self, pairs, tiny_pairs):
        labelled = open_labelled(tiny_pairs / "by_class")
        assert self.reason(labelled, CPU) == "needs a GPU; this run is on the CPU"

    def test_other_files_than_jpeg(self, tiny_pairs):
        labelled = open_labelled(tiny_pairs / "by_class")
        other = replace(labelled, files=("a.PNG", *labelled.files[1:]))
        gpu = replace(CPU, dali_device_id=0)
        assert "decodes JPEG only; the set has 1 other files, such as a.PNG" in self.reason(other, gpu)

    def test_too_little_shared_memory(self, pairs, tmp_path, monkeypatch):
        def full(*_, **options):
            raise ValueError("batch_size: ... free in shared memory")

        monkeypatch.setattr(image_competitors, "paired_loader", full)
        made = image_competitors.paired(section(pairs, (8, 8)), ["dali-decoded-opencv"], tmp_path)
        assert [(one.label, "shared memory" in one.reason) for one in made] == [("dali-decoded-opencv", True)]


class TestRounds:
    def test_each_once_a_round_and_the_first_round_in_order(self):
        order = []

        class Noted(list):
            def __iter__(self):
                order.append(self[0].numel())
                return super().__iter__()

        loaders = [rounds.Competitor(str(n), Noted([torch.zeros(1, n)])) for n in range(1, 5)]
        found = rounds.race(loaders, 6, placement=CPU, unit="images", data="f00d")
        # One epoch of warm-up and three to be timed, never interrupted by another competitor.
        turns = [order[at : at + 4] for at in range(0, len(order), 4)]
        assert all(len(set(turn)) == 1 for turn in turns)
        by_round = [[turn[0] for turn in turns[at : at + 4]] for at in range(0, len(turns), 4)]
        assert by_round[0] == [1, 2, 3, 4]
        assert all(sorted(one) == [1, 2, 3, 4] for one in by_round)
        assert len(set(map(tuple, by_round))) > 1
        assert {len(results) for results in found.values()} == {6}

    def test_ratios_are_taken_within_a_round(self):
        # The machine is three times as slow in the second round; who is how much faster stays the same.
        found = {
            label: [throughput(label, seconds=(one * slow,) * 3) for slow in (1.0, 3.0)]
            for label, one in (("A", 1.0), ("B", 2.0))
        }
        compared = rounds.ratio(found, "A", "B")
        assert (compared.value, compared.spread) == (2.0, (2.0, 2.0))

    def test_pooled_keeps_all_repetitions(self):
        some = [throughput("A", seconds=(1.0, 2.0, 3.0)), throughput("A", seconds=(4.0, 5.0, 6.0))]
        whole = rounds.pooled(some)
        assert isinstance(whole, Throughput)
        assert whole.seconds == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)

    # From printed tables of the sign test: which order statistics bound the median with 95% confidence.
    @pytest.mark.parametrize(("count", "rank"), [(6, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (25, 8)])
    def test_interval_of_the_median(self, count, rank):
        values = [float(value) for value in range(count, 0, -1)]
        assert rounds.median_interval(values) == (rank, count + 1 - rank)

    def test_no_interval_from_five(self):
        assert rounds.median_interval([1.0] * 5) is None

    @pytest.mark.parametrize(
        ("values", "verdict"),
        [((1.1, 1.2), "holds"), ((0.8, 0.9), "falls short"), ((0.9, 1.1), "not decided")],
    )
    def test_verdict(self, values, verdict):
        assert rounds.Ratio("A", "B", values).verdict(1.0).startswith(verdict)


def test_overhead_is_measured_over_the_very_same_pipeline(pairs):
    bare = loader_overhead.BareIterator(pairs, BATCH, CPU)
    with paired_loader(pairs, batch_size=BATCH, placement=CPU) as ours:
        next(iter(ours))
        wrapped, (plain,) = ours._feed._pipeline, bare._iterator._pipes
        for name in ("max_batch_size", "num_threads", "prefetch_queue_depth", "exec_dynamic", "device_id"):
            assert getattr(wrapped, name) == getattr(plain, name), name
        assert operators(wrapped) == operators(plain)


def operators(pipeline: Pipeline) -> list[str]:
    """Write out every operator with all that it was given, but for the seed of the order."""
    return [re.sub(r"\bseed: -?\d+", "seed", str(operator.spec)) for operator in pipeline._ops]


def test_images_of_all_shapes_are_resized_as_one_by_one():
    generator = torch.Generator().manual_seed(0)
    shapes = [(40, 30), (20, 50), (40, 30), (7, 9)]
    some = [torch.randint(256, (3, *shape), dtype=torch.uint8, generator=generator) for shape in shapes]
    for image, batch in zip(some, resized(some, (16, 12)), strict=True):
        torch.testing.assert_close(batch, functional.resize(image.float() / 255, [16, 12], antialias=True))


def test_packed_bytes_are_those_of_the_files_column_by_column(pairs):
    files = EncodedFiles(pairs.low, pairs.high, numbers=range(16))
    data, lengths, numbers = _pack([files[3], files[5]])
    read = [part.numpy().tobytes() for part in data.split(lengths)]
    paths = (pairs.low[3], pairs.low[5], pairs.high[3], pairs.high[5])
    for path, content in zip(paths, read, strict=True):
        assert content == Path(path).read_bytes()
    assert numbers.tolist() == [3, 5]
