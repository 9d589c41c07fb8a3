"""What a model makes of tokens, layer by layer; the probes that stand on ``workbench``."""
