"""The two helpers that lessons use to show code and to let code fail."""

import pytest

from tutorial_utils.teaching import expect_error, show_source


class Sample:
    """A class whose source is shown."""

    def first(self):
        return 1


def test_an_expected_failure_passes_and_is_printed(capsys):
    with expect_error(ValueError, "too   small"):
        raise ValueError("the batch is too\nsmall for this")
    assert "ValueError: the batch is too" in capsys.readouterr().out


def test_nothing_failing_is_itself_a_failure():
    with pytest.raises(AssertionError, match="nothing failed"), expect_error(ValueError, "anything"):
        pass


def test_a_subclass_is_not_the_exact_kind():
    with pytest.raises(AssertionError, match="expected LookupError"), expect_error(LookupError, "key"):
        raise KeyError("key")


def test_another_message_is_another_error():
    with pytest.raises(AssertionError, match="but got") as caught, expect_error(ValueError, "one thing"):
        raise ValueError("another thing")
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_stack_trace_of_the_library_is_cut(capsys):
    with expect_error(RuntimeError, "cannot decode"):
        raise RuntimeError("cannot decode x.jpg\nStacktrace (9 entries):\n[frame 0]: somewhere")
    assert "frame 0" not in capsys.readouterr().out


def test_sources_are_shown_flush_left_in_order():
    shown = show_source(Sample.first, Sample).data
    assert shown.startswith("```python\ndef first(self):\n    return 1\n")
    assert shown.index("def first") < shown.index("class Sample")
