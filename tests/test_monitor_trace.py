"""The monitor's trace and its pictures, on recordings made by hand."""

import dataclasses
import re
import struct
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib import _pylab_helpers

from tutorial_utils.monitor import Phase, Trace
from tutorial_utils.monitor.channels import Channel, spell
from tutorial_utils.monitor.layout import broken_at_gaps, fitted, panels, phase_rows, thin, time_ticks
from tutorial_utils.monitor.live_plot import render as render_live
from tutorial_utils.monitor.static_plot import render as render_static

GPU_QUANTITIES = (("SM", "%", 100), ("decoder", "%", 100), ("JPEG engine", "%", 100), ("memory", "GiB", 80))


def trace_of(series, *, phases=(), notes=(), title="a loader", seconds=10.0, gpus=0):
    """Make a recording at 10 Hz; ``series`` maps labels to values, ``gpus`` adds GPUs that are constant."""
    count = round(seconds * 10)
    channels = [Channel(label, "%", "CPU", None, 100.0) for label in series]
    values = {label: np.broadcast_to(np.asarray(each, dtype=float), count) for label, each in series.items()}
    for gpu in reversed(range(gpus)):
        made = [Channel(f"GPU {gpu} {name}", unit, name, gpu, full) for name, unit, full in GPU_QUANTITIES]
        channels[:0] = made
        values |= {channel.label: np.full(count, 10.0 * gpu + 5) for channel in made}
    return Trace(
        title,
        "made by hand",
        np.arange(count) / 10,
        values,
        tuple(channels),
        tuple(phases),
        seconds,
        tuple(notes),
    )


def test_means_and_shares_are_those_of_the_phase():
    ramp = np.arange(100.0)
    trace = trace_of(
        {"CPU": ramp}, phases=[Phase("a", 1.0, 1.95), Phase("b", 5.0, 6.95), Phase("a", 8.0, 8.95)]
    )
    assert trace.mean("CPU") == ramp.mean()
    assert trace.mean("CPU", "b") == np.arange(50, 70).mean()
    assert trace.mean("CPU", "a") == np.concatenate([ramp[10:20], ramp[80:90]]).mean()
    assert trace.share_above("CPU", 89.5) == 0.1
    assert trace.share_above("CPU", 59, "b") == 0.5
    assert trace.headline == "CPU"
    assert trace.units == {"CPU": "%"}
    assert repr(trace) == "Monitor, a loader: mean of 10.0 s: CPU 50% (made by hand)"


def test_unanswered_samples_do_not_count():
    values = np.full(100, 80.0)
    values[:50] = np.nan
    trace = trace_of({"CPU": values}, phases=[Phase("silent", 0, 4), Phase("between", 4.91, 4.99)])
    assert trace.mean("CPU") == 80
    assert trace.share_above("CPU", 50) == 1
    assert np.isnan(trace.mean("CPU", "silent"))
    assert np.isnan(trace.share_above("CPU", 50, "between"))


def test_unknown_names_are_answered_with_those_there_are():
    trace = trace_of({"CPU": 1.0}, phases=[Phase("warm-up", 0, 1)])
    with pytest.raises(KeyError, match=r"no series 'GPU 0 SM'; there are CPU"):
        trace.mean("GPU 0 SM")
    with pytest.raises(KeyError, match=r"no phase 'epoch 1'; there are warm-up"):
        trace.share_above("CPU", 3, "epoch 1")


def test_an_empty_recording_says_why():
    trace = Trace("t", "", np.empty(0), {}, (), (), 1.0, ("the recorder could not be started: no memory",))
    assert "nothing recorded (the recorder could not be started: no memory)" in trace.summary()
    with pytest.raises(LookupError, match="no memory"):
        _ = trace.headline


