"""Sources: stateless, never wrapped round, light to start, and clear about a bad file."""

import itertools
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from loader_fixtures import colour_of, write_pairs

from tutorial_utils.cpu_decoders import load_image
from tutorial_utils.data import Pairs
from tutorial_utils.epochs import EpochPlan
from tutorial_utils.sources import DECODERS, DecodedPairs, EncodedPairBatches, EncodedPairs, read_encoded

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("sources") / "pairs", 11)


def batch_info(iteration, epoch=0):
    return SimpleNamespace(iteration=iteration, epoch_idx=epoch)


def sample_info(place, epoch=0):
    return SimpleNamespace(idx_in_epoch=place, epoch_idx=epoch)


def read_batches(source, epoch):
    """Ask as DALI does: iteration after iteration, until the source says that the epoch is over."""
    batches = []
    while True:
        try:
            batches.append(source(batch_info(len(batches), epoch)))
        except StopIteration:
            return batches


def read_samples(source, epoch):
    samples = []
    while True:
        try:
            samples.append(source(sample_info(len(samples), epoch)))
        except StopIteration:
            return samples


def number_of(encoded):
    colour = cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB).mean(axis=(0, 1))
    return next(n for n in range(343) if np.abs(colour - colour_of(n)).max() < 8)


@pytest.mark.parametrize("policy", ["train", "evaluate"])
def test_batches_follow_the_plan_and_end(pairs, policy):
    plan = EpochPlan(len(pairs), 4, policy, shuffle=True, seed=3)
    source = EncodedPairBatches(pairs, plan)
    for epoch in (0, 1, 5, 1):  # in any order: nothing is remembered
        batches = read_batches(source, epoch)
        assert [len(low) for low, _, _ in batches] == [plan.valid(step) for step in range(plan.steps)]
        indices = [int(index[0]) for batch in batches for index in batch[2]]
        assert indices == plan.order(epoch).tolist()
        for low, high, index in batches:
            assert [number_of(a) for a in low] == [number_of(b) for b in high] == [int(i[0]) for i in index]


@pytest.mark.parametrize("policy", ["train", "evaluate"])
def test_samples_follow_the_plan_and_fill_the_last_batch_by_repeating(pairs, policy):
    plan = EpochPlan(len(pairs), 4, policy, shuffle=True, seed=3)
    for epoch in (2, 0):
        samples = read_samples(EncodedPairs(pairs, plan), epoch)
        indices = [int(index[0]) for _, _, index in samples]
        assert len(indices) == plan.steps * plan.batch_size
        assert indices[: plan.count] == plan.order(epoch).tolist()
        assert set(indices[plan.count :]) <= {indices[plan.count - 1]}


@pytest.mark.parametrize("policy", ["train", "evaluate"])
def test_a_source_can_begin_anywhere(pairs, policy):
    plan = EpochPlan(len(pairs), 4, policy, shuffle=True)
    whole = [[int(i[0]) for i in batch[2]] for batch in read_batches(EncodedPairBatches(pairs, plan), 7)]
    for first in range(plan.steps + 1):
        start = {"first_epoch": 7, "first_batch": first}
        batches = read_batches(EncodedPairBatches(pairs, plan, **start), 0)
        assert [[int(i[0]) for i in batch[2]] for batch in batches] == whole[first:]
        samples = read_samples(EncodedPairs(pairs, plan, **start), 0)
        rest = list(itertools.chain.from_iterable(whole[first:]))
        assert [int(index[0]) for _, _, index in samples][: len(rest)] == rest
        assert len(samples) == (plan.steps - first) * 4
        following = read_batches(EncodedPairBatches(pairs, plan, **start), 1)
        assert [int(i[0]) for batch in following for i in batch[2]] == plan.order(8).tolist()


def test_throws_come_with_each_pair(pairs):
    plan = EpochPlan(len(pairs), 4)
    low, high, index, throw = EncodedPairBatches(pairs, plan, throws=True)(batch_info(1, 2))
    assert len(low) == len(high) == len(throw) == 4
    assert np.array_equal(np.stack(throw), plan.throws(2)[[int(i[0]) for i in index]])


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("size", [(8, 8), (5, 12), (32, 16)])
def test_decoded_pairs_have_the_size_and_content(pairs, decoder, size):
    source = DecodedPairs(pairs, EpochPlan(len(pairs), 4, shuffle=False), size, decoder)
    for place in range(8):
        low, high, index = source(sample_info(place))
        for image in (low, high):
            assert image.shape == (*size, 3)
            assert image.dtype == np.uint8
            assert image.flags.c_contiguous
            assert np.abs(image.mean(axis=(0, 1)) - colour_of(int(index[0]))).max() < 8


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("size", [(24, 24), (192, 192), (30, 90)])
def test_decoded_pairs_have_the_pixels_of_the_cpu_loaders(tiny_pairs, decoder, size):
    low = tuple(str(path) for path in sorted((tiny_pairs / "low").iterdir()))
    own = Pairs(tiny_pairs, tuple(map(str, range(24))), low, low, ((0, 0),) * 24)
    source = DecodedPairs(own, EpochPlan(24, 4, shuffle=False), size, decoder)
    for place in range(24):
        expected = load_image(low[place], size, decoder).permute(1, 2, 0).numpy()
        image = source(sample_info(place))[0].astype(np.float32) / 255
        assert np.abs(image - expected).max() < 1e-6


def test_a_source_can_be_sent_to_a_worker(pairs):
    plan = EpochPlan(len(pairs), 4)
    for source in (EncodedPairs(pairs, plan), DecodedPairs(pairs, plan, (8, 8))):
        sent = pickle.loads(pickle.dumps(source))
        assert all(
            np.array_equal(a, b) for a, b in zip(sent(sample_info(5)), source(sample_info(5)), strict=True)
        )


def test_workers_start_without_torch_and_dali():
    code = "import sys, tutorial_utils.sources; print(sorted({'torch', 'nvidia', 'cv2'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "[]", run.stderr


def test_a_missing_or_empty_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.jpg"):
        read_encoded(str(tmp_path / "gone.jpg"))
    (tmp_path / "empty.jpg").touch()
    with pytest.raises(OSError, match=r"empty\.jpg: empty file"):
        read_encoded(str(tmp_path / "empty.jpg"))


@pytest.mark.parametrize("decoder", DECODERS)
def test_an_undecodable_file_is_named(tmp_path, decoder):
    own = write_pairs(tmp_path / "pairs", 4)
    Path(own.high[2]).write_bytes(b"<html>not an image</html>")
    source = DecodedPairs(own, EpochPlan(4, 2, shuffle=False), (8, 8), decoder)
    source(sample_info(1))
    with pytest.raises(ValueError, match=rf"high/00002\.jpg: {decoder} cannot decode it"):
        source(sample_info(2))


def test_wrong_arguments_are_refused(pairs):
    with pytest.raises(ValueError, match="plan: it is for 12 samples, there are 11 pairs"):
        EncodedPairs(pairs, EpochPlan(12, 4))
    with pytest.raises(ValueError, match="decoder='pil': choose one of 'torchvision', 'opencv'"):
        DecodedPairs(pairs, EpochPlan(11, 4), (8, 8), "pil")
