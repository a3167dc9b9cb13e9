"""Parity of DALI's pixels with Pillow's and torchvision's, each bound from the algorithm and not from a run.

Decoding a lossless file has one right answer. The integer inverse DCT, the chroma interpolation and
the colour conversion of libjpeg-turbo, and those of libwebp, are exact to the bit in every build; all
three libraries use them, so lossy files must agree as well, except where a bound says why not.

Resizing: with values rounded to 8 bits at the end only, as DALI does, and also between the two
directions, as Pillow and torchvision do, the results of one and the same filter with weights between
0 and 1 lie half a level apart before the last rounding, so 1 level after it.
"""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from image_zoo import SPECIMENS, STORED, picture, write_zoo
from nvidia.dali import fn, pipeline_def, types
from PIL import Image
from sklearn.datasets import load_sample_image

from tutorial_utils.image_libraries import (
    CannotDecodeError,
    Resizing,
    decode_with_dali,
    decode_with_pil,
    decode_with_torchvision,
)
from tutorial_utils.parity import (
    Comparison,
    Difference,
    compare_decoding,
    compare_loading,
    compare_resizing,
)
from tutorial_utils.parity_pictures import BAND_COLOURS
from tutorial_utils.placement import choose

CPU = choose("cpu")
SIZES = [(192, 192), (150, 220), (600, 800)]
TORCHVISION_FAMILIES = ("jpeg", "png", "webp")
LOSSY = [each for each in SPECIMENS if each.truth is None]
LOSSLESS = [each for each in SPECIMENS if each.truth is not None]
ORIENTED = [each for each in SPECIMENS if each.orientation]


def named(specimens):
    return pytest.mark.parametrize("specimen", specimens, ids=[each.name for each in specimens])


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    return write_zoo(tmp_path_factory.mktemp("zoo"))


@pytest.fixture(scope="module", params=["cat", "china", "noise"])
def pixels(request):
    """Give a smooth photograph, one with fine contrast up to the rim, and the worst case."""
    if request.param == "noise":
        return np.random.default_rng(0).integers(0, 256, (301, 453, 3)).astype(np.uint8)
    return picture() if request.param == "cat" else load_sample_image("china.jpg")


def upright(path):
    return decode_with_dali(path, CPU)


def as_stored(path):
    return decode_with_dali(path, CPU, adjust_orientation=False)


# Decoding


@named(LOSSLESS)
def test_a_lossless_file_gives_back_the_pixels_that_were_written(zoo, specimen):
    difference = Difference(specimen.name, "truth", upright(zoo[specimen.name]), specimen.truth(picture()))
    # 16 bits become 8 by a multiplication and a rounding, whose tie may fall to either side.
    assert difference.max <= (1 if specimen.high_depth else 0)


@named([each for each in SPECIMENS if not each.high_depth])
def test_dali_decodes_as_pillow_does(zoo, specimen):
    path = zoo[specimen.name]
    difference = Difference(specimen.name, "PIL", as_stored(path), decode_with_pil(path))
    # JPEG 2000's lossy wavelet is computed in floating point, in an order that a build may choose.
    assert difference.max <= (1 if specimen.name == "lossy.jp2" else 0)


@named([each for each in SPECIMENS if each.family in TORCHVISION_FAMILIES])
def test_dali_decodes_as_torchvision_does(zoo, specimen):
    path = zoo[specimen.name]
    difference = Difference(specimen.name, "torchvision", as_stored(path), decode_with_torchvision(path))
    if specimen.name == "440.jpg":
        # Its libjpeg-turbo repeats chroma rows of 4:4:0 where newer ones interpolate: a quarter of the
        # step between two rows of chroma, which in a photograph is well below 1 level on average.
        assert 0 < difference.mean < 0.5
    else:
        # 16 bits: torchvision drops the lower byte, DALI rounds.
        assert difference.max <= (1 if specimen.high_depth else 0)


@named(LOSSY)
def test_a_lossy_file_shows_the_upright_picture(zoo, specimen):
    truth = picture() if specimen.name != "gray.jpg" else np.array(Image.fromarray(picture()).convert("L"))
    decoded = upright(zoo[specimen.name]).astype(float)
    truth = truth if truth.ndim == 3 else truth[..., None]
    # Quality 90 and more keeps a photograph above 30 dB, quality 20 above 25 dB (root mean square
    # errors of 8 and 14 levels); the wrong orientation or inverted CMYK leave at most 15 dB.
    assert np.sqrt(((decoded - truth) ** 2).mean()) < (14 if specimen.name == "coarse.jpg" else 8)


