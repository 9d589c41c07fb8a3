"""``python -m workbench`` is the ``suture`` command."""

from workbench.cli import main

main()
