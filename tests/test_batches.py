"""How many samples a batch holds, and where and as what it ended."""

import numpy as np
import pytest
import torch
from timing_samples import CPU

from tutorial_utils.batches import EndPoint, count_samples
from tutorial_utils.timing import MeasurementError, measure


class TestEndPoints:
    def test_sizes_that_differ_between_batches_are_said_to_vary(self):
        batches = [torch.zeros(2, 3, 8, 8), torch.zeros(2, 3, 8, 9)]
        result = measure(batches, label="L", placement=CPU)
        assert str(result.end_point) == "float32 (B, 3, 8, varies) on cpu"

    @pytest.mark.parametrize(
        "odd",
        [
            torch.zeros(2, 3, dtype=torch.uint8),
            torch.zeros(2, 3, 1),
            torch.zeros(2, 3, device="meta"),
            (torch.zeros(2, 3), torch.zeros(2)),
        ],
        ids=["dtype", "axes", "device", "tensors"],
    )
    def test_batches_that_end_differently_are_refused(self, odd):
        with pytest.raises(MeasurementError, match=r"do not all end alike: one batch h.*another"):
            measure([torch.zeros(2, 3), odd], label="L", placement=CPU)

    def test_a_change_after_the_warm_up_is_noticed(self):
        class Changing:
            epochs = 0

            def __iter__(self):
                self.epochs += 1
                yield torch.zeros(2, 3, dtype=torch.float32 if self.epochs < 4 else torch.float64)

        with pytest.raises(MeasurementError, match="float64"):
            measure(Changing(), label="L", placement=CPU)

    def test_layouts(self):
        image = torch.zeros(2, 3, 8, 8)
        clip = torch.zeros(2, 3, 4, 8, 8)
        found = EndPoint.of(
            (
                image,
                image.to(memory_format=torch.channels_last),
                clip.to(memory_format=torch.channels_last_3d),
                image[:, :, ::2],
                np.zeros((2, 8, 8, 3), np.uint8),
                np.zeros((2, 8, 8, 3), np.uint8).transpose(0, 3, 1, 2),
                torch.zeros(2, 3).to_sparse(),
            )
        )
        layouts = [part.layout for part in found.parts]
        contiguous = "contiguous"
        assert layouts == [
            contiguous,
            "channels last",
            "channels last",
            "strided",
            contiguous,
            "strided",
            "sparse_coo",
        ]
        assert (found.parts[4].dtype, found.parts[4].shape, found.parts[4].device) == (
            "uint8",
            (8, 8, 3),
            "cpu",
        )

    def test_mixed_layouts_vary(self):
        image = torch.zeros(2, 3, 8, 8)
        batches = [image, image.to(memory_format=torch.channels_last)]
        assert measure(batches, label="L", placement=CPU).end_point.parts[0].layout == "varies"

    def test_names_and_nesting_do_not_count(self):
        x, y = torch.zeros(2, 3, 8, 8), torch.zeros(2, dtype=torch.int64)
        assert EndPoint.of((x, y)) == EndPoint.of([{"data": x, "label": y}])

    def test_a_batch_without_tensors_is_refused_even_with_a_count(self):
        with pytest.raises(TypeError, match="cannot be told where it ended"):
            measure([["a", "b"]], label="L", placement=CPU, count=len)


class TestCountSamples:
    @pytest.mark.parametrize(
        "batch",
        [
            torch.zeros(5, 2),
            np.zeros((5, 2)),
            (torch.zeros(5, 3), torch.zeros(5)),
            [torch.zeros(5, 3), ["a.jpg"] * 5],
            {"name": ["a"] * 5, "low": torch.zeros(5, 3), "high": torch.zeros(5, 3)},
            [{"data": torch.zeros(5, 3), "label": torch.zeros(5, 1)}],
            ({"low": np.zeros((5, 3))}, torch.zeros(5)),
        ],
        ids=["tensor", "array", "tuple", "list", "dict", "dali", "nested"],
    )
    def test_what_loaders_deliver(self, batch):
        assert count_samples(batch) == 5

    def test_an_empty_batch(self):
        assert count_samples(torch.zeros(0, 3)) == 0

    @pytest.mark.parametrize(
        ("batch", "word"),
        [
            (["a", "b"], "type list holds no PyTorch tensor"),
            (None, "type NoneType"),
            (torch.tensor(3), "no dimensions"),
            ([{"data": torch.zeros(5)}, {"data": torch.zeros(4)}], "list of 2 dicts"),
            ([torch.zeros(3, 8, 9), torch.zeros(4, 8, 9)], "have 3, 4 as their first dimensions"),
        ],
        ids=["strings", "none", "scalar", "pipelines", "single images"],
    )
    def test_what_cannot_be_counted_says_what_to_do(self, batch, word):
        with pytest.raises(TypeError, match=word) as raised:
            count_samples(batch)
        assert "count" in str(raised.value) or "Make the loader deliver" in str(raised.value)
