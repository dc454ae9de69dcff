"""Frameworks that people train with: one short module each, imported by its users only.

Nothing else in bhpt imports these, and none of the frameworks is a dependency.
"""
