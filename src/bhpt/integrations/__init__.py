"""What people train with: one short module a framework, imported only by those who use it.

Nothing else in bhpt imports these, and none of the frameworks is a dependency.
"""
