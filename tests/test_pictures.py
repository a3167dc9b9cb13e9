"""Pictures of data: every layout that a loader delivers is shown the right way up."""

import numpy as np
import pytest
import torch

from tutorial_utils.pictures import show_images


def shown(figure, index):
    return figure.axes[index].get_images()[0].get_array()


def test_channels_first_tensors_and_channels_last_arrays_look_the_same():
    image = np.random.default_rng(0).random((20, 30, 3), dtype=np.float32)
    figure = show_images([image, torch.from_numpy(image).permute(2, 0, 1)], ["a", "b"])
    np.testing.assert_array_equal(shown(figure, 0), image)
    np.testing.assert_array_equal(shown(figure, 1), image)
    assert [axis.get_title() for axis in figure.axes] == ["a", "b"]


def test_values_outside_the_range_are_clipped_not_wrapped():
    image = np.full((4, 4, 3), 1.5, np.float32)
    image[0] = -0.5
    array = shown(show_images([image]), 0)
    assert array.min() == 0
    assert array.max() == 1


def test_five_images_in_rows_of_two_leave_one_empty_place():
    figure = show_images([np.zeros((2, 3, 3), np.uint8)] * 5, columns=2)
    assert [len(axis.get_images()) for axis in figure.axes] == [1, 1, 1, 1, 1, 0]


@pytest.mark.parametrize(("images", "titles"), [([], []), ([np.zeros((2, 2, 3))], ["a", "b"])])
def test_nothing_to_show_or_titles_that_do_not_fit_are_refused(images, titles):
    with pytest.raises(ValueError, match="one title an image"):
        show_images(images, titles)
