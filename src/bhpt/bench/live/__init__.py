"""`bhpt bench live`: policies and other tuners on real, cheap trainings with open spaces."""
