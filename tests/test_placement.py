"""Placement: one answer to where things run, from the environment, the launcher and the hardware."""

import os
from pathlib import Path

import pytest
import torch

from tutorial_utils import placement
from tutorial_utils.placement import choose


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TUTORIAL_DEVICE", raising=False)
    monkeypatch.delenv("LOCAL_RANK", raising=False)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> list[torch.device]:
    """Pretend that there are two GPUs; the list records what is synchronised."""
    waited = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"Pretended GPU {index}")
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    return waited


def assert_on_cpu(chosen: placement.Placement) -> None:
    assert not chosen.has_gpu
    assert chosen.torch_device == torch.device("cpu")
    assert chosen.dali_device_id is None
    assert (chosen.decoder_device, chosen.operator_device) == ("cpu", "cpu")
    assert chosen.name.startswith("CPU (")


def assert_on_gpu(chosen: placement.Placement, index: int) -> None:
    assert chosen.has_gpu
    assert chosen.torch_device == torch.device("cuda", index)
    assert chosen.dali_device_id == index
    assert (chosen.decoder_device, chosen.operator_device) == ("mixed", "gpu")
    assert chosen.name == f"Pretended GPU {index}"


@pytest.mark.parametrize("device", [None, "auto", "cpu", "CPU"])
def test_without_a_gpu_everything_is_on_the_cpu(no_gpu, device):
    assert_on_cpu(choose(device))


@pytest.mark.parametrize(
    ("device", "index"), [(None, 0), ("auto", 0), ("gpu", 0), ("gpu:1", 1), ("GPU:1", 1)]
)
def test_with_gpus_everything_is_on_one(two_gpus, device, index):
    assert_on_gpu(choose(device), index)


def test_the_environment_forces_the_cpu(two_gpus, monkeypatch):
    monkeypatch.setenv("TUTORIAL_DEVICE", "cpu")
    assert_on_cpu(choose())


def test_the_environment_names_a_gpu(two_gpus, monkeypatch):
    monkeypatch.setenv("TUTORIAL_DEVICE", "gpu:1")
    assert_on_gpu(choose(), 1)


def test_an_argument_outranks_the_environment(two_gpus, monkeypatch):
    monkeypatch.setenv("TUTORIAL_DEVICE", "cpu")
    assert_on_gpu(choose("gpu"), 0)


def test_an_empty_variable_means_auto(two_gpus, monkeypatch):
    monkeypatch.setenv("TUTORIAL_DEVICE", "")
    assert_on_gpu(choose(), 0)


def test_each_rank_of_torchrun_takes_its_own_gpu(two_gpus, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert_on_gpu(choose(), 1)
    assert_on_gpu(choose("gpu:0"), 0)  # a number that was asked for outranks the launcher's


def test_a_rank_without_a_gpu_of_its_own_is_told(two_gpus, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ValueError, match=r"LOCAL_RANK.*GPU 2 does not exist.*shows 2"):
        choose()


def test_a_local_rank_that_is_no_number_is_told(two_gpus, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "first")
    with pytest.raises(ValueError, match=r"LOCAL_RANK='first'"):
        choose()


@pytest.mark.parametrize(
    "wrong", ["cuda", "gpu:", "gpu:x", "gpu:-1", "cpu:0", "auto:1", ":", "gpu:1:2", "tpu", "gpu:²"]
)
def test_wrong_values_are_named_with_the_choices(two_gpus, monkeypatch, wrong):
    with pytest.raises(ValueError, match="choose 'auto', 'cpu', 'gpu' or 'gpu:N'") as told:
        choose(wrong)
    assert str(told.value).startswith(f"device={wrong!r}")
    monkeypatch.setenv("TUTORIAL_DEVICE", wrong)
    with pytest.raises(ValueError, match="choose 'auto'") as told:
        choose()
    assert str(told.value).startswith(f"TUTORIAL_DEVICE={wrong!r}")


def test_a_gpu_that_does_not_exist(two_gpus):
    with pytest.raises(ValueError, match="device: GPU 2 does not exist; this machine shows 2"):
        choose("gpu:2")


def test_a_gpu_where_there_is_none_points_to_the_doctor(no_gpu):
    with pytest.raises(RuntimeError, match=r"python -m tutorial_utils\.doctor"):
        choose("gpu")


def test_waiting_for_the_device(two_gpus):
    choose("cpu").synchronize()
    assert two_gpus == []
    choose("gpu:1").synchronize()
    assert two_gpus == [torch.device("cuda", 1)]


def test_the_processor_has_a_name():
    assert placement.cpu_name().strip()


# Cores: the affinity mask, cut to the quota of the container.


@pytest.fixture
def group(tmp_path: Path) -> Path:
    return tmp_path


@pytest.mark.parametrize(
    ("content", "quota"),
    [("max 100000", None), ("200000 100000", 2.0), ("250000 100000", 2.5), ("50000 100000", 0.5)],
)
def test_quota_of_cgroup_2(group, content, quota):
    (group / "cpu.max").write_text(content + "\n")
    assert placement._quota(group) == quota


@pytest.mark.parametrize(("quota", "period", "expected"), [("-1", "100000", None), ("300000", "100000", 3.0)])
def test_quota_of_cgroup_1(group, quota, period, expected):
    (group / "cpu").mkdir()
    (group / "cpu/cpu.cfs_quota_us").write_text(quota + "\n")
    (group / "cpu/cpu.cfs_period_us").write_text(period + "\n")
    assert placement._quota(group) == expected


def test_no_quota_without_control_groups(group):
    assert placement._quota(group) is None


@pytest.mark.parametrize("content", ["", "max", "nonsense here", "100000 0"])
def test_an_unreadable_quota_is_no_quota(group, content):
    (group / "cpu.max").write_text(content)
    assert placement._quota(group) is None


@pytest.mark.parametrize(
    ("mask", "quota", "cores"),
    [(8, None, 8), (8, 2.0, 2), (8, 2.5, 2), (8, 0.5, 1), (2, 16.0, 2), (1, None, 1)],
)
def test_cores_are_the_smaller_of_mask_and_quota(monkeypatch, mask, quota, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(mask)))
    monkeypatch.setattr(placement, "_quota", lambda group: quota)
    assert placement.cores() == cores


def test_cores_on_this_machine_are_those_the_scheduler_grants():
    allowed = os.sched_getaffinity(0)
    assert 1 <= placement.cores() <= len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert placement.cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
