"""Progress and forecasts of a study as values; views draw them."""
