"""The rules once more, in plain Python, by brute force: slow, literal, and free of windrow and of Arrow."""
