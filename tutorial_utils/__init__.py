"""What the lessons are built on, good enough to take into your own training code.

One room a module, and nothing imports a room above it:

- ``placement``: where each step runs, and the one place that asks whether there is a GPU.
- ``data``: what is on disk, checked before any pipeline runs.
- ``cpu_loaders``: the CPU competitors, tuned honestly.
- ``sources``, ``pipelines``, ``loaders``: DALI graphs, what feeds them from Python, and iterators over them
  with a ``DataLoader``'s manners.
- ``ledger``: which sample ids each shard saw in each epoch.
- ``parity``: how far DALI's pixels are from torchvision's and PIL's.
- ``timing``: the measuring protocol, the timing card, recorded reference results.
- ``monitor``: GPU (or CPU) use recorded in a subprocess and drawn live under the busy cell.
- ``doctor``: what this machine lacks for the lessons, each with its remedy.
"""
