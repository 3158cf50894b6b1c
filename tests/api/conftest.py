from __future__ import annotations

from api.shop import environment, shop

__all__ = ["environment", "shop"]