def test_json_brings_everything_back():
    values = np.linspace(0, 100, 100)
    values[3] = np.nan
    trace = trace_of({"CPU": values}, phases=[Phase("ü <1>", 0, 1)], notes=["a note"], gpus=2)
    back = Trace.from_json(trace.to_json())
    assert back.to_json() == trace.to_json()
    assert (back.channels, back.phases, back.notes) == (trace.channels, trace.phases, trace.notes)
    for label, series in trace.series.items():
        np.testing.assert_array_equal(back.series[label], series)


@pytest.mark.parametrize("text", ["{}", "[1]", '{"channels": [{"label": "x"}]}', "no JSON"])
def test_foreign_json_is_refused(text):
    with pytest.raises(ValueError, match=r"not a trace|Expecting value"):
        Trace.from_json(text)


samples = arrays(float, st.integers(0, 400), elements=st.one_of(st.floats(0, 1e4), st.just(float("nan"))))


@given(samples, st.integers(1, 120))
def test_thinning_keeps_extremes_and_means(values, columns):
    times = np.arange(len(values)) / 10
    thinned = thin(times, values, columns)
    assert len(thinned.times) <= columns
    assert np.all(np.diff(thinned.times) > 0)
    known = values[~np.isnan(values)]
    if not len(known):
        assert np.isnan(thinned.means).all()
        return
    assert np.nanmax(thinned.highs) == known.max()
    assert np.nanmin(thinned.lows) == known.min()
    there = ~np.isnan(thinned.means)
    slack = 1e-9 * (1 + known.max())
    assert np.all(thinned.lows[there] <= thinned.means[there] + slack)
    assert np.all(thinned.means[there] <= thinned.highs[there] + slack)
    size = max(1, -(-len(values) // columns))
    groups = [values[start : start + size] for start in range(0, len(values), size)]
    weights = np.array([np.count_nonzero(~np.isnan(group)) for group in groups])
    np.testing.assert_allclose(np.nansum(thinned.means * weights) / weights.sum(), known.mean(), rtol=1e-9)


def test_few_samples_are_not_thinned():
    values = np.array([3.0, np.nan, 1.0])
    thinned = thin(np.array([0.0, 0.1, 0.2]), values, 3)
    for kept in thinned[1:]:
        np.testing.assert_array_equal(kept, values)


def test_no_line_is_drawn_across_a_silence():
    times = np.concatenate([np.arange(0, 2, 0.1), np.arange(8, 10, 0.1)])
    whole = thin(times, np.full(40, 50.0), 100)
    broken = broken_at_gaps(whole)
    assert np.flatnonzero(np.isnan(broken.means)).tolist() == [20]
    assert broken_at_gaps(thin(times[:20], np.full(20, 50.0), 100)).means.tolist() == [50.0] * 20


@given(st.floats(0.1, 10 * 86400))
def test_time_axes_have_few_round_ticks(duration):
    ticks = time_ticks(duration)
    assert 1 <= len(ticks) <= 10
    assert ticks[0][0] == 0
    assert ticks[-1][0] <= duration + 1e-6
    assert len({text for _, text in ticks}) == len(ticks)


def test_names_are_cut_in_the_middle_or_left_out():
    assert fitted("epoch 12", 8) == "epoch 12"
    assert fitted("epoch 12", 6) == "ep… 12"
    assert fitted("epoch 12", 4) == ""


def test_phases_within_phases_stand_a_line_lower():
    phases = [Phase("all", 0, 10), Phase("epoch", 1, 9), Phase("step", 2, 3), Phase("later", 11, 12)]
    assert phase_rows(phases) == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(87.4, "%", "87%"), (12.34, "GiB", "12.3 GiB"), (141.2, "GiB", "141 GiB"), (512.3, "W", "512 W")],
)
def test_figures_are_spelt_for_people(value, unit, text):
    assert spell(value, unit) == text
    assert spell(float("nan"), unit) == "no answer"