@named(ORIENTED)
def test_dali_applies_exif_orientation_and_the_other_loaders_do_not(zoo, specimen):
    path = zoo[specimen.name]
    stored = as_stored(path)
    np.testing.assert_array_equal(STORED[specimen.orientation](upright(path)), stored)
    np.testing.assert_array_equal(decode_with_pil(path), stored)
    np.testing.assert_array_equal(decode_with_torchvision(path), stored)
    assert specimen.orientation == 1 or not np.array_equal(stored, upright(path))


def test_pillow_cuts_16_bit_gray_off_at_white_and_dali_scales_it(zoo):
    path = zoo["gray_16.png"]
    assert decode_with_pil(path).mean() > 254  # nearly every value is above 255 of 65,535
    assert abs(upright(path).mean() - picture()[..., 0].mean()) < 1


@named([each for each in SPECIMENS if each.family not in TORCHVISION_FAMILIES])
def test_what_torchvision_cannot_decode_keeps_a_row_that_says_so(zoo, specimen):
    comparison = compare_decoding([zoo[specimen.name]], CPU)
    assert "torchvision cannot decode" in comparison[f"{specimen.name} / torchvision"].problem
    assert comparison[f"{specimen.name} / PIL"].problem == ""


@pytest.mark.parametrize(
    ("decode", "library"),
    [(upright, "DALI"), (decode_with_pil, "PIL"), (decode_with_torchvision, "torchvision")],
)
@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", "truncated"])
def test_a_file_that_is_no_image_is_named_together_with_who_cannot_decode_it(
    zoo, tmp_path, decode, library, content
):
    path = tmp_path / "broken.jpg"
    path.write_bytes(zoo["baseline.jpg"].read_bytes()[:500] if content == "truncated" else content)
    with pytest.raises(CannotDecodeError, match=rf"{library} cannot decode .*broken\.jpg: .+"):
        decode(path)


@pytest.mark.parametrize("decode", [upright, decode_with_pil, decode_with_torchvision])
def test_a_missing_file_is_a_missing_file(tmp_path, decode):
    with pytest.raises(FileNotFoundError):
        decode(tmp_path / "absent.jpg")


# Resizing


def interpolation_matrix(old, new):
    """Write DALI's antialiased linear filter as a matrix (new, old): a triangle, edge pixels repeated."""
    reach = max(old / new, 1)
    centres = (np.arange(new)[:, None] + 0.5) * old / new
    taps = np.arange(-int(reach) - 2, old + int(reach) + 2)
    weights = np.maximum(0, 1 - np.abs(taps + 0.5 - centres) / reach)
    matrix = np.zeros((new, old))
    np.add.at(matrix, (slice(None), taps.clip(0, old - 1)), weights)
    return matrix / matrix.sum(axis=1, keepdims=True)


def triangular(pixels, size):
    rows, columns = (interpolation_matrix(old, new) for old, new in zip(pixels.shape, size, strict=False))
    return np.einsum("yh,hwc,xw->yxc", rows, pixels.astype(float), columns, optimize=True)


def rim(size, shape):
    """How many pixels from the edge of the result a filter tap can reach outside of the source."""
    return [1 + int(max(1, old / new) * new / old) for old, new in zip(shape, size, strict=False)]


@pytest.mark.parametrize("size", SIZES)
def test_the_default_is_a_triangle_filter_with_repeated_edges_rounded_once(pixels, size):
    ours = Resizing("DALI")(pixels, size, CPU)
    # Rounding to the nearest level is off by 0.5; single precision adds less than 0.02 to 255.
    assert np.abs(ours - triangular(pixels, size)).max() < 0.52


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("library", ["torchvision", "PIL"])
def test_the_default_is_1_level_from_antialiased_filters_inside_of_the_image(pixels, size, library):
    difference = Difference(
        "DALI", library, Resizing("DALI")(pixels, size, CPU), Resizing(library)(pixels, size, CPU)
    )
    rows, columns = rim(size, pixels.shape)
    assert difference.levels[rows:-rows, columns:-columns].max() <= 1
    # Half of the values may round to the other side at the very worst; the rim is a few per cent.
    assert difference.mean < 0.5


