"""What a figure was measured on: hardware, versions, commit."""

import dataclasses
import json
import subprocess

import pynvml
import pytest
from timing_samples import gpu_machine, machine

from tutorial_utils import machine as machine_module
from tutorial_utils.machine import Machine


class TestMachine:
    def test_this_machine_describes_itself(self):
        found = machine_module.describe()
        assert 1 <= found.cores <= found.cores_installed
        assert found.memory_bytes > 2**28
        assert "torch" in found.libraries
        assert Machine.from_dict(json.loads(json.dumps(dataclasses.asdict(found)))) == found

    def test_names(self):
        assert machine().name == "Testium 3000, 2 cores, no GPU"
        h200 = gpu_machine().gpus[0]
        assert machine(gpus=(h200,)).name == "NVIDIA H200"
        assert machine(gpus=(h200, h200)).name == "2x NVIDIA H200"

    def test_gpus_as_the_driver_describes_them(self, monkeypatch):
        def no_power(handle):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

        closed = []
        answers = {
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: closed.append(True),
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlSystemGetDriverVersion": lambda: "570.1",
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetName": lambda handle: f"GPU {handle}",
            "nvmlDeviceGetMemoryInfo": lambda handle: type("Info", (), {"total": 2**34}),
            "nvmlDeviceGetEnforcedPowerLimit": lambda handle: no_power(handle) if handle else 250_000,
        }
        for name, answer in answers.items():
            monkeypatch.setattr(pynvml, name, answer)
        found = machine_module.describe()
        assert [str(gpu) for gpu in found.gpus] == ["GPU 0, 16 GiB, 250 W", "GPU 1, 16 GiB"]
        assert found.driver == "570.1"
        assert closed == [True]

    def test_identity_hides_the_host_name_and_tells_machines_apart(self, monkeypatch):
        names = []
        for host in ("alpha", "beta", "alpha"):
            monkeypatch.setattr(machine_module.platform, "node", lambda host=host: host)
            machine_module.machine_identity.cache_clear()
            names.append(machine_module.machine_identity())
        machine_module.machine_identity.cache_clear()
        assert names[0] == names[2] != names[1]
        assert "alpha" not in names[0]

    def test_a_kernel_that_tells_no_boot_mark(self, tmp_path):
        assert machine_module._boot_mark(tmp_path / "none") == ""


class TestCommit:
    @pytest.fixture
    def checkout(self, tmp_path):
        def git(*arguments):
            identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
            subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True, capture_output=True)

        git("init")
        (tmp_path / "file").write_text("1")
        git("add", "file")
        git("commit", "-m", "first")
        return tmp_path

    def test_clean(self, checkout):
        (checkout / "untracked").write_text("x")
        assert len(machine_module.commit(checkout)) == 12
        assert int(machine_module.commit(checkout), 16) >= 0

    def test_changed(self, checkout):
        clean = machine_module.commit(checkout)
        (checkout / "file").write_text("2")
        assert machine_module.commit(checkout) == f"{clean}+changes"

    def test_a_folder_inside_another_project_borrows_no_commit(self, checkout):
        inside = checkout / "site-packages"
        inside.mkdir()
        assert machine_module.commit(inside) == ""

    def test_no_checkout(self, tmp_path):
        assert machine_module.commit(tmp_path) == ""

    def test_no_git(self, checkout, monkeypatch):
        monkeypatch.setenv("PATH", "/nowhere")
        assert machine_module.commit(checkout) == ""
