"""Train many small networks at once on one GPU and keep their held-out learning curves.

`tasks`, `schedule`, `exchange` and `data` need NumPy alone; the other modules need PyTorch.
"""
