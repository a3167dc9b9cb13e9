"""The doctor on GPU machines of every kind: each check's good, bad and absent case."""

import ctypes

import pynvml
import pytest
import torch

from tutorial_utils import doctor_gpu_checks
from tutorial_utils.diagnosis import Line

pytest_plugins = ["doctor_fixtures"]


class TestDriver:
    def test_new_enough(self, gpu):
        assert doctor_gpu_checks.driver() == Line("NVIDIA driver", "ok", "570.86.15, 1 GPU")

    @pytest.mark.parametrize(
        ("driver", "cuda", "state"),
        [
            ("525.60", "12.8", "ok"),
            ("520.61", "12.8", "problem"),
            ("580.65", "13.0", "ok"),
            ("570.86", "13.0", "problem"),
            ("470.1", None, "ok"),
        ],
    )
    def test_against_the_cuda_family(self, gpu, monkeypatch, driver, cuda, state):
        gpu.driver = driver
        monkeypatch.setattr(torch.version, "cuda", cuda)
        line = doctor_gpu_checks.driver()
        assert line.state == state
        assert ("update the driver" in line.remedy) == (state == "problem")

    def test_driver_without_gpu(self, gpu):
        gpu.count = 0
        assert doctor_gpu_checks.driver().state == "not here"

    def test_nothing_there(self, no_gpu, tmp_path):
        assert doctor_gpu_checks.driver(tmp_path, tmp_path).state == "not here"

    def test_a_container_with_the_device_but_not_the_libraries(self, no_gpu, tmp_path):
        (tmp_path / "nvidiactl").touch()
        line = doctor_gpu_checks.driver(tmp_path, tmp_path)
        assert (line.state, "NVIDIA_DRIVER_CAPABILITIES=all" in line.remedy) == ("warning", True)

    @pytest.mark.parametrize(
        ("vendor", "kind", "state"),
        [
            ("0x10de\n", "0x030200\n", "warning"),
            ("0x10de\n", "0x040300\n", "not here"),
            ("0x8086\n", "0x030000\n", "not here"),
        ],
        ids=["NVIDIA GPU", "NVIDIA sound", "Intel GPU"],
    )
    def test_a_gpu_without_a_driver(self, no_gpu, tmp_path, vendor, kind, state):
        device = tmp_path / "0000:01:00.0"
        device.mkdir()
        (device / "vendor").write_text(vendor)
        (device / "class").write_text(kind)
        (tmp_path / "unreadable").mkdir()
        (tmp_path / "unreadable" / "vendor").write_text("0x10de")
        assert doctor_gpu_checks.driver(tmp_path / "dev", tmp_path).state == state

    @pytest.mark.parametrize(
        ("error", "word"),
        [
            (pynvml.NVMLError_LibRmVersionMismatch, "restart the machine"),
            (pynvml.NVMLError_Unknown, "nvidia-smi"),
        ],
    )
    def test_a_driver_that_does_not_answer(self, monkeypatch, error, word):
        def init():
            raise error()

        monkeypatch.setattr(pynvml, "nvmlInit", init)
        line = doctor_gpu_checks.driver()
        assert (line.state, word in line.remedy) == ("problem", True)

    def test_no_pynvml(self, packages, break_import):
        break_import("pynvml")
        line = doctor_gpu_checks.driver()
        assert (line.state, line.remedy) == ("problem", "pip install nvidia-ml-py")


class TestCudaFamily:
    def test_one_family(self, gpu, packages):
        line = doctor_gpu_checks.cuda_family()
        assert line == Line("CUDA family", "ok", "PyTorch CUDA 12, DALI CUDA 12, driver CUDA 12.8")

    def test_without_a_gpu_the_driver_is_not_asked(self, no_gpu, packages):
        assert doctor_gpu_checks.cuda_family().state == "ok"

    def test_no_dali(self, gpu, packages):
        del packages["nvidia-dali-cuda120"]
        line = doctor_gpu_checks.cuda_family()
        assert line.state == "problem"
        assert line.remedy == "pip install -c constraints.txt -e '.[cuda12,lab]'"

    def test_both_dalis(self, gpu, packages):
        packages["nvidia-dali-cuda130"] = "2.4.0"
        line = doctor_gpu_checks.cuda_family()
        assert line.state == "problem"
        assert line.remedy == (
            "pip uninstall -y nvidia-dali-cuda120 nvidia-dali-cuda130 && "
            "pip install --force-reinstall --no-deps -c constraints.txt nvidia-dali-cuda120"
        )

    def test_dali_of_another_family_than_pytorch(self, gpu, packages, monkeypatch):
        monkeypatch.setattr(torch.version, "cuda", "13.0")
        line = doctor_gpu_checks.cuda_family()
        assert line.state == "problem"
        assert line.remedy == (
            "pip uninstall -y nvidia-dali-cuda120 && pip install -c constraints-cuda13.txt -e '.[cuda13,lab]'"
        )

    def test_pytorch_without_cuda_on_a_gpu(self, gpu, packages, monkeypatch):
        monkeypatch.setattr(torch.version, "cuda", None)
        line = doctor_gpu_checks.cuda_family()
        assert (line.state, "pip uninstall -y torch torchvision && " in line.remedy) == ("problem", True)

    def test_pytorch_without_cuda_on_a_cpu(self, no_gpu, packages, monkeypatch):
        monkeypatch.setattr(torch.version, "cuda", None)
        assert doctor_gpu_checks.cuda_family().state == "ok"

    def test_a_driver_of_an_older_family(self, gpu, packages):
        gpu.cuda = 11080
        line = doctor_gpu_checks.cuda_family()
        assert line.state == "problem"
        assert "driver CUDA 11.8" in line.found
        assert "update the driver to 525" in line.remedy

    def test_broken_torch(self, no_gpu, packages, break_import):
        break_import("torch")
        assert doctor_gpu_checks.torch_family() is None


