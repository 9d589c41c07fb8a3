"""Token probabilities of a teacher turned into bytes, and into the tokens of another vocabulary."""
