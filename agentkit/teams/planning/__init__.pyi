from .team import Material, PlanProtocol, Setup

__all__ = ["Material", "PlanProtocol", "Setup"]
