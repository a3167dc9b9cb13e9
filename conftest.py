"""Pytest's start for the whole checkout: the guard that watches the notebooks nbmake runs."""

pytest_plugins = ["notebook_guard"]
