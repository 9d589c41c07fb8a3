"""The verbs of the command line that read; each imports what it needs when it is called."""
