"""The measuring protocol on a synthetic clock: exact rates, honest counts, refusals."""

import numpy as np
import nvidia.dali as dali
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from timing_samples import CPU, Clock, Scripted, throughput
from torch.utils.data import DataLoader, TensorDataset

from tutorial_utils.placement import Placement
from tutorial_utils.timing import MeasurementError, Throughput, figure, measure


def timed(seconds, batches, **options) -> Throughput:
    clock = Clock()
    loader = Scripted(clock, seconds, batches)
    return measure(loader, label="L", placement=CPU, clock=clock, **options)


class TestMeasure:
    def test_median_spread_and_the_first_epoch_apart(self):
        result = timed([50, 2, 8, 4], [[64, 39]] * 4)
        assert result.samples == 103
        assert result.seconds == (2, 8, 4)
        assert result.first_epoch_seconds == 50
        assert result.rate == 103 / 4
        assert result.spread == (103 / 8, 103 / 2)

    def test_every_warm_up_epoch_is_left_out_and_the_first_is_reported(self):
        result = timed([50, 40, 30, 2, 8, 4], [[10]] * 6, warmup=3)
        assert (result.first_epoch_seconds, result.seconds) == (50, (2, 8, 4))

    def test_every_repetition_counts(self):
        result = timed([9, 1, 2, 3, 4, 5], [[10]] * 6, repetitions=5)
        assert result.seconds == (1, 2, 3, 4, 5)

    @given(
        seconds=st.lists(st.floats(0.001, 1e4), min_size=3, max_size=9),
        sizes=st.lists(st.integers(1, 64), min_size=1, max_size=5),
    )
    def test_rate_lies_within_its_spread_and_counts_what_arrived(self, seconds, sizes):
        epochs = len(seconds)
        result = timed([1, *seconds], [sizes] * (epochs + 1), repetitions=epochs)
        assert result.samples == sum(sizes)
        assert result.spread[0] <= result.rate <= result.spread[1]
        # The clock adds the seconds up, so each is right within the sum's rounding.
        assert result.seconds == pytest.approx(seconds, rel=1e-6, abs=1e-9)

    def test_samples_are_counted_from_what_arrived_not_from_len(self):
        class Boasting(Scripted):
            def __len__(self):
                return 1000

        clock = Clock()
        result = measure(Boasting(clock, [1] * 4, [[8, 3]] * 4), label="L", placement=CPU, clock=clock)
        assert result.samples == 11

    def test_own_count_function(self):
        assert timed([1] * 4, [[8, 3]] * 4, count=lambda batch: len(batch) * 16, unit="frames").samples == 176

    def test_gpu_work_is_waited_for_before_each_reading_of_the_clock(self, monkeypatch):
        clock, log = Clock(), []
        placement = Placement("G", torch.device("cuda", 0), 0, "mixed", "gpu")

        def finish_queued_work(device):
            log.append((device, clock.now))
            clock.pass_time(10)

        monkeypatch.setattr(torch.cuda, "synchronize", finish_queued_work)
        loader = Scripted(clock, [1] * 4, [[5]] * 4)
        result = measure(loader, label="L", placement=placement, clock=clock)
        # The work queued before an epoch is outside its time, the work queued in it is inside.
        assert result.seconds == (11, 11, 11)
        assert len(log) == 8
        assert {device for device, _ in log} == {torch.device("cuda", 0)}

    def test_a_data_loader_with_workers(self):
        images = TensorDataset(torch.zeros(21, 3, 4, 4), torch.arange(21))
        loader = DataLoader(images, batch_size=8, num_workers=1, persistent_workers=True)
        result = measure(loader, label="L", placement=CPU)
        assert result.samples == 21
        assert str(result.end_point) == "float32 (B, 3, 4, 4) on cpu; int64 (B) on cpu"
        assert result.end_point.batch_size == 8

    def test_records_what_is_needed_to_compare(self, monkeypatch):
        monkeypatch.setattr("tutorial_utils.timing.cores", lambda: 7)
        result = timed(
            [1] * 4, [[4]] * 4, settings={"workers": 2, "size": (8, 8), "decoder": None}, data="f00d"
        )
        assert result.settings == {"workers": 2, "size": "(8, 8)", "decoder": None}
        assert (result.cores, result.device, result.data_fingerprint) == (7, "cpu", "f00d")
        assert "#" in result.machine

    def test_data_set_gives_fingerprint_and_count(self):
        class Pairs:
            fingerprint = "abcd"

            def __len__(self):
                return 103

        result = timed([1] * 4, [[96]] * 4, data=Pairs())
        assert (result.data_fingerprint, result.data_count) == ("abcd", 103)

    def test_data_without_a_fingerprint_is_refused_before_anything_runs(self):
        clock = Clock()
        loader = Scripted(clock, [1] * 4, [[4]] * 4)
        with pytest.raises(TypeError, match="fingerprint"):
            measure(loader, label="L", placement=CPU, clock=clock, data=[1, 2])
        assert loader.epochs == 0

    @pytest.mark.parametrize("options", [{"repetitions": 2}, {"warmup": 0}])
    def test_less_than_the_protocol_asks_for_is_refused(self, options):
        with pytest.raises(ValueError, match="at least 3 repetitions after at least 1 warm-up"):
            timed([1] * 9, [[4]] * 9, **options)

    def test_a_clock_that_stands_still_is_refused(self):
        with pytest.raises(ValueError, match="positive and finite"):
            timed([1, 1, 0, 1], [[4]] * 4)

    def test_only_the_real_clock_makes_a_measured_result(self):
        assert not timed([1] * 4, [[4]] * 4).measured
        assert measure([torch.zeros(4, 3)] * 50, label="L", placement=CPU).measured


