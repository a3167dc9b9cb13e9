"""Saving a loader in mid-epoch and going on bit for bit, and refusing to go on with other settings."""

import dataclasses
import io
import itertools
import pickle
from pathlib import Path

import pytest
import torch
from loader_fixtures import as_labelled, write_pairs

from tutorial_utils.loaders import Augmentation, StateMismatchError, labelled_loader, paired_loader

OPTIONS = {"batch_size": 4, "size": (8, 8), "threads": 2}
READINGS = {
    "files": {"source": "files"},
    "batches": {"source": "batches"},
    "samples": {"source": "samples", "workers": 0},
    "decoded": {"source": "decoded", "workers": 0},
    "files augmented": {"source": "files", "augment": Augmentation()},
    "samples augmented": {"source": "samples", "workers": 0, "augment": Augmentation()},
}
readings = pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("state") / "pairs", 31)


@pytest.fixture(autouse=True)
def small_buffer(monkeypatch):
    """Let file readers shuffle as over a large set: through a buffer that holds only a part of it."""
    monkeypatch.setattr("tutorial_utils.loader_readings.BUFFER", 5)


def stream(loader, epochs: int) -> list[torch.Tensor]:
    return [torch.cat(batch) for _ in range(epochs) for batch in loader]


def equal(one, other) -> bool:
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@readings
@pytest.mark.parametrize("policy", ["train", "evaluate"])
def test_goes_on_bit_for_bit_from_every_place(pairs, reading, policy):
    options = {**OPTIONS, **reading, "policy": policy, "shuffle": True}
    states, batches = [], []
    with paired_loader(pairs, **options) as loader:
        states.append(loader.state_dict())
        for _ in range(3):
            for batch in loader:
                batches.append(torch.cat(batch))
                states.append(loader.state_dict())
        steps = len(loader)
    for place in (0, 1, 3, steps - 1, steps, steps + 1, 2 * steps - 1, 2 * steps):
        with paired_loader(pairs, **options) as loader:
            loader.load_state_dict(states[place])
            # A state saved behind an epoch's last batch has an empty rest, as the loop it was saved in.
            rest = stream(loader, 3 - states[place]["epoch"])
            assert equal(rest, batches[place:])
            assert loader.epoch == 3


@readings
def test_goes_on_after_breaks_and_between_epochs(pairs, reading):
    options = {**OPTIONS, **reading}
    with paired_loader(pairs, **options) as loader:
        for _ in itertools.islice(loader, 2):
            pass
        stream(loader, 1)
        between = loader.state_dict()
        assert (between["epoch"], between["batch"]) == (2, 0)
        expected = stream(loader, 2)
        loader.load_state_dict(between)  # also in a loader that has gone on meanwhile
        assert equal(stream(loader, 2), expected)
        for _ in itertools.islice(loader, 3):
            pass
        broken = loader.state_dict()
        assert (broken["epoch"], broken["batch"]) == (4, 3)
    with paired_loader(pairs, **options) as loader:
        loader.load_state_dict(broken)
        assert loader.epoch == 4
        assert len(loader) == 7
        assert loader.state_dict() == broken
        assert len(stream(loader, 1)) == 4
        assert loader.epoch == 5


@readings
def test_a_resumed_epoch_may_be_left_and_saved_again(pairs, reading):
    options = {**OPTIONS, **reading}
    with paired_loader(pairs, **options) as loader:
        expected = stream(loader, 1)
    with paired_loader(pairs, **options) as loader:
        for _ in itertools.islice(loader, 2):
            pass
        state = loader.state_dict()
    with paired_loader(pairs, **options) as loader:
        loader.load_state_dict(state)
        got = [torch.cat(batch) for batch in itertools.islice(loader, 2)]
        again = loader.state_dict()
    with paired_loader(pairs, **options) as loader:
        loader.load_state_dict(again)
        assert equal(got + stream(loader, 1), expected[2:])


@readings
def test_each_shard_goes_on_for_itself(pairs, reading):
    for shard in range(2):
        options = {**OPTIONS, **reading, "shard": shard, "num_shards": 2}
        with paired_loader(pairs, **options) as loader:
            stream(loader, 2)
            for _ in itertools.islice(loader, 1):
                pass
            state = loader.state_dict()
        with paired_loader(pairs, **options) as twin:
            whole = stream(twin, 4)
        with paired_loader(pairs, **options) as resumed:
            resumed.load_state_dict(state)
            assert equal(stream(resumed, 2), whole[7:])