class TestOnTheGpu:
    def test_torch_computes(self, gpu, monkeypatch):
        arange = torch.arange
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")
        monkeypatch.setattr(
            torch, "arange", lambda *arguments, device, **options: arange(*arguments, **options)
        )
        monkeypatch.delenv("TUTORIAL_DEVICE", raising=False)
        assert doctor_gpu_checks.torch_runs() == Line("PyTorch on the GPU", "ok", "NVIDIA H200 computes")
        monkeypatch.setenv("TUTORIAL_DEVICE", "cpu")
        line = doctor_gpu_checks.torch_runs()
        assert (line.state, line.remedy.startswith("unset TUTORIAL_DEVICE")) == ("warning", True)

    def test_torch_fails(self, gpu, monkeypatch):
        def fail(*arguments, **options):
            raise RuntimeError("CUDA error: no kernel image is available")

        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch, "arange", fail)
        line = doctor_gpu_checks.torch_runs()
        assert (line.state, "no kernel image" in line.found) == ("problem", True)

    @pytest.mark.parametrize(
        ("visible", "state"),
        [(None, "problem"), ("", "warning"), ("-1", "warning"), ("0", "problem"), ("GPU-5ebe", "problem")],
    )
    def test_torch_finds_none(self, gpu, monkeypatch, visible, state):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        line = doctor_gpu_checks.torch_runs()
        assert line.state == state
        assert ("unset CUDA_VISIBLE_DEVICES" in line.remedy) == (state == "warning")

    def test_dali(self, gpu, monkeypatch):
        asked = []
        monkeypatch.setattr(
            doctor_gpu_checks, "decode_with_dali", lambda device_id: asked.append(device_id) or "2.4"
        )
        assert doctor_gpu_checks.dali_runs().state == "ok"
        assert asked == [0]

    @pytest.mark.skipif(torch.cuda.is_available(), reason="the pipeline works where there is a GPU")
    def test_dali_fails_for_real_without_a_gpu(self, gpu):
        line = doctor_gpu_checks.dali_runs()
        assert (line.state, "TUTORIAL_DEVICE=cpu" in line.remedy) == ("problem", True)

    @pytest.mark.parametrize(
        ("refused", "state", "word"),
        [
            (set(), "ok", "power can be read"),
            ({"DecoderUtilization", "PowerUsage"}, "warning", "video decoder, power:"),
        ],
    )
    def test_nvml_readings(self, gpu, refused, state, word):
        gpu.refused = refused
        line = doctor_gpu_checks.nvml_readings()
        assert line.state == state
        assert word in line.found

    @pytest.mark.parametrize(("refused", "state"), [(set(), "ok"), ({"JpgUtilization"}, "not here")])
    def test_jpeg_engine(self, gpu, refused, state):
        gpu.refused = refused
        assert doctor_gpu_checks.jpeg_engine().state == state

    @pytest.mark.parametrize(("there", "state"), [(True, "ok"), (False, "warning")])
    def test_video_decoder(self, gpu, monkeypatch, there, state):
        def load(name):
            assert name == "libnvcuvid.so.1"
            if not there:
                raise OSError("cannot open shared object file")

        monkeypatch.setattr(ctypes, "CDLL", load)
        line = doctor_gpu_checks.video_decoder()
        assert line.state == state
        assert ("NVIDIA_DRIVER_CAPABILITIES=all" in line.remedy) == (not there)

    @pytest.mark.parametrize(
        "name", ["torch_runs", "dali_runs", "nvml_readings", "video_decoder", "jpeg_engine"]
    )
    def test_none_of_it_without_a_gpu(self, no_gpu, name):
        line = getattr(doctor_gpu_checks, name)()
        assert (line.state, line.remedy) == ("not here", "")


class TestNvmlDistribution:
    def test_right(self, packages):
        assert doctor_gpu_checks.nvml_distribution().state == "ok"

    def test_deprecated_one_beside_it(self, packages):
        packages["pynvml"] = "11.5"
        line = doctor_gpu_checks.nvml_distribution()
        assert line.state == "warning"
        assert line.remedy == (
            "pip uninstall -y pynvml && pip install --force-reinstall --no-deps nvidia-ml-py"
        )

    def test_missing(self, packages):
        del packages["nvidia-ml-py"]
        assert doctor_gpu_checks.nvml_distribution().state == "problem"
