"""Tasks × policies × budgets × seeds → a table → figures."""
