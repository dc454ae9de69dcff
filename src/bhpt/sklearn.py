"""`bhpt.sklearn.BudgetedSearchCV`: see `bhpt.integrations.sklearn`."""

from bhpt.integrations.sklearn import BudgetedSearchCV

__all__ = ["BudgetedSearchCV"]