def test_labelled_loaders_go_on(pairs):
    labelled = as_labelled(pairs)
    with labelled_loader(labelled, **OPTIONS) as loader:
        for _ in itertools.islice(loader, 3):
            pass
        state = loader.state_dict()
    with labelled_loader(labelled, **OPTIONS) as loader:
        expected = [labels.tolist() for _, labels in loader][3:]
    with labelled_loader(labelled, **OPTIONS) as loader:
        loader.load_state_dict(state)
        assert [labels.tolist() for _, labels in loader] == expected


@readings
def test_a_state_is_plain_and_can_be_saved(pairs, reading):
    with paired_loader(pairs, **OPTIONS, **reading) as loader:
        next(iter(loader))
        state = loader.state_dict()
    assert pickle.loads(pickle.dumps(state)) == state
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    assert torch.load(file, weights_only=True) == state


def test_threads_size_and_dtype_may_change(pairs):
    with paired_loader(pairs, **OPTIONS, with_ids=True) as loader:
        expected = [ids.tolist() for _, _, ids in loader][1:]
    with paired_loader(pairs, **OPTIONS) as loader:
        next(iter(loader))
        state = loader.state_dict()
    changed = {"batch_size": 4, "size": (16, 24), "threads": 4, "prefetch": 3, "dtype": torch.float16}
    with paired_loader(pairs, **changed, with_ids=True) as loader:
        loader.load_state_dict(state)
        assert [ids.tolist() for _, _, ids in loader] == expected


@pytest.mark.parametrize("source", ["files", "batches"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch_size": 8}, "batch_size was 4, is 8 here"),
        ({"seed": 9}, "seed was 0, is 9 here"),
        ({"shuffle": False}, "shuffle was True, is False here"),
        ({"policy": "evaluate", "shuffle": True}, "policy was 'train', is 'evaluate' here"),
        ({"shard": 0, "num_shards": 2}, "num_shards was 1, is 2 here"),
        ({"source": "decoded", "workers": 0}, "source was '.*', is 'decoded' here"),
        ({"augment": Augmentation()}, "augment was None, is 'Augmentation"),
    ],
)
def test_other_settings_are_refused_with_both_values(pairs, source, change, message):
    with paired_loader(pairs, **OPTIONS, source=source) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with paired_loader(pairs, **{**OPTIONS, "source": source, **change}) as loader:
        with pytest.raises(StateMismatchError, match=message):
            loader.load_state_dict(state)
        assert loader.epoch == 0
        assert len(list(loader)) == len(loader)


def test_other_data_are_refused(pairs):
    with paired_loader(pairs, **OPTIONS) as loader:
        state = loader.state_dict()
    other = dataclasses.replace(pairs, names=tuple(f"x{name}" for name in pairs.names))
    message = f"fingerprint was '{pairs.fingerprint}', is '{other.fingerprint}' here"
    with paired_loader(other, **OPTIONS) as loader, pytest.raises(StateMismatchError, match=message):
        loader.load_state_dict(state)


def test_a_readers_state_is_for_its_own_shard_and_a_sources_for_any(pairs):
    for source, refuses in (("files", True), ("batches", False)):
        options = {**OPTIONS, "num_shards": 2, "source": source, "with_ids": True}
        with paired_loader(pairs, shard=0, **options) as loader:
            next(iter(loader))
            state = loader.state_dict()
        with paired_loader(pairs, shard=1, **options) as loader:
            if refuses:
                with pytest.raises(StateMismatchError, match="shard was 0, is 1 here"):
                    loader.load_state_dict(state)
            else:
                loader.load_state_dict(state)
                got = [i for _, _, ids in loader for i in ids.tolist()]
                assert got == loader.plan.order(0)[4:].tolist()


@pytest.mark.parametrize("state", [{}, {"format": 99}, None, "state"])
def test_something_else_is_refused(pairs, state):
    with paired_loader(pairs, **OPTIONS) as loader, pytest.raises(StateMismatchError, match="no state_dict"):
        loader.load_state_dict(state)


def test_the_place_of_a_closed_or_broken_reader_is_not_invented(tmp_path):
    own = write_pairs(tmp_path / "pairs", 31)
    loader = paired_loader(own, **OPTIONS)
    next(iter(loader))
    loader.close()
    with pytest.raises(RuntimeError, match=r"after batch 1 of epoch 0.*state went with it"):
        loader.state_dict()
    loader = paired_loader(own, **OPTIONS, source="batches", shuffle=False)
    for path in own.low[16:]:
        Path(path).unlink()
    with pytest.raises(RuntimeError, match=r"00016\.jpg"):
        list(loader)
    assert loader.state_dict()["batch"] in (1, 2, 3, 4)  # a source needs nothing but the number
