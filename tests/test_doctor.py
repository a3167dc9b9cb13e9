"""The doctor on machines of every kind: each check's good, bad and absent case, and checks that explode."""

import os
import platform
import resource
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from jupyter_client import kernelspec

from tutorial_utils import distributions, doctor, doctor_checks, placement
from tutorial_utils.diagnosis import WITHOUT_GPU, Diagnosis, Line
from tutorial_utils.doctor import check

pytest_plugins = ["doctor_fixtures"]

GIB = 2**30
Usage = namedtuple("Usage", "total used free")


class TestPython:
    def test_this_one(self):
        assert doctor_checks.python().state == "ok"

    def test_too_old(self, monkeypatch):
        monkeypatch.setattr(sys, "version_info", (3, 10, 2))
        line = doctor_checks.python()
        assert (line.state, "3.11 or newer" in line.remedy) == ("problem", True)

    def test_not_linux(self, monkeypatch):
        monkeypatch.setattr(platform, "system", lambda: "Darwin")
        line = doctor_checks.python()
        assert (line.state, "WSL 2" in line.remedy) == ("problem", True)


class TestJupyter:
    def test_installed(self, packages):
        assert doctor_checks.jupyter() == Line("Jupyter", "ok", "JupyterLab 4.6, ipykernel 7.4")

    def test_no_lab(self, packages):
        del packages["jupyterlab"]
        line = doctor_checks.jupyter()
        assert (line.state, line.remedy.startswith("pip install jupyterlab")) == ("warning", True)

    def test_no_kernel_package(self, packages):
        del packages["ipykernel"]
        line = doctor_checks.jupyter()
        assert (line.state, "pip install ipykernel" in line.remedy) == ("problem", True)

    @pytest.mark.parametrize(
        ("program", "state"),
        [("python", "ok"), (sys.executable, "ok"), ("/opt/other/bin/python", "warning")],
    )
    def test_the_kernel_starts_this_environment(self, monkeypatch, program, state):
        spec = SimpleNamespace(argv=[program, "-m", "ipykernel_launcher"])
        monkeypatch.setattr(kernelspec.KernelSpecManager, "get_kernel_spec", lambda self, name: spec)
        line = doctor_checks.kernel()
        assert line.state == state
        assert (state == "ok") == (line.remedy == "")
        if state == "warning":
            assert "/opt/other/bin/python" in line.found
            assert line.remedy == f"{sys.executable} -m ipykernel install --sys-prefix --name python3"

    def test_no_such_kernel(self, monkeypatch):
        def none(self, name):
            raise kernelspec.NoSuchKernel(name)

        monkeypatch.setattr(kernelspec.KernelSpecManager, "get_kernel_spec", none)
        assert doctor_checks.kernel().state == "problem"

    def test_no_kernels_at_all(self, packages):
        del packages["jupyter_client"]
        assert doctor_checks.kernel().state == "not here"


class TestLibraries:
    def test_they_really_run(self):
        assert doctor_checks.torch_runs().state == "ok"
        assert doctor_checks.dali_runs().state == "ok"
        assert doctor_checks.image_decoders().state == "ok"

    def test_broken_torch(self, packages, break_import):
        break_import("torch")
        line = doctor_checks.torch_runs()
        assert line.state == "problem"
        assert line.remedy == "pip install -c constraints.txt -e '.[cuda12,lab]'"

    def test_torch_that_miscalculates(self, monkeypatch):
        monkeypatch.setattr(torch, "arange", lambda *arguments, **options: torch.ones(1))
        assert doctor_checks.torch_runs().state == "problem"

    def test_broken_dali_is_mended_in_its_own_family(self, packages, break_import):
        packages.clear()
        packages["nvidia-dali-cuda130"] = "2.4.0"
        break_import("nvidia.dali")
        line = doctor_checks.dali_runs()
        assert line.state == "problem"
        assert line.remedy == "pip install -c constraints-cuda13.txt -e '.[cuda13,lab]'"

    def test_dali_that_decodes_wrongly(self, monkeypatch):
        from PIL import Image

        new = Image.new
        monkeypatch.setattr(Image, "new", lambda mode, size, colour: new(mode, size, (0, 0, 255)))
        line = doctor_checks.dali_runs()
        assert (line.state, "came out wrong" in line.found) == ("problem", True)

    def test_a_broken_decoder_is_named_beside_the_sound_ones(self, break_import):
        break_import("cv2")
        line = doctor_checks.image_decoders()
        assert line.state == "problem"
        assert line.found.startswith("cv2: ")
        assert "torchvision" not in line.found


