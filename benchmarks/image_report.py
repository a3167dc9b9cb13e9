"""What ``benchmarks.images`` found, for people and as JSON."""

from dataclasses import dataclass, field
from typing import Any

from benchmarks.image_competitors import BASELINE
from benchmarks.loader_overhead import LIMIT, Overhead
from benchmarks.rounds import Absent, Ratio
from tutorial_utils.sheet import Block, Heading, Table, to_text
from tutorial_utils.timing import figure
from tutorial_utils.timing_card import TimingCard


@dataclass
class Findings:
    """All that a run found.

    Attributes:
        cards: a timing card for each section, all repetitions pooled.
        ratios: for each section and competitor, to the baseline; and those that the aims are about.
        aims: (what is aimed at, the ratio, what it has to reach).
        absent: for each section who did not run.
        overhead: of our loader, if that section ran.
    """

    cards: dict[str, TimingCard] = field(default_factory=dict)
    ratios: dict[str, list[Ratio]] = field(default_factory=dict)
    aims: list[tuple[str, Ratio, float]] = field(default_factory=list)
    absent: dict[str, list[Absent]] = field(default_factory=dict)
    overhead: Overhead | None = None


def report(findings: Findings) -> str:
    """Write what stands on no card: one table of ratios, the aims, our loader's cost, who did not run."""
    blocks: list[Block] = []
    if findings.ratios:
        blocks += [Heading(f"ratios to {BASELINE} of the same round"), _ratio_table(findings)]
    verdicts = [
        (what, aimed, "at least", f"{aim:g}x", aimed.verdict(aim)) for what, aimed, aim in findings.aims
    ]
    if findings.overhead:
        verdicts += [
            (
                f"{name} of our loader over the bare iterator's",
                over,
                "at most",
                f"{LIMIT}x",
                _affordable(over),
            )
            for name, over in (
                ("time", findings.overhead.wall),
                ("processor time", findings.overhead.processor),
            )
        ]
    if verdicts:
        header = ("aim", "ratio", "median, 95% sure", "wanted", "verdict")
        rows = [
            (f"{what} ({over.label})", _precise(over), _sure(over), f"{bound} {limit}", verdict)
            for what, over, bound, limit, verdict in verdicts
        ]
        blocks += [Heading("aims"), Table(header, tuple(rows))]
    absences = [
        (section, one.label, one.reason) for section, missing in findings.absent.items() for one in missing
    ]
    if absences:
        blocks += [Heading("did not run"), Table(("section", "loader", "reason"), tuple(absences))]
    return to_text(blocks)


def _ratio_table(findings: Findings) -> Table:
    rows = []
    for section, ratios in findings.ratios.items():
        card = findings.cards[section]
        for one in ratios:
            result = card.result(one.label)
            against = "1 (baseline)" if one.label == BASELINE else str(one)
            rows.append((section, one.label, f"{figure(result.rate)} {result.unit}/s", against, _sure(one)))
    return Table(
        ("section", "loader", "median rate", "ratio (lowest-highest round)", "median, 95% sure"), tuple(rows)
    )


def _precise(over: Ratio) -> str:
    low, high = over.spread
    return f"{over.value:.3f}x ({low:.3f}-{high:.3f})"


def _sure(over: Ratio) -> str:
    if over.label == over.over:
        return ""
    return "{:.3f}-{:.3f}".format(*over.interval) if over.interval else "too few rounds"


def _affordable(over: Ratio) -> str:
    low, high = over.interval or over.spread
    if high <= LIMIT:
        return "holds"
    return "too dear" if low > LIMIT else "not decided by these rounds"


def as_json(findings: Findings) -> dict[str, Any]:
    """Give everything as plain JSON values, raw seconds and every round's ratio included."""
    ratios = {section: list(map(_ratio_json, found)) for section, found in findings.ratios.items()}
    written = {
        "benchmark": "images",
        "cards": {section: card.to_dict() for section, card in findings.cards.items()},
        "ratios": ratios,
        "aims": [
            {"aim": what, "at_least": aim, "verdict": one.verdict(aim), **_ratio_json(one)}
            for what, one, aim in findings.aims
        ],
        "absent": {
            section: {one.label: one.reason for one in missing}
            for section, missing in findings.absent.items()
        },
    }
    if found := findings.overhead:
        written["overhead"] = {
            "at_most": LIMIT,
            "wall": {**_ratio_json(found.wall), "verdict": _affordable(found.wall)},
            "processor": {**_ratio_json(found.processor), "verdict": _affordable(found.processor)},
            "processor_seconds": {label: list(found.processor_seconds[label]) for label in found.results},
        }
    return written


def _ratio_json(one: Ratio) -> dict[str, Any]:
    return {
        "label": one.label,
        "over": one.over,
        "median": one.value,
        "rounds": list(one.rounds),
        "interval": one.interval,
    }
