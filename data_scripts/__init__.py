"""What makes the data: run ``python -m data_scripts.NAME --help``.

Nothing here imports ``tutorial_utils``: the data can be made on a machine
without DALI, PyTorch or a GPU.
"""
