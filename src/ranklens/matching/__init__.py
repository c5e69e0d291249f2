"""Which judged document a retrieved item is: by id, field, parent, group or span.

A matching reads the id of a retrieved item and says which judged id that is; it keeps the order.
"""

from ranklens.matching.rules import ByField, ById, ByParent, Groups, Matching, Spans

__all__ = ["ByField", "ById", "ByParent", "Groups", "Matching", "Spans"]
