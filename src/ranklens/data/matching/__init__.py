"""Which judged document a retrieved item is: by id, field, parent, group, span, text or evidence.

A matching reads the id of a retrieved item and says which judged id that is; it keeps the order.
"""

from ranklens.data.matching.evidence import ByEvidence
from ranklens.data.matching.rules import ByField, ById, ByParent, Groups, Matching
from ranklens.data.matching.spans import Spans
from ranklens.data.matching.texts import ByText

__all__ = ["ByEvidence", "ByField", "ById", "ByParent", "ByText", "Groups", "Matching", "Spans"]