def test_at_the_rim_the_default_differs_from_pillow_as_the_formula_says():
    """A white edge column: DALI counts it again for each tap outside, Pillow leaves those out."""
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:, 0] = 255
    ours, theirs = (Resizing(library)(pixels, (8, 2), CPU)[0, 0, 0] for library in ("DALI", "PIL"))
    # Four to one: a triangle 8 wide around the centre at 2. Weights of columns -2 to 5, in 32nds:
    # 1 3 5 7 7 5 3 1. Columns -2, -1 and 0 count as white for DALI: 9 of 32. Pillow: 5 of 28.
    assert ours == round(255 * 9 / 32)
    assert theirs == round(255 * 5 / 28)


@pytest.mark.parametrize("size", SIZES)
def test_without_antialiasing_both_interpolate_between_the_same_four_pixels(pixels, size):
    plain = Resizing("DALI", antialias=False)
    difference = Difference(
        "DALI",
        "torchvision",
        plain(pixels, size, CPU),
        Resizing("torchvision", antialias=False)(pixels, size, CPU),
    )
    assert difference.max <= 1


def test_antialiasing_or_not_is_the_difference_that_matters():
    """Stripes one pixel wide at half the size: averaged to gray, or sampled as they come."""
    pixels = np.zeros((64, 64, 3), np.uint8)
    pixels[:, ::3] = 240
    averaged = Resizing("DALI")(pixels, (16, 16), CPU)
    sampled = Resizing("DALI", antialias=False)(pixels, (16, 16), CPU)
    assert np.ptp(averaged[4:-4, 4:-4].astype(int)) < 60
    assert np.ptp(sampled[4:-4, 4:-4].astype(int)) >= 120


def test_the_deprecated_triangular_filter_is_the_default_by_another_name(pixels):
    ours = Resizing("DALI")(pixels, (192, 192), CPU)
    np.testing.assert_array_equal(Resizing("DALI", "triangular")(pixels, (192, 192), CPU), ours)


def ties(old, new):
    """Tell which results have their centre exactly between two source pixels."""
    return np.array([(Fraction(old, new) * (2 * at + 1) / 2).denominator == 1 for at in range(new)])


@settings(max_examples=40, deadline=None)
@given(old=st.tuples(*[st.integers(2, 60)] * 2), new=st.tuples(*[st.integers(1, 60)] * 2))
def test_nearest_is_pillows_and_torchvisions_nearest_exact_but_for_ties(old, new):
    pixels = np.random.default_rng(0).integers(0, 256, (*old, 3)).astype(np.uint8)
    tied = ties(old[0], new[0])[:, None] | ties(old[1], new[1])
    assume(not tied.all())
    ours = Resizing("DALI", "nearest")(pixels, new, CPU)
    for other in (Resizing("torchvision", "nearest-exact"), Resizing("PIL", "nearest")):
        np.testing.assert_array_equal(ours[~tied], other(pixels, new, CPU)[~tied])


def test_torchvisions_nearest_takes_the_corner_where_dali_takes_the_centre():
    pixels = np.arange(9, dtype=np.uint8).reshape(1, 9, 1).repeat(3, axis=2)
    assert Resizing("DALI", "nearest")(pixels, (1, 3), CPU)[0, :, 0].tolist() == [1, 4, 7]
    assert Resizing("torchvision", "nearest")(pixels, (1, 3), CPU)[0, :, 0].tolist() == [0, 3, 6]


