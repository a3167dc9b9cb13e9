"""Loaders: pairs stay pairs, each sample exactly once, any number of epochs, breaks, and wrong arguments."""

import itertools
from types import SimpleNamespace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loader_fixtures import as_labelled, numbers_in, write_pairs

from tutorial_utils.image_sets import Pairs
from tutorial_utils.loaders import Augmentation, labelled_loader, paired_loader
from tutorial_utils.placement import choose

SMALL = {"size": (8, 8), "threads": 2}
# Every way to read that needs no worker process; the ways with workers have a test of their own below.
READINGS = {
    "files": {"source": "files"},
    "batches": {"source": "batches"},
    "samples": {"source": "samples", "workers": 0},
    "decoded": {"source": "decoded", "workers": 0},
    "files augmented": {"source": "files", "augment": Augmentation()},
    "batches augmented": {"source": "batches", "augment": Augmentation()},
    "samples augmented": {"source": "samples", "workers": 0, "augment": Augmentation()},
}
readings = pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
plain_readings = pytest.mark.parametrize(
    "reading",
    [READINGS[name] for name in ("files", "batches", "samples")],
    ids=["files", "batches", "samples"],
)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("loaders") / "pairs", 203)


def first(pairs: Pairs, count: int) -> Pairs:
    return pairs.take(count)


def epoch_of(loader) -> list[list[int]]:
    """Run an epoch and read from the pixels which pairs came, batch by batch."""
    batches = []
    for low, high, ids in loader:
        assert low.shape == high.shape == (len(ids), 3, 8, 8)
        assert low.device == high.device == choose().torch_device
        assert ids.dtype == torch.int64
        assert numbers_in(low.cpu()) == numbers_in(high.cpu()) == ids.tolist()
        batches.append(ids.tolist())
    assert len(batches) == len(loader)
    return batches


def flat(batches: list[list[int]]) -> list[int]:
    return list(itertools.chain.from_iterable(batches))


