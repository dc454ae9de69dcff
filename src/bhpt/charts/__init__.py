"""The data of every chart of a study: pure functions from its state to frozen values.

Nothing here draws: the dashboard, the single-file report and `bhpt.plot` do, all from these.
All values of the metric are in the user's direction.
"""
