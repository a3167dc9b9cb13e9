"""The ledger tells exactly-once from everything else, and catches DALI losing samples for real."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from nvidia.dali import fn, pipeline_def
from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

from tutorial_utils.ledger import MISSING_COLOUR, MOST_COLUMNS, Ledger

SAMPLES = 103
RED = [int(MISSING_COLOUR[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def ledger_of(total, *records):
    """Make a ledger from (epoch, shard, ids)."""
    ledger = Ledger(total)
    for epoch, shard, ids in records:
        ledger.record(ids, epoch=epoch, shard=shard)
    return ledger


# What is asked of it


def test_a_faulty_epoch_is_told_apart_from_a_good_one():
    ledger = ledger_of(5, (0, 0, [4, 0]), (0, 1, [1, 3, 2]), (1, 0, [0, 0, 1]), (1, 1, [1, 1, 4]))
    assert (ledger.epochs, ledger.shards) == ((0, 1), (0, 1))
    assert (ledger.coverage(0), ledger.missing(0), ledger.duplicates(0)) == (1, (), {})
    assert (ledger.coverage(1), ledger.missing(1), ledger.duplicates(1)) == (3 / 5, (2, 3), {0: 2, 1: 3})
    assert ledger.times_seen(1).tolist() == [2, 3, 0, 0, 1]
    assert ledger.times_seen(1, shard=1).tolist() == [0, 2, 0, 0, 1]
    assert ledger.verdict(0) == "each sample once"
    assert ledger.verdict(1) == "2 missing, 2 seen more than once"
    assert not ledger.exactly_once


def test_ids_are_kept_in_the_order_they_arrived_batch_after_batch():
    ledger = ledger_of(9, (0, 2, [7, 1]), (0, 2, [0]), (0, 1, [5]))
    assert ledger.ids(0, 2).tolist() == [7, 1, 0]
    assert ledger.ids(0, 0).tolist() == []


def test_an_epoch_that_brought_nothing_is_no_good_epoch():
    ledger = ledger_of(2, (0, 0, [0, 1]), (1, 0, []))
    assert ledger.verdict(1) == "nothing was seen"
    assert not ledger.exactly_once


def test_an_epoch_between_two_others_that_nobody_recorded_is_shown():
    ledger = ledger_of(1, (3, 0, [0]), (5, 0, [0]))
    assert ledger.epochs == (3, 4, 5)
    assert "nothing was seen" in str(ledger)
    assert not ledger.exactly_once


def test_an_empty_ledger_claims_nothing():
    ledger = Ledger(3)
    assert ledger.epochs == ledger.shards == ()
    assert not ledger.exactly_once
    assert ledger.missing(0) == (0, 1, 2)
    with pytest.raises(ValueError, match="empty"):
        ledger.figure()


@given(
    total=st.integers(1, 203), shards=st.integers(1, 4), batch=st.integers(1, 16), seed=st.integers(0, 2**32)
)
def test_a_permutation_dealt_to_shards_is_once_each_and_any_change_is_noticed(total, shards, batch, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(total)
    ledger = Ledger(total)
    for shard in range(shards):
        own = order[shard::shards]
        for start in range(0, len(own), batch):
            ledger.record(own[start : start + batch], epoch=0, shard=shard)
    assert ledger.exactly_once
    again = int(rng.integers(total))
    ledger.record(again, epoch=0, shard=0)
    assert ledger.duplicates(0) == {again: 2}
    assert not ledger.exactly_once


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.lists(st.integers(0, 19), max_size=9))))
def test_its_figures_are_those_of_counting_by_hand(records):
    ledger = ledger_of(20, *records)
    for epoch in ledger.epochs:
        seen = [each for other, _, ids in records if other == epoch for each in ids]
        assert ledger.coverage(epoch) == len(set(seen)) / 20
        assert ledger.missing(epoch) == tuple(sorted(set(range(20)) - set(seen)))
        assert ledger.duplicates(epoch) == {
            each: seen.count(each) for each in sorted(set(seen)) if seen.count(each) > 1
        }


# What it takes


@pytest.mark.parametrize(
    "ids",
    [
        [1, 2],
        (1, 2),
        range(1, 3),
        *(np.array([1, 2], kind) for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint64")),
        np.array([[1], [2]], np.int32),
        *(torch.tensor([1, 2], dtype=kind) for kind in (torch.uint8, torch.int16, torch.int32, torch.int64)),
        torch.tensor([[1], [2]], dtype=torch.int32),
        pytest.param(
            torch.tensor([1, 2]).cuda() if torch.cuda.is_available() else None,
            marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
        ),
    ],
)
def test_ids_of_every_integer_kind_are_the_same_ids(ids):
    assert ledger_of(3, (0, 0, ids)).ids(0, 0).tolist() == [1, 2]


@pytest.mark.parametrize("one", [2, np.int32(2), np.array(2), torch.tensor(2)])
def test_a_single_id_is_a_batch_of_one(one):
    assert ledger_of(3, (0, 0, one)).ids(0, 0).tolist() == [2]


def test_what_was_recorded_does_not_change_with_the_loaders_buffer():
    buffer = np.array([0, 1])
    ledger = ledger_of(4, (0, 0, buffer))
    buffer[:] = 3
    assert ledger.ids(0, 0).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("ids", "kind", "message"),
    [
        ([0, 5], ValueError, r"epoch 7, shard 1: id 5 is outside of 0\.\.4"),
        ([-1], ValueError, "id -1 is outside"),
        (np.array([2**64 - 1], np.uint64), ValueError, "id 18446744073709551615 is outside"),
        ([0.0, 1.0], TypeError, "float64"),
        ([True], TypeError, "bool"),
        (["0"], TypeError, "integers"),
        (torch.tensor([0.5]), TypeError, "float32"),
        (np.zeros((2, 2), int), ValueError, r"\(B, 1\); got \(2, 2\)"),
        (np.zeros((1, 1, 1), int), ValueError, r"got \(1, 1, 1\)"),
    ],
)
def test_wrong_ids_are_refused_and_leave_no_trace(ids, kind, message):
    ledger = Ledger(5)
    with pytest.raises(kind, match=message):
        ledger.record(ids, epoch=7, shard=1)
    assert ledger.epochs == ()


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [({"epoch": -1}, ValueError), ({"epoch": 0, "shard": -2}, ValueError), ({"epoch": 0.5}, TypeError)],
)
def test_wrong_epochs_and_shards_are_refused_by_name(wrong, kind):
    with pytest.raises(kind, match=list(wrong)[-1]):
        Ledger(5).record([0], **wrong)


@pytest.mark.parametrize(("total", "kind"), [(0, ValueError), (2.0, TypeError), ("103", TypeError)])
def test_a_wrong_total_is_refused(total, kind):
    with pytest.raises(kind, match="total"):
        Ledger(total)


# Several processes


def test_ledgers_of_several_processes_become_one_whatever_their_order():
    parts = [ledger_of(6, (0, 0, [5, 4]), (1, 0, [0, 1, 2])), ledger_of(6, (0, 1, [0, 1, 2, 3]))]
    received = [Ledger.from_json(part.to_json()) for part in parts]
    merged = Ledger.merge(received)
    assert merged.to_json() == Ledger.merge(reversed(received)).to_json()
    assert merged.verdict(0) == "each sample once"
    assert merged.missing(1) == (3, 4, 5)
    assert parts[0].shards == (0,)  # the parts are as they were


def test_a_run_and_its_resumption_add_up_within_the_epoch():
    merged = Ledger.merge([ledger_of(4, (0, 0, [3, 1])), ledger_of(4, (0, 0, [0, 2]))])
    assert merged.exactly_once
    assert merged.ids(0, 0).tolist() == [3, 1, 0, 2]


def test_a_merged_ledger_and_its_parts_do_not_write_into_each_other():
    part = ledger_of(4, (0, 0, [3, 1]))
    merged = Ledger.merge([part])
    merged.record([0, 2], epoch=0, shard=0)
    assert part.missing(0) == (0, 2)


@pytest.mark.parametrize("ledgers", [[], [Ledger(3), Ledger(4)]])
def test_ledgers_that_do_not_belong_together_are_refused(ledgers):
    with pytest.raises(ValueError, match="one data set"):
        Ledger.merge(ledgers)


def test_json_keeps_everything_even_a_shard_that_saw_nothing():
    ledger = ledger_of(300, (2, 3, np.arange(256, 300)), (0, 1, []), (2, 0, [7, 7]))
    copy = Ledger.from_json(ledger.to_json())
    assert copy.to_json() == ledger.to_json()
    assert (copy.epochs, copy.shards) == ((0, 1, 2), (0, 1, 3))
    assert copy.ids(2, 3).tolist() == list(range(256, 300))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-5],
        lambda text: "[]",
        lambda text: "",
        lambda text: json.dumps(json.loads(text) | {"schema": 99}),
        lambda text: json.dumps(json.loads(text) | {"total": 1}),
        lambda text: json.dumps({"schema": 1, "total": 3}),
    ],
)
def test_text_that_is_no_whole_ledger_is_refused(damage):
    with pytest.raises(ValueError, match="no whole ledger"):
        Ledger.from_json(damage(ledger_of(3, (0, 0, [0, 2])).to_json()))


# Table and picture


def test_text_and_html_show_the_same_figures():
    ledger = ledger_of(4000, (0, 0, range(2000)), (0, 1, range(2000, 4000)), (1, 1, [0, 0, 1]))
    header, good, bad = ledger.rows()
    assert header == ("epoch", "shard 0", "shard 1", "seen", "unique", "missing", "duplicates", "verdict")
    assert good == ("0", "2,000", "2,000", "4,000", "4,000", "0", "0", "each sample once")
    assert bad == ("1", "0", "3", "3", "2", "3,998", "1", "3,998 missing, 1 seen more than once")
    text, html = str(ledger), ledger._repr_html_()
    for row in (header, good, bad):
        assert any(line.split("  ")[-1] == row[-1] and row[-2] in line for line in text.splitlines())
        assert all(f">{cell}</t" in html for cell in row)
    assert html.count("<tr") == html.count("</tr>") == 3


def picture_of(ledger):
    """Give the rows of the picture by epoch: (epochs, rows an epoch, columns, 3)."""
    (image,) = ledger.figure().axes[0].get_images()
    pixels = np.asarray(image.get_array())
    return pixels.reshape(len(ledger.epochs), -1, *pixels.shape[1:])


def test_the_picture_shows_shards_what_is_missing_and_what_came_twice():
    ledger = ledger_of(6, (0, 0, [0, 1, 2]), (0, 1, [3, 4, 5]), (1, 0, [0, 0, 1]), (1, 1, [4, 5]))
    first, second = picture_of(ledger)
    body = first[0]
    assert (body[:3] == body[0]).all()
    assert (body[3:] == body[3]).all()
    assert not np.array_equal(body[0], body[3])
    red = (second == RED).all(axis=2)
    assert red[:-1].all(axis=0).tolist() == [False, False, True, True, False, False]
    assert not (first == RED).all(axis=2).any()
    black = (second == 0).all(axis=2).any(axis=0)
    assert black.tolist() == [True, False, False, False, False, False]
    assert np.array_equal(second[0, 0], body[0])  # seen twice by the same shard: its colour above the mark


def test_one_sample_missing_and_one_repeated_among_150_000_are_still_seen():
    ids = np.arange(150_000)
    ids[70_000] = 20_000
    (epoch,) = picture_of(ledger_of(150_000, (0, 0, ids)))
    assert epoch.shape[1] == MOST_COLUMNS
    red = (epoch == RED).all(axis=2).any(axis=0)
    black = (epoch == 0).all(axis=2).any(axis=0)
    bins = 150_000 / MOST_COLUMNS
    assert np.flatnonzero(red).tolist() == [int(70_000 / bins)]
    assert np.flatnonzero(black).tolist() == [int(20_000 / bins)]


def test_a_bin_half_missing_is_half_red():
    ids = [each for each in range(2 * MOST_COLUMNS) if each != 1]
    (epoch,) = picture_of(ledger_of(2 * MOST_COLUMNS, (0, 0, ids)))
    assert (epoch[:-1, 0] == RED).all(axis=1).mean() == 0.5


@pytest.mark.parametrize("shards", [1, 6, 7, 64])
def test_the_legend_names_shards_and_marks_whatever_their_number(shards):
    ledger = ledger_of(shards, *((0, each, [each]) for each in range(shards)))
    figure = ledger.figure()
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names[0] == "shard 0"
    assert names[-3:] == [f"shard {shards - 1}", "missing", "seen more than once"]
    assert len(names) <= 8
    assert len(np.unique(picture_of(ledger)[0][0], axis=0)) == shards  # each shard its own colour


def test_beside_each_epoch_stands_how_many_it_showed():
    ledger = ledger_of(3, (4, 0, [0, 1, 2]), (5, 0, [0, 0, 1]))
    figure = ledger.figure()
    figure.canvas.draw()
    labels = figure.axes[0].child_axes[0].get_yticklabels()
    assert [label.get_text() for label in labels] == ["3", "2"]
    assert [label.get_color() for label in labels] == ["black", MISSING_COLOUR]


# DALI


@pipeline_def(batch_size=8, num_threads=1, device_id=None, seed=0)
def numbers(files, shard, shards, pad):
    _, ids = fn.readers.file(
        files=files,
        labels=list(range(SAMPLES)),
        random_shuffle=True,
        shard_id=shard,
        num_shards=shards,
        pad_last_batch=pad,
        name="reader",
    )
    return ids


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    paths = [folder / f"{number:03}.bin" for number in range(SAMPLES)]
    for path in paths:
        path.write_bytes(b"x")
    return list(map(str, paths))


def follow(files, shards, pad, epochs=20):
    """Keep a ledger of each shard's process and merge them, as lesson 07 does."""
    ledgers = []
    for shard in range(shards):
        iterator = DALIGenericIterator(
            numbers(files, shard, shards, pad),
            ["ids"],
            reader_name="reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        )
        ledger = Ledger(SAMPLES)
        for epoch in range(epochs):
            for (batch,) in iterator:
                ledger.record(batch["ids"], epoch=epoch, shard=shard)
        ledgers.append(ledger)
    return Ledger.merge(ledgers)


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_partial_batches_without_padding_lose_samples_while_the_count_stays_right(files, shards):
    ledger = follow(files, shards, pad=False)
    assert [ledger.times_seen(epoch).sum() for epoch in ledger.epochs] == [SAMPLES] * 20
    assert ledger.verdict(0) == "each sample once"  # the first epoch looks well: it takes a ledger to see it
    assert all(ledger.missing(epoch) for epoch in range(1, 20))
    assert all(
        len(ledger.missing(each)) == sum(ledger.duplicates(each).values()) - len(ledger.duplicates(each))
        for each in ledger.epochs
    )


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_with_padding_every_epoch_shows_each_sample_once(files, shards):
    ledger = follow(files, shards, pad=True)
    assert len(ledger.epochs) == 20
    assert ledger.exactly_once
    orders = {tuple(ledger.ids(epoch, 0)) for epoch in ledger.epochs}
    assert len(orders) == 20  # and each epoch is shuffled anew
