"""The timing card: what it states, what it refuses to compare, its ratios, and its text, HTML and JSON."""

import dataclasses
import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing_samples import IMAGE, ends, gpu_machine, machine, throughput

from tutorial_utils.batches import EndPoint
from tutorial_utils.comparing import NotComparable, Speedup
from tutorial_utils.published import PUBLISHED, PublishedFigure
from tutorial_utils.timing_card import PUBLISHED_HEADING, TimingCard, speedup

SLOW = throughput("slow", samples=100, seconds=(10.0, 8.0, 12.5))  # 10, 12.5, 8 images/s
FAST = throughput("fast", samples=100, seconds=(5.0, 4.0, 5.0))  # 20, 25, 20 images/s


def card(*results, **changes) -> TimingCard:
    values = {"results": results or (SLOW, FAST), "machine": machine(), "date": "2026-03-01T12:30:00+00:00"}
    return TimingCard(**{**values, **changes})


class TestSpeedup:
    def test_ratio_of_medians_with_the_widest_spread_of_single_epochs(self):
        ratio = speedup(card(), "fast", "slow")
        assert (ratio.value, ratio.low, ratio.high) == (20 / 10, 20 / 12.5, 25 / 8)
        assert str(ratio) == "2.0x (1.6-3.1)"
        assert ratio.clear

    def test_the_other_way_round_is_the_reciprocal(self):
        ratio = speedup(card(), "slow", "fast")
        assert (ratio.value, ratio.low, ratio.high) == (10 / 20, 8 / 25, 12.5 / 20)
        assert str(ratio) == "0.50x (0.32-0.62)"

    @pytest.mark.parametrize(
        ("value", "low", "high", "text"),
        [
            (40.2, 38.4, 41.6, "40x (38-42)"),
            (2.1, 1.9, 2.3, "2.1x (1.9-2.3)"),
            (1.05, 0.98, 1.12, "1.05x (0.98-1.12)"),
        ],
    )
    def test_text(self, value, low, high, text):
        assert str(Speedup("a", "b", value, low, high)) == text

    def test_overlapping_repetitions_are_no_clear_difference(self):
        close = throughput("close", seconds=(9.0, 9.5, 11.0))
        ratio = speedup(card(SLOW, close), "close", "slow")
        assert not ratio.clear
        assert "no clear difference" in str(card(SLOW, close))
        assert "no clear difference" not in str(card(SLOW, FAST))

    def test_an_unknown_label_names_the_known_ones(self):
        with pytest.raises(
            ValueError, match="no result is labelled 'dali' on this card; there are 'slow', 'fast'"
        ):
            speedup(card(), "dali", "slow")


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "difference", "remedy"),
        [
            ({"end_point": ends(device="cuda:0")}, "ended on cuda:0, not on cpu", "to_device"),
            (
                {"end_point": ends(dtype="uint8")},
                "ended as uint8, not as float32",
                "convert inside the loader",
            ),
            (
                {"end_point": ends(shape=(8, 8, 3))},
                "(B, 8, 8, 3), not as (B, 3, 8, 8)",
                "same size and order",
            ),
            ({"end_point": ends(shape=(3, None, 8))}, "(B, 3, varies, 8)", "same size and order"),
            ({"end_point": ends(layout="strided")}, "as strided, not as contiguous", "contiguous"),
            ({"end_point": EndPoint((IMAGE, IMAGE), 10)}, "2 tensors, not 1", "same tensors"),
            ({"data_fingerprint": "beef"}, "A f00d, B beef", "same files"),
            ({"samples": 96}, "96 images, not 100", "last batch"),
            ({"cores": 1}, "1 cores, not 2", "same limit"),
            ({"machine": "cpu #2"}, "cpu #2, not cpu #1", "one run"),
            ({"unit": "pairs"}, "counts pairs, not images", "same thing"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
    )
    def test_each_difference_is_named_with_its_remedy(self, changes, difference, remedy):
        with pytest.raises(NotComparable) as refusal:
            card(throughput("A"), throughput("B", **changes))
        assert difference in str(refusal.value)
        assert remedy in str(refusal.value)

    def test_all_differences_of_all_results_in_one_message(self):
        odd = throughput("B", cores=1, end_point=ends(device="cuda:0", dtype="float16"))
        with pytest.raises(NotComparable) as refusal:
            card(throughput("A"), odd, throughput("C", samples=7))
        message = str(refusal.value)
        assert message.count("\n  - ") == 4
        assert "'B' cannot be compared with 'A'" in message
        assert "'C' cannot be compared with 'A'" in message

    def test_settings_and_batch_size_may_differ_and_are_printed(self):
        other = throughput(
            "B", settings={"decoder": "opencv", "workers": 8}, end_point=EndPoint((IMAGE,), 64)
        )
        text = str(card(throughput("A"), other))
        assert "workers=2" in text
        assert "decoder=opencv, workers=8" in text
        assert "B up to 10, 64" in text

    def test_somebody_must_say_which_data_was_read(self):
        with pytest.raises(NotComparable, match="nobody says which data 'B' read"):
            card(throughput("A"), throughput("B", data_fingerprint=""))

    def test_the_card_may_say_it_for_all(self):
        silent = [throughput(label, data_fingerprint="") for label in "AB"]
        assert card(*silent, data_fingerprint="f00d").data_fingerprint == "f00d"
        assert card(throughput("A"), silent[1], data_fingerprint="f00d").data_fingerprint == "f00d"
        assert card(throughput("A"), throughput("B")).data_fingerprint == "f00d"

    def test_the_card_may_not_contradict_its_results(self):
        with pytest.raises(NotComparable, match="data sets differ: A f00d, the card beef"):
            card(throughput("A"), data_fingerprint="beef")

    def test_no_results(self):
        with pytest.raises(ValueError, match="at least one result"):
            TimingCard([])

    def test_two_results_of_one_name(self):
        with pytest.raises(ValueError, match="two results are labelled 'A'"):
            card(throughput("A"), throughput("A"))

    def test_a_baseline_that_is_not_there(self):
        with pytest.raises(ValueError, match="no result is labelled 'pil'"):
            card(throughput("A"), baseline="pil")


class Cells(HTMLParser):
    """Collects the tags, the attributes and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.texts = set(), set(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attributes)

    def handle_data(self, data):
        self.texts.append(data)


class TestShown:
    def test_text_states_everything(self):
        text = str(
            card(title="decoders", machine=dataclasses.replace(machine(), project="0.1.0", commit="abc123"))
        )
        for fact in (
            "Timing card: decoders",
            "images/s",
            "8.00-12.5",
            "2.0x (1.6-3.1)",
            "1 (baseline)",
            "5.00 s",
            "set f00d; 100 images arrived in every epoch",
            "float32 (B, 3, 8, 8) on cpu",
            "median of 3 epochs; 2 cores allowed",
            "no GPU: CPU run",
            "Testium 3000, 2 of 64 cores, 48 GiB memory",
            "Python 3.11.7, torch 2.10.0",
            "2026-03-01 12:30 UTC, project 0.1.0 (commit abc123)",
        ):
            assert fact in text, fact

    def test_html_holds_the_same_words_as_the_text(self):
        one = card(title="decoders", published=[PUBLISHED["A1"]])
        assert set(" ".join(Cells(one._repr_html_()).texts).split()) >= {
            word for word in str(one).split() if word.strip("-")
        }

    def test_a_gpu_with_driver_and_cuda(self):
        on_gpu = throughput("A", device="cuda:0", end_point=ends(device="cuda:0"))
        text = str(card(on_gpu, machine=gpu_machine()))
        assert "NVIDIA H200, 141 GiB, 700 W" in text
        assert "570.1, CUDA 12.8 in PyTorch" in text
        assert "CPU run" not in text

    def test_a_gpu_that_was_not_used(self):
        assert "NVIDIA H200, 141 GiB, 700 W: present but not used, CPU run" in str(
            card(machine=gpu_machine())
        )

    def test_a_single_result_has_no_ratio(self):
        text = str(card(SLOW))
        assert "against slow" not in text
        assert "baseline" not in text

    def test_a_chosen_baseline(self):
        text = str(card(baseline="fast"))
        assert "against fast" in text
        assert "0.50x (0.32-0.62)" in text

    def test_samples_of_the_set_and_delivered_ones_are_told_apart(self):
        assert "set f00d of 103; 100 images arrived" in str(card(throughput("A", data_count=103)))

    def test_published_figures_stand_apart_and_never_in_a_ratio(self):
        row = PublishedFigure("Theirs", "9,999,999 images/s", "DGX", "a paper")
        with_row, without = card(published=[row]), card()
        text = str(with_row)
        assert text.index(PUBLISHED_HEADING) < text.index("9,999,999 images/s")
        assert with_row.table() == without.table()

    def test_every_article_system_names_its_hardware_and_source(self):
        assert set(PUBLISHED) == {"A1", "A2", "A3", "A4", "B1", "B2", "B3", "B4", "C1", "C2", "C3", "C4"}
        assert all(all(dataclasses.astuple(row)) for row in PUBLISHED.values())

    @given(st.text(alphabet="<>&\"'/ ab", min_size=1), st.text(alphabet="<>&\"'/ ab"))
    def test_everything_in_html_is_escaped(self, nasty, title):
        one = card(
            throughput(
                f"x{nasty}",
                unit=f"u{nasty}",
                settings={f"k{nasty}": f"v{nasty}"},
                data_fingerprint="d" + nasty,
            ),
            throughput("other", unit=f"u{nasty}", data_fingerprint="d" + nasty),
            title=title,
            published=[PublishedFigure(nasty, nasty, nasty, nasty)],
            machine=machine(cpu=nasty, commit=nasty, libraries={nasty: nasty}),
        )
        page = Cells(one._repr_html_())
        assert page.tags <= {"div", "p", "strong", "table", "tr", "th", "td"}
        assert page.attributes == {"style"}
        assert f"x{nasty}" in page.texts

    def test_html_needs_nothing_from_outside_and_takes_the_themes_colours(self):
        page = card(published=[PUBLISHED["C2"]])._repr_html_()
        assert "http" not in page
        assert "url(" not in page
        colours = {
            part.split(":", 1)[1].strip() for part in page.replace('"', ";").split(";") if "color:" in part
        }
        assert colours == {"inherit"}


TEXT = st.text(min_size=1, max_size=20)
SECONDS = st.floats(1e-6, 1e6)
SETTINGS = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers() | SECONDS | TEXT, max_size=4)


class TestJson:
    @given(
        labels=st.lists(TEXT, min_size=1, max_size=3, unique=True),
        seconds=st.lists(SECONDS, min_size=3, max_size=6),
        first=SECONDS,
        settings=SETTINGS,
        samples=st.integers(1, 10**9),
        title=TEXT,
        libraries=st.dictionaries(TEXT, TEXT, max_size=3),
    )
    def test_round_trip(self, labels, seconds, first, settings, samples, title, libraries):
        results = [
            throughput(
                label, seconds=tuple(seconds), first_epoch_seconds=first, settings=settings, samples=samples
            )
            for label in labels
        ]
        one = card(
            *results,
            title=title,
            baseline=labels[-1],
            published=[PUBLISHED["A1"]],
            machine=dataclasses.replace(gpu_machine(), libraries=libraries),
        )
        again = TimingCard.from_json(one.to_json())
        assert again == one
        assert str(again) == str(one)

    def test_raw_seconds_are_kept(self):
        recorded = json.loads(card().to_json())
        assert recorded["results"][0]["seconds"] == [10.0, 8.0, 12.5]
        assert "measured" not in recorded["results"][0]

    @pytest.mark.parametrize(
        ("change", "word"),
        [
            (lambda recorded: recorded.pop("results"), "damaged.*results"),
            (lambda recorded: recorded.update(kind="shopping list"), "not a timing card"),
            (lambda recorded: recorded.update(schema=99), "schema 99"),
            (lambda recorded: recorded["results"][0].pop("seconds"), "damaged.*seconds"),
            (lambda recorded: recorded["results"][0].update(samples="many"), "damaged"),
            (lambda recorded: recorded["results"][0].update(rate=9e9), "damaged.*rate"),
            (lambda recorded: recorded["machine"].update(gpus=[1]), "damaged"),
            (lambda recorded: recorded.update(date="yesterday"), "yesterday"),
        ],
    )
    def test_damage_is_named(self, change, word):
        recorded = card().to_dict()
        change(recorded)
        with pytest.raises(ValueError, match=word):
            TimingCard.from_json(json.dumps(recorded))

    @pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"'])
    def test_something_else_is_refused(self, text):
        with pytest.raises(ValueError, match=r"Expecting|not a timing card"):
            TimingCard.from_json(text)
