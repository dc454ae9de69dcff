"""What a person is told of a study: progress, tables, forecasts. Values only; others draw them."""
