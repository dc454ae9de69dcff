"""`bhpt.sklearn.BudgetedSearchCV`: see `bhpt.integrations.sklearn`."""

try:
    from bhpt.integrations.sklearn import BudgetedSearchCV
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "sklearn":
        raise
    wanted = "bhpt.sklearn needs scikit-learn: pip install 'bhpt[sklearn]'"
    raise ModuleNotFoundError(wanted, name=error.name) from None

__all__ = ["BudgetedSearchCV"]