class TestUnequalEpochs:
    def test_an_iterator_that_stops_for_good(self):
        with pytest.raises(MeasurementError, match=r"103, then 0 images.*generator.*cycle='raise'"):
            timed([1] * 4, [[64, 39], [], [], []])

    def test_a_generator_is_such_an_iterator(self):
        with pytest.raises(MeasurementError, match=r"8, then 0 images.*pass the loader itself"):
            measure((torch.zeros(4, 1) for _ in range(2)), label="L", placement=CPU)

    def test_a_later_epoch_of_another_size(self):
        with pytest.raises(MeasurementError, match=r"104, then 104, then 103 images.*pad_last_batch=True"):
            timed([1] * 4, [[104], [104], [103], [104]])

    def test_no_samples_at_all_ends_at_once(self):
        clock = Clock()
        loader = Scripted(clock, [1] * 4, [[]] * 4)
        with pytest.raises(MeasurementError, match="first epoch delivered no pairs"):
            measure(loader, label="L", placement=CPU, clock=clock, unit="pairs")
        assert loader.epochs == 1

    def test_batches_without_samples_are_no_samples(self):
        with pytest.raises(MeasurementError, match="first epoch delivered no images"):
            timed([1] * 4, [[0, 0]] * 4)

    def test_an_empty_batch_among_others_is_counted_as_none(self):
        assert timed([1] * 4, [[8, 0]] * 4).samples == 8


class Resetting:
    """A source as people write it for DALI: its ``__iter__`` starts over, 103 images in batches of 8."""

    def __iter__(self):
        self.next = 0
        return self

    def __next__(self):
        if self.next >= 103:
            raise StopIteration
        size = min(8, 103 - self.next)
        self.next += size
        return [np.full((2, 2, 3), 7, np.uint8)] * size


class TestRealDali:
    def iterator(self, **options):
        pipeline = dali.Pipeline(batch_size=8, num_threads=1, device_id=None)
        with pipeline:
            pipeline.set_outputs(dali.fn.external_source(source=Resetting(), **options))
        return DALIGenericIterator(pipeline, ["data"], auto_reset=True)

    def test_every_epoch_is_whole_with_cycle_raise(self):
        result = measure(self.iterator(cycle="raise"), label="DALI", placement=CPU)
        assert result.samples == 103
        assert str(result.end_point) == "uint8 (B, 2, 2, 3) on cpu"

    def test_the_iterator_trap_is_caught_and_explained(self):
        with pytest.raises(MeasurementError, match=r"103, then 0 images.*cycle='raise'"):
            measure(self.iterator(), label="DALI", placement=CPU)


class TestThroughput:
    def test_short_text(self):
        result = throughput(unit="pairs", samples=256, seconds=(256 / 398, 256 / 412, 256 / 420))
        assert str(result) == "412 pairs/s (398-420), 3 epochs of 256"

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (41234.4, "41,234"),
            (412.4, "412"),
            (99.96, "100"),
            (41.24, "41.2"),
            (9.996, "10.0"),
            (4.124, "4.12"),
        ],
    )
    def test_figures_have_about_three_digits(self, value, text):
        assert figure(value) == text

    @pytest.mark.parametrize(
        "changes",
        [
            {"label": ""},
            {"unit": ""},
            {"samples": 0},
            {"seconds": (1.0, 1.0)},
            {"seconds": (1.0, 1.0, -1.0)},
            {"seconds": (1.0, 1.0, float("nan"))},
            {"first_epoch_seconds": float("inf")},
        ],
        ids=str,
    )
    def test_no_nonsense(self, changes):
        with pytest.raises(ValueError, match=r"label|samples|repetitions|positive"):
            throughput(**changes)

    def test_nobody_can_declare_a_result_measured(self):
        with pytest.raises(TypeError, match="measured"):
            throughput(measured=True)

    def test_survives_a_dictionary(self):
        result = throughput(data_count=103)
        assert Throughput.from_dict(result.to_dict()) == result
