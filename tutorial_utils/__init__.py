"""What the lessons are built on, good enough to take into your own training code.

One room a module, and nothing imports a room above it:

- ``placement``: where each step runs, and the one place that asks whether there is a GPU.
- ``data``: what is on disk, checked before any pipeline runs.
- ``cpu_loaders``: the CPU competitors, tuned honestly.
- ``timing``: the measuring protocol, the timing card, recorded reference results.
- ``monitor``: GPU (or CPU) use recorded in a subprocess and drawn live under the busy cell.
- ``doctor``: what this machine lacks for the lessons, each with its remedy.
"""
