"""Suture's core: exact inventories, segmentations, findings and runs.

Importing this package loads nothing heavy; take what you need from its modules, for example
``from workbench.adapters import load``.
"""

__version__ = "0.1.0"
