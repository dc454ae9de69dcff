"""Everything that the paper reports, run again: a plan, the claims, one page."""