@pytest.mark.parametrize("size", SIZES[:2])
@pytest.mark.parametrize(
    ("filter_name", "library"), [("cubic", "torchvision"), ("cubic", "PIL"), ("lanczos", "PIL")]
)
def test_filters_with_negative_weights_agree_but_for_overshoot_and_rim(pixels, size, filter_name, library):
    """Pillow and torchvision cut overshoot off between the two directions, DALI at the end only."""
    calm = (pixels // 4 + 96).astype(np.uint8)  # 96 to 159: no overshoot reaches 0 or 255
    ours, theirs = (Resizing(each, filter_name)(calm, size, CPU) for each in ("DALI", library))
    difference = Difference("DALI", library, ours, theirs)
    # Absolute weights sum to at most 1.5, so the rounding between stays below 1 level; the last one adds 1.
    reach = {"cubic": 2, "lanczos": 3}[filter_name]
    rows, columns = (reach * side for side in rim(size, pixels.shape))
    assert difference.levels[rows:-rows, columns:-columns].max() <= 2
    assert difference.mean < 0.5


def test_cubic_without_antialiasing_is_another_curve_in_torchvision():
    """DALI's cubic is Catmull-Rom (a = -0.5); torchvision's without antialiasing has a = -0.75."""
    pixels = np.zeros((1, 16, 3), np.uint8)
    pixels[:, 8:] = 200
    ours, theirs = (
        Resizing(each, "cubic", antialias=False)(pixels, (1, 32), CPU)[0, :, 0].astype(int)
        for each in ("DALI", "torchvision")
    )
    # A step doubled in size overshoots at a quarter pixel by a (t^3 - 2 t^2 + t) and a (t^2 - t^3).
    assert ours.max() == round(200 * (1 + 0.5 * (0.25 * 0.75**2)))
    assert theirs.max() == round(200 * (1 + 0.75 * (0.25 * 0.75**2)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("OpenCV",), "DALI, torchvision, PIL"),
        (("torchvision", "lanczos"), "torchvision resizes images by linear"),
        (("PIL", "linear", False), "Pillow cannot leave it off"),
    ],
)
def test_ways_to_resize_that_do_not_exist_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Resizing(*arguments)


@pytest.mark.parametrize(
    ("wrong", "size", "kind", "message"),
    [
        (np.zeros((4, 4, 3), np.float32), (2, 2), TypeError, "uint8, got float32"),
        (np.zeros((4, 4), np.uint8), (2, 2), ValueError, r"\(H, W, 3\), got \(4, 4\)"),
        (np.zeros((4, 0, 3), np.uint8), (2, 2), ValueError, r"got \(4, 0, 3\)"),
        (np.zeros((4, 4, 3), np.uint8), (2, 0), ValueError, "size="),
        (np.zeros((4, 4, 3), np.uint8), (2,), ValueError, "size="),
    ],
)
def test_what_cannot_be_resized_is_refused(wrong, size, kind, message):
    with pytest.raises(kind, match=message):
        compare_resizing(wrong, size, CPU)


# The laboratory


def test_figures_of_a_difference_are_those_of_a_hand_computed_one():
    ours = np.zeros((2, 2, 3), np.uint8)
    theirs = ours.copy()
    theirs[0, 0] = (1, 0, 0)
    theirs[1, 1] = (0, 5, 255)
    difference = Difference("a", "b", ours, theirs)
    assert (difference.mean, difference.max, difference.share) == (261 / 12, 255, 3 / 12)
    assert difference.label == "a / b"
    expected = BAND_COLOURS[[[1, 0], [0, 8]]]
    np.testing.assert_array_equal(difference.amplified(), expected)
    assert expected[0, 1].tolist() == [0, 0, 0]
    assert len(np.unique(BAND_COLOURS, axis=0)) == 9


def test_pictures_of_other_shape_say_so_instead_of_a_figure(zoo):
    comparison = compare_decoding([zoo["exif_6.jpg"]], CPU)
    assert "300x451 against 451x300" in " ".join(str(comparison).split())
    with pytest.raises(ValueError, match=r"exif_6\.jpg / PIL: other height and width"):
        comparison["exif_6.jpg / PIL"].amplified()
    equal = compare_decoding([zoo["exif_6.jpg"]], CPU, adjust_orientation=False)
    assert equal["exif_6.jpg / PIL"].max == 0


def test_the_tables_show_every_row_in_text_and_html(zoo):
    comparison = compare_decoding([zoo["baseline.jpg"], zoo["rgb.bmp"]], CPU)
    for shown in (str(comparison), comparison._repr_html_()):
        assert shown.count("baseline.jpg") == 2
        assert shown.count("0.000") == 3
        assert "Unsupported" in shown
    with pytest.raises(KeyError, match=r"rgb\.bmp / PIL"):
        comparison["rgb.bmp"]
    with pytest.raises(ValueError, match="at least one"):
        compare_decoding([], CPU)


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for folder, level in (("high", 200), ("low", 20)):
        (tmp_path / folder).mkdir()
        Image.new("RGB", (8, 8), (level,) * 3).save(tmp_path / folder / "0.png")
    files = [tmp_path / "low" / "0.png", tmp_path / "high" / "0.png"]
    comparison = compare_decoding(files, CPU)
    assert comparison["low/0.png / PIL"].ours.max() == 20
    assert comparison["high/0.png / PIL"].ours.max() == 200
    with pytest.raises(ValueError, match="twice"):
        compare_decoding([files[0], files[0]], CPU)


