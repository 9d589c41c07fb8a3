"""The browser app; it reads runs and holds no analysis of its own."""
