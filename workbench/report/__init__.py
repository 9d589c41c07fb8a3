"""The report of a run, made from its files alone; what each audit draws comes by entry points."""