class TestTorchcodec:
    def test_not_installed_is_no_problem(self, packages):
        assert doctor_checks.torchcodec().state == "not here"

    @pytest.mark.parametrize(("works", "state"), [(True, "ok"), (False, "warning")])
    def test_installed(self, monkeypatch, packages, works, state):
        def load(name):
            if not works:
                raise RuntimeError("Could not load libtorchcodec. Likely causes:\n 1. FFmpeg ...")

        packages["torchcodec"] = "0.10"
        monkeypatch.setattr(doctor_checks.importlib, "import_module", load)
        line = doctor_checks.torchcodec()
        assert line.state == state
        assert "\n" not in line.found
        assert ("apt-get install -y ffmpeg" in line.remedy) == (not works)


class TestResources:
    @pytest.mark.parametrize(("free", "state"), [(8 * GIB, "ok"), (GIB, "warning"), (2**26, "problem")])
    def test_shared_memory(self, monkeypatch, tmp_path, free, state):
        monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(free, 0, free))
        monkeypatch.setattr(placement, "cores", lambda: 8)
        line = doctor_checks.shared_memory(tmp_path)
        assert line.state == state
        assert ("--shm-size=8g" in line.remedy) == (state != "ok")

    def test_no_shared_memory(self, tmp_path):
        assert doctor_checks.shared_memory(tmp_path / "none").state == "problem"

    @pytest.mark.parametrize(
        ("allowed", "whole", "state", "word"),
        [(8, 8, "ok", "8 of 8 allowed"), (2, 64, "ok", "holds back the rest"), (1, 64, "warning", "1 of 64")],
    )
    def test_cores(self, monkeypatch, allowed, whole, state, word):
        monkeypatch.setattr(placement, "cores", lambda: allowed)
        monkeypatch.setattr(os, "cpu_count", lambda: whole)
        line = doctor_checks.cores()
        assert line.state == state
        assert word in line.found

    @pytest.mark.parametrize(
        ("files", "state", "word"),
        [
            ({}, "ok", "16.0 GiB"),
            ({"memory.max": "max\n"}, "ok", "16.0 GiB"),
            ({"memory.max": f"{8 * GIB}\n"}, "ok", "8.0 GiB of 16.0 (the container's limit)"),
            ({"memory.max": f"{GIB}\n"}, "warning", "1.0 GiB of 16.0"),
            ({"memory/memory.limit_in_bytes": f"{2 * GIB}\n"}, "warning", "2.0 GiB of 16.0"),
            ({"memory/memory.limit_in_bytes": f"{2**63 - 4096}\n"}, "ok", "16.0 GiB"),
        ],
        ids=["none", "v2 unlimited", "v2", "v2 tight", "v1 tight", "v1 unlimited"],
    )
    def test_memory(self, monkeypatch, tmp_path, files, state, word):
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=16 * GIB))
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        line = doctor_checks.memory(tmp_path)
        assert line.state == state
        assert line.found.startswith(word)

    @pytest.mark.parametrize(
        ("free", "state"), [(500e9, "ok"), (31e9, "ok"), (500e6, "warning"), (10e6, "problem")]
    )
    def test_disk(self, monkeypatch, tmp_path, free, state):
        monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(free, 0, free))
        line = doctor_checks.disk(tmp_path / "not" / "there" / "yet")
        assert line.state == state
        assert all(scale in line.found for scale in ("smoke", "workshop", "article"))
        assert ("TUTORIAL_DATA" in line.remedy) == (state != "ok")

    def test_a_disk_that_may_not_be_written(self, monkeypatch, tmp_path):
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        line = doctor_checks.disk(tmp_path)
        assert (line.state, "not writable" in line.found) == ("problem", True)

    @pytest.mark.parametrize(
        ("limits", "state", "word"),
        [
            ((1024, 4096), "ok", ""),
            ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), "ok", ""),
            ((256, 4096), "warning", "ulimit -n 4096, then"),
            ((256, resource.RLIM_INFINITY), "warning", "ulimit -n 4096, then"),
            ((256, 512), "warning", "hard limit 512"),
        ],
    )
    def test_open_files(self, monkeypatch, limits, state, word):
        monkeypatch.setattr(resource, "getrlimit", lambda kind: limits)
        line = doctor_checks.open_files()
        assert line.state == state
        assert word in line.remedy


