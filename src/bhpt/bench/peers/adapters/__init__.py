"""Scripts for the peers' own interpreters. They import nothing of this project while they run."""
