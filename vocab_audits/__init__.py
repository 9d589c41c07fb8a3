"""Audits of inventories and segmentations, and the batch reports made of them."""