def test_each_gpu_has_its_line_its_colour_and_its_figure():
    trace = trace_of({"CPU": 70.0}, gpus=3)
    busy, engines, memory = panels(trace, since=9)
    assert [line.channel.label for line in busy.lines][::-1] == ["GPU 0 SM", "GPU 1 SM", "GPU 2 SM", "CPU"]
    assert len({line.colour for line in busy.lines}) == 4
    assert [text for _, text in busy.legend] == ["GPU 0 SM 5%", "GPU 1 SM 15%", "GPU 2 SM 25%", "CPU 70%"]
    assert [text for _, text in engines.legend] == ["decoder 5–25%", "JPEG engine 5–25%"]
    assert [line.dashed for line, _ in engines.legend] == [False, True]
    assert [text for _, text in memory.legend] == ["memory 5.0–25.0 of 80 GiB"]


def test_a_slice_of_a_gpu_without_shares_has_the_cpu_for_its_headline():
    trace = trace_of({"CPU": 70.0}, phases=[Phase("epoch 1", 0, 4)])
    memory = Channel("GPU 0 memory", "GiB", "memory", 0, 80.0)
    series = {**trace.series, memory.label: np.full(100, 12.0)}
    sliced = dataclasses.replace(trace, channels=(memory, *trace.channels), series=series)
    assert sliced.headline == "CPU"
    assert "CPU 70%" in sliced.summary()
    assert render_static(sliced).startswith(b"\x89PNG")
    only_memory = dataclasses.replace(sliced, channels=(memory,))
    assert only_memory.headline == "GPU 0 memory"
    assert "GPU 0 memory 12.0 GiB" in only_memory.summary()
    assert render_static(only_memory).startswith(b"\x89PNG")
    ElementTree.fromstring(render_live(only_memory))


def test_the_live_picture_is_sound_svg_with_every_line_and_word():
    trace = trace_of(
        {"CPU": 70.0},
        gpus=2,
        title='a <b> & "c"',
        phases=[Phase("epoch 1", 0, 4), Phase("<script>", 5, 10)],
        notes=["GPU 1: the driver stopped answering (at 3.0 s)"],
    )
    svg = render_live(trace)
    root = ElementTree.fromstring(svg)
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for word in ('a <b> & "c"', "epoch 1", "<script>", "GPU 1 SM 15%", "CPU 70%", "100", *trace.notes):
        assert word in words
    assert "<script>" not in svg
    assert svg.count("stroke-linejoin") == len(trace.channels)
    assert "nan" not in re.sub(r"<text.*?</text>", "", svg)


def test_an_hour_of_eight_gpus_is_no_heavier_than_a_few_frames():
    noise = np.random.default_rng(0).uniform(0, 100, 36_000)
    hour = trace_of({"CPU": noise}, seconds=3600, gpus=8)
    minute = trace_of({"CPU": noise[:600]}, seconds=60, gpus=8)
    assert len(render_live(hour)) < 100_000
    assert len(render_live(hour)) < 1.5 * len(render_live(minute))


def test_pictures_of_hardly_anything_can_be_drawn():
    for trace in (
        trace_of({"CPU": 50.0}, seconds=0.1),
        trace_of({"CPU": np.nan}, seconds=1),
        trace_of({"CPU": 50.0}, seconds=1, phases=[Phase("", 0, 0), Phase("much too long a name", 0, 0.01)]),
    ):
        ElementTree.fromstring(render_live(trace))
        assert render_static(trace).startswith(b"\x89PNG")


def test_the_static_picture_has_its_size_and_leaves_no_figure_behind():
    with matplotlib.rc_context({"axes.facecolor": "black", "text.usetex": True}):
        png = render_static(
            trace_of({"CPU": 70.0}, gpus=2, phases=[Phase("epoch $1", 0, 4)], title="50 $ & _x^")
        )
    width, height = struct.unpack(">II", png[16:24])
    assert width == 1600
    assert 600 < height < 1400
    assert not _pylab_helpers.Gcf.figs