@readings
@pytest.mark.parametrize("policy", ["train", "evaluate"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_pairs_stay_pairs_and_come_once_over_twenty_epochs(many, reading, policy, shuffle):
    pairs = first(many, 31)
    for num_shards in range(1, 5):
        options = {"policy": policy, "shuffle": shuffle, "num_shards": num_shards, "seed": num_shards}
        loaders = [
            paired_loader(pairs, batch_size=4, shard=i, with_ids=True, **options, **reading, **SMALL)
            for i in range(num_shards)
        ]
        orders = []
        for _ in range(20):
            shards = [epoch_of(loader) for loader in loaders]
            seen = flat(flat(shard) for shard in shards)
            assert len(seen) == len(set(seen))
            if policy == "evaluate":
                assert set(seen) == set(range(31))
            else:
                assert {len(batch) for shard in shards for batch in shard} == {4}
                assert {len(shard) for shard in shards} == {31 // num_shards // 4}
            orders.append(tuple(seen))
        assert len(set(orders)) == (20 if shuffle else 1)
        for loader in loaders:
            loader.close()


@pytest.mark.parametrize("policy", ["train", "evaluate"])
@pytest.mark.parametrize("num_shards", [1, 3])
def test_a_buffer_smaller_than_the_shard_loses_nothing(many, monkeypatch, policy, num_shards):
    """DALI's buffer holds 1,024 files, far more than these tests have."""
    monkeypatch.setattr("tutorial_utils.loader_readings.BUFFER", 7)
    options = {"batch_size": 4, "policy": policy, "shuffle": True, "num_shards": num_shards, "with_ids": True}
    loaders = [paired_loader(first(many, 103), shard=i, **options, **SMALL) for i in range(num_shards)]
    for _ in range(20):
        seen = flat(flat(epoch_of(loader)) for loader in loaders)
        expected = 103 if policy == "evaluate" else num_shards * (103 // num_shards // 4) * 4
        assert len(seen) == len(set(seen)) == expected
    for _ in itertools.islice(loaders[0], 5):
        pass
    state = loaders[0].state_dict()
    loaders[0].load_state_dict(state)
    rest = [ids.tolist() for _, _, ids in loaders[0]]
    loaders[0].load_state_dict(state)
    assert [ids.tolist() for _, _, ids in loaders[0]] == rest
    assert len(rest) == len(loaders[0]) - 5


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    samples=st.integers(1, 203),
    batch_size=st.integers(1, 16),
    num_shards=st.integers(1, 4),
    shuffle=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_exactly_once_for_any_size(many, reading, samples, batch_size, num_shards, shuffle, seed):
    pairs = first(many, samples)
    options = {"batch_size": batch_size, "num_shards": num_shards, "shuffle": shuffle, "seed": seed, **SMALL}
    for policy in ("evaluate", "train"):
        if policy == "train" and samples < batch_size * num_shards:
            with pytest.raises(ValueError, match=f"batch_size={batch_size}"):
                paired_loader(pairs, shard=0, policy=policy, **options, **reading)
            continue
        loaders = [
            paired_loader(pairs, shard=i, policy=policy, with_ids=True, **options, **reading)
            for i in range(num_shards)
        ]
        for _ in range(2):
            shards = [epoch_of(loader) for loader in loaders]
            seen = flat(flat(shard) for shard in shards)
            assert len(seen) == len(set(seen))
            if policy == "evaluate":
                assert len(seen) == samples
                assert all(batch for shard in shards for batch in shard)
            else:
                assert {len(shard) for shard in shards} == {samples // num_shards // batch_size}
                assert {len(batch) for shard in shards for batch in shard} == {batch_size}
        for loader in loaders:
            loader.close()


@pytest.mark.parametrize("policy", ["train", "evaluate"])
@pytest.mark.parametrize("num_shards", [1, 3])
def test_labels_belong_to_their_images_and_come_once(many, policy, num_shards):
    labelled = as_labelled(first(many, 31))
    loaders = [
        labelled_loader(labelled, batch_size=4, policy=policy, shard=i, num_shards=num_shards, **SMALL)
        for i in range(num_shards)
    ]
    for _ in range(20):
        seen = []
        for loader in loaders:
            steps = 0
            for images, labels in loader:
                assert (labels.dtype, labels.shape) == (torch.int64, (len(images),))
                assert labels.device == images.device == choose().torch_device
                assert numbers_in(images.cpu()) == labels.tolist()
                seen += labels.tolist()
                steps += 1
            assert steps == len(loader)
        assert (
            len(seen)
            == len(set(seen))
            == (31 if policy == "evaluate" else num_shards * (31 // num_shards // 4) * 4)
        )


@pytest.mark.parametrize("source", ["samples", "decoded"])
def test_worker_processes_deliver_what_this_process_would(many, source):
    pairs = first(many, 31)
    options = {
        "batch_size": 4,
        "policy": "evaluate",
        "shuffle": True,
        "with_ids": True,
        "source": source,
        **SMALL,
    }
    here = paired_loader(pairs, workers=0, **options)
    with paired_loader(pairs, workers=2, **options) as there:
        for _ in range(20):
            assert epoch_of(there) == epoch_of(here)
        for low, _, _ in there:
            assert len(low) == 4
            break
        next(iter(here))
        assert epoch_of(there) == epoch_of(here)
        if source == "decoded":  # going back means new workers, and torch takes seconds to import
            return
        state = there.state_dict()
        for _ in zip(range(3), there, strict=False):
            pass
        there.load_state_dict(state)
        assert epoch_of(there) == epoch_of(here)


@readings
def test_bit_for_bit_the_same_whatever_the_threads_and_prefetching(many, reading):
    pairs = first(many, 31)

    def epochs(seed, threads, prefetch):
        options = {"seed": seed, "threads": threads, "prefetch": prefetch, "size": (8, 8)}
        with paired_loader(pairs, batch_size=4, **options, **reading) as loader:
            return [torch.cat([torch.cat(batch) for batch in loader]) for _ in range(3)]

    one, other = epochs(3, 1, 1), epochs(3, 4, 3)
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert not torch.equal(one[0], one[1])
    assert not torch.equal(one[0], epochs(4, 1, 2)[0])


@readings
def test_tensors_kept_by_the_caller_are_never_written_again(many, reading):
    with paired_loader(first(many, 40), batch_size=4, **reading, **SMALL) as loader:
        kept, copies = [], []
        for _ in range(4):
            for batch in loader:
                kept.append(batch)
                copies.append([tensor.clone() for tensor in batch])
    assert all(
        torch.equal(a, b)
        for pair, twin in zip(kept, copies, strict=True)
        for a, b in zip(pair, twin, strict=True)
    )
    assert len({tensor.data_ptr() for pair in kept for tensor in pair}) == 80


@readings
@pytest.mark.parametrize("taken", [1, 3, 7])
def test_after_a_break_the_next_epoch_begins_at_its_start(many, reading, taken):
    with paired_loader(first(many, 31), batch_size=4, with_ids=True, **reading, **SMALL) as loader:
        assert loader.epoch == 0
        for number in range(4):
            assert loader.epoch == number
            partial = [ids.tolist() for _, (_, _, ids) in zip(range(taken), loader, strict=False)]
            assert len(partial) == taken
            assert loader.epoch == number + 1
        whole = epoch_of(loader)
        assert len(flat(whole)) == len(set(flat(whole))) == 28
        assert loader.epoch == 5


@pytest.mark.parametrize("name", ["batches", "samples", "decoded", "batches augmented"])
def test_a_break_leaves_no_trace_in_later_epochs_of_a_source(many, name):
    pairs = first(many, 31)
    options = {"batch_size": 4, **READINGS[name], **SMALL}
    with paired_loader(pairs, **options) as whole, paired_loader(pairs, **options) as broken:
        expected = [[torch.cat(batch) for batch in whole] for _ in range(3)]
        for _ in broken:
            break
        for epoch in expected[1:]:
            assert all(torch.equal(torch.cat(got), want) for got, want in zip(broken, epoch, strict=True))


def test_shards_stay_disjoint_when_one_of_them_broke_an_epoch_off(many):
    pairs = first(many, 32)
    options = {"batch_size": 4, "num_shards": 2, "with_ids": True, **SMALL}
    loaders = [paired_loader(pairs, shard=i, **options) for i in range(2)]
    for _ in loaders[1]:
        break
    epoch_of(loaders[0])
    for _ in range(5):
        assert sorted(flat(flat(epoch_of(loader)) for loader in loaders)) == list(range(32))


def test_an_older_loop_ends_with_a_word_when_a_newer_one_began(many):
    with paired_loader(first(many, 31), batch_size=4, **SMALL) as loader:
        older = iter(loader)
        next(older)
        next(iter(loader))
        with pytest.raises(RuntimeError, match="another one was begun"):
            next(older)


def test_an_iterator_that_was_never_used_costs_no_epoch(many):
    with paired_loader(first(many, 31), batch_size=4, **SMALL) as loader:
        iter(loader)
        iter(loader)
        assert loader.epoch == 0


@pytest.mark.parametrize("source", ["files", "batches"])
def test_more_shards_than_samples_in_an_evaluation(many, source):
    pairs = first(many, 3)
    seen = []
    for shard in range(5):
        options = {"policy": "evaluate", "shard": shard, "num_shards": 5, "with_ids": True}
        with paired_loader(pairs, batch_size=2, source=source, **options, **SMALL) as loader:
            for _ in range(2):
                batches = epoch_of(loader)
            assert loader.epoch == 2
            seen += flat(batches)
    assert sorted(seen) == [0, 1, 2]


def test_a_closed_loader_says_so(many):
    loader = paired_loader(first(many, 31), batch_size=4, **SMALL)
    low, _ = next(iter(loader))
    mean = low.mean()
    loop = iter(loader)
    next(loop)
    loader.close()
    loader.close()
    assert low.mean() == mean
    for use in (
        lambda: iter(loader),
        lambda: next(loop),
        lambda: loader.load_state_dict({}),
        loader.__enter__,
    ):
        with pytest.raises(RuntimeError, match="the loader is closed; make a new one"):
            use()


def test_shards_come_from_the_environment_of_torchrun(many, monkeypatch):
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert paired_loader(many, batch_size=4).plan.shard == 2
    assert labelled_loader(as_labelled(many), batch_size=4).plan.num_shards == 3
    assert paired_loader(many, batch_size=4, shard=0, num_shards=1).plan.num_shards == 1
    monkeypatch.setenv("RANK", "two")
    with pytest.raises(ValueError, match="RANK='two', WORLD_SIZE='3'"):
        paired_loader(many, batch_size=4)


def test_a_folder_can_be_given(tiny_pairs, private_places):
    assert len(paired_loader(tiny_pairs, batch_size=8)) == 3
    assert len(labelled_loader(str(tiny_pairs / "by_class"), batch_size=8)) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": 300}, "batch_size=300 .* there are 203"),
        ({"shard": 5, "num_shards": 4}, "shard=5 of num_shards=4: choose 0 to 3"),
        ({"shard": 1}, "shard=1, num_shards=None: give both"),
        ({"num_shards": 2}, "shard=None, num_shards=2: give both"),
        ({"size": "192"}, "size='192'"),
        ({"size": 192}, "size=192"),
        ({"policy": "test"}, "policy='test': choose 'train' or 'evaluate'"),
        ({"shuffle": 3}, "shuffle=3"),
        ({"seed": -1}, "seed=-1"),
        ({"threads": 0}, "threads=0"),
        ({"prefetch": 0}, "prefetch=0"),
        ({"layout": "NHWC"}, "layout='NHWC'"),
        ({"dtype": torch.int64}, "dtype=torch.int64"),
        ({"value_range": (0, 2)}, "value_range="),
        ({"interpolation": "area"}, "interpolation='area'"),
    ],
)
def test_wrong_arguments_are_refused_at_construction_by_both(many, options, message):
    options = {"batch_size": 4, **options}
    for make, files in ((paired_loader, many), (labelled_loader, as_labelled(many))):
        with pytest.raises(ValueError, match=message):
            make(files, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "file"}, "source='file': choose one of 'files', 'samples', 'batches', 'decoded'"),
        ({"augment": True}, "augment=True"),
        ({"augment": Augmentation(), "source": "decoded"}, "augment=.*'decoded' resizes before"),
        ({"workers": 2}, "workers=2: source 'files' has no worker processes"),
        ({"workers": -1, "source": "samples"}, "workers=-1"),
        ({"decoder": "opencv"}, "decoder='opencv': only source 'decoded'"),
        ({"decoder": "pil", "source": "decoded"}, "decoder='pil': choose one of"),
        ({"antialias": False, "source": "decoded"}, "antialias=False.*'decoded'"),
        ({"interpolation": "cubic", "source": "decoded"}, "interpolation='cubic'.*'decoded'"),
    ],
)
def test_wrong_ways_to_read_are_refused_at_construction(many, options, message):
    with pytest.raises(ValueError, match=message):
        paired_loader(many, batch_size=4, **options)


def test_wrong_kinds_are_refused_at_construction(many):
    with pytest.raises(TypeError, match=r"pairs: give a folder or what open_pairs\(\) returns, not list"):
        paired_loader([1, 2], batch_size=4)
    with pytest.raises(TypeError, match=r"labelled: .* not Pairs"):
        labelled_loader(many, batch_size=4)
    with pytest.raises(TypeError, match="placement='gpu'"):
        paired_loader(many, batch_size=4, placement="gpu")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        paired_loader("/tmp/nowhere", batch_size=4)


def test_too_little_shared_memory_is_said_before_workers_die_of_it(many, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=2**20))
    with pytest.raises(ValueError, match=r"/dev/shm.*--shm-size"):
        paired_loader(many, batch_size=16, source="decoded", workers=2)
    paired_loader(many, batch_size=16, source="decoded", workers=0)
