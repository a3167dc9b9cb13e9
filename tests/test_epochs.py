"""The order of an epoch: every sample once, equal steps, the same for the same seed."""

import numpy as np
import pytest

from tutorial_utils.epochs import EpochPlan

SHARDS = range(1, 5)


def shards_of(samples: int, batch_size: int, num_shards: int, **options) -> list[EpochPlan]:
    return [
        EpochPlan(samples, batch_size, shard=i, num_shards=num_shards, **options) for i in range(num_shards)
    ]


@pytest.mark.parametrize("num_shards", SHARDS)
def test_evaluation_gives_each_sample_once_for_every_count_and_batch_size(num_shards):
    for samples in range(1, 204):
        for batch_size in range(1, 17):
            plans = shards_of(samples, batch_size, num_shards, policy="evaluate")
            orders = [plan.order(3) for plan in plans]
            assert np.array_equal(np.sort(np.concatenate(orders)), np.arange(samples))
            for plan, order in zip(plans, orders, strict=True):
                sizes = [plan.valid(step) for step in range(plan.steps)]
                assert sum(sizes) == plan.count == len(order)
                assert all(size == batch_size for size in sizes[:-1])
                assert all(1 <= size <= batch_size for size in sizes)


@pytest.mark.parametrize("num_shards", SHARDS)
def test_training_gives_equal_full_batches_without_repeats_for_every_count_and_batch_size(num_shards):
    for samples in range(1, 204):
        for batch_size in range(1, 17):
            if samples < batch_size * num_shards:
                with pytest.raises(ValueError, match="batch_size"):
                    shards_of(samples, batch_size, num_shards)
                continue
            plans = shards_of(samples, batch_size, num_shards)
            assert len({plan.steps for plan in plans}) == 1
            seen = np.concatenate([plan.order(5) for plan in plans])
            assert len(seen) == len(np.unique(seen)) == num_shards * plans[0].steps * batch_size
            assert {plan.valid(step) for plan in plans for step in (0, plan.steps - 1)} == {batch_size}
            # Nothing is left out that another full step of every shard could have taken.
            assert samples // num_shards - plans[0].count < batch_size


def test_what_training_leaves_out_changes_from_epoch_to_epoch():
    plan = EpochPlan(103, 8)
    left_out = [frozenset(range(103)) - frozenset(plan.order(epoch)) for epoch in range(20)]
    assert len(set(left_out)) > 15


def test_the_same_seed_gives_the_same_order_and_another_epoch_or_seed_another():
    plan, twin = EpochPlan(103, 8, seed=4), EpochPlan(103, 8, seed=4)
    assert [plan.order(e).tolist() for e in range(5)] == [twin.order(e).tolist() for e in range(5)]
    others = [plan.order(0), plan.order(1), EpochPlan(103, 8, seed=5).order(0)]
    assert len({tuple(order) for order in others}) == 3


def test_unshuffled_epochs_come_as_listed():
    for epoch in range(3):
        assert EpochPlan(10, 3, "evaluate", shuffle=False).order(epoch).tolist() == list(range(10))


def test_throws_belong_to_the_sample_whatever_the_shard():
    one, two = shards_of(20, 4, 2)
    assert np.array_equal(one.throws(3), two.throws(3))
    assert not np.array_equal(one.throws(3), one.throws(4))
    assert one.throws(0).shape == (20, 6)
    assert one.throws(0).min() >= 0
    assert one.throws(0).max() < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, r"batch_size=0: give a whole number from 1 on"),
        ({"batch_size": 2.5}, r"batch_size=2\.5"),
        ({"batch_size": True}, r"batch_size=True"),
        ({"samples": 0}, r"samples=0"),
        ({"num_shards": 0}, r"num_shards=0"),
        ({"num_shards": 4, "shard": 5}, r"shard=5 of num_shards=4: choose 0 to 3"),
        ({"num_shards": 4, "shard": 4}, r"shard=4 of num_shards=4: choose 0 to 3"),
        ({"shard": -1}, r"shard=-1: give a whole number from 0 on"),
        ({"seed": -3}, r"seed=-3"),
        ({"policy": "test"}, r"policy='test': choose 'train' or 'evaluate'"),
        ({"shuffle": "yes"}, r"shuffle='yes': choose True or False"),
        (
            {"batch_size": 30, "num_shards": 4},
            r"needs at least 120 samples, there are 100; choose batch_size=25",
        ),
    ],
)
def test_wrong_settings_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        EpochPlan(**{"samples": 100, "batch_size": 4, **options})