def test_a_loader_is_taken_apart_into_decoding_and_resizing(zoo):
    comparison = compare_loading(
        zoo["baseline.jpg"], (100, 100), CPU, theirs=Resizing("torchvision", antialias=False)
    )
    decoding, resizing, both = comparison.differences
    assert [each.subject for each in comparison.differences] == ["decoding only", "resizing only", "both"]
    assert decoding.max == 0
    np.testing.assert_array_equal(resizing.levels, both.levels)  # all of the difference is the resize
    assert resizing.mean > 1
    assert both.levels.shape == (100, 100, 3)


def test_a_loader_of_dalis_own_is_no_reference(zoo):
    with pytest.raises(ValueError, match="theirs=DALI linear"):
        compare_loading(zoo["baseline.jpg"], (100, 100), CPU, theirs=Resizing("DALI"))


def test_taken_apart_and_in_one_pipeline_dali_gives_the_same_pixels(zoo):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def whole():
        encoded, _ = fn.readers.file(files=[str(zoo["420.jpg"])])
        return fn.resize(fn.decoders.image(encoded, output_type=types.RGB), size=(100, 120))

    (batch,) = whole().run()
    both = compare_loading(zoo["420.jpg"], (100, 120), CPU)["both / torchvision"]
    np.testing.assert_array_equal(batch.at(0), both.ours)


def test_pictures_show_each_difference_and_each_reason(zoo):
    comparison = compare_decoding([zoo["exif_3.jpg"], zoo["rgb.bmp"], zoo["440.jpg"]], CPU)
    figure = comparison.figure()
    panels = [axis for axis in figure.axes if axis.get_title()]
    assert len(panels) == 6
    assert [len(axis.get_images()) for axis in panels] == [1, 1, 0, 1, 1, 1]
    assert "cannot decode" in panels[2].texts[0].get_text().replace("\n", " ")
    pair = comparison["exif_3.jpg / PIL"]
    shown = [axis.get_images()[0].get_array() for axis in pair.figure().axes[:3]]
    for picture_shown, expected in zip(shown, (pair.ours, pair.theirs, pair.amplified()), strict=True):
        np.testing.assert_array_equal(picture_shown, expected)
    with pytest.raises(ValueError, match="cannot decode"):
        comparison["rgb.bmp / torchvision"].figure()


def test_one_differing_value_in_a_large_picture_is_still_seen():
    ours = np.zeros((1000, 1500, 3), np.uint8)
    theirs = ours.copy()
    theirs[517, 811, 1] = 9
    figure = Comparison("", (Difference("a", "b", ours, theirs),)).figure()
    shown = np.asarray(figure.axes[0].get_images()[0].get_array())
    assert shown.shape[1] < 300
    assert (shown == BAND_COLOURS[4]).all(axis=2).sum() == 1  # 9 levels: the band of 8 to 15
    assert (shown == 0).all(axis=2).sum() == shown[..., 0].size - 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_resizing_follows_the_same_formula(pixels):
    gpu = choose("gpu")
    # Half precision is not used; half a level of rounding and the GPU's own order of sums.
    assert np.abs(Resizing("DALI")(pixels, (192, 192), gpu) - triangular(pixels, (192, 192))).max() < 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_every_file_decodes_to_nearly_the_same_picture(zoo):
    gpu = choose("gpu")
    found = {
        each.name: Difference(
            each.name, "CPU", decode_with_dali(zoo[each.name], gpu), upright(zoo[each.name])
        )
        for each in SPECIMENS
    }
    assert {name for name, each in found.items() if each.problem} == set()
    # nvJPEG may repeat chroma samples where libjpeg-turbo interpolates: visible at edges of colour only.
    assert {name: each.mean for name, each in found.items() if each.mean > 2} == {}
    # Lossless files have one answer wherever they are decoded.
    exact = [each.name for each in LOSSLESS if not each.high_depth]
    assert {name: found[name].max for name in exact if found[name].max} == {}