class TestPip:
    def test_with_pip(self, monkeypatch):
        monkeypatch.setattr(distributions.importlib.util, "find_spec", lambda name: object())
        assert distributions.pip("install x") == f"{sys.executable} -m pip install x"

    def test_an_environment_made_by_uv(self, monkeypatch):
        monkeypatch.setattr(distributions.importlib.util, "find_spec", lambda name: None)
        assert distributions.pip("uninstall -y x") == f"uv pip uninstall x --python {sys.executable}"


class TestDiagnosis:
    LINES = (
        Line("Python", "ok", "3.11"),
        Line("video decoder", "warning", "missing <here>", "mend && go"),
        Line("DALI", "problem", "broken", "install it"),
    )

    def test_verdicts(self):
        fine, warned, broken = (Diagnosis(self.LINES[:count], has_gpu=True) for count in (1, 2, 3))
        assert (fine.ok, warned.ok, broken.ok) == (True, True, False)
        assert fine.verdict == "Ready for the lessons."
        assert "Worth a look: video decoder" in warned.verdict
        assert "To mend before the lessons: DALI" in broken.verdict

    def test_text_keeps_a_remedy_on_one_line(self):
        remedy = "pip install " + "x" * 300
        text = str(Diagnosis((Line("DALI", "problem", "broken", remedy),), has_gpu=True))
        assert f"-> {remedy}\n" in text
        assert WITHOUT_GPU not in text

    def test_html_is_escaped_and_whole(self):
        page = Diagnosis(self.LINES, has_gpu=False)._repr_html_()
        assert "missing &lt;here&gt;" in page
        assert "mend &amp;&amp; go" in page
        assert "Every lesson still runs" in page
        assert page.count("<tr") == 4

    def test_no_gpu_is_one_plain_sentence(self):
        assert str(Diagnosis(self.LINES, has_gpu=False)).count(WITHOUT_GPU) == 1


class TestCheck:
    def test_here(self):
        diagnosis = check()
        assert [line.name for line in diagnosis.lines] == [name for name, _ in doctor.CHECKS]
        assert not [line for line in diagnosis.lines if "check itself failed" in line.found]
        assert all(line.remedy for line in diagnosis.problems + diagnosis.warnings)

    def test_without_a_gpu_no_gpu_line_is_a_problem(self, no_gpu):
        lines = {line.name: line.state for line in check().lines}
        absent = [name for name, state in lines.items() if state == "not here"]
        assert {"PyTorch on the GPU", "DALI on the GPU", "NVML", "video decoder", "JPEG engine"} <= set(
            absent
        )
        assert not check().has_gpu

    def test_an_exploding_check_becomes_a_line(self, monkeypatch):
        def explode():
            raise ZeroDivisionError("inside")

        monkeypatch.setattr(doctor, "CHECKS", (("memory", explode), ("Python", doctor_checks.python)))
        diagnosis = check()
        assert diagnosis.lines[0].state == "warning"
        assert diagnosis.lines[0].found == "the check itself failed: ZeroDivisionError: inside"
        assert diagnosis.lines[1].state == "ok"
        assert diagnosis.ok

    @pytest.mark.parametrize(
        ("state", "status"), [("ok", 0), ("not here", 0), ("warning", 0), ("problem", 1)]
    )
    def test_exit_status(self, monkeypatch, capsys, state, status):
        monkeypatch.setattr(doctor, "CHECKS", (("x", lambda: Line("x", state, "found", "remedy")),))
        assert doctor.main([]) == status
        assert "found" in capsys.readouterr().out

    @pytest.mark.parametrize(("argument", "status"), [("--help", 0), ("--fix", 2)])
    def test_it_takes_no_options(self, capsys, argument, status):
        assert doctor.main([argument]) == status
        assert "usage" in capsys.readouterr().out

    def test_it_works_where_the_libraries_are_missing(self, tmp_path):
        # Python alone, without any installed package: as on a machine where the set-up failed half-way.
        source = Path(doctor.__file__).resolve().parent.parent
        program = [sys.executable, "-I", "-S", "-c"]
        program.append(
            f"import sys; sys.path.insert(0, {str(source)!r}); from tutorial_utils.doctor import main; "
            "sys.exit(main([]))"
        )
        done = subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, timeout=120)
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stdout + done.stderr
        for name in ("PyTorch", "DALI", "image decoders", "pynvml package"):
            assert name in done.stdout
        assert "To mend before the lessons" in done.stdout
